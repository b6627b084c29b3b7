use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::error::TransportError;
use super::request::TransportRequest;
use super::response::TransportResponse;

/// An HTTP stack: one attempt, at most one transmission.
///
/// A transport sends the request once and reports the result. It follows no redirect, retries nothing and turns no status into an
/// error. It enforces the request's [`Deadlines`](crate::Deadlines) and its response cap. When it fails, it reports in
/// [`Delivery`](crate::Delivery) what it can prove: `NotProcessed` only if no byte of the request reached a connection, `Answered`
/// once a final status was read, `Unknown` in every other case.
///
/// Dropping the returned future must end the attempt.
///
/// A transport cannot make a payment hang: a [`Client`](crate::Client) ends every call shortly after the total deadline and then
/// reports [`Outcome::Unknown`](crate::Outcome::Unknown). No transport can opt out. The client polls the transport before that
/// timer, so evidence that is ready at the same moment is not lost.
///
/// # Example
///
/// A transport over a stack of your own is one function:
///
/// ```
/// use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
///
/// struct Unplugged;
///
/// impl Transport for Unplugged {
///     async fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
///         Err(TransportError::not_processed(TransportErrorKind::Connect))
///     }
/// }
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` at most once and returns the whole response, whatever its status.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if the whole response was not read, with the evidence of how far the request got.
    fn send(
        &self,
        request: TransportRequest,
    ) -> impl Future<Output = Result<TransportResponse, TransportError>> + Send;
}

impl<T: Transport> Transport for Arc<T> {
    fn send(
        &self,
        request: TransportRequest,
    ) -> impl Future<Output = Result<TransportResponse, TransportError>> + Send {
        T::send(self, request)
    }
}

type SendFuture<'a> = Pin<Box<dyn Future<Output = Result<TransportResponse, TransportError>> + Send + 'a>>;

/// The dyn-compatible form of [`Transport`], so that `Client` has no type parameter.
pub(crate) trait ErasedTransport: Send + Sync {
    fn send_boxed(&self, request: TransportRequest) -> SendFuture<'_>;
}

impl<T: Transport> ErasedTransport for T {
    fn send_boxed(&self, request: TransportRequest) -> SendFuture<'_> {
        Box::pin(self.send(request))
    }
}
