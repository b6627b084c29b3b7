use std::net::IpAddr;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

use crate::uri;

/// An egress proxy. Every connection is tunneled through it.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    /// `Proxy-Authorization`, marked as sensitive.
    pub(crate) credentials: Option<HeaderValue>,
}

impl Proxy {
    /// Parses `http://user:password@host:port`, with or without credentials. The error never contains the address, which may
    /// include a password.
    pub(crate) fn parse(address: &str) -> Result<Self, &'static str> {
        let uri: Uri = address.parse().map_err(|_| "it is not a URI")?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err("it does not begin with http://, and no other kind of proxy is supported");
        }
        if uri.query().is_some() || !matches!(uri.path(), "" | "/") {
            return Err("it has a path or a query");
        }
        let authority = uri.authority().map_or("", Authority::as_str);
        let host = authority.rsplit_once('@').map_or(authority, |(_credentials, host)| host);
        let host_is_usable = host.parse().is_ok_and(|host: Authority| uri::host_and_port(&host).is_some());
        if !host_is_usable || authority.matches('@').count() > 1 {
            return Err(
                "it has no usable host and port, or a user or password contains an @ that is not escaped as %40",
            );
        }
        // hyper-util decodes the credentials. This builder reads nothing from the environment.
        let found = Matcher::builder().all(address).build().intercept(&uri);
        let found = found.ok_or("hyper-util cannot read it")?;
        Ok(Self { uri: found.uri().clone(), credentials: found.basic_auth().cloned() })
    }

    /// Whether the proxy is on this machine, so that an unencrypted request to it crosses no network.
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
    fn credentials_are_decoded_and_removed_from_the_address() {
        let proxy = Proxy::parse("http://Aladdin:open%20sesame@proxy.example:3128").unwrap();
        assert_eq!(proxy.uri, "http://proxy.example:3128/");
        let credentials = proxy.credentials.unwrap();
        assert_eq!(credentials, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(credentials.is_sensitive());
        let plain = Proxy::parse("http://proxy.example").unwrap();
        assert_eq!((plain.uri, plain.credentials), (Uri::from_static("http://proxy.example/"), None));
    }

    #[test]
    fn other_addresses_than_http_are_refused_and_not_shown() {
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
            let error = Proxy::parse(address).err().unwrap_or_else(|| panic!("{address} was accepted"));
            assert!(!error.contains("hunter"), "{error}");
        }
    }

    #[test]
    fn only_loopback_hosts_are_loopback() {
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
