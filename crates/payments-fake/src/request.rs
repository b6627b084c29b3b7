use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::RequestMembers;
use payments_model::{TokenTransaction, TransactionRequest, UnknownFields, ValidationError, Void};

use crate::fault::{Fault, RequestedFault};
use crate::reply;

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
                return Self::NotFound(reply::error(StatusCode::NOT_FOUND, "Path not found"));
            }
            Route::WrongMethod(allowed) => return Self::NotFound(reply::method_not_allowed(allowed)),
            Route::GetTransaction(id) => return Self::GetTransaction(id.into_owned()),
            Route::GetCustomer(id) => return Self::GetCustomer(id.into_owned()),
            Route::Transaction | Route::TokenTransaction | Route::Void => {}
        }
        if !is_json(&head.headers) {
            let msg = "Content-Type must be application/json";
            return Self::Refused(reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, msg));
        }
        if body.len() > MAX_BODY_BYTES {
            let msg = format!("Request body is larger than {MAX_BODY_BYTES} bytes");
            return Self::Refused(reply::error(StatusCode::PAYLOAD_TOO_LARGE, msg));
        }
        let asked = members.as_ref().map_err(Clone::clone).and_then(|members| match route {
            Route::TokenTransaction => TokenTransaction::from_members(members, unknown_fields)
                .map(|payment| Self::TokenTransaction(Box::new(payment))),
            Route::Void => Void::from_members(members, unknown_fields).map(Self::Void),
            _ => TransactionRequest::from_members(members, unknown_fields)
                .map(|payment| Self::Transaction(Box::new(payment))),
        });
        asked.unwrap_or_else(|error| Self::Refused(reply::bad_request(&error.to_string())))
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

/// The path prefix of the interface's version, with which every base address ends.
const PATH_PREFIX: &str = "/api/v1/public";

/// What a request line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Transaction,
    TokenTransaction,
    Void,
    GetTransaction(Cow<'a, str>),
    GetCustomer(Cow<'a, str>),
    /// The path exists, for the named method alone.
    WrongMethod(&'static str),
    UnknownPath,
}

impl<'a> Route<'a> {
    /// Routes by method and path; a query is no part of the path.
    pub(crate) fn of(method: &Method, path: &'a str) -> Self {
        let Some(path) = path.strip_prefix(PATH_PREFIX) else { return Self::UnknownPath };
        let (route, allowed) = match path {
            "/transaction" => (Self::Transaction, Method::POST),
            "/token-transaction" => (Self::TokenTransaction, Method::POST),
            "/void" => (Self::Void, Method::POST),
            _ => match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
                Some((_, id)) if id.is_empty() || id.contains('/') => return Self::UnknownPath,
                Some(("transaction", id)) => (Self::GetTransaction(percent_decode(id)), Method::GET),
                Some(("customer", id)) => (Self::GetCustomer(percent_decode(id)), Method::GET),
                _ => return Self::UnknownPath,
            },
        };
        match allowed {
            _ if *method == allowed => route,
            Method::POST => Self::WrongMethod("POST"),
            _ => Self::WrongMethod("GET"),
        }
    }

    /// The operation, if the request is for one.
    pub(crate) fn operation(&self) -> Option<OperationName> {
        match self {
            Self::Transaction => Some(OperationName::Transaction),
            Self::TokenTransaction => Some(OperationName::TokenTransaction),
            Self::Void => Some(OperationName::Void),
            Self::GetTransaction(_) => Some(OperationName::GetTransaction),
            Self::GetCustomer(_) => Some(OperationName::GetCustomer),
            Self::WrongMethod(_) | Self::UnknownPath => None,
        }
    }
}

/// The segment with `%40` and its like decoded; an escape that is none stands for itself, and finds no record.
fn percent_decode(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            u8::from_str_radix(digits, 16).ok()
        });
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
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

    fn post(path: &str) -> Route<'_> {
        Route::of(&Method::POST, path)
    }

    fn get(path: &str) -> Route<'_> {
        Route::of(&Method::GET, path)
    }

    #[test]
    fn the_five_operations_are_found() {
        assert_eq!(post("/api/v1/public/transaction"), Route::Transaction);
        assert_eq!(post("/api/v1/public/token-transaction"), Route::TokenTransaction);
        assert_eq!(post("/api/v1/public/void"), Route::Void);
        assert_eq!(get("/api/v1/public/transaction/txn_1"), Route::GetTransaction("txn_1".into()));
        assert_eq!(get("/api/v1/public/customer/a%40b%3A%"), Route::GetCustomer("a@b:%".into()));
    }

    #[test]
    fn another_method_on_a_known_path_is_told_from_an_unknown_path() {
        assert_eq!(get("/api/v1/public/void"), Route::WrongMethod("POST"));
        assert_eq!(post("/api/v1/public/customer/cus_1"), Route::WrongMethod("GET"));
        assert_eq!(Route::of(&Method::HEAD, "/api/v1/public/customer/cus_1"), Route::WrongMethod("GET"));
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
            assert_eq!(post(path), Route::UnknownPath, "{path}");
            assert_eq!(get(path), Route::UnknownPath, "{path}");
        }
    }
}
