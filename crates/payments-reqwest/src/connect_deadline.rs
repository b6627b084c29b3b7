use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, timeout_at};
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// The connect deadline of the current request.
    ///
    /// reqwest passes only the address of a request to a connector. But it calls the connector within the future of the request that
    /// needs a connection.
    static CONNECT_BY: Instant;
}

/// Runs `send` with a deadline for a new connection: name resolution, TCP and TLS together.
pub(crate) async fn with_connect_deadline<F: Future>(deadline: Instant, send: F) -> F::Output {
    CONNECT_BY.scope(deadline, send).await
}

/// Ends connecting at that deadline.
///
/// The error then comes from the connector, so reqwest reports it with `is_connect()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectDeadline;

impl<S> Layer<S> for ConnectDeadline {
    type Service = Connector<S>;

    fn layer(&self, inner: S) -> Connector<S> {
        Connector(inner)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Connector<S>(S);

type BoxError = Box<dyn Error + Send + Sync>;

impl<S, Address> Service<Address> for Connector<S>
where
    S: Service<Address, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, address: Address) -> Self::Future {
        let deadline = CONNECT_BY.try_with(|deadline| *deadline);
        let connecting = self.0.call(address);
        // The future has its own copy of the deadline: reqwest may finish the connection in the background, for a later request.
        Box::pin(async move { timeout_at(deadline?, connecting).await? })
    }
}
