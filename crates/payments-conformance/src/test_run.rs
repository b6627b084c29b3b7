use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use payments_core::Delivery;

use crate::any_stack::AnyTransport;
use crate::arrivals::counted;
use crate::call_log::CallLog;
use crate::completed_call::CompletedCall;
use crate::secrets;
use crate::server::Server;
use crate::signal::{Signal, cancel_on, join_all};
use crate::situations::{MEDIUM, pause};
use crate::test_request::{AMPLE, TestRequest};
use crate::violation::{Rule, Violation, ensure};
use crate::watchdog::watched;
use crate::{AnyStack, Arrivals, Setup};

/// One transport against one server, with a record of every call.
pub(crate) struct TestRun<'a> {
    stack: &'a dyn AnyStack,
    transport: Box<dyn AnyTransport + 'a>,
    /// `None` for a stack without sockets.
    server: Option<&'a Server>,
    pub(crate) arrivals: Arrivals,
    pub(crate) base_url: String,
    /// Whether the server is not the service.
    nothing_may_arrive: AtomicBool,
    next: AtomicUsize,
    calls: Mutex<Vec<CallRecord>>,
}

/// The record of one call.
struct CallRecord {
    id: String,
    delivery: Option<Delivery>,
    /// Whether it ended with a response.
    has_response: bool,
    /// `None` until the call has ended.
    summary: Option<String>,
}

impl<'a> TestRun<'a> {
    pub(crate) fn new(
        stack: &'a dyn AnyStack,
        setup: &Setup,
        server: Option<&'a Server>,
        base_url: String,
    ) -> Self {
        let (nothing_may_arrive, next, calls) =
            (AtomicBool::new(false), AtomicUsize::new(1), Mutex::default());
        let (transport, arrivals) = (stack.transport(setup), setup.arrivals.clone());
        Self { stack, transport, server, arrivals, base_url, nothing_may_arrive, next, calls }
    }

    /// A new payment with a unique id.
    pub(crate) fn charge(&self) -> TestRequest {
        self.charge_at(&self.base_url)
    }

    /// A new payment to another server.
    pub(crate) fn charge_at(&self, base_url: &str) -> TestRequest {
        TestRequest::charge(base_url, self.next_id("charge"))
    }

    /// A new lookup with a unique id.
    pub(crate) fn lookup(&self) -> TestRequest {
        TestRequest::lookup(&self.base_url, self.next_id("lookup"))
    }

    fn next_id(&self, kind: &str) -> String {
        format!("{kind}-{:05}", self.next.fetch_add(1, Ordering::SeqCst))
    }

    /// Makes one call and waits until it ends.
    pub(crate) fn send(&self, request: TestRequest) -> Result<CompletedCall, Violation> {
        let timeout = request.total.min(AMPLE) + GRACE;
        let hung = format!(
            "{} had not ended after {timeout:.1?}, but its total deadline was {:.1?}",
            request.id, request.total
        );
        self.block_on_for(timeout, &hung, self.call(request))?
    }

    /// Makes many calls at once and waits for all of them.
    pub(crate) fn send_all(
        &self,
        requests: impl IntoIterator<Item = TestRequest>,
    ) -> Result<Vec<CompletedCall>, Violation> {
        let calls: Vec<_> = requests.into_iter().map(|request| self.call(request)).collect();
        self.block_on(join_all(calls))?.into_iter().collect()
    }

    /// Makes one call that is dropped when the signal is set. Then there is no result.
    pub(crate) async fn call_until(
        &self,
        signal: &Signal,
        request: TestRequest,
    ) -> Result<Option<CompletedCall>, Violation> {
        let id = request.id.clone();
        let call = cancel_on(signal, self.call(request)).await;
        if call.is_none() {
            self.finish_record(&id, None, false, format!("{id} was dropped by its caller"));
        }
        call.transpose()
    }

    /// Makes one call, which must end by its deadline, and searches its result for secrets.
    pub(crate) async fn call(&self, request: TestRequest) -> Result<CompletedCall, Violation> {
        let (id, total) = (request.id.clone(), request.total);
        let request = request.into_transport_request();
        self.calls().push(CallRecord { id: id.clone(), delivery: None, has_response: false, summary: None });
        let started = self.stack.now();
        let result = self.transport.send(request).await;
        let call =
            CompletedCall { id, result, took: self.stack.now().saturating_duration_since(started), total };
        self.finish_record(&call.id, call.delivery(), call.result.is_ok(), call.summary());
        secrets::must_hold_no_secret(&call.result)?;
        call.must_end_by_the_deadline()?;
        Ok(call)
    }

    /// Runs a future in the stack's runtime. If it hangs, stops the server and reports a violation.
    pub(crate) fn block_on<T: Send>(&self, future: impl Future<Output = T> + Send) -> Result<T, Violation> {
        let hung = format!("no call had ended for {LONGEST:.1?}, longer than any deadline of this contract");
        self.block_on_for(LONGEST, &hung, future)
    }

