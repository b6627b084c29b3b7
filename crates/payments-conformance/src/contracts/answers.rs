//! The response arrives whole: the transport returns it unchanged, whatever it says.

use std::thread;
use std::time::Duration;

use http::header::{CONTENT_ENCODING, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::arrivals::Received;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::script::{Act, response};
use crate::situations::{End, send_and};
use crate::test_request::{API_KEY, CARD_NUMBER, TestRequest};
use crate::test_run::TestRun;
use crate::violation::{Rule, Violation};
use crate::{Ability, AnyStack, Arrivals, Verdict};

/// The server responds with every status from 200 to 599, each with headers that clients act on, such as `Retry-After`.
///
/// The transport must return each as a response with its body, and each request arrives once. `payments-core` interprets
/// the status and needs the body to explain a refusal; a transport that turns a 500 into its own error loses both.
pub fn every_status_from_200_to_599_is_an_answer(stack: &dyn AnyStack) -> Verdict {
    let why = "only payments-core decides what a status means for the money, and it needs the status and the body. A \
               client that acts on a status itself may send the payment again: disable its status handling and retries";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        let statuses = statuses(200..=599);
        let acts: Vec<_> = statuses.iter().map(|status| with_retry_headers(*status)).collect();
        harness.with_script("responds to each request with another status, from 200 to 599", acts, |run| {
            for status in &statuses {
                let call = run.send(run.charge())?;
                let response = call.must_have_status(*status)?;
                let body = body_of(*status);
                call.must(response.body() == body, &format!("the body {body:?}"))?;
                run.must_have_arrived_once(&call.id)?;
            }
            Ok(())
        })
    })
}

/// The server responds with every redirect, to another server and to another path of its own.
///
/// The transport must return each as a response. Nothing reaches the other server, and nothing is sent again to this one.
/// Following a 307 or 308 would post the card to whatever address the response names.
#[allow(clippy::redundant_closure_for_method_calls, reason = "the method has one lifetime of a run, not any")]
pub fn redirects_are_not_followed(stack: &dyn AnyStack) -> Verdict {
    let why = "following a redirect sends the payment a second time. 307 and 308 send the card, and with many clients also \
               the API key, to an unverified host. Disable redirects in the HTTP client";
    Contract::new(own_name!(), why).check(stack, |harness| {
        follows_no_redirect(harness, |run| run.charge(), [300, 301, 302, 303, 305, 307, 308])
    })
}

/// Responds to this kind of request with each of these statuses, and an address at another server or at this one.
pub(super) fn follows_no_redirect(
    harness: &Harness<'_>,
    request: impl Fn(&TestRun<'_>) -> TestRequest,
    codes: impl IntoIterator<Item = u16>,
) -> Result<(), Violation> {
    let other = harness.another_server(Connection::serve);
    let locations = [format!("{}/transaction", harness.url(other.address)), "/elsewhere".to_owned()];
    let statuses = statuses(codes);
    let acts: Vec<_> = locations
        .iter()
        .flat_map(|location| statuses.iter().map(|status| redirect(*status, location)))
        .collect();
    harness.with_script("responds to every request with a redirect", acts, |run| {
        for status in statuses.iter().chain(&statuses) {
            let request = request(run);
            let id = request.id.clone();
            let call = run.send(request);
            // Checked first, because the result does not show where the card and the key were sent.
            must_not_have_reached(&other.arrivals, &id)?;
            let call = call?;
            run.must_have_arrived_at_most_once(&id)?;
            call.must_have_status(*status)?;
            run.must_have_arrived_once(&id)?;
        }
        Ok(())
    })
}

/// Fails if anything reached the server that a redirect names.
fn must_not_have_reached(other_arrivals: &Arrivals, id: &str) -> Result<(), Violation> {
    if other_arrivals.connections() == 0 {
        return Ok(());
    }
    let found = match other_arrivals.received().first() {
        None => {
            format!("{id} made the transport connect to the redirect's server; it must not follow redirects")
        }
        Some(request) => {
            let key = request.headers.iter().any(|(_, value)| holds(value, API_KEY));
            let taken = match (holds(&request.body, CARD_NUMBER), key) {
                (true, true) => ", with the card and the API key",
                (true, false) => ", with the card",
                (false, true) => ", with the API key",
                (false, false) => "",
            };
            let how = if request.method == "POST" { "posted" } else { "sent" };
            format!(
                "{id} was {how} again to the redirect's server{taken}; the transport must not follow redirects"
            )
        }
    };
    Err(Violation::general(found, Rule::SendsOnce).detail("other server", other_arrivals.to_string()))
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// The server sends bodies in every HTTP/1.1 framing: with a length, in chunks with extensions and trailers, and ended by
/// closing the connection.
///
/// The transport must return each body whole, without the framing.
pub fn bodies_arrive_whole_in_every_framing(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        let open: End = |_| {};
        for (what, bytes, body, end) in [
            ("with a length", "Content-Length: 5\r\n\r\nabcde", "abcde", open),
            ("with a length of zero", "Content-Length: 0\r\n\r\n", "", open),
            ("in one chunk", "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", "abcde", open),
            ("in zero chunks", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", open),
            (
                "in chunks with extensions and trailers",
                "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a=b\r\nabc\r\n02\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n",
                "abcde",
                open,
            ),
            ("ended by closing the connection", "\r\nabcde", "abcde", Connection::close),
            ("that is empty, ended by closing the connection", "\r\n", "", Connection::close),
        ] {
            let action = send_and(format!("HTTP/1.1 200 OK\r\n{bytes}"), end);
            let what = format!("sends a body {what}");
            harness.on_request(0, &what, action, |run, call| {
                call.must_have_body(body.as_bytes())?;
                run.round_trip()
            })?;
        }
        Ok(())
    })
}

/// The server responds with 204, and with 304 and a `Content-Length` but no body.
///
/// The response ends with its head: the transport must not wait for a body, and the next response is for the next call.
pub fn an_answer_without_a_body_ends_at_its_head(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        for (status, head) in [
            (StatusCode::NO_CONTENT, "204 No Content\r\n\r\n"),
            (StatusCode::NOT_MODIFIED, "304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        ] {
            let what = format!("responds with {status} without a body");
            harness.respond_to_first(&what, format!("HTTP/1.1 {head}"), |run, call| {
                call.must(call.must_have_status(status)?.body().is_empty(), "an empty body")?;
                run.round_trip()
            })?;
        }
        Ok(())
    })
}

