use std::borrow::Cow;

use bytes::Bytes;
use http::{Request, StatusCode};
use payments_fake::Tenant;

use super::Admin;
use super::refusal::Refusal;

/// A request to the admin interface, as far as a handler needs it.
pub(super) struct Ask<'a> {
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    body: &'a str,
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

    pub(super) fn body(&self) -> &str {
        self.body
    }

    /// Whose books are asked for: those of the key in the query, or the first one's.
    pub(super) fn tenant(&self, admin: &Admin) -> Result<Tenant, Refusal> {
        match self.parameter("api_key") {
            None => Ok(admin.gateway.first_tenant()),
            Some(key) => admin.gateway.tenant(key).ok_or_else(|| {
                Refusal::new(StatusCode::NOT_FOUND, "this sandbox does not accept that api_key")
            }),
        }
    }
}
