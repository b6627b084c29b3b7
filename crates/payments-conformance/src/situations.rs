use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_timer::Delay;

use crate::Stack;
use crate::breach::Breach;
use crate::charge::Charge;
use crate::contract::Stage;
use crate::conversation::Conversation;
use crate::journal::Received;
use crate::script::Act;
use crate::seen::Seen;
use crate::trial::Trial;

/// Situations that many contracts share.
impl<S: Stack> Stage<'_, S> {
    /// What a payment gives that meets this act, on a new connection and on one that has served before.
    pub(crate) fn new_and_reused(
        &self,
        what: &str,
        act: &Act,
        prepare: impl Fn(Charge) -> Charge,
        judge: impl Fn(&Trial<'_, S>, &Seen) -> Result<(), Breach>,
    ) -> Result<(), Breach> {
        self.scripted(what, [act.clone()], |trial| {
            let seen = trial.send(prepare(trial.charge()))?;
            judge(trial, &seen)
        })?;
        let what = format!("answers a first request; with the second it {what}");
        self.scripted(&what, [Act::Echo, act.clone()], |trial| {
            trial.round_trip()?;
            let seen = trial.send(prepare(trial.charge()))?;
            judge(trial, &seen)
        })
    }

    /// What a payment gives whose request was read whole and then meets `fate`.
    ///
    /// Whatever comes after it, on whichever connection, is echoed.
    pub(crate) fn first_meets(
        &self,
        what: &str,
        fate: impl Fn(&mut Conversation, &Received) + Send + Sync + 'static,
        prepare: impl Fn(Charge) -> Charge,
        judge: impl Fn(&Trial<'_, S>, &Seen) -> Result<(), Breach>,
    ) -> Result<(), Breach> {
        self.served(what, first_then_echo(fate), |trial| {
            let seen = trial.send(prepare(trial.charge()))?;
            judge(trial, &seen)
        })
    }

    /// The same for the second payment: the connection stands by then, so its deadline need not be long enough to make
    /// one on a slow machine.
    pub(crate) fn second_meets(
        &self,
        what: &str,
        fate: impl Fn(&mut Conversation, &Received) + Send + Sync + 'static,
        prepare: impl Fn(Charge) -> Charge,
        judge: impl Fn(&Trial<'_, S>, &Seen) -> Result<(), Breach>,
    ) -> Result<(), Breach> {
        let what = format!("answers a first request; with the second it {what}");
        self.served(&what, nth_then_echo(1, fate), |trial| {
            trial.round_trip()?;
            let seen = trial.send(prepare(trial.charge()))?;
            judge(trial, &seen)
        })
    }

    /// Bytes that are sent as the answer to one payment, after which the connection is left open.
    pub(crate) fn first_is_sent(
        &self,
        what: &str,
        bytes: impl Into<Vec<u8>>,
        judge: impl Fn(&Trial<'_, S>, &Seen) -> Result<(), Breach>,
    ) -> Result<(), Breach> {
        let bytes = bytes.into();
        let fate = move |connection: &mut Conversation, _: &Received| {
            connection.write(&bytes);
        };
        // Whoever waits for more than was sent need not wait long.
        self.first_meets(what, fate, |charge| charge.total(NOT_LONG), judge)
    }
}

/// The first request of all connections meets `fate`; the rest of what comes is echoed.
pub(crate) fn first_then_echo(
    fate: impl Fn(&mut Conversation, &Received) + Send + Sync + 'static,
) -> impl Fn(&mut Conversation) + Send + Sync + 'static {
    nth_then_echo(0, fate)
}

/// The request of all connections that comes after so many others meets `fate`; the rest of what comes is echoed.
fn nth_then_echo(
    before: usize,
    fate: impl Fn(&mut Conversation, &Received) + Send + Sync + 'static,
) -> impl Fn(&mut Conversation) + Send + Sync + 'static {
    let requests = AtomicUsize::new(0);
    move |connection| {
        while let Some(request) = connection.read_request() {
            if requests.fetch_add(1, Ordering::SeqCst) == before {
                fate(connection, &request);
            } else if !connection.echo(&request) {
                return;
            }
        }
    }
}

/// Nothing, for a while, in the stack's own runtime: whatever runs in its background has time to run.
pub(crate) async fn pause(time: Duration) {
    Delay::new(time).await;
}

/// Bytes that a server got rid of.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn mebibytes(&self) -> usize {
        self.get().div_ceil(1024 * 1024)
    }
}

/// A deadline that healthy exchanges do not come near, and that others do not have to wait long for.
pub(crate) const NOT_LONG: Duration = Duration::from_secs(5);

/// A deadline that is waited for: long enough for a request to arrive on a busy machine over a connection that stands.
pub(crate) const SHORT: Duration = Duration::from_millis(700);

/// One that is waited for where the connection has to be made first, with TLS: a call that had no connection by then would
/// rightly be called not processed, and prove nothing.
pub(crate) const CONNECTED_BY_THEN: Duration = Duration::from_secs(2);
