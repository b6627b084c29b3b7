use std::error::Error as StdError;
use std::fmt;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError};

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

/// The peer a connection belongs to: connections are shared between requests of one origin and never across two.
///
/// Cloning shares it.
#[derive(Clone)]
pub(crate) struct Origin(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    secure: bool,
    authority: Authority,
    /// The one that the URI names, or its scheme's own.
    port: NonZeroU16,
    /// The port only where it is not the scheme's own.
    host_header: HeaderValue,
}

const HTTP_PORT: NonZeroU16 = NonZeroU16::new(80).expect("it is not 0");
const HTTPS_PORT: NonZeroU16 = NonZeroU16::new(443).expect("it is not 0");

impl Origin {
    pub(crate) fn of(uri: &Uri) -> Result<Self, NoOrigin> {
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(_) => return Err(NoOrigin("the request's URI is neither https nor http")),
            None => return Err(NoOrigin("the request's URI is not absolute")),
        };
        let authority = uri.authority().ok_or(NoOrigin("the request's URI names no host"))?;
        let host = authority.host();
        if host.is_empty() {
            return Err(NoOrigin("the request's URI names no host"));
        }
        if authority.as_str().contains('@') {
            // It would be sent to nobody, and it may be a password that somebody believes to be in use.
            return Err(NoOrigin("the request's URI holds user information"));
        }
        let port = match authority.as_str().strip_prefix(host) {
            Some("") => default_port(secure),
            Some(after_host) => {
                read_port(after_host).ok_or(NoOrigin("the request's URI names no usable port"))?
            }
            None => return Err(NoOrigin("the request's URI names no usable host")),
        };
        let host = if port == default_port(secure) { host } else { authority.as_str() };
        let host_header = HeaderValue::from_str(host).expect("an authority holds visible ASCII only");
        Ok(Self(Arc::new(Parts { secure, authority: authority.clone(), port, host_header })))
    }

    /// Whether this was made of such a URI, letter by letter.
    fn is_of(&self, uri: &Uri) -> bool {
        let Parts { secure, authority, port: _, host_header: _ } = &*self.0;
        uri.scheme() == Some(if *secure { &Scheme::HTTPS } else { &Scheme::HTTP })
            && uri.authority().is_some_and(|other| other.as_str() == authority.as_str())
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// The name or address that a certificate must be for: without the brackets of an IPv6 address.
    pub(crate) fn server_name(&self) -> &str {
        self.0.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// What belongs into `Host`.
    pub(crate) fn host_header(&self) -> HeaderValue {
        self.0.host_header.clone()
    }

    /// The absolute URI of `path` at this origin.
    pub(crate) fn uri(&self, path: PathAndQuery) -> Uri {
        let scheme = if self.0.secure { Scheme::HTTPS } else { Scheme::HTTP };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(scheme);
        parts.authority = Some(self.0.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).expect("scheme, authority and path make a URI")
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Origin {}

/// The origin of the last request, which is nearly always that of the next: to read it out of a URI takes as long as
/// writing a request's head.
#[derive(Default)]
pub(crate) struct LastOrigin(Mutex<Option<Origin>>);

impl LastOrigin {
    pub(crate) fn for_uri(&self, uri: &Uri) -> Result<Origin, NoOrigin> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(origin) = last.as_ref().filter(|last| last.is_of(uri)) {
            return Ok(origin.clone());
        }
        let origin = Origin::of(uri)?;
        *last = Some(origin.clone());
        Ok(origin)
    }
}

fn default_port(secure: bool) -> NonZeroU16 {
    if secure { HTTPS_PORT } else { HTTP_PORT }
}

/// The port in what follows the host of an authority.
///
/// `http` and the connector take a port that they cannot read for none at all. They would connect to the scheme's own,
/// where somebody else may listen.
fn read_port(after_host: &str) -> Option<NonZeroU16> {
    let digits = after_host.strip_prefix(':')?;
    let is_number = (1..=5).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Why a URI cannot be sent to. Its text never holds the URI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoOrigin(&'static str);

impl fmt::Display for NoOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl StdError for NoOrigin {}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(uri: &'static str) -> Result<Origin, NoOrigin> {
        Origin::of(&Uri::from_static(uri))
    }

    #[test]
    fn host_header_names_only_an_unusual_port() {
        for (uri, host) in [
            ("https://pay.example/x", "pay.example"),
            ("https://pay.example:443/x", "pay.example"),
            ("https://pay.example:80/x", "pay.example:80"),
            ("http://pay.example:80/x", "pay.example"),
            ("http://127.0.0.1:8080/x", "127.0.0.1:8080"),
            ("http://127.0.0.1:00080/x", "127.0.0.1"),
            ("http://[::1]/x", "[::1]"),
            ("http://[::1]:8080/x", "[::1]:8080"),
        ] {
            assert_eq!(origin(uri).unwrap().host_header(), host, "{uri}");
        }
    }

    #[test]
    fn the_last_origin_stands_for_no_other() {
        let last = LastOrigin::default();
        for uri in [
            "https://pay.example/x",
            "https://pay.example/y",
            "http://pay.example/x",
            "https://pay.example:443/x",
            "https://pay.example:8443/x",
            "https://pay.example.org/x",
            "https://pay.example/x",
        ] {
            let uri = Uri::from_static(uri);
            let (found, read) = (last.for_uri(&uri).unwrap(), Origin::of(&uri).unwrap());
            assert!(found == read && found.host_header() == read.host_header(), "{uri}");
        }
        assert!(last.for_uri(&Uri::from_static("https://user:secret@pay.example/x")).is_err());
        assert!(last.for_uri(&Uri::from_static("https://pay.example:99999/x")).is_err());
    }

    #[test]
    fn a_certificate_for_an_ipv6_address_is_asked_for_without_brackets() {
        assert_eq!(origin("https://[::1]:8443/").unwrap().server_name(), "::1");
    }

    #[test]
    fn only_an_absolute_http_uri_without_user_information_has_an_origin() {
        for uri in ["/path", "ftp://pay.example/", "https://user:secret@pay.example/"] {
            let error = origin(uri).err().map(|error| error.to_string());
            assert!(error.as_ref().is_some_and(|text| !text.contains("secret")), "{uri}: {error:?}");
        }
    }

    #[test]
    fn d01_a_port_that_cannot_be_read_is_refused_instead_of_guessed() {
        const PORTS: [&str; 9] = [":", ":0", ":+80", ":-80", ":80a", ":65536", ":65616", ":99999", ":000080"];
        for scheme in ["http", "https"] {
            for host in ["pay.example", "127.0.0.1", "[::1]"] {
                let origin = |port| Origin::of(&format!("{scheme}://{host}{port}/x").parse().unwrap());
                for port in PORTS {
                    assert!(origin(port).is_err(), "{scheme} {host} {port}");
                }
                assert!([":1", ":65535", ""].into_iter().all(|port| origin(port).is_ok()), "{scheme} {host}");
            }
        }
    }
}
