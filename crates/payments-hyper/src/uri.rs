use http::Uri;
use http::uri::{Authority, Scheme};

/// Refuses an address that hyper-util would read in another way than it is written. The error never holds the address.
pub(crate) fn check(uri: &Uri) -> Result<(), &'static str> {
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS || *scheme == Scheme::HTTP => {}
        Some(_) => return Err("the request's URI is neither https nor http"),
        None => return Err("the request's URI is not absolute"),
    }
    let authority = uri.authority().ok_or("the request's URI names no host")?;
    if authority.as_str().contains('@') {
        return Err("the request's URI holds user information");
    }
    check_port(authority)
}

/// Refuses a port that cannot be read: `http` and hyper-util take it for none at all, and would connect to the scheme's own,
/// where somebody else may listen.
pub(crate) fn check_port(authority: &Authority) -> Result<(), &'static str> {
    let host = authority.host();
    if host.is_empty() {
        return Err("the request's URI names no host");
    }
    let port = authority.as_str().strip_prefix(host).ok_or("the request's URI names no usable host")?;
    let is_usable = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| {
            (1..=5).contains(&digits.len())
                && digits.bytes().all(|digit| digit.is_ascii_digit())
                && digits.parse().is_ok_and(|port: u16| port != 0)
        });
    if is_usable { Ok(()) } else { Err("the request's URI names no usable port") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_absolute_http_uri_without_user_information_is_sent_to() {
        for uri in ["/path", "ftp://pay.example/", "https://user:secret@pay.example/"] {
            let error = check(&Uri::from_static(uri)).unwrap_err();
            assert!(!error.contains("secret"), "{uri}: {error}");
        }
    }

    #[test]
    fn a_port_that_cannot_be_read_is_refused_instead_of_guessed_d01() {
        const PORTS: [&str; 9] = [":", ":0", ":+80", ":-80", ":80a", ":65536", ":65616", ":99999", ":000080"];
        for scheme in ["http", "https"] {
            for host in ["pay.example", "127.0.0.1", "[::1]"] {
                let checked = |port| check(&format!("{scheme}://{host}{port}/x").parse().unwrap());
                for port in PORTS {
                    assert!(checked(port).is_err(), "{scheme} {host} {port}");
                }
                assert!(
                    [":1", ":65535", ""].into_iter().all(|port| checked(port).is_ok()),
                    "{scheme} {host}"
                );
            }
        }
    }
}
