//! What the server receives: the whole request, unchanged.

use http::{HeaderValue, StatusCode};

use crate::arrivals::Received;
use crate::contract::{Contract, own_name};
use crate::script::{Act, response};
use crate::situations::own_response_and_once;
use crate::test_request::TestRequest;
use crate::test_run::TestRun;
use crate::violation::{Violation, ensure};
use crate::{AnyStack, Verdict};

/// The server compares a payment with what the transport was asked to send.
///
/// Method, target, all header values in order, and the body must arrive byte for byte. `Host` is the server's address.
/// There is exactly one correct `Content-Length`, and the body is not chunked.
pub fn a_payment_arrives_byte_for_byte(stack: &dyn AnyStack) -> Verdict {
    let why = "a changed target, header or body is a different request from the one that was validated and authorized";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        harness.with_script("responds to every request", [Act::Echo], |run| {
            let uri = format!("{}/transaction/a%2Fb%20c:d~e;f=g,h?x=y%26z&&q=%C3%A9", run.base_url);
            let charge = run.charge().header("x-twice", "one").header("x-twice", "two").uri(&uri);
            must_arrive_unchanged(run, &charge, harness.speaks_http1())
        })
    })
}

/// The server compares a lookup with what the transport was asked to send.
///
/// It has no body and is not chunked.
pub fn a_look_up_arrives_byte_for_byte(stack: &dyn AnyStack) -> Verdict {
    let why = "a lookup is how the outcome of an unknown payment is found. A proxy or server that misreads it finds \
               nothing, and the caller may charge again";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        harness.with_script("responds to every request", [Act::Echo], |run| {
            let uri = format!("{}/transaction/a%2Fb:c~d?x=y%20z", run.base_url);
            must_arrive_unchanged(run, &run.lookup().uri(&uri), false)?;
            for received in run.arrivals.received() {
                let lengths = received.header("content-length");
                let is_chunked = !received.header("transfer-encoding").is_empty();
                ensure!(
                    !is_chunked && lengths.iter().all(|length| *length == b"0"),
                    "the lookup announced a body; send a lookup without one"
                );
            }
            Ok(())
        })
    })
}

/// The server receives a payment of three mebibytes.
///
/// It must arrive whole, byte for byte, in one request.
pub fn a_large_payment_arrives_byte_for_byte(stack: &dyn AnyStack) -> Verdict {
    let why = "a truncated body, or one sent in two attempts, is a different payment";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        harness.with_script("responds to every request", [Act::Echo], |run| {
            let charge = run.charge().padded_to(3 * 1024 * 1024);
            must_arrive_unchanged(run, &charge, harness.speaks_http1())
        })
    })
}

/// The server looks for headers that the transport was not asked to send. Its responses set a cookie, offer another
/// protocol and have other headers that browsers act on.
///
/// The transport may add only `Host`, `Content-Length`, `Connection`, `User-Agent` and `Accept`. `Accept-Encoding` asks for
/// responses that `payments-core` cannot read, `Expect` splits the request in two, and a cookie links one customer's
/// payment to another's.
pub fn nothing_else_is_added_to_a_request(stack: &dyn AnyStack) -> Verdict {
    let why = "the service acts on every header, and nobody reviewed the ones that the transport adds";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        let mut browser_headers = response(StatusCode::OK, "{}");
        for (name, value) in [
            ("set-cookie", "session=1; Path=/"),
            ("alt-svc", "h2=\":443\"; ma=3600"),
            ("strict-transport-security", "max-age=3600"),
            ("accept-ch", "Width"),
            ("etag", "\"1\""),
            ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("cache-control", "max-age=3600"),
        ] {
            browser_headers.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        let responds = Act::Answer(browser_headers);
        harness.with_script("responds with headers that a browser acts on", [responds], |run| {
            for _ in 0..2 {
                let bare = ["accept-encoding", "accept", "user-agent"];
                let bare = bare.into_iter().fold(run.charge(), TestRequest::without_header);
                for charge in [run.charge(), bare, run.lookup()] {
                    let call = run.send(charge.clone())?;
                    call.must_have_body(b"{}")?;
                    run.must_have_arrived_once(&call.id)?;
                    let received = run.arrivals.received();
                    let received = received.iter().find(|received| received.has_id(&call.id));
                    received.map_or(Ok(()), |received| must_have_no_added_headers(&charge, received))?;
                }
            }
            Ok(())
        })
    })
}

fn must_have_no_added_headers(sent: &TestRequest, received: &Received) -> Result<(), Violation> {
    let own = ["host", "content-length", "connection", "user-agent", "accept"];
    for (name, value) in &received.headers {
        let (name, value) = (name.to_ascii_lowercase(), String::from_utf8_lossy(value));
        ensure!(
            sent.request.headers().contains_key(&name) || own.contains(&name.as_str()),
            "the transport added the header {name}: {value}; it must not add it"
        );
    }
    Ok(())
}

/// Sends a request and compares what arrives with it.
fn must_arrive_unchanged(run: &TestRun<'_>, sent: &TestRequest, over_http1: bool) -> Result<(), Violation> {
    let call = run.send(sent.clone())?;
    own_response_and_once(run, &call)?;
    run.arrivals.received().iter().try_for_each(|received| must_be_the_same(sent, received, over_http1))
}

fn must_be_the_same(sent: &TestRequest, received: &Received, over_http1: bool) -> Result<(), Violation> {
    let request = &sent.request;
    let method = request.method().as_str();
    ensure!(received.method == method, "the method arrived as {}; it must be {method}", received.method);
    let target = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    ensure!(received.target == target, "the target arrived as {}; it must be {target}", received.target);
    let shown = |values: &[&[u8]]| {
        let texts: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value)).collect();
        format!("{texts:?}")
    };
    for name in request.headers().keys() {
        let sent: Vec<_> = request.headers().get_all(name).iter().map(HeaderValue::as_bytes).collect();
        let values = received.header(name.as_str());
        ensure!(
            values == sent,
            "the header {name} arrived as {}; it must be {}",
            shown(&values),
            shown(&sent)
        );
    }
    ensure!(
        received.body == *request.body(),
        "the body arrived as different {} bytes; it must be {} bytes",
        received.body.len(),
        request.body().len()
    );
    if over_http1 { must_be_framed_once(sent, received) } else { Ok(()) }
}

fn must_be_framed_once(sent: &TestRequest, received: &Received) -> Result<(), Violation> {
    let length = sent.request.body().len().to_string();
    let is_chunked = !received.header("transfer-encoding").is_empty();
    ensure!(
        received.header("content-length") == [length.as_bytes()] && !is_chunked,
        "the request must have exactly one Content-Length, {length}, and no Transfer-Encoding, so that everything \
         between client and server agrees on where it ends"
    );
    let host = sent.request.uri().authority().map_or("", http::uri::Authority::as_str);
    ensure!(
        received.header("host") == [host.as_bytes()],
        "the request must have exactly one Host header, {host}"
    );
    Ok(())
}
