//! The environment of the transport must not change where a payment goes, or cause a panic.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{process, thread};

use payments_core::Delivery;

use crate::arrivals::counted;
use crate::child::Child;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::server::{Security, Server};
use crate::signal::Signal;
use crate::situations::{LARGE, MEDIUM, SHORT_WITH_CONNECT, Steps};
use crate::test_run::TestRun;
use crate::violation::{Rule, Violation, ensure};
use crate::{AnyStack, Verdict};

/// The environment names a proxy for every scheme, in upper and lower case.
///
/// The payment must go to the server, and nothing to the proxy. Environment variables affect the whole process, so the test
/// starts itself again as a child process. Only a test created by [`contract_tests!`](crate::contract_tests) can do that;
/// anywhere else the contract does not apply.
pub fn the_proxy_of_the_environment_is_ignored(stack: &dyn AnyStack) -> Verdict {
    let name = own_name!();
    if let Some(child) = Child::of_this_process(name) {
        return child.send(name, stack, |charge| charge);
    }
    let why = "a variable set for another program must not decide who receives the API key and the card. Disable the \
               HTTP client's proxy detection";
    Contract::new(name, why).starting_a_child().check(stack, |harness| {
        let proxy = Server::start(Security::Plain, |connection| {
            connection.read_at_least(1);
            connection.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
            connection.close();
        });
        harness.with_server("is not the proxy in the environment", Connection::serve, |run| {
            let mut child = Child::command(harness, &run.base_url)?;
            for name in ["http_proxy", "https_proxy", "all_proxy"] {
                let address = format!("http://{}", proxy.address);
                child.env(name, &address).env(name.to_ascii_uppercase(), address);
            }
            for name in ["no_proxy", "NO_PROXY", "REQUEST_METHOD"] {
                child.env_remove(name);
            }
            let child = child.spawn().map_err(|error| Child::cannot_start(&error))?;
            let said = Child::output(child)?.join("\n");
            ensure!(
                dangerous unless proxy.arrivals.connections() == 0,
                "the transport connected to the proxy in the environment; it must ignore those variables"
            );
            let requests = run.arrivals.requests();
            if requests != 1 {
                let found = format!(
                    "with a proxy in its environment the transport sent {} to the server; it must send one",
                    counted(requests, "request")
                );
                return Err(Violation::new(found).detail("the process", said.trim()));
            }
            Ok(())
        })
    })
}

/// The process of the call is stopped after the payment has arrived, as by Ctrl-Z, `docker pause` or a debugger. The server
/// responds, and the process continues after its deadline.
///
/// The call must return the response. When a process continues, its timers fire at once, perhaps before the stack has read
/// what has arrived: see [`grace_after_stop`](payments_core::transport::grace_after_stop). Another process is stopped, so only
/// a test created by [`contract_tests!`](crate::contract_tests) can check this, on Unix.
pub fn an_answer_to_a_stopped_process_is_an_answer(stack: &dyn AnyStack) -> Verdict {
    let name = own_name!();
    if let Some(child) = Child::of_this_process(name) {
        return child.send(name, stack, |charge| charge.total(SHORT_WITH_CONNECT));
    }
    let why = "every payment that is in flight while a process is stopped becomes unknown, although its receipt is there";
    Contract::new(name, why).unless(NO_STOP).starting_a_child().check(stack, |harness| {
        let (arrived, stopped, answered) = (Signal::default(), Signal::default(), Signal::default());
        let script = {
            let (arrived, stopped, answered) = (arrived.clone(), stopped.clone(), answered.clone());
            move |connection: &mut Connection| {
                if connection.read_request().is_none() {
                    return;
                }
                arrived.set();
                stopped.wait(MEDIUM);
                // In pieces, which some stacks read one after the other.
                connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                connection.write("1\r\n{\r\n1\r\n}\r\n0\r\n\r\n");
                answered.set();
                connection.wait_for_close();
            }
        };
        harness.with_server("responds while the process is stopped", script, |run| {
            let (said, _) = stop_past_the_deadline(harness, run, &arrived, || {
                stopped.set();
                answered.wait(MEDIUM)
            })?;
            if !said.contains(&Child::ended_with(None)) {
                let found = "the response that arrived while the process was stopped was lost; ask \
                             `payments_core::transport::grace_after_stop` before a deadline ends the call";
                return Err(Violation::new(found).detail("the process", said.trim()));
            }
            Ok(())
        })
    })
}

