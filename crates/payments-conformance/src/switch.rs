use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A switch that is thrown once, from any thread. Futures and threads can wait for it.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    thrown: bool,
    wakers: Vec<Waker>,
}

impl Switch {
    pub(crate) fn throw(&self) {
        let mut state = self.lock();
        state.thrown = true;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.0.1.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_thrown(&self) -> bool {
        self.lock().thrown
    }

    /// Blocks until the switch is thrown, or gives `false` after `patience`.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let waited = self.0.1.wait_timeout_while(self.lock(), patience, |state| !state.thrown);
        waited.unwrap_or_else(PoisonError::into_inner).0.thrown
    }

    /// Ends when the switch is thrown.
    pub(crate) fn thrown(&self) -> Thrown {
        Thrown(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Switch::thrown`].
pub(crate) struct Thrown(Switch);

impl Future for Thrown {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.thrown {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// The future's output, or `None` if the switch is thrown first: then the future is dropped.
pub(crate) async fn unless<T>(switch: &Switch, future: impl Future<Output = T> + Send) -> Option<T> {
    let mut future = Box::pin(future);
    let mut thrown = switch.thrown();
    std::future::poll_fn(move |cx| {
        if Pin::new(&mut thrown).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        future.as_mut().poll(cx).map(Some)
    })
    .await
}
