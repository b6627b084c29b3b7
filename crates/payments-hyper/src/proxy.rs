use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use payments_core::transport::ServerAddress;

/// An egress proxy. Every connection is tunneled through it.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    pub(crate) server: ServerAddress,
    /// `Proxy-Authorization`, marked as sensitive.
    pub(crate) credentials: Option<HeaderValue>,
}

impl Proxy {
    /// Parses `http://user:password@host:port`, with or without credentials. The error never contains the address, which may
    /// include a password.
    pub(crate) fn parse(address: &str) -> Result<Self, &'static str> {
        // `http::Uri` drops everything after it, which may be a part of the password and the host.
        if address.contains('#') {
            return Err("it contains a #, which must be escaped as %23 in a user or password");
        }
        let uri: Uri = address.parse().map_err(|_| "it is not a URI")?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err("it does not begin with http://, and no other kind of proxy is supported");
        }
        if uri.query().is_some() || !matches!(uri.path(), "" | "/") {
            return Err("it has a path or a query");
        }
        let authority = uri.authority().map_or("", Authority::as_str);
        let host = authority.rsplit_once('@').map_or(authority, |(_credentials, host)| host);
        let server = format!("http://{host}").parse().ok().and_then(|uri| ServerAddress::of(&uri).ok());
        let server = server.filter(|_| authority.matches('@').count() <= 1).ok_or(
            "it has no usable host and port, or a user or password contains an @ that is not escaped as %40",
        )?;
        // hyper-util decodes the credentials. This builder reads nothing from the environment.
        let found = Matcher::builder().all(address).build().intercept(&uri);
        let found = found.ok_or("hyper-util cannot read it")?;
        Ok(Self { uri: found.uri().clone(), server, credentials: found.basic_auth().cloned() })
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
            // `http::Uri` drops everything after `#`.
            "http://hunter2:12#ss@proxy.example:3128",
            "http://proxy.example:3128#hunter2",
            "http://user:hunter2\\@proxy.example",
            "http://user:12/hunter2@proxy.example",
            "http://user:12?hunter2@proxy.example",
            "http://user:12\thunter2@proxy.example",
            "",
        ] {
            let error = Proxy::parse(address).err().unwrap_or_else(|| panic!("{address} was accepted"));
            assert!(!error.contains("hunter"), "{error}");
        }
    }
}
