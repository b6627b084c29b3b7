//! Where the transport runs must not change where a payment goes, or end it with a panic.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use payments_core::Transport;

use crate::violation::{Violation, PANICS};
use crate::child::Child;
use crate::contract::Contract;
use crate::connection::Connection;
use crate::journal::counted;
use crate::server::{Security, Server};
use crate::situations::MEDIUM;
use crate::signal::Signal;
use crate::{Journal, Stack, Verdict};

/// The environment names a proxy for every scheme, in capitals and in small letters.
///
/// The payment goes to the server, and nothing to the proxy. The environment belongs to the whole process, so the test
/// runs itself again in a new one. Only a test made by [`contract_tests!`](crate::contract_tests) can do that: anywhere
/// else the contract does not apply, because a program that is no test must not be started twice.
pub fn the_proxy_of_the_environment_is_ignored(stack: &impl Stack) -> Verdict {
    let name = "the_proxy_of_the_environment_is_ignored";
    if let Some(child) = Child::of_this_process(name) {
        return child.send(name, stack);
    }
    let test = match Child::test(name) {
        Ok(test) => test,
        Err(verdict) => return verdict,
    };
    let why = "a variable that somebody set for another program must not decide who sees key and card";
    Contract::new(name, why).check(stack, |harness| {
        let at_proxy = Journal::default();
        let proxy = Server::start(Security::Plain, &at_proxy, |connection| {
            connection.read_at_least(1);
            connection.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
            connection.close();
        });
        harness.with_server("is not the proxy that the environment names", Connection::serve, |run| {
            let setup = harness.setup(run.journal().clone(), None);
            let mut child = Child::command(name, &test, run.base_url(), &setup)?;
            for name in ["http_proxy", "https_proxy", "all_proxy"] {
                let address = format!("http://{}", proxy.address);
                child.env(name, &address).env(name.to_ascii_uppercase(), address);
            }
            for name in ["no_proxy", "NO_PROXY", "REQUEST_METHOD"] {
                child.env_remove(name);
            }
            let output = child.output().map_err(|error| Violation::new(format!("no process: {error}")))?;
            if at_proxy.connections() > 0 {
                return Err(Violation::new("the transport went to the proxy that the environment names"));
            }
            let said = String::from_utf8_lossy(&output.stdout);
            let requests = run.journal().requests();
            if requests != 1 {
                let found = format!(
                    "with a proxy in its environment the transport sent {} to the server; it should have sent one",
                    counted(requests, "request")
                );
                return Err(Violation::new(found).detail("the process", said.trim()));
            }
            Ok(())
        })
    })
}

/// The transport is made outside of any runtime, and in one; a call is polled outside of any runtime.
///
/// It works or gives an error. It never panics, neither when it is made nor used nor dropped.
pub fn no_runtime_is_no_panic(stack: &impl Stack) -> Verdict {
    Contract::new("no_runtime_is_no_panic", PANICS).check(stack, |harness| {
        harness.with_server("answers every request", Connection::serve, |run| {
            // Made outside, where every trial makes its transport, and used inside.
            run.round_trip()?;
            let polled = catch_unwind(AssertUnwindSafe(|| {
                let mut call = pin!(run.call(run.charge()));
                call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            }));
            match polled {
                Err(_) => {
                    return Err(Violation::general(
                        "a call that was polled outside of the runtime panicked",
                        PANICS,
                    ));
                }
                Ok(Poll::Ready(Err(violation))) => return Err(violation),
                Ok(Poll::Ready(Ok(_)) | Poll::Pending) => {}
            }
            let setup = harness.setup(run.journal().clone(), None);
            let made_inside = async {
                let transport = harness.stack.transport(&setup);
                let response = transport.send(run.charge().into_transport_request()).await;
                drop(transport);
                response.is_ok()
            };
            let inside = catch_unwind(AssertUnwindSafe(|| run.block_on(made_inside)));
            match inside {
                Err(_) => Err(Violation::general(
                    "a transport that was made, used and dropped in its runtime panicked",
                    PANICS,
                )),
                Ok(Err(violation)) => Err(violation),
                Ok(Ok(false)) => Err(Violation::new("a transport that was made in its runtime did not work")),
                Ok(Ok(true)) => Ok(()),
            }
        })
    })
}

/// Two calls are made in one future, and the server answers whichever arrives first when the other has arrived.
///
/// Both are answered. Futures share threads: a `send` that blocks the thread which polls it stops every other call of
/// that thread, their deadlines with them, and so does one that makes one call at a time. A stack that cannot
/// [cancel](crate::Ability::Cancel) keeps this contract as well. The two calls of a
/// [blocking stack](crate::BlockingStack) are made by two threads.
pub fn a_call_does_not_block_its_thread(stack: &impl Stack) -> Verdict {
    let why = "a payment that waits behind another's silence can miss its deadline, and the clock that should end it \
               stands still";
    Contract::new("a_call_does_not_block_its_thread", why).check(stack, |harness| {
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
        harness.with_server("answers the call that arrives first when the other has arrived", script, |run| {
            let charges = [(); 2].map(|()| run.charge().total(SHORTER));
            let mut calls = run.send_all(charges)?;
            calls.sort_by_key(|call| call.result.is_ok());
            let [one, other] = calls.as_slice() else { return Err(Violation::new("two calls did not end twice")) };
            if one.result.is_err() && other.must_get_own_response().is_ok() {
                let wanted = format!(
                    "its own answer, which waits for {} to arrive: `send` must not block the thread that polls it, and \
                     not keep one call waiting for another",
                    other.id
                );
                return Err(one.expected(&wanted));
            }
            one.must_get_own_response()?;
            other.must_get_own_response()?;
            Ok(())
        })
    })
}

/// Sooner than the server answers by itself, and time enough for two requests to arrive.
const SHORTER: Duration = Duration::from_secs(3);
