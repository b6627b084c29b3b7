use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use thiserror::Error;

/// The scheme, host and port of a service, checked.
///
/// [`Endpoint`](crate::Endpoint) checks its address when it is created, and every request of a client
/// [carries the result](crate::TransportRequest::server). A transport that reads the URI itself must take care: `http` reads the
/// port of `https://pay.example.com:99999` as none, and a stack that then uses the scheme's default sends the card there.
///
/// ```
/// use payments_core::transport::ServerAddress;
///
/// let server = ServerAddress::of(&"https://pay.example.com/api/v1/public".parse()?)?;
/// assert_eq!((server.host(), server.port(), server.is_https()), ("pay.example.com", 443, true));
/// assert_eq!(server.host_header(), "pay.example.com");
/// assert!(ServerAddress::of(&"https://pay.example.com:99999/".parse()?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    is_https: bool,
    /// Begins with the host. A default port is left out.
    host_header: HeaderValue,
    host_length: usize,
    port: u16,
}

/// Why a URI names no server. The text contains no part of the URI.
#[derive(Clone, Copy, Debug, Error)]
#[error("the URI {0}")]
pub struct InvalidServerAddress(
    /// What is wrong, worded to follow the name of the URI.
    pub(crate) &'static str,
);

impl InvalidServerAddress {
    pub(crate) const NOT_ABSOLUTE: Self = Self("is not an absolute URL such as https://host/api/v1/public");
    pub(crate) const EXTRAS: Self = Self("contains a user name, a query or a fragment");
    const HOST: Self = Self(
        "has a host that is neither an IPv6 address in brackets nor made of ASCII letters, digits and - . _",
    );
}

impl ServerAddress {
    /// The server that this absolute URI names.
    ///
    /// # Errors
    ///
    /// [`InvalidServerAddress`] if the URI
    ///
    /// - is not absolute, or neither https nor http,
    /// - contains a user name,
    /// - has a host that is neither an IPv6 address in brackets without a zone, nor made of ASCII letters, digits and `- . _`,
    /// - has a port that is not a number from 1 to 65535 of at most five digits.
    pub fn of(uri: &Uri) -> Result<Self, InvalidServerAddress> {
        let is_https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(_) => return Err(InvalidServerAddress("is neither https nor http")),
            None => return Err(InvalidServerAddress::NOT_ABSOLUTE),
        };
        let default_port = if is_https { 443 } else { 80 };
        let authority = uri.authority().ok_or(InvalidServerAddress::NOT_ABSOLUTE)?;
        if authority.as_str().contains('@') {
            return Err(InvalidServerAddress::EXTRAS);
        }
        let host = authority.host();
        if !is_host(host) {
            return Err(InvalidServerAddress::HOST);
        }
        let port = match &authority.as_str()[host.len()..] {
            "" => Some(default_port),
            port => port.strip_prefix(':').and_then(parsed_port),
        };
        let port = port.ok_or(InvalidServerAddress("has a port that is not a number from 1 to 65535"))?;
        let text = if port == default_port { host.to_owned() } else { format!("{host}:{port}") };
        let host_header = HeaderValue::try_from(text).map_err(|_| InvalidServerAddress::HOST)?;
        Ok(Self { is_https, host_header, host_length: host.len(), port })
    }

    /// Whether the scheme is `https`; otherwise it is `http`.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// The host as it is written in the URI: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.text()[..self.host_length]
    }

    fn text(&self) -> &str {
        self.host_header.to_str().expect("a host is visible ASCII")
    }

    /// The port: the one in the URI, or the scheme's default.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of the `Host` header: the host, and the port unless it is the scheme's default. Cloning it copies nothing.
    pub fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    /// Whether the server is on this machine: `localhost`, or a loopback address. What is sent there crosses no network.
    pub fn is_loopback(&self) -> bool {
        let host = self.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }
}

/// Host and port, as in the `Host` header.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_https, host_header: _, host_length: _, port } = self;
        f.debug_struct("ServerAddress")
            .field("is_https", is_https)
            .field("host", &self.host())
            .field("port", port)
            .finish()
    }
}

/// Whether this is an IPv6 address in brackets, or has only characters of a name or an IPv4 address. `http` accepts anything in and
/// around brackets, and a stack that drops the brackets would look the rest up as a name.
fn is_host(text: &str) -> bool {
    let is_in_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match text.strip_prefix('[') {
        None => !text.is_empty() && text.bytes().all(is_in_names),
        Some(rest) => rest.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
    }
}

fn parsed_port(digits: &str) -> Option<u16> {
    let is_number = digits.len() <= 5 && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|port| is_number && *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(uri: &str) -> Result<ServerAddress, InvalidServerAddress> {
        ServerAddress::of(&uri.parse().unwrap())
    }

    #[test]
    fn the_host_header_omits_the_default_port() {
        for (uri, host_header, port) in [
            ("https://pay.example/x", "pay.example", 443),
            ("https://pay.example:443/x", "pay.example", 443),
            ("https://pay.example:80/x", "pay.example:80", 80),
            ("http://pay.example:80/x", "pay.example", 80),
            ("http://127.0.0.1:8080/x", "127.0.0.1:8080", 8080),
            ("http://127.0.0.1:00080/x", "127.0.0.1", 80),
            ("http://[::1]/x", "[::1]", 80),
            ("http://[::1]:8080/x", "[::1]:8080", 8080),
        ] {
            let server = server(uri).unwrap();
            assert_eq!((server.host_header().to_str().unwrap(), server.port()), (host_header, port), "{uri}");
            assert_eq!(server.is_https(), uri.starts_with("https"), "{uri}");
            assert!(uri.contains(&format!("//{}", server.host())), "{uri}");
        }
    }

    #[test]
    fn relative_non_http_and_user_information_uris_are_refused() {
        for uri in ["/path", "ftp://pay.example/", "https://user:secret@pay.example/"] {
            let error = server(uri).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{uri}: {error}");
        }
    }

    #[test]
    fn an_unreadable_port_is_refused_d01() {
        const PORTS: [&str; 9] = [":", ":0", ":+80", ":-80", ":80a", ":65536", ":65616", ":99999", ":000080"];
        for scheme in ["http", "https"] {
            for name in ["pay.example", "127.0.0.1", "[::1]"] {
                let checked = |port| server(&format!("{scheme}://{name}{port}/x"));
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

    #[test]
    fn only_loopback_hosts_are_loopback() {
        for (uri, expected) in [
            ("http://127.0.0.1:3128", true),
            ("http://127.9.9.9:3128", true),
            ("http://[::1]:3128", true),
            ("http://LocalHost:3128", true),
            ("http://10.0.0.1:3128", false),
            ("http://localhost.example:3128", false),
        ] {
            assert_eq!(server(uri).unwrap().is_loopback(), expected, "{uri}");
        }
    }
}
