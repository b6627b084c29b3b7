//! The answer came whole: it is handed over as it is, whatever it says.

use http::header::{LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::contract::Contract;
use crate::script::{Act, answer};
use crate::{Stack, Verdict};

/// The server answers with every status from 200 to 599, each with the headers that tempt a client to act on it.
///
/// Each is an answer with its body, and each request arrives once. Core judges the status, and it needs the body of a
/// refusal to say why; a transport that turns a 500 into an error of its own has thrown that away.
pub fn every_status_from_200_to_599_is_an_answer(stack: &impl Stack) -> Verdict {
    let why = "what a status means for the money is decided in one place, which needs the status and the body. A \
               client that acts on a status by itself sends the payment again";
    Contract::as_data("every_status_from_200_to_599_is_an_answer", why).check(stack, |stage| {
        let statuses: Vec<_> = (200..=599).filter_map(|status| StatusCode::from_u16(status).ok()).collect();
        let acts: Vec<_> = statuses.iter().map(|status| tempting(*status)).collect();
        stage.scripted("answers each request with another status, from 200 to 599", acts, |trial| {
            for status in &statuses {
                let seen = trial.send(trial.charge())?;
                let answer = seen.must_be_answered(*status)?;
                if answer.body() != body_of(*status) {
                    return Err(seen.breach(&format!("the body {:?}", body_of(*status))));
                }
                trial.must_have_arrived_once(&seen.id)?;
            }
            Ok(())
        })
    })
}

fn tempting(status: StatusCode) -> Act {
    let mut answer = answer(status, body_of(status));
    let headers = answer.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static("/elsewhere"));
    headers.insert(RETRY_AFTER, HeaderValue::from_static("0"));
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"x\""));
    Act::Answer(answer)
}

fn body_of(status: StatusCode) -> &'static str {
    if [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status) { "" } else { "{\"a\":1}" }
}
