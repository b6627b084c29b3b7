use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use payments_core::OperationName;

use crate::{ManualClock, Phase};

/// Holds requests in flight until the test has done what it wants to do meanwhile.
///
/// [`FakeGateway::gate`](crate::FakeGateway::gate) closes one before the commit,
/// [`FakeGateway::gate_after_commit`](crate::FakeGateway::gate_after_commit) one after it. Every request of the operation
/// that comes is held until [`release`](Self::release), or until the gate is dropped, so that no test hangs on a gate it
/// forgot. A client that gives up while it is held was charged if the gate stands after the commit, and was not and
/// never will be if it stands before.
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
/// gateway.ledger().assert_nothing_charged(); // in flight: what does the shop show now?
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

    /// Lets every held request go on, and every later one pass.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.latch.change(|state| state.open = true);
    }
}

/// What a gate and the requests held by it share.
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
    /// Holds the caller until the gate opens. The automatic clock stands still meanwhile: a deadline must not end a
    /// request that the test holds.
    pub(crate) async fn hold(self: Arc<Self>, clock: &ManualClock) {
        let _standstill = clock.stand_still();
        self.change(|state| state.held += 1);
        let held = Held(self);
        poll_fn(|context| held.0.wait_until(context.waker(), |state| state.open)).await;
    }

    fn wait_until(&self, waker: &Waker, is_reached: impl Fn(&State) -> bool) -> Poll<()> {
        let mut state = self.state();
        if is_reached(&state) {
            return Poll::Ready(());
        }
        state.waiting.push(waker.clone());
        Poll::Pending
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn is_open(&self) -> bool {
        self.state().open
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One held request; dropped when it goes on or is given up.
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
        self.0.retain(|latch| !latch.is_open());
        let latch = Arc::new(Latch { operation, phase, state: Mutex::default() });
        self.0.push(Arc::clone(&latch));
        Gate { latch }
    }

    /// The gate that a request of this operation meets now.
    pub(crate) fn closed(&self, operation: OperationName, phase: Phase) -> Option<Arc<Latch>> {
        let meets =
            |latch: &&Arc<Latch>| latch.operation == operation && latch.phase == phase && !latch.is_open();
        self.0.iter().find(meets).cloned()
    }
}
