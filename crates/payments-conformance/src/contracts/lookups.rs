//! A lookup carries the API key and reads payments: it is sent as carefully as a payment is.

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::breach::{Breach, SENT_TWICE};
use crate::contract::Contract;
use crate::conversation::Conversation;
use crate::script::{Act, answer};
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
    Contract::new("a_lookup_follows_no_redirect", why).check(stack, |stage| {
        let elsewhere = Journal::default();
        let other = stage.another_server(&elsewhere, Conversation::serve);
        let locations = [format!("{}/transaction", stage.url(other.address)), "/elsewhere".to_owned()];
        let statuses: Vec<_> = (300..=308).filter_map(|status| StatusCode::from_u16(status).ok()).collect();
        for location in locations {
            let acts: Vec<_> = statuses.iter().map(|status| redirect(*status, &location)).collect();
            stage.scripted("responds to every lookup with a redirect", acts, |trial| {
                for status in &statuses {
                    let charge = trial.look_up();
                    let id = charge.id.clone();
                    let seen = trial.send(charge);
                    // First, because the result does not show where the key went.
                    if elsewhere.connections() > 0 {
                        let found = format!("{id} followed a redirect to another server");
                        return Err(
                            Breach::owed(found, SENT_TWICE).beside("other server", elsewhere.to_string())
                        );
                    }
                    seen?.must_be_answered(*status)?;
                    trial.must_have_arrived_once(&id)?;
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
    Contract::as_data("a_lost_lookup_is_not_repeated", why).check(stack, |stage| {
        let half = Act::Truncate { answer: answer(StatusCode::OK, "{\"status\":\"success\"}"), bytes: 10 };
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
                stage.scripted(&what, acts, |trial| {
                    for _ in 0..served {
                        trial.round_trip()?;
                    }
                    let lookup = if is_silent { trial.look_up().total(SHORT) } else { trial.look_up() };
                    let seen = trial.send(lookup)?;
                    if matches!(act, Act::Truncate { .. }) {
                        seen.must_be_cut_off(StatusCode::OK)?;
                    } else {
                        seen.must_be_unknown()?;
                    }
                    trial.must_have_arrived_once(&seen.id)
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
    Contract::as_data("a_lookup_is_not_repeated_for_its_status", why).check(stack, |stage| {
        let statuses: Vec<_> = [401, 403, 407, 408, 421, 425, 429, 500, 502, 503, 504, 511]
            .into_iter()
            .filter_map(|status| StatusCode::from_u16(status).ok())
            .collect();
        let tempting = |status: &StatusCode| {
            let mut tempting = answer(*status, "{}");
            tempting.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("0"));
            tempting.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"x\""));
            Act::Answer(tempting)
        };
        let acts: Vec<_> = statuses.iter().map(tempting).collect();
        stage.scripted("responds to each lookup with another status", acts, |trial| {
            for status in &statuses {
                let charge = trial.look_up();
                let id = charge.id.clone();
                let seen = trial.send(charge)?;
                trial.must_have_arrived_once(&id)?;
                seen.must_be_answered(*status)?;
            }
            Ok(())
        })
    })
}
