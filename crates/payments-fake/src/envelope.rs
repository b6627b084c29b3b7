//! The bytes of every response that the service writes.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use payments_model::unversioned::BAD_REQUEST_PREFIX;
use serde::Serialize;

use crate::DeclineShape;
use crate::document::to_json;

/// The interface's message for a card, ACH or token payment.
pub const TRANSACTION_PROCESSED: &str = "Transaction Processed Successfully";
/// The interface's message for a void.
pub const TRANSACTION_VOIDED: &str = "Transaction Voided Successfully";
/// The interface's message for a transaction lookup.
pub const TRANSACTION_FOUND: &str = "Transaction Details found successfully";
/// The interface's message for a customer lookup.
pub const CUSTOMER_FOUND: &str = "Customer Details found successfully";

/// An error response. In its body, `status` is `failed`, `status_code` the HTTP status, and `msg` the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEnvelope {
    status: StatusCode,
    msg: Cow<'static, str>,
    /// The methods that the path has instead.
    allow: Option<HeaderValue>,
}

impl ErrorEnvelope {
    /// The interface's `msg` for an invalid API key, HTTP 401.
    pub const INVALID_API_KEY: &'static str = "Unauthorized: Invalid API Key";
    /// The interface's `msg` for an unknown transaction, HTTP 404.
    pub const TRANSACTION_NOT_FOUND: &'static str = "Transaction not found";
    /// The interface's `msg` for an unknown customer, HTTP 404.
    pub const CUSTOMER_NOT_FOUND: &'static str = "Customer not found";

    /// An error with this HTTP status and message.
    pub fn new(status: StatusCode, msg: impl Into<Cow<'static, str>>) -> Self {
        Self { status, msg: msg.into(), allow: None }
    }

    /// HTTP 400 with the interface's prefix before the reason.
    pub fn bad_request(reason: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("{BAD_REQUEST_PREFIX}{reason}"))
    }

    /// HTTP 405 with these methods in the `Allow` header.
    pub fn wrong_method(msg: impl Into<Cow<'static, str>>, allow: HeaderValue) -> Self {
        Self { allow: Some(allow), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, msg) }
    }

    /// The message without the prefix.
    pub fn reason(&self) -> &str {
        self.msg.strip_prefix(BAD_REQUEST_PREFIX).unwrap_or(&self.msg)
    }

    /// The body as JSON.
    pub fn encode(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            status: &'a str,
            status_code: u16,
            msg: &'a str,
        }

        to_json(&Body { status: "failed", status_code: self.status.as_u16(), msg: &self.msg }).into_bytes()
    }

    /// The response.
    pub fn response(&self) -> Response<Bytes> {
        let mut response = with_body(self.status, "application/json", self.encode());
        response.headers_mut().extend(self.allow.clone().map(|allow| (ALLOW, allow)));
        response
    }
}

/// The members of every envelope with `data`.
#[derive(Serialize)]
struct Success<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    status_code: u16,
    message: &'a str,
    data: T,
}

/// The successful response to a POST: `status` is `success`, and `status_code` 100.
pub fn post(message: &str, data: impl Serialize) -> Response<Bytes> {
    ok(&Success { status: Some("success"), status_code: 100, message, data })
}

/// The successful response to a GET: `status_code` is 200, and there is no `status`.
pub fn get(message: &str, data: impl Serialize) -> Response<Bytes> {
    ok(&Success { status: None, status_code: 200, message, data })
}

/// A decline; `data` is the data of the operation's success response.
pub(crate) fn declined(shape: DeclineShape, reason: &'static str, data: impl Serialize) -> Response<Bytes> {
    let failed = |status| ok(&Success { status: Some(status), status_code: 200, message: reason, data });
    match shape {
        DeclineShape::OkFailed => failed("failed"),
        DeclineShape::OkError => failed("error"),
        DeclineShape::BadRequest => ErrorEnvelope::bad_request(reason).response(),
        DeclineShape::PaymentRequired => ErrorEnvelope::new(StatusCode::PAYMENT_REQUIRED, reason).response(),
    }
}

/// HTTP 200 with a JSON body.
pub(crate) fn ok(body: &impl Serialize) -> Response<Bytes> {
    with_body(StatusCode::OK, "application/json", to_json(body).into_bytes())
}

pub(crate) fn with_body(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
