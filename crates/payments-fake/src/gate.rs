use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use payments_core::OperationName;

use crate::{ManualClock, Phase};

/// Holds requests in flight while the test does something else.
///
/// [`FakeGateway::gate`](crate::FakeGateway::gate) closes a gate before the commit,
/// [`FakeGateway::gate_after_commit`](crate::FakeGateway::gate_after_commit) after it. Every request that gets there is held
/// until [`release`](Self::release) or until the gate is dropped, so a forgotten gate cannot hang a test. If a client
/// gives up while its request is held after the commit, it has been charged. If the request is held before the commit, the
/// client has not been charged and never will be.
///
/// ```
/// use std::thread;
/// use payments_core::OperationName;
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_fake::{FakeGateway, block_on};
///
/// let gateway = FakeGateway::new();
/// let gate = gateway.gate(OperationName::TokenTransaction);
/// let client = gateway.client();
/// let checkout = thread::spawn(move || {
///     let payment = TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive);
///     block_on(client.process_token(&payment.build().unwrap())).is_ok()
/// });
///
/// block_on(gate.arrived());
/// gateway.ledger().assert_nothing_charged(); // in flight: check what the shop shows now
/// gate.release();
/// assert!(checkout.join().unwrap());
/// ```
#[must_use = "a gate is open again once it is dropped"]
#[derive(Debug)]
pub struct Gate {
    latch: Arc<Latch>,
}

impl Gate {
    /// Waits until a request is held.
    pub async fn arrived(&self) {
        self.arrivals(1).await;
    }

    /// Waits until at least `count` requests are held at once.
    pub async fn arrivals(&self, count: usize) {
        poll_fn(|context| self.latch.wait_until(context.waker(), |state| state.held >= count)).await;
    }

    /// How many requests are held at this moment.
    pub fn held(&self) -> usize {
        self.latch.state().held
    }

    /// Lets every held request continue, and every later one pass.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.latch.open();
    }
}

/// The state that a gate shares with the requests it holds.
#[derive(Debug)]
pub(crate) struct Latch {
    operation: OperationName,
    phase: Phase,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    held: usize,
    waiting: Vec<Waker>,
}

impl Latch {
    /// Holds the caller until the gate opens. Meanwhile the automatic clock is paused, so that no deadline ends a request
    /// that the test holds.
    pub(crate) async fn hold(self: Arc<Self>, clock: &ManualClock) {
        let _pause = clock.pause();
        self.change(|state| state.held += 1);
        let held = Held(self);
        poll_fn(|context| held.0.wait_until(context.waker(), |state| state.open)).await;
    }

    fn open(&self) {
        self.change(|state| state.open = true);
    }

    fn wait_until(&self, waker: &Waker, is_reached: impl Fn(&State) -> bool) -> Poll<()> {
        let mut state = self.state();
        if is_reached(&state) {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            state.waiting.push(waker.clone());
        }
        Poll::Pending
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One held request; dropped when it continues or its client gives up.
struct Held(Arc<Latch>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.change(|state| state.held -= 1);
    }
}

/// The closed gates of one gateway.
#[derive(Default)]
pub(crate) struct Gates(Vec<Arc<Latch>>);

impl Gates {
    pub(crate) fn close(&mut self, operation: OperationName, phase: Phase) -> Gate {
        self.0.retain(|latch| !latch.state().open);
        let latch = Arc::new(Latch { operation, phase, state: Mutex::default() });
        self.0.push(Arc::clone(&latch));
        Gate { latch }
    }

    /// Opens every gate. Their owners may still exist.
    pub(crate) fn open_all(&mut self) {
        self.0.drain(..).for_each(|latch| latch.open());
    }

    /// The oldest closed gate for a request of this operation, if there is one.
    pub(crate) fn closed(&self, operation: OperationName, phase: Phase) -> Option<Arc<Latch>> {
        let is_closed =
            |latch: &&Arc<Latch>| latch.operation == operation && latch.phase == phase && !latch.state().open;
        self.0.iter().find(is_closed).cloned()
    }
}
