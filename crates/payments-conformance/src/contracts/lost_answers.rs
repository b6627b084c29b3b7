//! The request was read but the response never arrived: the situation in which a charge is sent twice or lost.

use std::time::Duration;

use crate::arrivals::counted;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::script::Act;
use crate::situations::{LARGE, MEDIUM, SHORT_WITH_CONNECT, after, pause, send_and, unknown_and_once};
use crate::violation::{Violation, ensure};
use crate::{AnyStack, Verdict};

/// The server reads the whole request and closes the connection.
///
/// It may have charged the card first. The call must be `Unknown`, on a new and on a reused connection. The request arrives
/// once: a client that retries on another connection charges the card twice.
pub fn fin_after_the_request_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        let what = "reads the whole request, then closes the connection";
        is_unknown_after(harness, what, &Act::Close)
    })
}

/// The server reads the whole request and resets the connection.
///
/// To the client's socket this looks like a connection that never worked, and some stacks report it as a connect error.
/// The call must be `Unknown`, and the request arrives once.
pub fn reset_after_the_request_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        let what = "reads the whole request, then resets the connection";
        is_unknown_after(harness, what, &Act::Reset)
    })
}

/// The server reads the whole request, sends part of a response head, and closes.
///
/// No reliable status was read. The call must be `Unknown`, and the request arrives once.
pub fn fin_within_the_head_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for half in ["H", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"] {
            let what = format!("reads the whole request, sends {half:?} and closes");
            harness.on_request(0, &what, send_and(half, Connection::close), unknown_and_once)?;
        }
        Ok(())
    })
}

/// The server reads the whole request and sends bytes that are not HTTP.
///
/// Something received the request. The call must be `Unknown`, and the request arrives once.
pub fn garbage_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        let garbage: [&'static [u8]; 5] = [
            b"\x01\x02 nonsense\r\n\r\n",
            b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
            b"<html><body>Service unavailable</body></html>\r\n\r\n",
            b"{\"status\":\"success\",\"status_code\":100}\r\n\r\n",
            b"HTTP/1.1 2xx OK\r\n\r\n",
        ];
        for bytes in garbage {
            let what = format!("reads the whole request and sends {:?}", String::from_utf8_lossy(bytes));
            is_unknown_after(harness, &what, &Act::Garbage(bytes.into()))?;
        }
        Ok(())
    })
}

/// The server reads the whole request and sends heads that some clients accept and others reject: old versions, missing
/// reason phrases, bare line feeds, folded lines, misplaced spaces, and a protocol switch that was not requested.
///
/// The transport may accept or reject such a response. But the request may have been processed, so the call must not be
/// `NotProcessed`. It ends, and the request arrives once.
pub fn odd_heads_are_never_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for head in [
            "HTTP/1.0 200 OK\r\nContent-Length: 2",
            "HTTP/1.1 200\r\nContent-Length: 2",
            "HTTP/1.1 200 \r\nContent-Length: 2",
            "HTTP/1.1 200 OK\nContent-Length: 2\n",
            "HTTP/1.1 200 OK\r\nX-Folded: one\r\n two\r\nContent-Length: 2",
            "HTTP/1.1 200 OK\r\nContent-Length : 2",
            "HTTP/1.1 200 OK\r\n: nameless\r\nContent-Length: 2",
            "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2",
            "HTTP/1.1 200 OK\r\nX-Zero: a\0b\r\nContent-Length: 2",
            "HTTP/1.1  200 OK\r\nContent-Length: 2",
            "http/1.1 200 OK\r\nContent-Length: 2",
            "HTTP/1.2 200 OK\r\nContent-Length: 2",
            "HTTP/2 200 OK\r\nContent-Length: 2",
            "HTTP/1.1 099 Low\r\nContent-Length: 2",
            "HTTP/1.1 600 High\r\nContent-Length: 2",
            "HTTP/1.1 1000 Long\r\nContent-Length: 2",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other",
            "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2",
        ] {
            let action = send_and(format!("{head}\r\n\r\n{{}}"), Connection::close);
            let what = format!("reads the whole request, responds with the head {head:?}, and closes");
            harness.on_request(0, &what, action, |run, call| {
                call.must_not_be_not_processed()?;
                run.must_have_arrived_once(&call.id)
            })?;
        }
        Ok(())
    })
}

