use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use payments_fake::unversioned::ErrorEnvelope;

/// The query and the body of a request to the admin interface.
pub(super) struct AdminRequest<'a> {
    query: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    pub(super) body: &'a str,
}

impl<'a> AdminRequest<'a> {
    /// Refuses an unknown or repeated parameter, because a misspelled one and the second of two must not be ignored.
    pub(super) fn read(request: &'a Request<Bytes>, parameters: &[&str]) -> Result<Self, ErrorEnvelope> {
        let mut query = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()) {
            if !parameters.contains(&name.as_ref()) {
                return Err(bad_request(match parameters {
                    [] => "this path accepts no query parameters".to_owned(),
                    parameters => {
                        format!(
                            "unknown query parameter; this path accepts only {}",
                            parameters.join(" and ")
                        )
                    }
                }));
            }
            if query.insert(name, value).is_some() {
                return Err(bad_request("a query parameter can be given only once"));
            }
        }
        let body = std::str::from_utf8(request.body()).map_err(|_| bad_request("the body must be UTF-8"))?;
        Ok(Self { query, body })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(AsRef::as_ref)
    }
}

/// HTTP 400 without the prefix that the service's own reasons have.
pub(super) fn bad_request(message: impl Into<Cow<'static, str>>) -> ErrorEnvelope {
    ErrorEnvelope::new(StatusCode::BAD_REQUEST, message)
}

/// Whether every `Host` is a literal address or `localhost`.
///
/// A web page cannot read responses of another origin, but its own name may resolve to this machine. Then the browser
/// treats the sandbox as the page's server and sends no `Origin`, and only the host name reveals it.
pub(super) fn is_for_local_host(headers: &HeaderMap) -> bool {
    headers.get_all(HOST).iter().all(|host| host.to_str().is_ok_and(is_address_or_localhost))
}

/// Whether the request comes from a page that this sandbox served. The host must be a literal address or `localhost` here
/// too, because a page whose name resolves to this machine has the same origin.
pub(super) fn is_own_page(origin: &HeaderValue, scheme: &str, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    is_for_local_host(headers) && *origin == format!("{scheme}://{host}")
}

fn is_address_or_localhost(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    address.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_local() {
        for local in
            ["127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost", "LOCALHOST:1", "192.0.2.1:80"]
        {
            assert!(is_address_or_localhost(local), "{local}");
        }
        for other in [
            "",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "x",
        ] {
            assert!(!is_address_or_localhost(other), "{other}");
        }
        assert!(is_for_local_host(&HeaderMap::new()), "every browser sends it");
    }
}
