//! The address of the service and its API key.

use std::borrow::Cow;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::{fmt, iter, mem};

use bytes::Bytes;
use http::uri::{InvalidUri, PathAndQuery};
use http::{HeaderValue, Uri};
use payments_model::unversioned::{contains_long_secret, redact};
use zeroize::Zeroizing;

use crate::OperationName;
use crate::error::{ConfigurationError, Error};
use crate::transport::{InvalidServerAddress, ServerAddress};

/// The base URL of the service and the API key for it: one environment, sandbox or production.
///
/// Neither has a default. Cloning shares both.
#[derive(Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    api_key: ApiKey,
    /// Earlier keys that somebody has put into the base URL.
    keys_in_url: Vec<ApiKey>,
    base_url: String,
    /// The base URL, parsed.
    base: Uri,
    /// The URL of each operation without an id, in the order of [`OperationName::ALL`].
    uris: Vec<Uri>,
    server: ServerAddress,
    service: String,
}

impl Endpoint {
    /// Takes the base URL that the service assigns, including its path prefix, and the key for it.
    ///
    /// Trailing slashes are trimmed. The rest of the path is kept unchanged, and nothing is added to it.
    ///
    /// # Errors
    ///
    /// A configuration error, before anything is sent, that says what is wrong and shows no part of the URL: if the URL
    ///
    /// - is not absolute,
    /// - is not `https`. Plain `http` is accepted for a loopback address or `localhost` only, because card numbers would otherwise
    ///   cross the network unencrypted,
    /// - contains a user name, a query or a fragment, white space or a control character,
    /// - has a host or port that [`ServerAddress::of`](crate::transport::ServerAddress::of) refuses. Its rules are chosen by this
    ///   SDK.
    ///
    /// ```
    /// use payments_core::{ApiKey, Endpoint};
    ///
    /// let endpoint = Endpoint::new("https://pay.example.com/api/v1/public/", ApiKey::new("sk_live_51H")?)?;
    /// assert_eq!(endpoint.base_url(), "https://pay.example.com/api/v1/public");
    /// assert!(Endpoint::new("http://pay.example.com/api/v1/public", ApiKey::new("sk_live_51H")?).is_err());
    /// # Ok::<(), payments_core::Error>(())
    /// ```
    pub fn new(base_url: &str, api_key: ApiKey) -> Result<Self, Error> {
        let base_url = in_one_spelling(base_url)?;
        let base: Uri = base_url.parse().map_err(unreadable::<InvalidUri>)?;
        let server = ServerAddress::of(&base).map_err(|error| invalid(error.0))?;
        if base.query().is_some() {
            return Err(invalid(InvalidServerAddress::EXTRAS.0).into());
        }
        if !server.is_https() && !server.is_loopback() {
            return Err(invalid(
                "is not https; plain http is allowed only for loopback addresses and localhost",
            )
            .into());
        }
        let service = service(&server, &base, &[api_key.expose()]);
        let keys_in_url = Vec::new();
        let base_url = base_url.into_owned();
        // A URL can be too long.
        let uris = OperationName::ALL.iter().map(|operation| uri(&base, *operation, ""));
        let uris = uris.collect::<Result<_, _>>()?;
        Ok(Self { inner: Arc::new(Inner { api_key, keys_in_url, base_url, base, uris, server, service }) })
    }

