use std::borrow::Cow;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::{
    CARD_FIELDS, MAX_BODY_BYTES, PAYMENT_FIELDS, RequestMembers, TOKEN_FIELDS, VOID_FIELDS, request_field,
};
use payments_model::{TokenTransaction, TransactionRequest, ValidationError, Void};
use percent_encoding::percent_decode_str;

use crate::envelope::ErrorEnvelope;
use crate::test_values::{TestField, TestValue};
use crate::{Fault, UnknownFields};

/// A request, parsed and validated without the service's state. This is most of the work on a request, and it is done before
/// the gateway's lock is taken.
pub(crate) struct ParsedRequest {
    /// The operation that the method and the path match.
    pub(crate) operation: Option<OperationName>,
    /// The fault that the request asks for, which [`FakeGateway::handle`](crate::FakeGateway::handle) describes.
    pub(crate) fault: Option<Fault>,
    pub(crate) api_key: Option<HeaderValue>,
    /// Or the refusal of a path or a method that matches no operation, whatever the key.
    pub(crate) action: Result<Action, ErrorEnvelope>,
}

/// What a request asks the service to do.
pub(crate) enum Action {
    /// With the test value in its account fields, if there is one.
    Transaction(Box<TransactionRequest>, Option<&'static TestValue>),
    TokenTransaction(Box<TokenTransaction>),
    Void(Void),
    GetTransaction(String),
    GetCustomer(String),
    /// Refused, once the key is accepted.
    Refused(ErrorEnvelope),
}

impl ParsedRequest {
    /// `members` are those of the body, or the error in it.
    pub(crate) fn new(
        head: &Parts,
        body: &Bytes,
        members: &Result<RequestMembers<'_>, ValidationError>,
        unknown_fields: UnknownFields,
    ) -> Self {
        let route = route(&head.method, head.uri.path());
        let mut keys = head.headers.get_all(AUTHORIZATION).iter();
        Self {
            operation: route.as_ref().ok().map(|(operation, _)| *operation),
            fault: head.extensions.get().cloned(),
            // Two keys count as none, because a proxy on the way may have checked either.
            api_key: keys.next().filter(|_| keys.next().is_none()).cloned(),
            action: route
                .map(|(operation, id)| Action::of(operation, id, head, body, members, unknown_fields)),
        }
    }
}

impl Action {
    fn of(
        operation: OperationName,
        id: Cow<'_, str>,
        head: &Parts,
        body: &Bytes,
        members: &Result<RequestMembers<'_>, ValidationError>,
        unknown_fields: UnknownFields,
    ) -> Self {
        match operation {
            OperationName::GetTransaction => return Self::GetTransaction(id.into_owned()),
            OperationName::GetCustomer => return Self::GetCustomer(id.into_owned()),
            _ => {}
        }
        if !is_json(&head.headers) {
            let msg = "Content-Type must be application/json";
            return Self::Refused(ErrorEnvelope::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, msg));
        }
        if body.len() > MAX_BODY_BYTES {
            let msg = format!("Request body is larger than {MAX_BODY_BYTES} bytes");
            return Self::Refused(ErrorEnvelope::new(StatusCode::PAYLOAD_TOO_LARGE, msg));
        }
        let action = members.as_ref().map_err(Clone::clone).and_then(|members| {
            let members = &match unknown_fields {
                UnknownFields::Refused => Cow::Borrowed(members),
                UnknownFields::Ignored => Cow::Owned(known(members, operation)),
            };
            match operation {
                OperationName::TokenTransaction => TokenTransaction::from_members(members)
                    .map(|payment| Self::TokenTransaction(Box::new(payment))),
                OperationName::Void => Void::from_members(members).map(Self::Void),
                _ => TransactionRequest::from_members(members).map(|payment| {
                    let is_ach = matches!(payment, TransactionRequest::Ach(_));
                    let account = if is_ach { test_account(members) } else { None };
                    Self::Transaction(Box::new(payment), account)
                }),
            }
        });
        action.unwrap_or_else(|error| Self::Refused(ErrorEnvelope::bad_request(&error.to_string())))
    }
}

