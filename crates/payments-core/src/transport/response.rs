use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

/// The service's response, whatever its status: an HTTP 500 is a response, not a transport error.
///
/// The body may repeat card data, so `Debug` shows only its length.
pub struct TransportResponse(http::Response<Bytes>);

impl TransportResponse {
    /// Wraps a response whose body was read to its end.
    pub fn new(response: http::Response<Bytes>) -> Self {
        Self(response)
    }

    /// The final HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// The headers as received, including repeated ones.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// The body as received, not decoded.
    pub fn body(&self) -> &Bytes {
        self.0.body()
    }

    pub(crate) fn as_http(&self) -> &http::Response<Bytes> {
        &self.0
    }

    /// Returns the response as a type of the `http` crate.
    pub fn into_http(self) -> http::Response<Bytes> {
        self.0
    }
}

impl From<http::Response<Bytes>> for TransportResponse {
    fn from(response: http::Response<Bytes>) -> Self {
        Self::new(response)
    }
}

impl fmt::Debug for TransportResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(response) = self;
        f.debug_struct("TransportResponse")
            .field("status", &response.status())
            .field("body", &format_args!("[{} bytes]", response.body().len()))
            .finish_non_exhaustive()
    }
}