    /// The base URL, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.inner.base_url
    }

    /// The service that the base URL names, in one spelling: the base URL with its scheme and host in lower case and without a
    /// default port. For a client of [one of several merchants](crate::Client::for_merchant), `#` and the merchant's label follow.
    /// Two endpoints are of the same service exactly if these texts are equal. A new API key is no new service.
    ///
    /// An API key of at least 8 characters in the wrong place is replaced, so that the text can be stored and shown. Such a base URL does
    /// not tell two services apart that differ only in it. A key that a client gets [later](crate::Client::with_api_key) changes nothing
    /// in this text.
    ///
    /// ```
    /// use payments_core::{ApiKey, Endpoint};
    ///
    /// let endpoint = Endpoint::new("HTTPS://Pay.Example.com:443/api/v1/public/", ApiKey::new("sk_live_51H")?)?;
    /// assert_eq!(endpoint.service(), "https://pay.example.com/api/v1/public");
    /// # Ok::<(), payments_core::Error>(())
    /// ```
    pub fn service(&self) -> &str {
        &self.inner.service
    }

    /// The same address with another key of the same merchant.
    pub(crate) fn with_api_key(&self, api_key: ApiKey) -> Self {
        let mut inner = Inner::clone(&self.inner);
        let earlier = mem::replace(&mut inner.api_key, api_key);
        if contains_long_secret(&inner.base_url, &[earlier.expose()])
            && !inner.keys_in_url.iter().any(|key| key.0 == earlier.0)
        {
            inner.keys_in_url.push(earlier);
        }
        Self { inner: Arc::new(inner) }
    }

    /// The same address for the merchant with this label, as in [`Client::for_merchant`](crate::Client::for_merchant).
    ///
    /// # Errors
    ///
    /// A configuration error if the label is not 1 to 64 ASCII letters, digits and `-` `.` `_`, or if it contains this key or the one
    /// before.
    ///
    /// ```
    /// use payments_core::{ApiKey, Endpoint};
    ///
    /// let shop = Endpoint::new("https://pay.example.com/api", ApiKey::new("sk_live_51H")?)?;
    /// let books = shop.for_merchant("books", ApiKey::new("sk_live_7QK")?)?;
    /// assert_eq!(books.service(), "https://pay.example.com/api#books");
    /// # Ok::<(), payments_core::Error>(())
    /// ```
    pub fn for_merchant(&self, label: &str, api_key: ApiKey) -> Result<Self, Error> {
        let is_in_labels = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if !(1..=64).contains(&label.len()) || !label.bytes().all(is_in_labels) {
            return Err(ConfigurationError::MerchantLabel.into());
        }
        let mut endpoint = self.with_api_key(api_key);
        let keys: Vec<_> = endpoint.keys().chain([self.inner.api_key.expose()]).collect();
        if contains_long_secret(label, &keys) {
            return Err(ConfigurationError::MerchantLabelIsKey.into());
        }
        let Inner { server, base, .. } = &*self.inner;
        // A base URL has no `#`, so this is never the service of another base URL.
        let service = format!("{}#{label}", service(server, base, &keys));
        Arc::make_mut(&mut endpoint.inner).service = service;
        Ok(endpoint)
    }

    /// The server, checked.
    pub(crate) fn server(&self) -> &ServerAddress {
        &self.inner.server
    }

    /// The path of the operation's requests, with a placeholder for an id, for spans and metrics.
    pub(crate) fn url_template(&self, operation: OperationName) -> String {
        let prefix = self.without_keys(path_prefix(&self.inner.base));
        [&*prefix, operation.path_template()].concat()
    }

    /// The host of the server, for spans and metrics.
    pub(crate) fn shown_host(&self) -> Cow<'_, str> {
        self.without_keys(self.server().host())
    }

    fn without_keys<'a>(&self, part: &'a str) -> Cow<'a, str> {
        redact(part, &self.keys().collect::<Vec<_>>())
    }

    /// The key, and those that the base URL may show.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        iter::once(&self.inner.api_key).chain(&self.inner.keys_in_url).map(ApiKey::expose)
    }

    pub(crate) fn api_key(&self) -> &ApiKey {
        &self.inner.api_key
    }

    /// The URL of an operation. `id` is that of a lookup, already percent-encoded.
    pub(crate) fn uri(&self, operation: OperationName, id: &str) -> Result<Uri, ConfigurationError> {
        if id.is_empty() {
            return Ok(self.inner.uris[operation as usize].clone());
        }
        uri(&self.inner.base, operation, id)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { api_key, keys_in_url: _, base_url, base: _, uris: _, server: _, service: _ } =
            &*self.inner;
        let base_url = self.without_keys(base_url);
        f.debug_struct("Endpoint").field("base_url", &base_url).field("api_key", api_key).finish()
    }
}

