use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_channel::oneshot;
use futures_timer::Delay;
use futures_util::future::{Either, Shared, select};
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};

/// An event that is set once, from any thread. Futures and threads can wait for it.
#[derive(Clone)]
pub(crate) struct Signal {
    /// Dropped when the signal is set.
    sender: Arc<Mutex<Option<oneshot::Sender<()>>>>,
    received: Shared<oneshot::Receiver<()>>,
}

impl Default for Signal {
    fn default() -> Self {
        let (sender, received) = oneshot::channel();
        Self { sender: Arc::new(Mutex::new(Some(sender))), received: received.shared() }
    }
}

impl Signal {
    pub(crate) fn set(&self) {
        // Dropped outside the lock, because this wakes waiting tasks.
        let sender = self.sender().take();
        drop(sender);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.sender().is_none()
    }

    /// Blocks until the signal is set. Returns `false` on a timeout.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        block_on(cancel_on(self, Delay::new(timeout))).is_none()
    }

    /// Waits until the signal is set.
    pub(crate) async fn until_set(&self) {
        let _ = self.received.clone().await;
    }

    fn sender(&self) -> MutexGuard<'_, Option<oneshot::Sender<()>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the future until it completes or the signal is set. In the second case drops it and returns `None`.
pub(crate) async fn cancel_on<T>(signal: &Signal, future: impl Future<Output = T> + Send) -> Option<T> {
    match select(pin!(signal.until_set()), pin!(future)).await {
        Either::Left(_) => None,
        Either::Right((output, _)) => Some(output),
    }
}

/// Runs all futures concurrently and returns their outputs in order.
///
/// Polls only futures that were woken, as a runtime does with tasks.
pub(crate) async fn join_all<T: Send>(
    futures: impl IntoIterator<Item = impl Future<Output = T> + Send>,
) -> Vec<T> {
    FuturesOrdered::from_iter(futures).collect().await
}

/// Runs a future to completion on this thread, which sleeps while it waits.
///
/// There is no runtime: a transport that uses a runtime's sockets or timers needs that runtime's own `block_on`.
///
/// ```
/// assert_eq!(payments_conformance::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}
