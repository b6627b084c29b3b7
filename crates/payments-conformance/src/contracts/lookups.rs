//! A lookup carries the API key and reads payments: it is sent as carefully as a payment is.

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::violation::{Violation, SENT_TWICE};
use crate::contract::Contract;
use crate::connection::Connection;
use crate::script::{Act, response};
use crate::situations::SHORT;
use crate::{Journal, Stack, Verdict};

use super::answers::redirect;

/// The server responds to a lookup with every redirect, to another server and to another place of its own.
///
/// Each is a response. Nothing reaches the other server, and nothing is sent again to this one. Most clients follow a
/// redirect of a GET by default, and many keep the key.
pub fn a_lookup_follows_no_redirect(stack: &impl Stack) -> Verdict {
    let why = "a lookup that follows a redirect hands the API key to a host that nobody checked, and with it every \
               payment of the account. What that host responds is taken for the truth about a payment";
    Contract::new("a_lookup_follows_no_redirect", why).check(stack, |harness| {
        let elsewhere = Journal::default();
        let other = harness.another_server(&elsewhere, Connection::serve);
        let locations = [format!("{}/transaction", harness.url(other.address)), "/elsewhere".to_owned()];
        let statuses: Vec<_> = (300..=308).filter_map(|status| StatusCode::from_u16(status).ok()).collect();
        for location in locations {
            let acts: Vec<_> = statuses.iter().map(|status| redirect(*status, &location)).collect();
            harness.with_script("responds to every lookup with a redirect", acts, |run| {
                for status in &statuses {
                    let charge = run.lookup();
                    let id = charge.id.clone();
                    let call = run.send(charge);
                    // First, because the result does not show where the key went.
                    if elsewhere.connections() > 0 {
                        let found = format!("{id} followed a redirect to another server");
                        return Err(
                            Violation::general(found, SENT_TWICE).detail("other server", elsewhere.to_string())
                        );
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

/// The server reads a lookup and closes or resets the connection, sends what is no HTTP, sends half a response, or says
/// nothing until the deadline.
///
/// The call fails, as `Unknown` or `Answered`, on a new connection and on one that has served before. The request arrives
/// once: whether a lookup is repeated is for the caller to decide, who knows the deadline of the whole.
pub fn a_lost_lookup_is_not_repeated(stack: &impl Stack) -> Verdict {
    let why = "a transport that repeats a GET decides by method what may be sent again, and every repetition is hidden \
               from the deadline, the rate limit and the log of the caller. The next method that it takes for \
               repeatable is one that moves money";
    Contract::scripted("a_lost_lookup_is_not_repeated", why).check(stack, |harness| {
        let half = Act::Truncate { answer: response(StatusCode::OK, "{\"status\":\"success\"}"), bytes: 10 };
        for (what, act) in [
            ("closes the connection", Act::Close),
            ("resets the connection", Act::Reset),
            ("sends what is no HTTP", Act::Garbage("nonsense\r\n\r\n".into())),
            ("sends half a response and closes", half),
            ("says nothing", Act::Silence),
        ] {
            let is_silent = matches!(act, Act::Silence);
            // The deadline of the one that says nothing is waited for, and too short to make a connection in.
            for served in if is_silent { 1..=1 } else { 0..=1 } {
                let mut acts = vec![Act::Echo; served];
                acts.extend([act.clone(), Act::Echo]);
                let what = format!("answers {served} requests, reads a lookup and {what}");
                harness.with_script(&what, acts, |run| {
                    for _ in 0..served {
                        run.round_trip()?;
                    }
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

/// The server responds to a lookup with statuses that ask a client to send it again: later, with credentials, or
/// elsewhere.
///
/// Each is a response, and each lookup arrives once.
pub fn a_lookup_is_not_repeated_for_its_status(stack: &impl Stack) -> Verdict {
    let why = "the caller retries lookups under one deadline and heeds Retry-After. A transport that retries beneath it \
               multiplies the attempts, and a service that is overloaded gets no rest";
    Contract::scripted("a_lookup_is_not_repeated_for_its_status", why).check(stack, |harness| {
        let statuses: Vec<_> = [401, 403, 407, 408, 421, 425, 429, 500, 502, 503, 504, 511]
            .into_iter()
            .filter_map(|status| StatusCode::from_u16(status).ok())
            .collect();
        let with_retry_headers = |status: &StatusCode| {
            let mut with_retry_headers = response(*status, "{}");
            with_retry_headers.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("0"));
            with_retry_headers.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"x\""));
            Act::Answer(with_retry_headers)
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