/// The service's API key, sent as the bare value of `Authorization`, without a scheme.
///
/// It cannot be printed: `Debug` is redacted, and there is no `Display`. Its header value is marked sensitive, so that an HTTP
/// stack that respects the mark does not log or index it. Its memory is set to zero when the last clone is dropped. Copies that an
/// HTTP stack makes are not.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// Takes the key exactly as the service issued it.
    ///
    /// # Errors
    ///
    /// A configuration error if the key is empty or contains anything but visible ASCII. A space or a line break in a key nearly
    /// always means that a file was read with its newline. The error does not show the key.
    pub fn new(key: &str) -> Result<Self, Error> {
        if key.is_empty() {
            return Err(ConfigurationError::ApiKeyEmpty.into());
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ConfigurationError::ApiKeyCharacters.into());
        }
        let wiped_on_drop = Bytes::from_owner(Zeroizing::new(key.as_bytes().to_vec()));
        let mut value = HeaderValue::from_maybe_shared(wiped_on_drop)
            .map_err(|_| ConfigurationError::ApiKeyCharacters)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    pub(crate) fn header_value(&self) -> &HeaderValue {
        &self.0
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.to_str().expect("only visible ASCII passes ApiKey::new")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.write_str("ApiKey([redacted])")
    }
}

/// The URL of an operation below this base URL.
fn uri(base: &Uri, operation: OperationName, id: &str) -> Result<Uri, ConfigurationError> {
    let collection = operation.path_template().split('{').next().unwrap_or_default();
    let path = [path_prefix(base), collection, id].concat();
    let mut parts = base.clone().into_parts();
    let path = PathAndQuery::from_maybe_shared(Bytes::from(path));
    parts.path_and_query = Some(path.map_err(unreadable)?);
    Uri::from_parts(parts).map_err(unreadable)
}

/// The path of a base URL, without a trailing slash.
fn path_prefix(base: &Uri) -> &str {
    base.path().trim_end_matches('/')
}

/// The name of the service at this base URL of this server. Somebody may have put one of these keys into it.
fn service(server: &ServerAddress, base: &Uri, keys: &[&str]) -> String {
    let (scheme, default_port) = if server.is_https() { ("https", 443) } else { ("http", 80) };
    let host = redact(server.host(), keys).to_ascii_lowercase();
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    // An IPv6 address has many spellings.
    let host = match in_brackets.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        Some(address) => format!("[{address}]"),
        None => host,
    };
    let port = Some(server.port()).filter(|port| *port != default_port);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let path = redact(path_prefix(base), keys);
    format!("{scheme}://{host}{port}{path}")
}

/// The URL without trailing slashes, and with a port such as `0443` written as `443`: HTTP stacks read the longer spelling differently.
fn in_one_spelling(base_url: &str) -> Result<Cow<'_, str>, ConfigurationError> {
    // `http::Uri` silently drops everything after `#`, so this checks the text and not the parsed URL.
    if base_url.contains('#') {
        return Err(invalid(InvalidServerAddress::EXTRAS.0));
    }
    if base_url.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err(invalid("has white space or a control character"));
    }
    let base_url = base_url.trim_end_matches('/');
    let absolute = base_url.split_once("://");
    let (scheme, rest) = absolute.ok_or_else(|| invalid(InvalidServerAddress::NOT_ABSOLUTE.0))?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    Ok(match authority.rsplit_once(':') {
        Some((host, port)) if port.starts_with('0') && is_number(port) => {
            Cow::Owned(format!("{scheme}://{host}:{}{path}", port.trim_start_matches('0')))
        }
        _ => Cow::Borrowed(base_url),
    })
}

fn unreadable<E: fmt::Display>(error: E) -> ConfigurationError {
    invalid(format!("cannot be read: {error}"))
}