/// The server reads part of a large request and resets the connection.
///
/// A proxy may have read more of it. The call must be `Unknown`, and the transport must not try again.
pub fn reset_during_the_request_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            connection.read_at_least(2000);
            connection.reset();
        };
        harness.with_server("reads the beginning of the request, then resets the connection", script, |run| {
            // More than the socket buffers hold, so that the write cannot finish before the reset.
            run.send(run.charge().padded_to(LARGE))?.must_be_unknown()?;
            run.must_have_connected(1, "part of the request was already sent on the first")
        })
    })
}

/// The server reads the beginning of a large request and responds with 413. Then it reads the rest or closes at once.
///
/// The network may lose the response. The call must return the response, or fail with `Unknown` or `Answered`, but never
/// `NotProcessed`. The connection must not carry another request.
pub fn an_early_answer_is_an_answer_or_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for reads_on in [true, false] {
            let script = move |connection: &mut Connection| {
                if connection.index > 0 {
                    connection.serve();
                } else if connection.read_at_least(2000) {
                    connection
                        .write("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
                    if reads_on {
                        // Another request on this connection must be seen.
                        connection.read_request();
                        connection.serve();
                    } else {
                        connection.close();
                    }
                }
            };
            let rest = if reads_on { "reads the rest" } else { "closes" };
            let what = format!("responds with 413 to the beginning of the request, then {rest}");
            harness.with_server(&what, script, |run| {
                let call = run.send(run.charge().padded_to(LARGE))?;
                match &call.result {
                    Ok(response) => call.must(response.status().as_u16() == 413, "status 413")?,
                    Err(_) => call.must_not_be_not_processed()?,
                }
                // A connection with half a request must not carry another one.
                run.follow_up(&call)
            })?;
        }
        Ok(())
    })
}

/// The server closes every new connection before it reads anything.
///
/// The client cannot see whether anything was read. The call must fail soon, with `Unknown`, or with `NotProcessed` if the
/// transport has proof that nothing was written; the figure shows which. It must not keep trying.
pub fn a_connection_closed_at_once_is_an_error(stack: &dyn AnyStack) -> Verdict {
    let why = "a client that keeps retrying will eventually send a payment twice";
    Contract::new(own_name!(), why).check(stack, |harness| {
        harness.with_server("closes every connection as soon as it is open", Connection::close, |run| {
            let call = run.send(run.charge())?;
            let delivery = call.must_fail()?.delivery();
            let connections = run.arrivals.connections();
            ensure!(
                connections <= 3,
                "one call tried {connections} connections; it must give up after the first"
            );
            harness.figure(format!("Delivery::{delivery:?} after {}", counted(connections, "connection")));
            Ok(())
        })
    })
}

/// The server reads three payments: it closes the connection of the first, resets that of the second, and never responds to the
/// third, which ends with its deadline.
///
/// For three seconds after that, nothing may be sent: no request again from a task or a thread that outlives the call.
pub fn a_failed_call_sends_nothing_afterwards(stack: &dyn AnyStack) -> Verdict {
    let why = "the caller has been told that the payment may be charged. A copy that follows in the background charges the \
               card a second time, and nobody learns of it";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        let what =
            "reads three requests; it closes the connection, resets the connection, and never responds";
        harness.with_script(what, [Act::Close, Act::Reset, Act::Silence], |run| {
            let mut failed = Vec::new();
            for total in [MEDIUM, MEDIUM, SHORT_WITH_CONNECT] {
                let call = run.send(run.charge().total(total))?;
                call.must_fail()?;
                failed.push(call.id);
            }
            // In the stack's runtime, which may be what sends.
            run.block_on(pause(AFTERWARDS))?;
            failed.iter().try_for_each(|id| run.must_have_arrived_at_most_once(id))
        })
    })
}

/// How long the server watches for another copy of a request whose call has failed.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Checks that a payment is `Unknown` if the server responds to it with this act, on a new and on a reused connection.
fn is_unknown_after(harness: &Harness<'_>, what: &str, act: &Act) -> Result<(), Violation> {
    for served in [0, 1] {
        let mut acts = vec![Act::Echo; served];
        acts.push(act.clone());
        harness.with_script(&after(served, what), acts, |run| {
            (0..served).try_for_each(|_| run.round_trip())?;
            unknown_and_once(run, &run.send(run.charge())?)
        })?;
    }
    Ok(())
}

pub(super) const MAY_BE_CHARGED: &str = "the server may have charged the card before the connection ended. \
     NotProcessed lets the caller charge again; only Unknown makes it look the payment up";
