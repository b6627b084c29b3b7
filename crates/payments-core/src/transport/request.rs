use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};

use crate::{Deadlines, OperationName};

/// One request, ready to be sent once: everything a [`Transport`](crate::Transport) needs and nothing it must decide.
///
/// `Authorization` is set and marked sensitive, the URI is absolute, and the body of a POST is never empty. The body
/// holds card data: `Debug` shows its length alone.
pub struct TransportRequest {
    request: http::Request<Bytes>,
    operation: OperationName,
    deadlines: Deadlines,
    response_cap: usize,
}

impl TransportRequest {
    /// Chosen by this SDK: an answer's body is read up to 1 MiB; a larger one is unreadable.
    pub const DEFAULT_RESPONSE_CAP: usize = 1024 * 1024;

    /// Wraps a built request with what the transport must keep to while it sends it.
    pub fn new(
        request: http::Request<Bytes>,
        operation: OperationName,
        deadlines: Deadlines,
        response_cap: usize,
    ) -> Self {
        Self { request, operation, deadlines, response_cap }
    }

    /// The HTTP method, `POST` or `GET`.
    pub fn method(&self) -> &Method {
        self.request.method()
    }

    /// The absolute URI.
    pub fn uri(&self) -> &Uri {
        self.request.uri()
    }

    /// Every header to send. `Host` and `Content-Length` are the transport's to add.
    pub fn headers(&self) -> &HeaderMap {
        self.request.headers()
    }

    /// The body; empty for a GET. Cloning it shares the bytes, it does not copy them.
    pub fn body(&self) -> &Bytes {
        self.request.body()
    }

    /// The operation this request belongs to, for logs.
    pub fn operation(&self) -> OperationName {
        self.operation
    }

    /// The deadlines the transport must enforce, reporting its evidence when one ends.
    pub fn deadlines(&self) -> Deadlines {
        self.deadlines
    }

    /// How many bytes of the answer's body may be read; a longer one is
    /// [`TransportErrorKind::BodyTooLarge`](crate::TransportErrorKind::BodyTooLarge).
    pub fn response_cap(&self) -> usize {
        self.response_cap
    }

    /// The request in the `http` crate's terms, for stacks that speak it.
    ///
    /// Do not print it: unlike this type's own, the `Debug` of `http::Request<Bytes>` shows the body, card number and
    /// all.
    pub fn into_http(self) -> http::Request<Bytes> {
        self.request
    }
}

impl fmt::Debug for TransportRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, operation, deadlines, response_cap } = self;
        f.debug_struct("TransportRequest")
            .field("method", request.method())
            .field("uri", request.uri())
            .field("operation", operation)
            .field("deadlines", deadlines)
            .field("response_cap", response_cap)
            .field("body", &format_args!("[{} bytes]", request.body().len()))
            .finish_non_exhaustive()
    }
}