fn invalid(rule: impl Into<Cow<'static, str>>) -> ConfigurationError {
    ConfigurationError::BaseUrl(rule.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Outcome};

    fn endpoint(base_url: &str) -> Result<Endpoint, Error> {
        Endpoint::new(base_url, ApiKey::new("k").unwrap())
    }

    #[test]
    fn plain_http_is_accepted_for_loopback_only_d24() {
        for good in [
            "https://pay.example.com/api/v1/public",
            "http://localhost:8080/api/v1/public",
            "http://LOCALHOST",
            "https://xn--py-via.my_host.example.com.",
            "http://127.0.0.1:1/x",
            "http://127.9.8.7",
            "https://pay.example.com:443",
            "https://[2001:db8::1]:65535/x",
            "http://[::1]:8080/x",
        ] {
            endpoint(good).expect(good);
        }
        for bad in [
            "http://pay.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "http://0.0.0.0",
            "http://[::2]",
            "ftp://localhost",
        ] {
            assert_eq!(endpoint(bad).expect_err(bad).kind(), ErrorKind::Configuration, "{bad}");
        }
    }

    #[test]
    fn userinfo_query_and_fragment_are_refused_d24() {
        for bad in [
            "https://user@pay.example.com",
            "https://user:secret@pay.example.com/x",
            "https://pay.example.com/x?y=1",
            "https://pay.example.com/x?",
            "https://pay.example.com/x#y",
            "https://pay.example.com/x#",
            "/api/v1/public",
            "pay.example.com",
            "",
            "https://",
            "https://pay.example.com/a b",
            "https://pay.example.com/a\u{3000}b",
            "https://pay.example.com/a\u{7f}b",
            "https://pay.example.com:99999",
            "https://pay.example.com:65616/x",
            "https://pay.example.com:+80",
            "https://pay.example.com:",
            "https://pay.example.com:0",
            "https://pay.example.com:000",
            "https://[pay.example.com]",
            "http://[localhost]",
            "http://[127.0.0.1]",
            "https://[fe80::1%25eth0]",
            "https://pay[::1]",
            "https://pay!example.com",
            " https://pay.example.com",
        ] {
            let error = endpoint(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Configuration, "{bad}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_refused_base_url_is_explained_and_not_shown_d24_d25() {
        let long = format!("https://pay.example.com/sk_live_51H/{}", "x".repeat(70_000));
        for (bad, reason) in [
            ("https://sk_live_51H.example.com:99999/x", "has a port that is not a number from 1 to 65535"),
            ("https://sk_live_51H.example.com:0/x", "has a port that is not a number from 1 to 65535"),
            ("https://sk_live_51H!/x", "has a host that is neither"),
            ("https://[sk_live_51H]/x", "has a host that is neither"),
            ("https://pay.example.com/sk_live_51H ", "has white space or a control character"),
            ("pay.example.com/sk_live_51H", "is not an absolute URL such as"),
            ("ftp://pay.example.com/sk_live_51H", "is neither https nor http"),
            ("http://pay.example.com/sk_live_51H", "is not https; plain http"),
            ("https://sk_live_51H@pay.example.com", "contains a user name"),
            ("https://pay.example.com/x?key=sk_live_51H", "contains a user name, a query"),
            ("https://pay.example.com/x#sk_live_51H", "contains a user name, a query or a fragment"),
            ("https://pay.example.com/<sk_live_51H>", "cannot be read: invalid uri character"),
            (&long, "cannot be read: uri too long"),
        ] {
            let message = endpoint(bad).expect_err(bad).to_string();
            assert!(message.starts_with(&format!("the base URL {reason}")), "{bad}: {message}");
            assert!(!message.contains("sk_live"), "{message}");
        }
    }

    #[test]
    fn the_path_prefix_is_kept_and_trailing_slashes_are_trimmed_d24() {
        let with_prefix = endpoint("https://pay.example.com/tenant/7/api/v1/public//").unwrap();
        let without = endpoint("https://pay.example.com").unwrap();
        for (operation, id, path) in [
            (OperationName::Transaction, "", "/transaction"),
            (OperationName::TokenTransaction, "", "/token-transaction"),
            (OperationName::Void, "", "/void"),
            (OperationName::GetTransaction, "txn_1", "/transaction/txn_1"),
            (OperationName::GetCustomer, "cus_1", "/customer/cus_1"),
        ] {
            let with = format!("https://pay.example.com/tenant/7/api/v1/public{path}");
            assert_eq!(with_prefix.uri(operation, id).unwrap(), *with);
            assert_eq!(without.uri(operation, id).unwrap(), *format!("https://pay.example.com{path}"));
        }
        assert_eq!(with_prefix.base_url(), "https://pay.example.com/tenant/7/api/v1/public");
        for (written, sent_to) in [
            ("https://pay.example.com:0443", "https://pay.example.com:443"),
            ("https://pay.example.com:000443/x", "https://pay.example.com:443/x"),
            ("http://[::1]:08080/x/", "http://[::1]:8080/x"),
        ] {
            assert_eq!(endpoint(written).unwrap().base_url(), sent_to, "{written}");
        }
    }

    #[test]
    fn spelling_of_a_base_url_makes_no_other_service_d47() {
        let service = |base_url: &str| endpoint(base_url).unwrap().service().to_owned();
        for (base_url, expected) in [
            ("https://pay.example.com", "https://pay.example.com"),
            ("HTTPS://PAY.example.COM:443//", "https://pay.example.com"),
            ("https://pay.example.com:0443/", "https://pay.example.com"),
            ("https://pay.example.com:000443/", "https://pay.example.com"),
            ("https://pay.example.com:8443/A/b/", "https://pay.example.com:8443/A/b"),
            ("https://pay.example.com:80", "https://pay.example.com:80"),
            ("http://LOCALHOST:80/x", "http://localhost/x"),
            ("http://localhost:443/x", "http://localhost:443/x"),
            ("https://[2001:DB8:0:0::1]:443/x", "https://[2001:db8::1]/x"),
        ] {
            assert_eq!(service(base_url), expected, "{base_url}");
        }
        // The path is the service's own, so every letter counts.
        for (one, other) in [
            ("https://a.example/x", "https://a.example/X"),
            ("https://a.example/x", "https://a.example//x"),
            ("https://a.example/x", "https://a.example"),
            ("https://a.example", "https://b.example"),
            ("https://a.example", "https://a.example."),
            ("http://127.0.0.1", "http://localhost"),
            ("http://localhost", "https://localhost"),
        ] {
            assert_ne!(service(one), service(other));
        }
    }

    #[test]
    fn service_is_the_same_with_a_new_key_and_never_shows_it_d47() {
        let service = |key: &str| {
            let key = ApiKey::new(key).unwrap();
            let base_url = format!("https://Eu-{}.example.com/{}/x", key.expose(), key.expose());
            Endpoint::new(&base_url, key).unwrap().service().to_owned()
        };
        assert_eq!(service("SK-live-51H"), "https://eu-[redacted].example.com/[redacted]/x");
        assert_eq!(service("SK-live-51H"), service("SK-live-52H"));
    }

    #[test]
    fn service_never_shows_the_key_of_a_merchant_d47() {
        let shop = endpoint("https://eu-key-of-books.example.com/key-of-books/x").unwrap();
        for shop in [shop.clone(), shop.with_api_key(ApiKey::new("key-of-toys").unwrap())] {
            let books = shop.for_merchant("books", ApiKey::new("key-of-books").unwrap()).unwrap();
            assert_eq!(books.service(), "https://eu-[redacted].example.com/[redacted]/x#books");
        }
    }

    #[test]
    fn key_in_the_path_is_in_no_text_d25() {
        let key = ApiKey::new("sk_live_51H").unwrap();
        let endpoint = Endpoint::new("https://pay.example.com/sk_live_51H/x", key).unwrap();
        let template = endpoint.url_template(OperationName::TokenTransaction);
        for text in [template, format!("{endpoint:?}"), endpoint.service().to_owned()] {
            assert!(text.contains("[redacted]/x") && !text.contains("sk_live"), "{text}");
        }
    }

    #[test]
    fn debug_shows_the_address_and_not_the_key_d25() {
        let shown = format!("{:?}", endpoint("http://localhost/").unwrap());
        assert_eq!(shown, r#"Endpoint { base_url: "http://localhost", api_key: ApiKey([redacted]) }"#);
    }

    #[test]
    fn a_key_is_visible_ascii_and_never_shown_d25() {
        for bad in ["", " ", "key\n", "a key", "key\t", "schl\u{fc}ssel", "k\0"] {
            let error = ApiKey::new(bad).expect_err("refused");
            assert_eq!(error.outcome(), Outcome::NotProcessed);
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(bad.is_empty() || bad == " " || !error.to_string().contains(bad));
        }
        let key = ApiKey::new("sk_live_51H").unwrap();
        assert_eq!(format!("{key:?} {key:#?}"), "ApiKey([redacted]) ApiKey([redacted])");
    }

    #[test]
    fn the_header_is_the_bare_key_marked_sensitive_d25() {
        let key = ApiKey::new("sk_live_51H").unwrap();
        assert_eq!(key.header_value(), "sk_live_51H");
        assert!(key.header_value().is_sensitive());
    }
}
