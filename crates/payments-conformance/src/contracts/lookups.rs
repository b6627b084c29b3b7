//! A lookup carries the API key and reads payments, so it needs the same care as a payment.

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::connection::Connection;
use crate::contract::Contract;
use crate::script::{Act, response};
use crate::situations::SHORT;
use crate::violation::{SENT_TWICE, Violation};
use crate::{AnyStack, Verdict};

use super::answers::{redirect, statuses};

/// The server responds to a lookup with every redirect, to another server and to another path of its own.
///
/// The transport must return each as a response. Nothing reaches the other server, and nothing is sent again to this one.
/// Most clients follow redirects of a GET by default, and many keep the API key.
pub fn a_lookup_follows_no_redirect(stack: &dyn AnyStack) -> Verdict {
    let why = "a redirected lookup gives the API key, and with it every payment of the account, to an unverified host. That \
               host's response is then trusted as the outcome of a payment. Disable redirects in the HTTP client";
    Contract::new("a_lookup_follows_no_redirect", why).check(stack, |harness| {
        let other = harness.another_server(Connection::serve);
        let locations = [format!("{}/transaction", harness.url(other.address)), "/elsewhere".to_owned()];
        let statuses = statuses(300..=308);
        for location in locations {
            let acts: Vec<_> = statuses.iter().map(|status| redirect(*status, &location)).collect();
            harness.with_script("responds to every lookup with a redirect", acts, |run| {
                for status in &statuses {
                    let charge = run.lookup();
                    let id = charge.id.clone();
                    let call = run.send(charge);
                    // Checked first, because the result does not show where the key was sent.
                    if other.journal.connections() > 0 {
                        let found = format!(
                            "{id} followed a redirect to another server; it must not follow redirects"
                        );
                        return Err(Violation::general(found, SENT_TWICE)
                            .detail("other server", other.journal.to_string()));
                    }
                    call?.must_have_status(*status)?;
                    run.must_have_arrived_once(&id)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server reads a lookup and closes or resets the connection, sends bytes that are not HTTP, sends half a response, or
/// sends nothing until the deadline.
///
/// The call must fail with `Unknown` or `Answered`, on a new and on a reused connection. The request arrives once: the
/// caller decides about retries, because only the caller knows the overall deadline.
pub fn a_lost_lookup_is_not_repeated(stack: &dyn AnyStack) -> Verdict {
    let why = "a transport that retries a GET does so without the caller's deadline, rate limit and log. The same retry \
               policy, applied to one more method, charges twice";
    Contract::scripted("a_lost_lookup_is_not_repeated", why).check(stack, |harness| {
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
    Contract::scripted("a_lookup_is_not_repeated_for_its_status", why).check(stack, |harness| {
        let statuses = statuses([401, 403, 407, 408, 421, 425, 429, 500, 502, 503, 504, 511]);
        let with_retry_headers = |status: &StatusCode| {
            let mut inviting = response(*status, "{}");
            inviting.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("0"));
            inviting.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"x\""));
            Act::Answer(inviting)
        };
        let acts: Vec<_> = statuses.iter().map(with_retry_headers).collect();
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
