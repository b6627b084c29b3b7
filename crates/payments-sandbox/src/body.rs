use std::convert::Infallible;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};

/// The body of a response: complete, or a stream.
pub(crate) type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(bytes.into()))
}

/// A response of the sandbox itself; those of the service come from the gateway.
pub(crate) fn json(status: StatusCode, json: impl Into<Bytes>) -> Response<Bytes> {
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(json.into()).expect("the header is valid")
}
