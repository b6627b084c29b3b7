use std::error::Error as StdError;
use std::fmt;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

/// The peer a connection belongs to: connections are shared between requests of one origin and never across two.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    secure: bool,
    authority: Authority,
}

impl Origin {
    pub(crate) fn of(uri: &Uri) -> Result<Self, NoOrigin> {
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(_) => return Err(NoOrigin("the request's URI is neither https nor http")),
            None => return Err(NoOrigin("the request's URI is not absolute")),
        };
        let authority = uri.authority().ok_or(NoOrigin("the request's URI names no host"))?;
        if authority.host().is_empty() {
            return Err(NoOrigin("the request's URI names no host"));
        }
        if authority.as_str().contains('@') {
            // It would be sent to nobody, and it may be a password that somebody believes to be in use.
            return Err(NoOrigin("the request's URI holds user information"));
        }
        Ok(Self { secure, authority: authority.clone() })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The name or address that a certificate must be for: without the brackets of an IPv6 address.
    pub(crate) fn server_name(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// The `Host` header: the port only where it is not the scheme's own.
    pub(crate) fn host_header(&self) -> HeaderValue {
        let default_port = if self.secure { 443 } else { 80 };
        let host = match self.authority.port_u16() {
            Some(port) if port != default_port => self.authority.as_str(),
            _ => self.authority.host(),
        };
        HeaderValue::from_str(host).expect("an authority holds visible ASCII only")
    }

    /// The absolute URI of `path` at this origin.
    pub(crate) fn uri(&self, path: PathAndQuery) -> Uri {
        let scheme = if self.secure { Scheme::HTTPS } else { Scheme::HTTP };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(scheme);
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).expect("scheme, authority and path make a URI")
    }
}

/// Why a URI cannot be sent to. Its text never holds the URI.
#[derive(Debug)]
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
            ("http://[::1]:8080/x", "[::1]:8080"),
        ] {
            assert_eq!(origin(uri).unwrap().host_header(), host, "{uri}");
        }
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
}
