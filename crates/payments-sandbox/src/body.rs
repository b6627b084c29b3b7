use std::convert::Infallible;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};

/// What a response consists of: all of it at once, or a stream.
pub(crate) type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;

pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(bytes.into()))
}

/// A response of the sandbox itself; the service's come from the gateway.
pub(crate) fn json(status: StatusCode, json: impl Into<Bytes>) -> Response<Bytes> {
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    response.body(json.into()).expect("the header is valid")
}