/// The process of the call is stopped in the middle of a large request. The server reads on, and the process continues after its
/// deadline.
///
/// The call must be `Unknown`. What was not written by the deadline must not be written any more, except what the stack has in
/// its buffers: the time that [`grace_after_stop`](payments_core::transport::grace_after_stop) gives is for reading. It applies
/// where [`an_answer_to_a_stopped_process_is_an_answer`] does.
pub fn a_request_cut_by_a_stop_is_never_completed(stack: &dyn AnyStack) -> Verdict {
    let name = own_name!();
    if let Some(child) = Child::of_this_process(name) {
        return child.send(name, stack, |charge| charge.padded_to(LARGE).total(SHORT_WITH_CONNECT));
    }
    let why = "a process may be stopped for hours. By then the customer has paid elsewhere, and the rest of the request charges \
               the card a second time";
    Contract::new(name, why).unless(NO_STOP).starting_a_child().check(stack, |harness| {
        let steps = Steps::default();
        let what = "reads the beginning of a large request, and the rest once the process is stopped";
        harness.with_server(what, steps.stop_reading(), |run| {
            let (said, on_time) = stop_past_the_deadline(harness, run, &steps.arrived, || {
                steps.go.set();
                true
            })?;
            // The process has ended, so its connections are closed.
            steps.closed.wait(MEDIUM);
            let late = steps.read.get().saturating_sub(on_time);
            let is_unknown = said.contains(&Child::ended_with(Some(Delivery::Unknown)));
            let violation = if said.contains(&Child::ended_with(Some(Delivery::NotProcessed))) {
                let found = "the call was NotProcessed, but the server read a part of it; report Unknown";
                Violation::general(found, Rule::ProvesNotProcessed)
            } else if late > BUFFERED {
                Violation::dangerous(format!(
                    "{late} bytes of the request were sent after the call's deadline; look at the clock before each write"
                ))
            } else if is_unknown {
                return Ok(());
            } else {
                Violation::new("the call did not end with Delivery::Unknown, as a request must that was sent in part")
            };
            Err(violation.detail("the process", said.trim()))
        })
    })
}

const NO_STOP: Option<&str> =
    if cfg!(unix) { None } else { Some("this system has no signal that stops a process") };

/// Starts the process of a call, and stops it from the moment at which the request has arrived until its deadline is clearly over.
/// Returns what the process printed, and how many bytes of an incomplete request had arrived when it continued. `meanwhile` is
/// what the server does, and returns whether it was done.
fn stop_past_the_deadline(
    harness: &Harness<'_>,
    run: &TestRun<'_>,
    arrived: &Signal,
    meanwhile: impl FnOnce() -> bool,
) -> Result<(String, usize), Violation> {
    let child = Child::command(harness, &run.base_url)?.spawn();
    let child = child.map_err(|error| Child::cannot_start(&error))?;
    let has_arrived = arrived.wait(MEDIUM);
    let stopped = StoppedProcess::stop(&child);
    let is_done = meanwhile();
    // The deadline started before the request arrived.
    thread::sleep(SHORT_WITH_CONNECT);
    // What was written before the stop may still be on its way, through a proxy for example.
    let mut on_time = None;
    while on_time != Some(run.arrivals.unfinished_bytes()) {
        on_time = Some(run.arrivals.unfinished_bytes());
        thread::sleep(MEDIUM / 10);
    }
    let stopped = stopped.map(drop);
    let said = Child::output(child)?.join("\n");
    ensure!(has_arrived && is_done, "the process of the call sent no request");
    stopped.map_err(|error| {
        Violation::new(format!("cannot stop the process of the call: {error}"))
            .detail("the process", said.trim())
    })?;
    Ok((said, on_time.unwrap_or_default()))
}

/// More than a stack has in buffers of its own when its process is stopped.
const BUFFERED: usize = 1024 * 1024;

/// A process that is stopped until this is dropped.
struct StoppedProcess {
    #[cfg(unix)]
    id: rustix::process::Pid,
}

