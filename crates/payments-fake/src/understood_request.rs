use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::RequestMembers;
use payments_model::{TokenTransaction, TransactionRequest, UnknownFields, ValidationError, Void};

use crate::answer;
use crate::fault::{Fault, RequestedFault};
use crate::route::Route;

/// A request as far as it can be understood without anything that the service keeps. This is most of the work on it, and
/// is done before the gateway's lock is taken: others need not wait for it.
pub(crate) struct UnderstoodRequest {
    /// The operation that its method and path are those of.
    pub(crate) operation: Option<OperationName>,
    /// The fault that it asks for itself.
    pub(crate) fault: Option<Fault>,
    pub(crate) api_key: Option<HeaderValue>,
    pub(crate) asked: Asked,
}

/// What a request asks for.
pub(crate) enum Asked {
    Transaction(Box<TransactionRequest>),
    TokenTransaction(Box<TokenTransaction>),
    Void(Void),
    GetTransaction(String),
    GetCustomer(String),
    /// What is refused to whoever has a key.
    Refused(Response<Bytes>),
    /// What no key would help with.
    NotFound(Response<Bytes>),
}

impl UnderstoodRequest {
    /// `members` are the body's, or what is wrong with it.
    pub(crate) fn new(
        head: &Parts,
        body: &Bytes,
        members: &Result<RequestMembers<'_>, ValidationError>,
        unknown_fields: UnknownFields,
    ) -> Self {
        let route = Route::of(&head.method, head.uri.path());
        Self {
            operation: route.operation(),
            fault: head.extensions.get().map(|RequestedFault(fault)| fault.clone()),
            api_key: only(head.headers.get_all(AUTHORIZATION).iter()).cloned(),
            asked: Asked::by(route, head, body, members, unknown_fields),
        }
    }
}

/// Two keys are none: which of them a proxy on the way looked at, nobody knows.
fn only<T>(mut values: impl Iterator<Item = T>) -> Option<T> {
    values.next().filter(|_| values.next().is_none())
}

impl Asked {
    fn by(
        route: Route<'_>,
        head: &Parts,
        body: &Bytes,
        members: &Result<RequestMembers<'_>, ValidationError>,
        unknown_fields: UnknownFields,
    ) -> Self {
        match route {
            Route::UnknownPath => {
                return Self::NotFound(answer::error(StatusCode::NOT_FOUND, "Path not found"));
            }
            Route::WrongMethod(allowed) => return Self::NotFound(answer::method_not_allowed(allowed)),
            Route::GetTransaction(id) => return Self::GetTransaction(id.into_owned()),
            Route::GetCustomer(id) => return Self::GetCustomer(id.into_owned()),
            Route::Transaction | Route::TokenTransaction | Route::Void => {}
        }
        if !is_json(&head.headers) {
            let msg = "Content-Type must be application/json";
            return Self::Refused(answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, msg));
        }
        if body.len() > MAX_BODY_BYTES {
            let msg = format!("Request body is larger than {MAX_BODY_BYTES} bytes");
            return Self::Refused(answer::error(StatusCode::PAYLOAD_TOO_LARGE, msg));
        }
        let asked = members.as_ref().map_err(Clone::clone).and_then(|members| match route {
            Route::TokenTransaction => TokenTransaction::from_members(members, unknown_fields)
                .map(|payment| Self::TokenTransaction(Box::new(payment))),
            Route::Void => Void::from_members(members, unknown_fields).map(Self::Void),
            _ => TransactionRequest::from_members(members, unknown_fields)
                .map(|payment| Self::Transaction(Box::new(payment))),
        });
        asked.unwrap_or_else(|error| Self::Refused(answer::bad_request(&error.to_string())))
    }
}

/// It holds card data: only the operation is shown.
impl fmt::Debug for UnderstoodRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, fault: _, api_key: _, asked: _ } = self;
        f.debug_struct("UnderstoodRequest").field("operation", operation).finish_non_exhaustive()
    }
}

/// A request that waits before it is processed. It holds card data; `Debug` shows nothing of it.
pub struct HeldRequest {
    pub(crate) request: Box<UnderstoodRequest>,
    /// Its number in the record of requests.
    pub(crate) number: u64,
    /// The service's when it came.
    pub(crate) epoch: u64,
}

impl fmt::Debug for HeldRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeldRequest([redacted])")
    }
}

/// Chosen by this SDK: a request's body is at most 64 KiB.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Whether the body is declared as JSON; parameters such as a charset do not matter.
fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()?.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
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
}
