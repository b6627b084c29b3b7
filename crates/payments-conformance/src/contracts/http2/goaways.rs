use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use h2::Reason;

use super::new_and_reused;
use crate::contract::{Contract, own_name};
use crate::contracts::connections::{pay, seed, tally};
use crate::http2_peer::{Peer, Request};
use crate::situations::{pause, unknown_and_once};
use crate::{AnyStack, Verdict};

/// The server reads the whole request, then sends `GOAWAY` with a last stream below the request's.
///
/// RFC 9113 §6.8 says that such a request was not processed. But real servers and gateways sent it for requests that they
/// had forwarded and that were charged. The call must be `Unknown`, with every error code, whether the connection is then
/// closed or left open, and the request arrives once.
pub fn goaway_is_no_proof(stack: &dyn AnyStack) -> Verdict {
    let why = "real servers process requests that their GOAWAY excludes. A client that trusts it and sends again charges \
               twice, and several well-known clients do so by default";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        for (name, code) in [
            ("NO_ERROR", Reason::NO_ERROR),
            ("ENHANCE_YOUR_CALM", Reason::ENHANCE_YOUR_CALM),
            ("INTERNAL_ERROR", Reason::INTERNAL_ERROR),
        ] {
            for closes in [true, false] {
                let action = move |peer: &mut Peer<'_>, request: &Request| {
                    peer.goaway(request.stream.saturating_sub(2), code);
                    if closes {
                        peer.connection().close();
                    }
                };
                let rest = if closes { ", and closes" } else { "" };
                let what = format!("reads the whole request, sends GOAWAY {name} that excludes it{rest}");
                new_and_reused(harness, &what, SHORT, action, unknown_and_once)?;
            }
        }
        Ok(())
    })
}

/// The server sends a `GOAWAY` that includes the request in progress, and responds to it.
///
/// Every graceful shutdown does this. The call must return the response, and the next call uses another connection. A
/// transport may notice the `GOAWAY` only when it is about to reuse the connection: then the next calls may be
/// `NotProcessed`, and a later one must succeed.
pub fn a_goaway_that_spares_a_request_lets_it_be_answered(stack: &dyn AnyStack) -> Verdict {
    let why = "otherwise each deployment of the service leaves every payment in progress to be looked up by a person";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        let script = |peer: &mut Peer<'_>| {
            let Some(request) = peer.next_request() else { return };
            peer.goaway(u32::MAX >> 1, Reason::NO_ERROR);
            peer.goaway(request.stream, Reason::NO_ERROR);
            peer.echo(&request);
            // Later requests are read, but get no response.
            peer.wait_for_close();
        };
        let what =
            "reads one request on each connection, sends a GOAWAY that includes it, then responds to it";
        harness.with_http2_server(what, script, |run| {
            let mut last: Option<String> = None;
            for _ in 0..3 {
                let mut call = run.send(run.charge().total(LONG))?;
                let mut noticed = 0;
                while last.is_some() && noticed < MOST_NOTICED && call.must_be_not_processed().is_ok() {
                    noticed += 1;
                    run.block_on(pause(Duration::from_millis(20)))?;
                    call = run.send(run.charge().total(LONG))?;
                }
                call.must_get_own_response()?;
                if let Some(last) = last.replace(call.id.clone()) {
                    run.must_be_on_different_connections(&last, &call.id)?;
                }
            }
            Ok(())
        })
    })
}

/// How many calls may be `NotProcessed` before the transport notices the end of a connection.
const MOST_NOTICED: usize = 10;

/// Sixteen callers make 3 000 payments, or as many as possible in a few seconds. On every connection the server sends
/// `GOAWAY` at a random moment. It excludes requests that it has processed, and then still responds to some of them, closes
/// or resets.
///
/// No payment may arrive twice, and none that arrived may be `NotProcessed`. The report shows the server's random seed; the
/// environment variable `PAYMENTS_CONFORMANCE_SEED` sets it.
pub fn goaways_at_random_moments_repeat_and_hide_no_payment(stack: &dyn AnyStack) -> Verdict {
    let why = "a server that is overloaded or redeployed does this constantly, and one payment in thousands that is sent \
               twice is enough to charge somebody twice";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        let seed = seed();
        let what = format!("sends GOAWAY at random moments on every connection, with the seed {seed}");
        let script = move |peer: &mut Peer<'_>| send_goaway_at_random(peer, seed);
        harness.with_http2_server(&what, script, |run| {
            let (made, started) = (AtomicUsize::new(0), Instant::now());
            let calls = pay(run, || {
                let goes_on =
                    made.fetch_add(1, Ordering::SeqCst) < PAYMENTS && started.elapsed() < LONG_ENOUGH;
                goes_on.then(|| run.charge().total(LONG))
            })?;
            let late = calls.iter().filter(|call| call.must_be_a_timeout().is_ok()).count();
            let (connections, tally) = (run.arrivals.connections(), tally(&calls)?);
            harness
                .figure(format!("seed {seed}, {connections} connections, {tally}, {late} by their deadline"));
            Ok(())
        })
    })
}

fn send_goaway_at_random(peer: &mut Peer<'_>, seed: u64) {
    let mut random = Rng::with_seed(seed.wrapping_add(peer.index() as u64));
    let mut left = 1 + random.u8(..200);
    let mut in_progress: Vec<Request> = Vec::new();
    while left > 0 {
        // Responds only when no request is pending, so that many can be in progress at once.
        let request =
            if in_progress.is_empty() { peer.next_request() } else { peer.next_request_if_pending() };
        if let Some(request) = request {
            in_progress.push(request);
            left -= 1;
        } else if in_progress.is_empty() {
            return;
        } else {
            peer.echo(&in_progress.swap_remove(random.usize(..in_progress.len())));
        }
    }
    let highest = in_progress.iter().map(|request| request.stream).max().unwrap_or(1);
    let last = random.u32(..=highest);
    let action = random.u8(..6);
    // Some connections end without GOAWAY.
    if action >= 2 {
        peer.goaway(last, if random.u8(..4) == 0 { Reason::ENHANCE_YOUR_CALM } else { Reason::NO_ERROR });
    }
    match action {
        0 | 2 => peer.connection().close(),
        1 | 3 => peer.connection().reset(),
        4 => {
            for request in in_progress.iter().filter(|request| request.stream <= last) {
                peer.echo(request);
            }
            peer.wait_for_close();
        }
        _ => {
            for request in &in_progress {
                peer.echo(request);
            }
            peer.serve();
        }
    }
}

const PAYMENTS: usize = 3000;

/// A busy machine makes fewer payments, because each `GOAWAY` costs new connections.
const LONG_ENOUGH: Duration = Duration::from_secs(8);

/// A deadline that is reached only if the server sends GOAWAY and nothing else.
const SHORT: Duration = Duration::from_secs(3);
/// A deadline that is reached only if a call hangs.
const LONG: Duration = Duration::from_secs(10);
