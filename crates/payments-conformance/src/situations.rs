use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_timer::Delay;

use crate::Stack;
use crate::violation::Violation;
use crate::test_request::TestRequest;
use crate::contract::Harness;
use crate::connection::Connection;
use crate::journal::Received;
use crate::script::Act;
use crate::completed_call::CompletedCall;
use crate::test_run::TestRun;

/// Situations that many contracts share.
impl<S: Stack> Harness<'_, S> {
    /// What a payment gives that meets this act, on a new connection and on one that has served before.
    pub(crate) fn new_and_reused(
        &self,
        what: &str,
        act: &Act,
        prepare: impl Fn(TestRequest) -> TestRequest,
        check: impl Fn(&TestRun<'_, S>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.with_script(what, [act.clone()], |run| {
            let call = run.send(prepare(run.charge()))?;
            check(run, &call)
        })?;
        let what = format!("answers a first request; with the second it {what}");
        self.with_script(&what, [Act::Echo, act.clone()], |run| {
            run.round_trip()?;
            let call = run.send(prepare(run.charge()))?;
            check(run, &call)
        })
    }

    /// What a payment gives whose request was read whole and then meets `fate`.
    ///
    /// Whatever comes after it, on whichever connection, is echoed.
    pub(crate) fn on_first_request(
        &self,
        what: &str,
        action: impl Fn(&mut Connection, &Received) + Send + Sync + 'static,
        prepare: impl Fn(TestRequest) -> TestRequest,
        check: impl Fn(&TestRun<'_, S>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.with_server(what, first_then_echo(action), |run| {
            let call = run.send(prepare(run.charge()))?;
            check(run, &call)
        })
    }

    /// The same for the second payment: the connection stands by then, so its deadline need not be long enough to make
    /// one on a slow machine.
    pub(crate) fn on_second_request(
        &self,
        what: &str,
        action: impl Fn(&mut Connection, &Received) + Send + Sync + 'static,
        prepare: impl Fn(TestRequest) -> TestRequest,
        check: impl Fn(&TestRun<'_, S>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let what = format!("answers a first request; with the second it {what}");
        self.with_server(&what, nth_then_echo(1, action), |run| {
            run.round_trip()?;
            let call = run.send(prepare(run.charge()))?;
            check(run, &call)
        })
    }

    /// Bytes that are sent as the answer to one payment, after which the connection is left open.
    pub(crate) fn respond_to_first(
        &self,
        what: &str,
        bytes: impl Into<Vec<u8>>,
        check: impl Fn(&TestRun<'_, S>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let bytes = bytes.into();
        let action = move |connection: &mut Connection, _: &Received| {
            connection.write(&bytes);
        };
        // Whoever waits for more than was sent need not wait long.
        self.on_first_request(what, action, |charge| charge.total(MEDIUM), check)
    }
}

/// The first request of all connections meets `fate`; the rest of what comes is echoed.
pub(crate) fn first_then_echo(
    action: impl Fn(&mut Connection, &Received) + Send + Sync + 'static,
) -> impl Fn(&mut Connection) + Send + Sync + 'static {
    nth_then_echo(0, action)
}

/// The request of all connections that comes after so many others meets `fate`; the rest of what comes is echoed.
fn nth_then_echo(
    before: usize,
    action: impl Fn(&mut Connection, &Received) + Send + Sync + 'static,
) -> impl Fn(&mut Connection) + Send + Sync + 'static {
    let requests = AtomicUsize::new(0);
    move |connection| {
        while let Some(request) = connection.read_request() {
            if requests.fetch_add(1, Ordering::SeqCst) == before {
                action(connection, &request);
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
pub(crate) const MEDIUM: Duration = Duration::from_secs(5);

/// A deadline that is waited for: long enough for a request to arrive on a busy machine over a connection that stands.
pub(crate) const SHORT: Duration = Duration::from_millis(700);

/// One that is waited for where the connection has to be made first, with TLS: a call that had no connection by then would
/// rightly be called not processed, and prove nothing.
pub(crate) const SHORT_WITH_CONNECT: Duration = Duration::from_secs(2);
