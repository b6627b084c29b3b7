use std::fmt;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Uri};
use payments_model::unversioned::redact;

use super::deadlines::Deadlines;
use super::error::{TransportError, TransportErrorKind};
use super::server_address::{InvalidServerAddress, ServerAddress};
use crate::Endpoint;
use crate::operation::OperationName;

/// One request, ready to be sent once, with its deadlines and its response cap.
///
/// `Authorization` is set and marked sensitive, the URI is absolute, and the body of a POST is never empty. The body
/// contains card data, so `Debug` shows only its length. If somebody has put the API key into the base URL, `Debug` masks it there.
pub struct TransportRequest {
    pub(crate) request: http::Request<Bytes>,
    pub(crate) server: Result<ServerAddress, InvalidServerAddress>,
    pub(crate) operation: OperationName,
    pub(crate) deadlines: Deadlines,
    pub(crate) response_cap: usize,
    /// Of a client: it knows the keys that the URI may show.
    pub(crate) endpoint: Option<Endpoint>,
}

impl TransportRequest {
    /// Chosen by this SDK: a response body is read up to 1 MiB. A larger one is unreadable.
    pub const DEFAULT_RESPONSE_CAP: usize = 1024 * 1024;

    /// Wraps a request with the limits that the transport must keep.
    pub fn new(
        request: http::Request<Bytes>,
        operation: OperationName,
        deadlines: Deadlines,
        response_cap: usize,
    ) -> Self {
        let server = ServerAddress::of(request.uri());
        Self { request, server, operation, deadlines, response_cap, endpoint: None }
    }

    /// The HTTP method, `POST` or `GET`.
    pub fn method(&self) -> &Method {
        self.request.method()
    }

    /// The absolute URI.
    pub fn uri(&self) -> &Uri {
        self.request.uri()
    }

    /// The server to connect to, checked when the [`Endpoint`](crate::Endpoint) was created.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] to return, because the URI names no server and nothing was sent. It never happens for a request of a
    /// [`Client`](crate::Client).
    pub fn server(&self) -> Result<&ServerAddress, TransportError> {
        let server = self.server.as_ref();
        server.map_err(|reason| TransportError::not_processed(TransportErrorKind::Other).with_source(*reason))
    }

    /// Every header to send, except `Host` and `Content-Length`, which the transport adds.
    pub fn headers(&self) -> &HeaderMap {
        self.request.headers()
    }

    /// The body, empty for a GET. Cloning it shares the bytes.
    pub fn body(&self) -> &Bytes {
        self.request.body()
    }

    /// The operation this request belongs to, for logs.
    pub fn operation(&self) -> OperationName {
        self.operation
    }

    /// The deadlines that the transport must enforce. When one passes, it reports its evidence.
    pub fn deadlines(&self) -> Deadlines {
        self.deadlines
    }

    /// How many bytes of the response body may be read. A longer body is
    /// [`TransportErrorKind::BodyTooLarge`](crate::TransportErrorKind::BodyTooLarge).
    pub fn response_cap(&self) -> usize {
        self.response_cap
    }

    /// Returns the request as a type of the `http` crate.
    ///
    /// Do not print it: the `Debug` of `http::Request<Bytes>` shows the body, including the card number.
    pub fn into_http(self) -> http::Request<Bytes> {
        self.request
    }
}

impl fmt::Debug for TransportRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, server: _, operation, deadlines, response_cap, endpoint } = self;
        let api_key = request.headers().get(AUTHORIZATION).and_then(|key| key.to_str().ok());
        let keys: Vec<_> = endpoint.iter().flat_map(Endpoint::keys).chain(api_key).collect();
        f.debug_struct("TransportRequest")
            .field("method", request.method())
            .field("uri", &format_args!("{}", redact(&request.uri().to_string(), &keys)))
            .field("operation", operation)
            .field("deadlines", deadlines)
            .field("response_cap", response_cap)
            .field("body", &format_args!("[{} bytes]", request.body().len()))
            .finish_non_exhaustive()
    }
}
