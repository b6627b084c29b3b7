use std::future::Future;
use std::time::Instant;

use payments_core::Transport;

use crate::{Abilities, Setup};

/// An HTTP stack to be put to the test: how to make its transport, and how to wait for a future.
///
/// # Example
///
/// A stack on tokio. A blocking stack leaves `block_on` out, because the kit's own needs no runtime.
///
/// ```
/// use std::future::Future;
///
/// use payments_conformance::{Setup, Stack};
/// # use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
/// # struct MyTransport;
/// # impl MyTransport {
/// #     fn trusting(_authority_pem: &str) -> Self { Self }
/// # }
/// # impl Transport for MyTransport {
/// #     async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
/// #         Err(TransportError::not_processed(TransportErrorKind::Connect))
/// #     }
/// # }
/// # struct Runtime;
/// # impl Runtime {
/// #     fn block_on<F: Future>(&self, future: F) -> F::Output { payments_conformance::block_on(future) }
/// # }
///
/// struct MyStack {
///     runtime: Runtime, // tokio::runtime::Runtime
/// }
///
/// impl Stack for MyStack {
///     type Transport = MyTransport;
///
///     fn transport(&self, setup: &Setup) -> MyTransport {
///         MyTransport::trusting(setup.authority_pem())
///     }
///
///     fn block_on<F>(&self, future: F) -> F::Output
///     where
///         F: Future + Send,
///         F::Output: Send,
///     {
///         self.runtime.block_on(future)
///     }
/// }
/// ```
pub trait Stack: Send + Sync + 'static {
    /// The transport under test.
    type Transport: Transport;

    /// Makes a new transport with connections of its own, as a program would for production.
    ///
    /// It must trust [`Setup::authority_pem`] besides or instead of the public authorities. It is called outside of any
    /// runtime, on any thread. A panic here breaks the contract that is being checked.
    fn transport(&self, setup: &Setup) -> Self::Transport;

    /// Runs a future of the stack to its end, with whatever runtime, clock and network its transport needs.
    ///
    /// The kit polls many calls in one future, so that no task has to be spawned. By default the calling thread sleeps
    /// until it is woken, which suits transports that bring their own threads.
    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        crate::block_on(future)
    }

    /// What the stack can and cannot do; by default everything that HTTP/1.1 asks for.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// The time, by the clock that the transport keeps its deadlines by: the machine's, unless the stack plays it.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// What the transport's own `Debug` shows, where it has one: the kit searches it for the key and the card.
    fn debug(&self, transport: &Self::Transport) -> Option<String> {
        let _ = transport;
        None
    }
}
