//! A lookup carries the API key and reads payments, so it needs the same care as a payment.

use http::StatusCode;

use crate::contract::{Contract, own_name};
use crate::script::{Act, response};
use crate::situations::SHORT;
use crate::{AnyStack, Verdict};

use super::answers::{follows_no_redirect, statuses, with_retry_headers};

/// The server responds to a lookup with every redirect, to another server and to another path of its own.
///
/// The transport must return each as a response. Nothing reaches the other server, and nothing is sent again to this one.
/// Most clients follow redirects of a GET by default, and many keep the API key.
#[allow(clippy::redundant_closure_for_method_calls, reason = "the method has one lifetime of a run, not any")]
pub fn a_lookup_follows_no_redirect(stack: &dyn AnyStack) -> Verdict {
    let why = "a redirected lookup gives the API key, and with it every payment of the account, to an unverified host. That \
               host's response is then trusted as the outcome of a payment. Disable redirects in the HTTP client";
    Contract::new(own_name!(), why)
        .check(stack, |harness| follows_no_redirect(harness, |run| run.lookup(), 300..=308))
}

/// The server reads a lookup and closes or resets the connection, sends bytes that are not HTTP, sends half a response, or
/// sends nothing until the deadline.
///
/// The call must fail with `Unknown` or `Answered`, on a new and on a reused connection. The request arrives once: the
/// caller decides about retries, because only the caller knows the overall deadline.
pub fn a_lost_lookup_is_not_repeated(stack: &dyn AnyStack) -> Verdict {
    let why = "a transport that retries a GET does so without the caller's deadline, rate limit and log. The same retry \
               policy, applied to one more method, charges twice";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        let half = Act::Truncate { answer: response(StatusCode::OK, "{\"status\":\"success\"}"), bytes: 10 };
        for (what, act) in [
            ("closes the connection", Act::Close),
            ("resets the connection", Act::Reset),
            ("sends bytes that are not HTTP", Act::Garbage("nonsense\r\n\r\n".into())),
            ("sends half a response and closes", half),
            ("sends nothing", Act::Silence),
        ] {
            let is_silent = matches!(act, Act::Silence);
            // The silent case waits for its deadline, which is too short for a new connection.
            for served in if is_silent { 1..=1 } else { 0..=1 } {
                let mut acts = vec![Act::Echo; served];
                acts.extend([act.clone(), Act::Echo]);
                let what = format!("responds to {served} requests, reads a lookup and {what}");
                harness.with_script(&what, acts, |run| {
                    (0..served).try_for_each(|_| run.round_trip())?;
                    let lookup = if is_silent { run.lookup().total(SHORT) } else { run.lookup() };
                    let call = run.send(lookup)?;
                    if matches!(act, Act::Truncate { .. }) {
                        call.must_have_partial_response(StatusCode::OK)?;
                    } else {
                        call.must_be_unknown()?;
                    }
                    run.must_have_arrived_once(&call.id)
                })?;
            }
        }
        Ok(())
    })
}

/// The server responds to a lookup with statuses that invite a retry: later, with credentials, or elsewhere.
///
/// The transport must return each as a response, and each lookup arrives once.
pub fn a_lookup_is_not_repeated_for_its_status(stack: &dyn AnyStack) -> Verdict {
    let why = "the caller already retries lookups, within one deadline and respecting Retry-After. Retries inside the \
               transport multiply the attempts and keep an overloaded service from recovering";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        let statuses = statuses([401, 403, 407, 408, 421, 425, 429, 500, 502, 503, 504, 511]);
        let acts: Vec<_> = statuses.iter().map(|status| with_retry_headers(*status)).collect();
        harness.with_script("responds to each lookup with another status", acts, |run| {
            for status in &statuses {
                let charge = run.lookup();
                let id = charge.id.clone();
                let call = run.send(charge)?;
                run.must_have_arrived_once(&id)?;
                call.must_have_status(*status)?;
            }
            Ok(())
        })
    })
}
