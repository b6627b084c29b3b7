use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use payments_fake::{DocumentError, NotDurable};
use serde_json::{Value, json};

/// A request to the admin interface, as far as a handler needs it.
pub(super) struct Ask<'a> {
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub(super) body: &'a str,
}

impl<'a> Ask<'a> {
    /// A parameter that the resource does not have is refused: a misspelt one must not be ignored.
    pub(super) fn read(request: &'a Request<Bytes>, parameters: &[&str]) -> Result<Self, Refusal> {
        let query = request.uri().query().unwrap_or_default();
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        if query.iter().any(|(name, _)| !parameters.contains(&name.as_ref())) {
            let known = match parameters {
                [] => "this takes no query".to_owned(),
                parameters => format!("the query may have {}", parameters.join(" and ")),
            };
            return Err(Refusal::bad_request(known));
        }
        let body = std::str::from_utf8(request.body())
            .map_err(|_| Refusal::bad_request("the body must be UTF-8"))?;
        Ok(Self { query, body })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_ref())
    }
}

/// Why something was not done. Nothing was changed.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// The methods that the path does have.
    pub(super) allow: Option<String>,
    /// The service's error body.
    pub(super) body: Value,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let body = json!({"status": "failed", "status_code": status.as_u16(), "msg": message.into()});
        Self { status, allow: None, body }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

/// With all problems of the document one by one.
impl From<DocumentError> for Refusal {
    fn from(error: DocumentError) -> Self {
        let mut refusal = Self::bad_request(error.to_string());
        if !error.problems().is_empty() {
            refusal.body["problems"] = json!(error.problems());
        }
        refusal
    }
}

impl From<NotDurable> for Refusal {
    fn from(error: NotDurable) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{error}; see the sandbox's own output"))
    }
}

/// Whether every host that is asked for is a literal address or `localhost`.
///
/// A web page cannot read another origin's responses, but a name of its own may resolve to this machine. Then the browser
/// takes the sandbox for the page's own server and sends no `Origin`, and only the name shows it.
pub(super) fn is_for_local_host(headers: &HeaderMap) -> bool {
    headers.get_all(HOST).iter().all(|host| host.to_str().is_ok_and(is_address_or_localhost))
}

/// Whether the page that asks was served by this sandbox. Its host must be a literal address or `localhost` here too: a
/// page of a name that resolves to this machine is of the same origin.
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
    fn an_address_and_localhost_are_local_and_no_other_name_is() {
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
        assert!(is_for_local_host(&HeaderMap::new()), "no browser leaves it out");
    }
}