/// The server responds with a `Content-Encoding` that was not requested.
///
/// The transport must return body and header unchanged. A decoded body has a different length than the cap counts, and
/// without the header `payments-core` cannot see why the response is unreadable.
pub fn an_encoded_answer_is_not_decoded(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        for coding in ["gzip", "deflate", "br", "zstd", "identity"] {
            let mut encoded = response(StatusCode::OK, GZIP);
            encoded.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
            harness.with_script("responds with an encoded body", [Act::Answer(encoded)], |run| {
                let call = run.send(run.charge())?;
                let response = call.must_have_body(GZIP)?;
                let is_kept = response.headers().get(CONTENT_ENCODING).is_some_and(|value| value == coding);
                call.must(is_kept, &format!("the header Content-Encoding: {coding}"))
            })?;
        }
        Ok(())
    })
}

/// The server sends one header twice, one that is not UTF-8, and one that is empty.
///
/// The transport must return all of them, in order.
pub fn repeated_and_unreadable_headers_survive(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        let odd = no_text();
        let mut unusual = response(StatusCode::OK, "{}");
        for (name, value) in [
            ("x-twice", HeaderValue::from_static("one")),
            ("x-bytes", odd.clone()),
            ("x-twice", HeaderValue::from_static("two")),
            ("x-empty", HeaderValue::from_static("")),
        ] {
            unusual.headers_mut().append(name, value);
        }
        harness.with_script("responds with unusual headers", [Act::Answer(unusual)], |run| {
            let call = run.send(run.charge())?;
            let headers = call.must_have_body(b"{}")?.headers();
            let twice: Vec<_> = headers.get_all("x-twice").iter().collect();
            let all = twice == ["one", "two"]
                && headers.get("x-bytes") == Some(&odd)
                && headers.contains_key("x-empty");
            call.must(all, "all headers, including repeated, empty and non-UTF-8 ones")
        })
    })
}

/// The server responds with 110 short headers, which is more than some stacks allow by default.
///
/// The transport must return the response with all of them, and the connection carries the next call.
pub fn a_hundred_and_ten_headers_are_an_answer(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_READ).check(stack, |harness| has_headers(harness, 110))
}

/// The server responds with 1 000 headers, in 23 KiB.
///
/// The transport must return the response with all of them, and the connection carries the next call.
pub fn a_thousand_headers_are_an_answer(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_READ)
        .tests(Ability::ManyHeaders)
        .check(stack, |harness| has_headers(harness, 1000))
}

/// The last of the headers is `Content-Length`, so the count includes it.
fn has_headers(harness: &Harness<'_>, count: usize) -> Result<(), Violation> {
    let lines = (1..count).map(|number| format!("X-Header-{number}: value {number}\r\n"));
    let head = format!("HTTP/1.1 200 OK\r\n{}", lines.collect::<Vec<_>>().concat());
    let what = format!("responds with {count} headers");
    harness.respond_to_first(&what, format!("{head}Content-Length: 2\r\n\r\n{{}}"), |run, call| {
        let headers = call.must_have_body(b"{}")?.headers();
        let last = headers.get(format!("x-header-{}", count - 1));
        let is_last = last.is_some_and(|last| *last == format!("value {}", count - 1));
        call.must(headers.len() == count && is_last, &format!("all {count} headers"))?;
        run.round_trip()
    })
}

