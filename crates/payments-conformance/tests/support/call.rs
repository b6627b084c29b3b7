use std::future::Future;
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use payments_core::{TransportError, TransportResponse};

use super::exchange::Exchange;

type Outcome = Result<TransportResponse, TransportError>;

/// A call under way on a thread of its own. Dropping it shuts its socket.
pub(crate) struct Call {
    state: Arc<Mutex<State>>,
    goes_on: bool,
}

#[derive(Default)]
pub(crate) struct State {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
    socket: Option<TcpStream>,
    pub(crate) dropped: bool,
}

impl Call {
    pub(crate) fn begin(exchange: Exchange, goes_on: bool) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let told = Arc::clone(&shared);
            // A panic is an outcome: the kit is to hear of it where it waits.
            let outcome = thread::spawn(move || exchange.run(&shared)).join();
            let mut state = told.lock().unwrap();
            state.socket = None;
            state.outcome = outcome.ok();
            let (waker, panicked) = (state.waker.take(), state.outcome.is_none());
            state.dropped |= panicked;
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self { state, goes_on }
    }
}

impl State {
    /// `false` if nobody waits any more.
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
        if !self.goes_on {
            state.dropped = true;
            if let Some(socket) = state.socket.take() {
                drop(socket.shutdown(Shutdown::Both));
            }
        }
    }
}
