use std::net::IpAddr;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

use crate::uri;

/// An egress proxy that every connection is tunnelled through.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    /// `Proxy-Authorization`, marked as sensitive.
    pub(crate) credentials: Option<HeaderValue>,
}

impl Proxy {
    /// Reads `http://user:password@host:port`, with or without credentials. The error names the mistake and never holds the
    /// address, because there may be a password in it.
    pub(crate) fn parse(address: &str) -> Result<Self, &'static str> {
        let uri: Uri = address.parse().map_err(|_| "the proxy's address is not a URI")?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(
                "the proxy's address does not begin with http://, and no other kind of proxy is supported",
            );
        }
        if uri.query().is_some() || !matches!(uri.path(), "" | "/") {
            return Err("the proxy's address has a path or a query");
        }
        let authority = uri.authority().map_or("", Authority::as_str);
        let host = authority.rsplit_once('@').map_or(authority, |(_credentials, host)| host);
        let host_is_usable = host.parse().is_ok_and(|host: Authority| uri::host_and_port(&host).is_some());
        if !host_is_usable || authority.matches('@').count() > 1 {
            return Err(
                "the proxy's address names no usable host and port; escape an @ in a password as %40",
            );
        }
        // hyper-util's reader decodes the credentials. Given the address alone, it reads nothing from the environment.
        let found = Matcher::builder().all(address).build().intercept(&uri);
        let found = found.ok_or("the proxy's address cannot be used")?;
        Ok(Self { uri: found.uri().clone(), credentials: found.basic_auth().cloned() })
    }

    /// Whether the proxy is on this machine, so that a request in clear does not cross a network on its way there.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_decoded_and_taken_out_of_the_address() {
        let proxy = Proxy::parse("http://Aladdin:open%20sesame@proxy.example:3128").unwrap();
        assert_eq!(proxy.uri, "http://proxy.example:3128/");
        let credentials = proxy.credentials.unwrap();
        assert_eq!(credentials, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(credentials.is_sensitive());
        let plain = Proxy::parse("http://proxy.example").unwrap();
        assert_eq!((plain.uri, plain.credentials), (Uri::from_static("http://proxy.example/"), None));
    }

    #[test]
    fn only_an_http_address_is_a_proxy_and_no_error_holds_it() {
        for address in [
            "https://user:hunter2@proxy.example",
            "socks5://user:hunter2@proxy.example",
            "proxy.example:3128",
            "http://user:hunter2@proxy.example/path",
            "http://user:hunter2@proxy.example?query",
            "http://user:hunter@2@proxy.example",
            "http://user:hunter2@proxy.example:99999",
            "http://user:hunter2@",
            "http://user:hunter 2@proxy.example",
            "",
        ] {
            let error = Proxy::parse(address).err().unwrap_or_else(|| panic!("{address} was taken"));
            assert!(!error.contains("hunter"), "{error}");
        }
    }

    #[test]
    fn loopback_is_told_from_every_other_host() {
        for (address, expected) in [
            ("http://127.0.0.1:3128", true),
            ("http://127.9.9.9:3128", true),
            ("http://[::1]:3128", true),
            ("http://user:pw@LocalHost:3128", true),
            ("http://10.0.0.1:3128", false),
            ("http://localhost.example:3128", false),
        ] {
            assert_eq!(Proxy::parse(address).unwrap().is_loopback(), expected, "{address}");
        }
    }
}
