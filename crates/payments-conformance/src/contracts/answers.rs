//! The answer came whole: it is handed over as it is, whatever it says.

use std::thread;
use std::time::Duration;

use http::header::{CONTENT_ENCODING, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::breach::{Breach, SENT_TWICE};
use crate::charge::{API_KEY, CARD_NUMBER};
use crate::contract::Contract;
use crate::conversation::Conversation;
use crate::journal::Received;
use crate::script::{Act, answer};
use crate::{Journal, Stack, Verdict};

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

/// The server answers with every redirect, to another server and to another place of its own.
///
/// Each is an answer. Nothing reaches the other server, and nothing is sent again to this one: 307 and 308 would post
/// the card to wherever the answer says.
pub fn redirects_are_not_followed(stack: &impl Stack) -> Verdict {
    let why = "a followed redirect is a second transmission, and 307 and 308 carry the card and, in many clients, the \
               key to a host that nobody checked";
    Contract::new("redirects_are_not_followed", why).check(stack, |stage| {
        let elsewhere = Journal::default();
        let other = stage.another_server(&elsewhere, Conversation::serve);
        let locations = [format!("{}/transaction", stage.url(other.address)), "/elsewhere".to_owned()];
        let acts: Vec<_> = locations
            .iter()
            .flat_map(|location| REDIRECTS.map(|status| redirect(status, location)))
            .collect();
        stage.scripted("answers every request with a redirect", acts, |trial| {
            for status in REDIRECTS.iter().chain(&REDIRECTS) {
                let charge = trial.charge();
                let id = charge.id.clone();
                let seen = trial.send(charge);
                // Before anything else, because what the call gave says nothing of where the card is now.
                must_not_have_reached(&elsewhere, &id)?;
                let seen = seen?;
                trial.must_have_arrived_at_most_once(&id)?;
                seen.must_be_answered(*status)?;
                trial.must_have_arrived_once(&id)?;
            }
            Ok(())
        })
    })
}

/// Nothing came to the server that a redirect names.
fn must_not_have_reached(elsewhere: &Journal, id: &str) -> Result<(), Breach> {
    if elsewhere.connections() == 0 {
        return Ok(());
    }
    let found = match elsewhere.received().first() {
        None => format!("{id} made the transport connect to the server that the redirect names"),
        Some(request) => {
            let key = request.headers.iter().any(|(_, value)| holds(value, API_KEY));
            let taken = match (holds(&request.body, CARD_NUMBER), key) {
                (true, true) => ", card and key with it",
                (true, false) => ", the card with it",
                (false, true) => ", the key with it",
                (false, false) => "",
            };
            let how = if request.method == "POST" { "posted" } else { "sent" };
            format!("{id} was {how} again to the server that the redirect names{taken}")
        }
    };
    Err(Breach::owed(found, SENT_TWICE).beside("other server", elsewhere.to_string()))
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// The server sends bodies in every way that HTTP/1.1 has: by length, in chunks with extensions and trailers, and ended
/// by the connection.
///
/// Each is handed over whole, and what frames it is no part of it.
pub fn bodies_arrive_whole_in_every_framing(stack: &impl Stack) -> Verdict {
    Contract::new("bodies_arrive_whole_in_every_framing", AS_IT_IS).check(stack, |stage| {
        for (what, bytes, body, closes) in [
            ("with its length", "Content-Length: 5\r\n\r\nabcde", "abcde", false),
            ("with a length of zero", "Content-Length: 0\r\n\r\n", "", false),
            ("in one chunk", "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", "abcde", false),
            ("in no chunks", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", false),
            (
                "in chunks with extensions and trailers",
                "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a=b\r\nabc\r\n02\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n",
                "abcde",
                false,
            ),
            ("ended by the connection", "\r\nabcde", "abcde", true),
            ("ended by the connection at once", "\r\n", "", true),
        ] {
            let fate = move |connection: &mut Conversation, _: &Received| {
                connection.write(format!("HTTP/1.1 200 OK\r\n{bytes}"));
                if closes {
                    connection.close();
                }
            };
            let what = format!("sends a body {what}");
            stage.first_meets(&what, fate, |charge| charge, |trial, seen| {
                seen.must_bring(body.as_bytes())?;
                trial.round_trip()?;
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server answers 204, and 304 with the length of a body that it does not send.
///
/// The answer ends at its head: nothing is waited for, and the next answer is the next call's.
pub fn an_answer_without_a_body_ends_at_its_head(stack: &impl Stack) -> Verdict {
    Contract::new("an_answer_without_a_body_ends_at_its_head", AS_IT_IS).check(stack, |stage| {
        for (status, head) in [
            (StatusCode::NO_CONTENT, "204 No Content\r\n\r\n"),
            (StatusCode::NOT_MODIFIED, "304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        ] {
            let what = format!("answers {status} without a body");
            stage.first_is_sent(&what, format!("HTTP/1.1 {head}"), |trial, seen| {
                let answer = seen.must_be_answered(status)?;
                if !answer.body().is_empty() {
                    return Err(seen.breach("no body"));
                }
                trial.round_trip()?;
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server answers with a `Content-Encoding`, though nobody asked for one.
///
/// Body and header are handed over as they came. A body that the transport decodes has another length than the cap
/// counts, and a header that it removes hides from core that the answer was unreadable.
pub fn an_encoded_answer_is_not_decoded(stack: &impl Stack) -> Verdict {
    Contract::as_data("an_encoded_answer_is_not_decoded", AS_IT_IS).check(stack, |stage| {
        for coding in ["gzip", "deflate", "br", "zstd", "identity"] {
            let mut encoded = answer(StatusCode::OK, GZIP);
            encoded.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
            stage.scripted("answers with an encoded body", [Act::Answer(encoded)], |trial| {
                let seen = trial.send(trial.charge())?;
                let answer = seen.must_bring(GZIP)?;
                if answer.headers().get(CONTENT_ENCODING).is_none_or(|value| value != coding) {
                    return Err(seen.breach(&format!("the header Content-Encoding: {coding}")));
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server sends a header twice, one that is no UTF-8, and one that is empty.
///
/// All of them survive, in order.
pub fn repeated_and_unreadable_headers_survive(stack: &impl Stack) -> Verdict {
    Contract::as_data("repeated_and_unreadable_headers_survive", AS_IT_IS).check(stack, |stage| {
        let odd = no_text();
        let mut strange = answer(StatusCode::OK, "{}");
        for (name, value) in [
            ("x-twice", HeaderValue::from_static("one")),
            ("x-bytes", odd.clone()),
            ("x-twice", HeaderValue::from_static("two")),
            ("x-empty", HeaderValue::from_static("")),
        ] {
            strange.headers_mut().append(name, value);
        }
        stage.scripted("answers with strange headers", [Act::Answer(strange)], |trial| {
            let seen = trial.send(trial.charge())?;
            let headers = seen.must_bring(b"{}")?.headers();
            let twice: Vec<_> = headers.get_all("x-twice").iter().collect();
            if twice != ["one", "two"]
                || headers.get("x-bytes") != Some(&odd)
                || !headers.contains_key("x-empty")
            {
                return Err(seen.breach("every header, the repeated and the unreadable ones included"));
            }
            Ok(())
        })
    })
}

/// The server sends interim answers before the final one.
///
/// They are skipped: a 100 or 103 says nothing about the payment.
pub fn interim_answers_are_skipped(stack: &impl Stack) -> Verdict {
    Contract::new("interim_answers_are_skipped", AS_IT_IS).check(stack, |stage| {
        for interim in [
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 102 Processing\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 Odd\r\nX-A: b\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
        ] {
            let what = format!("sends {interim:?} before its answer");
            let bytes = format!("{interim}HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{{}}");
            stage.first_is_sent(&what, bytes, |_, seen| {
                let answer = seen.must_be_answered(StatusCode::CREATED)?;
                if answer.body() != "{}" {
                    return Err(seen.breach("the body of the final answer"));
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server answers with a body exactly as long as the cap, small and of a mebibyte.
///
/// It is an answer, whole.
pub fn an_answer_as_long_as_the_cap_is_whole(stack: &impl Stack) -> Verdict {
    Contract::as_data("an_answer_as_long_as_the_cap_is_whole", AS_IT_IS).check(stack, |stage| {
        for length in [5, 1024 * 1024] {
            let body = vec![b'x'; length];
            let whole = Act::Answer(answer(StatusCode::OK, body.clone()));
            let what = format!("answers with {length} bytes, as many as the cap");
            stage.scripted(&what, [whole], |trial| {
                trial.send(trial.charge().cap(length))?.must_bring(&body)?;
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server sends its answer one byte at a time, and pauses in the middle of the status, between the two line breaks
/// that end the head, and within a chunk's size.
///
/// It is the same answer.
pub fn an_answer_in_single_bytes_is_whole(stack: &impl Stack) -> Verdict {
    Contract::new("an_answer_in_single_bytes_is_whole", AS_IT_IS).check(stack, |stage| {
        let fate = |connection: &mut Conversation, request: &Received| {
            let id = request.id();
            for piece in [
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2",
                "00 OK\r\nTransfer-Encoding: chunked\r\n\r",
                "\n0",
                &format!("{:x}\r\n{id}\r\n0\r\n\r", id.len()),
                "\n",
            ] {
                for byte in piece.bytes() {
                    connection.write([byte]);
                }
                // For the client to read what there is. If it is slower the pieces are larger, and that is all.
                thread::sleep(Duration::from_millis(30));
            }
        };
        let what = "sends its answer one byte at a time";
        stage.first_meets(
            what,
            fate,
            |charge| charge,
            |trial, seen| {
                seen.must_be_its_own()?;
                trial.round_trip()
            },
        )
    })
}

fn no_text() -> HeaderValue {
    HeaderValue::from_bytes(b"\xff\xfe caf\xe9").expect("HTTP allows these bytes")
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

pub(super) fn redirect(status: StatusCode, location: &str) -> Act {
    let mut answer = answer(status, "");
    answer.headers_mut().insert(LOCATION, HeaderValue::from_str(location).expect("an address"));
    Act::Answer(answer)
}

const REDIRECTS: [StatusCode; 7] = [
    StatusCode::MULTIPLE_CHOICES,
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::FOUND,
    StatusCode::SEE_OTHER,
    StatusCode::USE_PROXY,
    StatusCode::TEMPORARY_REDIRECT,
    StatusCode::PERMANENT_REDIRECT,
];

/// `{"a":1}`, compressed.
const GZIP: &[u8] =
    &[31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 84, 178, 50, 172, 5, 0, 175, 172, 27, 86, 7, 0, 0, 0];

const AS_IT_IS: &str = "core reads the receipt from the bytes of the answer; what is changed, lost or added on the way \
     is a receipt that nobody wrote";
