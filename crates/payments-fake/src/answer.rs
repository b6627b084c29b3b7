//! Every answer the fake can give, as bytes. The envelopes are the model's; this file adds HTTP around them.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use payments_model::unversioned::ErrorEnvelope;

use crate::DeclineShape;
use crate::redaction::quoted;

/// HTTP 200 in the envelope of the POST operations, around data that is JSON already, so that it is not read again. No
/// message of the interface needs an escape.
pub(crate) fn post(message: &str, data: &str) -> Response<Bytes> {
    ok(&[r#"{"status":"success","status_code":100,"message":""#, message, r#"","data":"#, data, "}"])
}

/// The same in the envelope of the GET operations.
pub(crate) fn get(message: &str, data: &str) -> Response<Bytes> {
    ok(&[r#"{"status_code":200,"message":""#, message, r#"","data":"#, data, "}"])
}

/// The error body, whose `status_code` is the HTTP status.
pub(crate) fn error(status: StatusCode, msg: impl Into<String>) -> Response<Bytes> {
    json(status, ErrorEnvelope::new(status.as_u16(), msg).encode())
}

/// HTTP 400 with the interface's prefix before the reason.
pub(crate) fn bad_request(reason: &str) -> Response<Bytes> {
    json(StatusCode::BAD_REQUEST, ErrorEnvelope::bad_request(reason).encode())
}

/// HTTP 405, naming the one method that the path has.
pub(crate) fn method_not_allowed(allow: &'static str) -> Response<Bytes> {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    answer
}

/// A decline; `data` is what the operation answers when it succeeds, as JSON.
pub(crate) fn declined(shape: DeclineShape, reason: &str, data: &str) -> Response<Bytes> {
    let failed = |status: &str| {
        ok(&[
            r#"{"status":""#,
            status,
            r#"","status_code":200,"message":"#,
            &quoted(reason),
            r#","data":"#,
            data,
            "}",
        ])
    };
    match shape {
        DeclineShape::OkFailed => failed("failed"),
        DeclineShape::OkError => failed("error"),
        DeclineShape::BadRequest => bad_request(reason),
        DeclineShape::PaymentRequired => error(StatusCode::PAYMENT_REQUIRED, reason),
    }
}

/// What a proxy shows people.
pub(crate) fn html(status: StatusCode, retry_after: Option<&HeaderValue>) -> Response<Bytes> {
    let page = format!(
        "<!DOCTYPE html>\n<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n"
    );
    finished(with_body(status, "text/html; charset=utf-8", page.into_bytes()), retry_after)
}

/// The error body under any final status.
pub(crate) fn status(status: StatusCode, retry_after: Option<&HeaderValue>) -> Response<Bytes> {
    let answer = error(status, status.canonical_reason().unwrap_or("Error"));
    finished(answer, retry_after)
}

/// Good JSON of another interface.
pub(crate) fn wrong_shape() -> Response<Bytes> {
    json(StatusCode::OK, br#"{"result":"ok"}"#.to_vec())
}

fn ok(parts: &[&str]) -> Response<Bytes> {
    json(StatusCode::OK, parts.concat().into_bytes())
}

fn json(status: StatusCode, body: Vec<u8>) -> Response<Bytes> {
    with_body(status, "application/json", body)
}

fn with_body(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An answer under a status that somebody chose, as an HTTP server would send it.
fn finished(mut answer: Response<Bytes>, retry_after: Option<&HeaderValue>) -> Response<Bytes> {
    let status = answer.status();
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED) {
        // These have no body (RFC 9110, 15.3.5, 15.3.6 and 15.4.5).
        answer.headers_mut().remove(CONTENT_TYPE);
        *answer.body_mut() = Bytes::new();
    }
    if let Some(value) = retry_after {
        answer.headers_mut().insert(RETRY_AFTER, value.clone());
    }
    answer
}