    fn block_on_for<T: Send>(
        &self,
        timeout: Duration,
        found: &str,
        future: impl Future<Output = T> + Send,
    ) -> Result<T, Violation> {
        let hung = Signal::default();
        let ended_calls = || self.calls().iter().filter(|call| call.summary.is_some()).count();
        let abort = || {
            hung.set();
            if let Some(server) = self.server {
                server.stop();
            }
        };
        let output = watched(timeout, ended_calls, abort, || self.stack.block_on(cancel_on(&hung, future)));
        output.ok_or_else(|| {
            Violation::general(format!("{found}; a call must end no later than its deadline"), Rule::Ends)
        })
    }

    /// Makes a payment that the server echoes. A call after it may reuse the connection.
    pub(crate) fn round_trip(&self) -> Result<(), Violation> {
        let before = self.last_id();
        let call = self.send(self.charge().total(MEDIUM))?;
        call.must_get_own_response().map_err(|violation| violation.after(before.as_deref()))
    }

    /// The call that ended last.
    pub(crate) fn last_id(&self) -> Option<String> {
        self.calls().iter().rev().find(|call| call.summary.is_some()).map(|call| call.id.clone())
    }

    fn calls(&self) -> MutexGuard<'_, Vec<CallRecord>> {
        // Each change is complete, so the records are valid even after a panic.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a payment after a failed call. It must get its own response, on another connection.
    pub(crate) fn follow_up(&self, after: &CompletedCall) -> Result<(), Violation> {
        let next = self.send(self.charge().total(MEDIUM))?;
        self.must_be_on_different_connections(&after.id, &next.id)?;
        next.must_get_own_response().map_err(|violation| violation.after(Some(&after.id)))
    }

    /// Fails if the request reached the server more than once.
    pub(crate) fn must_have_arrived_at_most_once(&self, id: &str) -> Result<(), Violation> {
        let copies = self.arrivals.carriers_of(id).len();
        if copies < 2 {
            return Ok(());
        }
        Err(Violation::general(
            format!("{id} arrived {copies} times; it must be sent only once"),
            Rule::SendsOnce,
        ))
    }

    /// Fails unless the whole request reached the server exactly once.
    pub(crate) fn must_have_arrived_once(&self, id: &str) -> Result<(), Violation> {
        self.must_have_arrived_at_most_once(id)?;
        ensure!(!self.arrivals.carriers_of(id).is_empty(), "{id} did not arrive; it must arrive once");
        Ok(())
    }

    /// Fails unless the transport opened this many connections.
    pub(crate) fn must_have_connected(&self, times: usize, why: &str) -> Result<(), Violation> {
        let connections = self.arrivals.connections();
        let made = counted(connections, "connection");
        ensure!(connections == times, "the transport opened {made}; it must open {times}: {why}");
        Ok(())
    }

    /// Fails if both calls used the same connection.
    pub(crate) fn must_be_on_different_connections(
        &self,
        first: &str,
        second: &str,
    ) -> Result<(), Violation> {
        let connection = |id| self.arrivals.carriers_of(id).first().copied();
        ensure!(
            connection(first).is_none() || connection(first) != connection(second),
            "{second} was sent on the connection of {first}; it must use another one, because the next response on \
             that connection may belong to {first}"
        );
        Ok(())
    }

    /// No part of a request may arrive, until the end of the run.
    pub(crate) fn must_send_nothing(&self) {
        self.nothing_may_arrive.store(true, Ordering::SeqCst);
    }

    /// Checks the general rules about what was sent.
    ///
    /// After a call without a response it first watches what the transport does in the background, then drops it and waits
    /// until the server has read what was sent.
    pub(crate) fn finish(self) -> Result<(), Violation> {
        if let Some(debug) = self.transport.debug() {
            secrets::must_be_absent("the Debug output of the transport", &debug)?;
        }
        let Self { stack, transport, server, arrivals, base_url, nothing_may_arrive, calls, .. } = self;
        let calls = calls.into_inner().unwrap_or_else(PoisonError::into_inner);
        if calls.iter().any(|call| !call.has_response) {
            stack.block_on(pause(WATCHED));
        }
        drop(transport);
        if let Some(server) = server {
            stack.block_on(server.until_idle());
        }
        let is_https = base_url.starts_with("https:");
        must_be_sent_only_to_the_service(&arrivals, is_https, nothing_may_arrive.into_inner())?;
        let transmissions = arrivals.transmissions();
        must_be_sent_once(&transmissions)?;
        must_prove_what_was_not_processed(&calls, &arrivals, &transmissions)
    }

    /// What each call returned.
    pub(crate) fn call_log(&self) -> CallLog {
        let summary =
            |call: &CallRecord| call.summary.clone().unwrap_or_else(|| format!("{} had not ended", call.id));
        CallLog(self.calls().iter().map(|call| (call.id.clone(), summary(call))).collect())
    }