#[cfg(unix)]
impl StoppedProcess {
    /// Returns when no thread of the process runs any more. A thread that the signal has not yet reached could read the response,
    /// and the contract would check nothing.
    fn stop(child: &process::Child) -> io::Result<Self> {
        use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

        let process = Self { id: Pid::from_child(child) };
        kill_process(process.id, Signal::STOP)?;
        // It stays a child whose end can be waited for.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(process.id), options)? {
            Some(status) if status.stopped() => Ok(process),
            _ => Err(io::Error::other("it has ended")),
        }
    }
}

#[cfg(unix)]
impl Drop for StoppedProcess {
    fn drop(&mut self) {
        // One that has ended needs no signal, and one that does not continue is killed when it is late.
        let _ = rustix::process::kill_process(self.id, rustix::process::Signal::CONT);
    }
}

#[cfg(not(unix))]
impl StoppedProcess {
    fn stop(_: &process::Child) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The transport is created both inside and outside a runtime, and a call is polled outside a runtime.
///
/// It may work or return an error. It must not panic when it is created, used or dropped.
pub fn no_runtime_is_no_panic(stack: &dyn AnyStack) -> Verdict {
    let advice = "ask for the runtime first, such as with `Handle::try_current()`, and report \
                  `not_processed(TransportErrorKind::Configuration)` without one";
    Contract::new(own_name!(), Rule::DoesNotPanic.risk()).advice(advice).check(stack, |harness| {
        harness.with_server("responds to every request", Connection::serve, |run| {
            // This transport was created outside the runtime, like in every run, and is used inside.
            run.round_trip()?;
            let polled = catch_unwind(AssertUnwindSafe(|| {
                let mut call = pin!(run.call(run.charge()));
                call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            }));
            let found = "a call that was polled outside the runtime panicked; return an error instead";
            if let Poll::Ready(ended) = polled.map_err(|_| Violation::general(found, Rule::DoesNotPanic))? {
                ended?;
            }
            let setup = harness.setup(run.arrivals.clone(), None);
            let made_inside = async {
                let transport = harness.stack.transport(&setup);
                let response = transport.send(run.charge().into_transport_request()).await;
                drop(transport);
                response.is_ok()
            };
            let inside = catch_unwind(AssertUnwindSafe(|| run.block_on(made_inside)));
            let found = "a transport that was created, used and dropped in its runtime panicked";
            let works = inside.map_err(|_| Violation::general(found, Rule::DoesNotPanic))??;
            ensure!(works, "a transport created in its runtime did not work");
            Ok(())
        })
    })
}

/// Two calls run concurrently in one future. The server responds to the first request only after the second has arrived.
///
/// Both must succeed. Futures share threads: a `send` that blocks its thread also blocks every other call on that thread,
/// including their deadlines. A transport that makes only one call at a time fails too. Stacks that cannot
/// [cancel](crate::Ability::Cancel) must also keep this contract. For a [blocking stack](crate::blocking()) two threads
/// make the calls.
pub fn a_call_does_not_block_its_thread(stack: &dyn AnyStack) -> Verdict {
    let why = "a payment that waits for another one can miss its deadline, because the timer that should end it does not \
               run";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let (both_arrived, requests) = (Signal::default(), AtomicUsize::new(0));
        let script = move |connection: &mut Connection| {
            while let Some(request) = connection.read_request() {
                if requests.fetch_add(1, Ordering::SeqCst) == 0 {
                    both_arrived.wait(MEDIUM);
                } else {
                    both_arrived.set();
                }
                connection.echo(&request);
            }
        };
        harness.with_server("responds to the first request only after the second has arrived", script, |run| {
            let charges = [(); 2].map(|()| run.charge().total(SHORTER));
            let mut calls = run.send_all(charges)?;
            calls.sort_by_key(|call| call.result.is_ok());
            let [one, other] = calls.as_slice() else { return Err(Violation::new("not both calls ended")) };
            if one.result.is_err() && other.must_get_own_response().is_ok() {
                let wanted = format!(
                    "its own response, for which {} must arrive first: `send` must not block the thread that polls it \
                     or make one call wait for another",
                    other.id
                );
                return Err(one.expected(&wanted));
            }
            one.must_get_own_response()?;
            other.must_get_own_response()
        })
    })
}

/// Less than the server waits, and enough for two requests to arrive.
const SHORTER: Duration = Duration::from_secs(3);
