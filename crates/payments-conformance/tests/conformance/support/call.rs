use std::future::Future;
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use payments_core::{TransportError, TransportResponse};

use super::exchange::Exchange;

type Outcome = Result<TransportResponse, TransportError>;

/// A call running on its own thread. Dropping it shuts down its socket.
pub(crate) struct Call {
    state: Arc<Mutex<State>>,
    continues_after_drop: bool,
}

#[derive(Default)]
pub(crate) struct State {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
    socket: Option<TcpStream>,
    pub(crate) dropped: bool,
}

impl Call {
    pub(crate) fn begin(exchange: Exchange, continues_after_drop: bool) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let run_state = Arc::clone(&shared);
            // Passes a panic to the caller, so that the kit sees it.
            let outcome = thread::spawn(move || exchange.run(&run_state)).join();
            let mut state = shared.lock().unwrap();
            state.socket = None;
            state.outcome = outcome.ok();
            let (waker, panicked) = (state.waker.take(), state.outcome.is_none());
            state.dropped |= panicked;
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self { state, continues_after_drop }
    }
}

impl State {
    /// Returns `false` if the call was dropped.
    pub(crate) fn uses(&mut self, socket: &TcpStream) -> bool {
        self.socket = socket.try_clone().ok();
        !self.dropped
    }
}

impl Future for Call {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.state.lock().unwrap();
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(outcome);
        }
        assert!(!state.dropped, "the call's thread panicked");
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !self.continues_after_drop {
            state.dropped = true;
            if let Some(socket) = state.socket.take() {
                drop(socket.shutdown(Shutdown::Both));
            }
        }
    }
}
