use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};

/// The value of the `Host` header, if hyper-util connects to exactly this address. The error never contains the address.
pub(crate) fn host(uri: &Uri) -> Result<HeaderValue, &'static str> {
    let default_port = match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS => 443,
        Some(scheme) if *scheme == Scheme::HTTP => 80,
        Some(_) => return Err("the request's URI is neither https nor http"),
        None => return Err("the request's URI is not absolute"),
    };
    let authority = uri.authority().ok_or("the request's URI has no host")?;
    if authority.as_str().contains('@') {
        return Err("the request's URI contains user information");
    }
    let (host, port) = host_and_port(authority).ok_or("the request's URI has no usable host and port")?;
    let host = if port.is_none_or(|port| port == default_port) { host } else { authority.as_str() };
    Ok(HeaderValue::from_str(host).expect("an authority is visible ASCII"))
}

/// `None` for an unreadable port. `http` and hyper-util treat such a port as absent and would connect to the scheme's default,
/// where somebody else may listen.
pub(crate) fn host_and_port(authority: &Authority) -> Option<(&str, Option<u16>)> {
    let host = authority.host();
    let port = authority.as_str().strip_prefix(host).filter(|_| !host.is_empty())?;
    if port.is_empty() {
        return Some((host, None));
    }
    let digits = port.strip_prefix(':')?;
    let is_number = (1..=5).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let port = digits.parse().ok().filter(|port| is_number && *port != 0)?;
    Some((host, Some(port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_omits_the_default_port() {
        for (uri, expected) in [
            ("https://pay.example/x", "pay.example"),
            ("https://pay.example:443/x", "pay.example"),
            ("https://pay.example:80/x", "pay.example:80"),
            ("http://pay.example:80/x", "pay.example"),
            ("http://127.0.0.1:8080/x", "127.0.0.1:8080"),
            ("http://127.0.0.1:00080/x", "127.0.0.1"),
            ("http://[::1]/x", "[::1]"),
            ("http://[::1]:8080/x", "[::1]:8080"),
        ] {
            assert_eq!(host(&Uri::from_static(uri)).unwrap(), expected, "{uri}");
        }
    }

    #[test]
    fn relative_non_http_and_user_information_uris_are_refused() {
        for uri in ["/path", "ftp://pay.example/", "https://user:secret@pay.example/"] {
            let error = host(&Uri::from_static(uri)).unwrap_err();
            assert!(!error.contains("secret"), "{uri}: {error}");
        }
    }

    #[test]
    fn an_unreadable_port_is_refused_d01() {
        const PORTS: [&str; 9] = [":", ":0", ":+80", ":-80", ":80a", ":65536", ":65616", ":99999", ":000080"];
        for scheme in ["http", "https"] {
            for name in ["pay.example", "127.0.0.1", "[::1]"] {
                let checked = |port| host(&format!("{scheme}://{name}{port}/x").parse().unwrap());
                for port in PORTS {
                    assert!(checked(port).is_err(), "{scheme} {name} {port}");
                }
                assert!(
                    [":1", ":65535", ""].into_iter().all(|port| checked(port).is_ok()),
                    "{scheme} {name}"
                );
            }
        }
    }
}