    fn finish_record(&self, id: &str, delivery: Option<Delivery>, has_response: bool, summary: String) {
        let mut calls = self.calls();
        // Searched from the end, because it is among the last of many calls.
        if let Some(call) = calls.iter_mut().rev().find(|call| call.id == id) {
            (call.delivery, call.has_response, call.summary) = (delivery, has_response, Some(summary));
        }
    }
}

fn must_be_sent_only_to_the_service(
    arrivals: &Arrivals,
    is_https: bool,
    nothing_may_arrive: bool,
) -> Result<(), Violation> {
    let unencrypted = arrivals.unencrypted();
    let found = if is_https && !unencrypted.is_empty() {
        format!(
            "a request was sent unencrypted to an https address, on the connections {unencrypted:?}; it must not be sent at \
             all"
        )
    } else if nothing_may_arrive && (arrivals.requests() > 0 || arrivals.unfinished_bytes() > 0) {
        "the request was sent to that server; it must not be sent at all".to_owned()
    } else {
        return Ok(());
    };
    Err(Violation::general(found, Rule::SendsOnlyToTheService))
}

fn must_be_sent_once(transmissions: &HashMap<String, Vec<usize>>) -> Result<(), Violation> {
    let Some((id, connections)) = transmissions.iter().find(|(_, connections)| connections.len() > 1) else {
        return Ok(());
    };
    let found = format!(
        "{id} was sent {} times, on the connections {connections:?}; the transport must send a request only once, whatever \
         happens to it",
        connections.len()
    );
    Err(Violation::general(found, Rule::SendsOnce))
}

/// Fails if the server read a part of a request whose call was reported as not processed, unless it refused the request with proof.
fn must_prove_what_was_not_processed(
    calls: &[CallRecord],
    arrivals: &Arrivals,
    transmissions: &HashMap<String, Vec<usize>>,
) -> Result<(), Violation> {
    let is_claim =
        |call: &&CallRecord| call.delivery == Some(Delivery::NotProcessed) && !arrivals.was_refused(&call.id);
    let claims: Vec<_> = calls.iter().filter(is_claim).collect();
    let attributed = claims.iter().find(|call| transmissions.contains_key(&call.id));
    let has_surplus = surplus(calls, transmissions, arrivals.nameless());
    let Some(call) = attributed.or_else(|| claims.first().filter(|_| has_surplus)) else { return Ok(()) };
    let is_certain = attributed.is_some() || claims.len() == 1;
    let what = if is_certain { "it" } else { "a part of it, or of another call reported so" };
    let found = format!(
        "{}; but the server read {what}. Report Unknown: NotProcessed is correct only if not one byte of the request was written \
         to a connection",
        call.summary.as_deref().unwrap_or(&call.id)
    );
    Err(Violation::general(found, Rule::ProvesNotProcessed))
}

/// Whether more requests were cut off before their ids than there are calls that may have sent one.
fn surplus(calls: &[CallRecord], transmissions: &HashMap<String, Vec<usize>>, nameless: usize) -> bool {
    let may_have_sent = |call: &&CallRecord| {
        call.delivery != Some(Delivery::NotProcessed) && !transmissions.contains_key(&call.id)
    };
    nameless > calls.iter().filter(may_have_sent).count()
}

/// How long a run with a failed or dropped call watches for what is sent in the background. Many contracts do so;
/// `a_failed_call_sends_nothing_afterwards` watches for longer.
const WATCHED: Duration = Duration::from_millis(100);

/// How long a call may run past its deadline before it counts as hung: far above the noise of a slow machine.
const GRACE: Duration = Duration::from_secs(4);

/// Longer than any contract's deadline.
const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_request_belongs_to_a_call_that_may_have_sent_it() {
        let call = |id: &str, delivery| CallRecord {
            id: id.to_owned(),
            delivery,
            has_response: false,
            summary: None,
        };
        let unsent = |id| call(id, Some(Delivery::NotProcessed));
        let lost = |id| call(id, Some(Delivery::Unknown));
        let arrived = HashMap::from([("arrived".to_owned(), vec![1])]);
        for (calls, nameless, expected) in [
            (vec![unsent("one")], 0, false),
            (vec![unsent("one")], 1, true),
            (vec![unsent("one"), unsent("two")], 1, true),
            (vec![unsent("one"), lost("arrived")], 1, true),
            (vec![unsent("one"), lost("two")], 1, false),
            (vec![unsent("one"), lost("two")], 2, true),
            (vec![unsent("one"), call("dropped", None)], 1, false),
        ] {
            let found = surplus(&calls, &arrived, nameless);
            let ids: Vec<_> = calls.iter().map(|call| &call.id).collect();
            assert_eq!(found, expected, "{nameless} of {ids:?}");
        }
        for (beginning, expected) in [
            ("P", 1),
            ("", 0),
            ("\x16\x03\x01 is a TLS handshake", 0),
            ("POST / HTTP/1.1\r\nx-conformance-id: one\r\n", 0),
        ] {
            let arrivals = Arrivals::default();
            arrivals.set_unfinished(arrivals.open(), beginning.as_bytes());
            assert_eq!(arrivals.nameless(), expected, "{beginning:?}");
        }
    }
}