/// The members that a request of this operation has. An ACH payment may have any.
fn known<'a>(members: &RequestMembers<'a>, operation: OperationName) -> RequestMembers<'a> {
    let tables = match operation {
        OperationName::TokenTransaction => [TOKEN_FIELDS, &[]],
        OperationName::Void => [VOID_FIELDS, &[]],
        _ if TransactionRequest::is_ach(members) => return members.clone(),
        _ => [PAYMENT_FIELDS, CARD_FIELDS],
    };
    members.filtered(|name| tables.iter().any(|table| table.contains(&name)))
}

/// The test value in the fields that the interface does not have, which are those of an account.
fn test_account(members: &RequestMembers<'_>) -> Option<&'static TestValue> {
    members.iter().filter(|(name, _)| request_field(name).is_none()).find_map(|(_, json)| {
        TestValue::find(TestField::AccountField, &serde_json::from_str::<Cow<'_, str>>(json).ok()?)
    })
}

/// Whether the content type is JSON; parameters such as a charset are ignored.
fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()?.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// The path prefix of the interface version. Every base URL ends with it.
pub const PATH_PREFIX: &str = "/api/v1/public";

/// The operation for a method and a path, and the id in the path. A query is not part of the path.
fn route<'a>(method: &Method, path: &'a str) -> Result<(OperationName, Cow<'a, str>), ErrorEnvelope> {
    let unknown_path = || ErrorEnvelope::new(StatusCode::NOT_FOUND, "Path not found");
    let (operation, id) = match path.strip_prefix(PATH_PREFIX).ok_or_else(unknown_path)? {
        "/transaction" => (OperationName::Transaction, ""),
        "/token-transaction" => (OperationName::TokenTransaction, ""),
        "/void" => (OperationName::Void, ""),
        path => match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
            Some((_, id)) if id.is_empty() || id.contains('/') => return Err(unknown_path()),
            Some(("transaction", id)) => (OperationName::GetTransaction, id),
            Some(("customer", id)) => (OperationName::GetCustomer, id),
            _ => return Err(unknown_path()),
        },
    };
    let allowed = if operation.moves_money() { "POST" } else { "GET" };
    // The response to a HEAD is that to a GET. A server sends only its head.
    let is_head_of_get = method == Method::HEAD && allowed == "GET";
    if method != allowed && !is_head_of_get {
        let allow = HeaderValue::from_static(allowed);
        return Err(ErrorEnvelope::wrong_method("Method not allowed", allow));
    }
    // An invalid escape is kept unchanged, and finds no record.
    Ok((operation, percent_decode_str(id).decode_utf8_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_may_have_parameters_and_any_case() {
        let is_json =
            |text: &'static str| is_json(&HeaderMap::from_iter([(CONTENT_TYPE, text.parse().unwrap())]));
        assert!(is_json("application/json") && is_json("Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonp") && !is_json(""));
        assert!(!super::is_json(&HeaderMap::new()));
    }

    type Routed<'a> = Result<(OperationName, Cow<'a, str>), ErrorEnvelope>;

    fn post(path: &str) -> Routed<'_> {
        route(&Method::POST, path)
    }

    fn get(path: &str) -> Routed<'_> {
        route(&Method::GET, path)
    }

    #[test]
    fn a_wrong_method_and_an_unknown_path_are_distinct() {
        let only = |allowed| {
            Err(ErrorEnvelope::wrong_method("Method not allowed", HeaderValue::from_static(allowed)))
        };
        assert_eq!(get("/api/v1/public/void"), only("POST"));
        assert_eq!(post("/api/v1/public/customer/cus_1"), only("GET"));
        assert_eq!(route(&Method::HEAD, "/api/v1/public/void"), only("POST"));
        let unknown_path = || Err(ErrorEnvelope::new(StatusCode::NOT_FOUND, "Path not found"));
        for path in [
            "/",
            "/transaction",
            "/api/v1/public",
            "/api/v1/public/",
            "/api/v1/public/refund",
            "/api/v1/public/transaction/",
            "/api/v1/public/transaction/a/b",
            "/api/v1/public//transaction",
            "/api/v1/publictransaction",
            "/api/v2/public/transaction",
        ] {
            assert_eq!(post(path), unknown_path(), "{path}");
            assert_eq!(get(path), unknown_path(), "{path}");
        }
    }
}
