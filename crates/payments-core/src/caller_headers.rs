use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use payments_model::unversioned::printable_field_name;

use crate::error::{ConfigurationError, Error};

/// Headers of the caller, sent in addition to those of this SDK: `traceparent`, `baggage`, `x-request-id` and the like.
///
/// They are sent unchanged with every attempt. An observer and `Debug` see only their names: a value, of `baggage` or a session
/// header for example, may be a secret.
///
/// ```
/// use payments_core::{CallerHeaders, ErrorKind};
///
/// # let client = payments_fake::FakeGateway::new().client();
/// let mut headers = CallerHeaders::new();
/// headers.insert("x-request-id", "req-5f1c9a04")?;
/// let error = headers.insert("Authorization", "sk_live_51H").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Configuration);
///
/// let client = client.with_headers(headers);
/// # payments_fake::block_on(client.transaction(&"txn_1".parse()?)).unwrap_err();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct CallerHeaders(HeaderMap);

impl CallerHeaders {
    /// The limit on the total length of names and values, in bytes, chosen by this SDK. A server may close the connection if the
    /// head of a request is too long, and then the outcome of a charge is unknown.
    ///
    /// It applies to each set and to all sets that are added to one request: those of [`Client::with_headers`](crate::Client) and of
    /// [`ClientBuilder::headers`](crate::ClientBuilder::headers). If they are longer together, a call fails with a configuration error
    /// before anything is sent. The headers of the current trace are added only as far as they fit.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// No headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a header, and replaces one with the same name.
    ///
    /// # Errors
    ///
    /// A configuration error, which changes nothing:
    ///
    /// - if the header belongs to the SDK or to the HTTP stack: `Authorization`, `Host`, `User-Agent`, `Content-*`, `Accept*`,
    ///   `If-*`, `Range`, `Prefer`, those that change the method, and those of the connection and of framing, such as
    ///   `Connection`, `Expect`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade` and `Proxy-*`,
    /// - if the name is not a header name, or the value contains anything but visible ASCII, spaces and tabs,
    /// - if all headers together are longer than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn insert(
        &mut self,
        name: impl TryInto<HeaderName>,
        value: impl TryInto<HeaderValue>,
    ) -> Result<(), Error> {
        let name: HeaderName = name.try_into().map_err(|_| ConfigurationError::HeaderName)?;
        let shown_name = || printable_field_name(name.as_str()).into_owned();
        let value = value.try_into().ok().filter(|value: &HeaderValue| value.to_str().is_ok());
        let value = value.ok_or_else(|| ConfigurationError::HeaderValue(shown_name()))?;
        if is_reserved(name.as_str()) {
            return Err(ConfigurationError::HeaderReserved(shown_name()).into());
        }
        let mut headers = self.0.clone();
        headers.insert(name, value);
        self.0 = Self::checked(headers)?;
        Ok(())
    }

    /// The names of the headers.
    pub fn names(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.keys()
    }

    /// These headers and others, which replace those of the same name.
    pub(crate) fn with(&self, others: &Self) -> Result<Self, ConfigurationError> {
        let mut headers = self.0.clone();
        headers.extend(others.0.clone());
        Self::checked(headers).map(Self)
    }

    /// The headers, if they are not too long.
    fn checked(headers: HeaderMap) -> Result<HeaderMap, ConfigurationError> {
        let length = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
        let is_short = headers.iter().map(length).sum::<usize>() <= Self::MAX_BYTES;
        if is_short { Ok(headers) } else { Err(ConfigurationError::HeadersTooLong) }
    }

    /// Adds the headers of OpenTelemetry's propagator, such as `traceparent`, as far as they fit. They replace none.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn add_current_trace(&mut self) {
        struct Carrier<'a>(&'a mut CallerHeaders);

        impl opentelemetry::propagation::Injector for Carrier<'_> {
            fn set(&mut self, name: &str, value: String) {
                if !self.0.0.contains_key(name) {
                    // Leaves out a header that would change the request or make it too long: telemetry must not stop a payment.
                    let _ = self.0.insert(name, value);
                }
            }
        }

        let mut carrier = Carrier(self);
        opentelemetry::global::get_text_map_propagator(|propagator| propagator.inject(&mut carrier));
    }

    /// Adds these headers to those of a request.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.insert(name, value.clone());
        }
    }
}

/// Whether a header with this lower-case name would change the meaning or framing of the request, or the possible responses.
fn is_reserved(name: &str) -> bool {
    const PREFIXES: [&str; 5] = ["accept", "content-", "if-", "proxy-", "x-http-method"];
    const NAMES: [&str; 15] = [
        "authorization",
        "connection",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "max-forwards",
        "prefer",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "x-method-override",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

impl fmt::Debug for CallerHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn headers_of_the_sdk_and_the_http_stack_are_refused() {
        let mut headers = CallerHeaders::new();
        for name in [
            "Authorization",
            "Host",
            "Content-Type",
            "Content-Length",
            "Accept",
            "Accept-Encoding",
            "Connection",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "Expect",
            "Proxy-Authorization",
            "User-Agent",
            "If-None-Match",
            "X-HTTP-Method-Override",
        ] {
            let error = headers.insert(name, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{name}");
        }
        for (name, value) in [("", "x"), ("a b", "x"), ("x-request-id", "a\nb"), ("x-request-id", "ä")] {
            let error = headers.insert(name, value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{name:?}: {value:?}");
        }
        assert!(headers.0.is_empty());
    }

    #[test]
    fn a_refused_header_is_named_and_its_value_not_shown() {
        for (name, value, message) in [
            (
                "X-Trace",
                "sk_live_51H\n",
                "the caller header x-trace is not valid: its value may contain only visible ASCII",
            ),
            (
                "x-trace",
                "sk_live_51H\u{e4}",
                "the caller header x-trace is not valid: its value may contain only visible ASCII",
            ),
            (
                "Content-MD5",
                "sk_live_51H",
                "the caller header content-md5 is reserved for this SDK or the HTTP stack",
            ),
            ("sk_live_51H: x", "1", "the name of a caller header is not one that HTTP allows"),
            ("x4242424242424242", "\n", "the caller header \"x****************\" is not valid"),
        ] {
            let error = CallerHeaders::new().insert(name, value).unwrap_err().to_string();
            assert!(error.starts_with(message) && !error.contains("sk_live"), "{error}");
        }
    }

    #[test]
    fn the_total_size_is_limited_and_the_same_name_replaces() {
        let mut headers = CallerHeaders::new();
        let longest = "x".repeat(CallerHeaders::MAX_BYTES - "baggage".len());
        headers.insert("baggage", &*longest).unwrap();
        headers.insert("Baggage", &*longest).unwrap();
        assert_eq!(headers.insert("x", "").unwrap_err().kind(), ErrorKind::Configuration);
        headers.insert("baggage", "a=1").unwrap();
        headers.insert("x", "").unwrap();
        assert_eq!(format!("{headers:?}"), r#"{"baggage", "x"}"#, "no value is shown");
    }
}
