use std::error::Error;
use std::future::{Future, pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use hyper_util::client::legacy::connect::Connection;
use tokio::time::{Instant, timeout_at};
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// The connection that the current call waits for.
    ///
    /// reqwest passes only the address of a request to a connector. But it calls the connector within the future of the request
    /// that needs a connection.
    static NEEDED: Arc<Needed>;
}

/// When the connection that a call needs must be open: name resolution, TCP and TLS together.
pub(crate) struct Needed {
    by: Instant,
    /// Whether the request still waited for its connection when it was polled last, or was never polled.
    is_opening: AtomicBool,
}

impl Needed {
    pub(crate) fn new(by: Instant) -> Arc<Self> {
        Arc::new(Self { by, is_opening: AtomicBool::new(true) })
    }

    /// Sends. A connection that this opens has the deadline.
    pub(crate) async fn during<F: Future>(self: &Arc<Self>, send: F) -> F::Output {
        let mut send = pin!(send);
        let polled = poll_fn(|context| {
            self.is_opening.store(false, Ordering::Relaxed);
            send.as_mut().poll(context)
        });
        NEEDED.scope(Arc::clone(self), polled).await
    }

    /// Whether the request is on a connection. Until then nothing was sent.
    ///
    /// hyper-util polls the connector within the request's future only as long as the request has no connection. Once it has
    /// another one from the pool, the connector goes on in the background.
    pub(crate) fn may_be_sent(&self) -> bool {
        !self.is_opening.load(Ordering::Relaxed)
    }

    /// The connector of this request is pending.
    fn pending(self: &Arc<Self>) {
        if NEEDED.try_with(|current| Arc::ptr_eq(current, self)).unwrap_or(false) {
            self.is_opening.store(true, Ordering::Relaxed);
        }
    }
}

/// Ends connecting at that deadline, and refuses HTTP/2.
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

/// Why no connection can be opened until the program is changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misconfigured(&'static str);

impl Misconfigured {
    /// tokio offers no way to ask whether a runtime has its drivers.
    pub(crate) const PANICKED: Self = Self(
        "the call panicked before it had a connection: the tokio runtime has no time driver or no network driver, or was shut down \
         (build the runtime with enable_all), or code of your own panicked",
    );
    const HTTP2: Self =
        Self("TLS has agreed on HTTP/2: preconfigured TLS must offer only `http/1.1` with ALPN");
}

type BoxError = Box<dyn Error + Send + Sync>;

impl<S, Address> Service<Address> for Connector<S>
where
    S: Service<Address, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send + 'static,
    Address: Send + 'static,
    S::Response: Connection + Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    /// The wait for a layer of the caller, such as a limit of connections, is a part of connecting.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> Self::Future {
        let needed = NEEDED.try_with(Arc::clone);
        let mut inner = self.0.clone();
        // The future has its own copy of the deadline: reqwest may finish the connection in the background, for a later request.
        let connected = async move {
            let needed = needed?;
            let connecting = async {
                poll_fn(|context| inner.poll_ready(context)).await?;
                let connection = inner.call(address).await?;
                if Instant::now() >= needed.by {
                    // This process was stopped meanwhile. A request on this connection would be sent after its deadline.
                    pending::<()>().await;
                }
                // Over HTTP/2 a response that is cut short can look whole.
                if connection.connected().is_negotiated_h2() {
                    Err(Misconfigured::HTTP2.into())
                } else {
                    Ok(connection)
                }
            };
            let mut connecting = pin!(timeout_at(needed.by, connecting));
            let polled = poll_fn(|context| {
                let polled = connecting.as_mut().poll(context);
                if polled.is_pending() {
                    needed.pending();
                }
                polled
            });
            polled.await?
        };
        Box::pin(async move {
            AssertUnwindSafe(connected).catch_unwind().await.unwrap_or(Err(Misconfigured::PANICKED.into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::task::Waker;
    use std::time::Duration;

    use hyper_util::client::legacy::connect::Connected;
    use tokio::time::error::Elapsed;
    use tokio::time::timeout;

    use super::*;

    /// Opens a connection at once, or never.
    #[derive(Clone, Copy, Debug)]
    enum Open {
        Http1,
        Http2,
        Never,
        /// Another connection has to be closed first.
        Unready,
    }

    impl Connection for Open {
        fn connected(&self) -> Connected {
            if matches!(self, Self::Http2) { Connected::new().negotiated_h2() } else { Connected::new() }
        }
    }

    impl Service<()> for Open {
        type Response = Self;
        type Error = BoxError;
        type Future = Pin<Box<dyn Future<Output = Result<Self, BoxError>> + Send>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            if matches!(self, Self::Unready) { Poll::Pending } else { Poll::Ready(Ok(())) }
        }

        fn call(&mut self, (): ()) -> Self::Future {
            if matches!(self, Self::Never) { Box::pin(pending()) } else { Box::pin(ready(Ok(*self))) }
        }
    }

    /// As hyper-util does.
    async fn connect(open: Open) -> Result<Open, BoxError> {
        let mut connector = ConnectDeadline.layer(open);
        poll_fn(|context| connector.poll_ready(context)).await?;
        connector.call(()).await
    }

    fn poll(future: Pin<&mut (impl Future + ?Sized)>) {
        assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }

    #[tokio::test]
    async fn a_connection_that_opens_after_its_deadline_is_not_used_d23() {
        for open in [Open::Http1, Open::Never, Open::Unready] {
            let needed = Needed::new(Instant::now());
            let connected = timeout(Duration::from_secs(10), needed.during(connect(open))).await;
            let connected = connected.expect("it ends by its deadline");
            assert!(connected.unwrap_err().is::<Elapsed>(), "{open:?}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_speaks_http2_is_not_used_d08() {
        let needed = Needed::new(Instant::now() + Duration::from_mins(1));
        assert!(needed.during(connect(Open::Http2)).await.unwrap_err().is::<Misconfigured>());
    }

    #[tokio::test]
    async fn a_request_waits_only_while_its_own_connector_is_polled_d23() {
        let needed = Needed::new(Instant::now() + Duration::from_mins(1));
        for open in [Open::Never, Open::Unready] {
            poll(pin!(needed.during(connect(open))));
            assert!(!needed.may_be_sent(), "{open:?}");
        }

        let sent = needed.during(async {
            connect(Open::Http1).await.unwrap();
            pending::<()>().await;
        });
        poll(pin!(sent));
        assert!(needed.may_be_sent(), "it has its connection");

        #[expect(clippy::async_yields_async, reason = "it is polled after the request has left it")]
        let in_background = needed.during(async { ConnectDeadline.layer(Open::Never).call(()) });
        let mut in_background = in_background.await;
        poll(in_background.as_mut());
        assert!(needed.may_be_sent(), "it took a connection of the pool");
    }
}
