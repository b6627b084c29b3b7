use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_timer::Delay;

use crate::arrivals::Received;
use crate::completed_call::CompletedCall;
use crate::connection::Connection;
use crate::harness::Harness;
use crate::signal::Signal;
use crate::test_run::TestRun;
use crate::violation::Violation;

/// Situations that many contracts share.
impl Harness<'_> {
    /// Checks the result of a payment after this many that the server echoes. It reads the whole request and then runs
    /// `action`. All later requests are echoed, on any connection.
    pub(crate) fn on_request(
        &self,
        served: usize,
        what: &str,
        action: impl Fn(&mut Connection, &Received) + Send + Sync + 'static,
        check: impl Fn(&TestRun<'_>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.with_server(&after(served, what), echo_except(served, action), |run| {
            (0..served).try_for_each(|_| run.round_trip())?;
            check(run, &run.send(run.charge())?)
        })
    }

    /// Checks the result of a payment for which the server runs `action`, on a new and on a reused connection.
    pub(crate) fn new_and_reused(
        &self,
        what: &str,
        action: impl Fn(&mut Connection, &Received) + Clone + Send + Sync + 'static,
        check: impl Fn(&TestRun<'_>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        [0, 1].into_iter().try_for_each(|served| self.on_request(served, what, action.clone(), &check))
    }

    /// Sends these bytes as the response to the first payment and leaves the connection open.
    pub(crate) fn respond_to_first(
        &self,
        what: &str,
        bytes: impl Into<Vec<u8>> + 'static,
        check: impl Fn(&TestRun<'_>, &CompletedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let script = echo_except(0, send_and(bytes, |_| {}));
        // A client that waits for more bytes must not make the test slow.
        self.with_server(what, script, |run| check(run, &run.send(run.charge().total(MEDIUM))?))
    }
}

/// The call must get its own response, and its request arrived once.
pub(crate) fn own_response_and_once(run: &TestRun<'_>, call: &CompletedCall) -> Result<(), Violation> {
    call.must_get_own_response()?;
    run.must_have_arrived_once(&call.id)
}

/// The call must be `Unknown`, and its request arrived once.
pub(crate) fn unknown_and_once(run: &TestRun<'_>, call: &CompletedCall) -> Result<(), Violation> {
    call.must_be_unknown()?;
    run.must_have_arrived_once(&call.id)
}

/// What the server does, if it first responds to this many requests.
pub(crate) fn after(served: usize, what: &str) -> String {
    match served {
        0 => what.to_owned(),
        _ => format!("responds to a first request; with the second it {what}"),
    }
}

/// Runs `action` on the request that follows this many others across all connections. Echoes all others.
pub(crate) fn echo_except(
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

/// How the server ends a connection, if at all.
pub(crate) type End = fn(&mut Connection);

/// Sends these bytes and then ends the connection in this way.
pub(crate) fn send_and(
    bytes: impl Into<Vec<u8>> + 'static,
    end: End,
) -> impl Fn(&mut Connection, &Received) + Clone + Send + Sync + 'static {
    let bytes = bytes.into();
    move |connection, _| {
        connection.write(&bytes);
        end(connection);
    }
}

/// Sleeps in the stack's runtime, so that its background tasks can run.
pub(crate) async fn pause(time: Duration) {
    Delay::new(time).await;
}

/// What a server and its contract tell each other. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Steps {
    /// The request has arrived, as far as the server waits for it.
    pub(crate) arrived: Signal,
    /// The server may go on.
    pub(crate) go: Signal,
    /// The client has closed the connection.
    pub(crate) closed: Signal,
    /// How much arrived until then.
    pub(crate) read: Counter,
}

impl Steps {
    /// Reads the beginning of the first connection's request, and the rest only when it may go on. Serves all other connections.
    pub(crate) fn stop_reading(&self) -> impl Fn(&mut Connection) + Send + Sync + 'static {
        let steps = self.clone();
        move |connection| {
            if connection.index > 0 {
                connection.serve();
            } else if connection.read_at_least(2000) {
                steps.arrived.set();
                steps.go.wait(2 * MEDIUM);
                steps.read.add(connection.wait_for_close());
                steps.closed.set();
            }
        }
    }
}

/// How many bytes a server has sent, or another count.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A length of more bytes than the socket buffers of both sides hold.
pub(crate) const LARGE: usize = 32 * 1024 * 1024;

/// A deadline that a healthy exchange never reaches, and that is short enough to wait for in a failing test.
pub(crate) const MEDIUM: Duration = Duration::from_secs(5);

/// A deadline that the test waits for. Enough for a request to arrive on a busy machine over an open connection.
pub(crate) const SHORT: Duration = Duration::from_millis(700);

/// Like `SHORT`, but with time to connect with TLS. Without a connection the call could correctly be reported as not
/// processed, which would prove nothing.
pub(crate) const SHORT_WITH_CONNECT: Duration = Duration::from_secs(2);
