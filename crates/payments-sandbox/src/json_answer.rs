use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

/// An answer of the sandbox itself; the service's come from the gateway.
pub(crate) fn json_answer(status: StatusCode, json: impl Into<Bytes>) -> Response<Bytes> {
    let mut answer = Response::new(json.into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