/// The server folds headers over several lines, one of them with the length.
///
/// The transport must return the response with each line break replaced by white space. If a length is folded into something
/// that is no number, the response is refused: see
/// [`an_ambiguous_length_is_refused`](super::broken_answers::an_ambiguous_length_is_refused).
pub fn folded_headers_are_an_answer(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_READ).tests(Ability::FoldedHeaders).check(stack, |harness| {
        let head =
            "HTTP/1.1 200 OK\r\nX-Folded: one\r\n two\r\n\t three\r\nContent-Length:\r\n 2\r\nX-Last: four";
        harness.respond_to_first("folds its headers", format!("{head}\r\n\r\n{{}}"), |run, call| {
            let headers = call.must_have_body(b"{}")?.headers();
            let words = |name| {
                let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
                value.split_ascii_whitespace().collect::<Vec<_>>()
            };
            let all = words("x-folded") == ["one", "two", "three"] && words("x-last") == ["four"];
            call.must(all, "the folded header with all its words, and the header after it")?;
            run.round_trip()
        })
    })
}

/// The server sends interim responses before the final one.
///
/// The transport must skip them: a 100 or 103 says nothing about the payment.
pub fn interim_answers_are_skipped(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        for interim in [
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 102 Processing\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 Odd\r\nX-A: b\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
        ] {
            let what = format!("sends {interim:?} before its response");
            let bytes = format!("{interim}HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{{}}");
            harness.respond_to_first(&what, bytes, |_, call| {
                let response = call.must_have_status(StatusCode::CREATED)?;
                call.must(response.body() == "{}", "the body of the final response")
            })?;
        }
        Ok(())
    })
}

/// The server responds with a body exactly as long as the cap, once short and once a mebibyte.
///
/// The transport must return the whole response.
pub fn an_answer_as_long_as_the_cap_is_whole(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        for length in [5, 1024 * 1024] {
            let body = vec![b'x'; length];
            let whole = Act::Answer(response(StatusCode::OK, body.clone()));
            let what = format!("responds with {length} bytes, exactly the cap");
            harness.with_script(&what, [whole], |run| {
                run.send(run.charge().cap(length))?.must_have_body(&body).map(drop)
            })?;
        }
        Ok(())
    })
}

/// The server sends its response one byte at a time. It pauses within the status, between the two line breaks that end the
/// head, and within a chunk size.
///
/// The transport must return the same response.
pub fn an_answer_in_single_bytes_is_whole(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MUST_BE_UNCHANGED).check(stack, |harness| {
        let action = |connection: &mut Connection, request: &Received| {
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
                // So that the client reads each piece separately. A slow client gets larger pieces.
                thread::sleep(Duration::from_millis(30));
            }
        };
        let what = "sends its response one byte at a time";
        harness.on_request(0, what, action, |run, call| {
            call.must_get_own_response()?;
            run.round_trip()
        })
    })
}

fn no_text() -> HeaderValue {
    HeaderValue::from_bytes(b"\xff\xfe caf\xe9").expect("HTTP allows these bytes")
}

pub(super) fn with_retry_headers(status: StatusCode) -> Act {
    let mut response = response(status, body_of(status));
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static("/elsewhere"));
    headers.insert(RETRY_AFTER, HeaderValue::from_static("0"));
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"x\""));
    Act::Answer(response)
}

fn body_of(status: StatusCode) -> &'static str {
    if [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status) { "" } else { "{\"a\":1}" }
}

pub(super) fn statuses(codes: impl IntoIterator<Item = u16>) -> Vec<StatusCode> {
    codes.into_iter().map(|code| StatusCode::from_u16(code).expect("HTTP allows this code")).collect()
}

fn redirect(status: StatusCode, location: &str) -> Act {
    let mut response = response(status, "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_str(location).expect("an address"));
    Act::Answer(response)
}

/// `{"a":1}`, compressed.
const GZIP: &[u8] =
    &[31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 84, 178, 50, 172, 5, 0, 175, 172, 27, 86, 7, 0, 0, 0];

const MUST_BE_READ: &str = "the payment was processed, and the response says so. If it is refused for its headers, the outcome \
     is unknown and a person has to look the payment up; if the same gateway adds them to every response, every payment is \
     unknown. Raise the stack's limit";

const MUST_BE_UNCHANGED: &str = "payments-core reads the receipt from the bytes of the response. Changed, lost or added bytes \
     can turn a decline into a success, or a success into a decline";
