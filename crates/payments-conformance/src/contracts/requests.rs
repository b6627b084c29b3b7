//! What reaches the server: the request, all of it, and nothing else.

use http::{HeaderValue, StatusCode};

use crate::breach::Breach;
use crate::charge::Charge;
use crate::contract::Contract;
use crate::journal::Received;
use crate::script::{Act, answer};
use crate::{Stack, Verdict};

/// The server compares a payment with what the transport was asked to send.
///
/// Method, target, every header with all its values in order, and the body are the same byte for byte. `Host` is the
/// server's, `Content-Length` is given once and right, and the body is not chunked.
pub fn a_payment_arrives_byte_for_byte(stack: &impl Stack) -> Verdict {
    let why =
        "a changed target, header or body is another request than the one that was checked and signed for";
    Contract::as_data("a_payment_arrives_byte_for_byte", why).check(stack, |stage| {
        stage.scripted("answers every request", [Act::Echo], |trial| {
            let uri = format!("{}/transaction/a%2Fb%20c:d~e;f=g,h?x=y%26z&&q=%C3%A9", trial.base_url());
            let charge = trial.charge().header("x-twice", "one").header("x-twice", "two").uri(&uri);
            let seen = trial.send(charge.clone())?;
            seen.must_be_its_own()?;
            trial.must_have_arrived_once(&seen.id)?;
            for received in trial.journal().received() {
                must_be_the_same(&charge, &received, stage.speaks_http1())?;
            }
            Ok(())
        })
    })
}

/// The server compares a look-up with what the transport was asked to send.
///
/// It has no body, and is not chunked.
pub fn a_look_up_arrives_byte_for_byte(stack: &impl Stack) -> Verdict {
    let why = "a look-up is how a payment of unknown outcome is found; one that some server on the way takes for \
               something else finds nothing";
    Contract::as_data("a_look_up_arrives_byte_for_byte", why).check(stack, |stage| {
        stage.scripted("answers every request", [Act::Echo], |trial| {
            let uri = format!("{}/transaction/a%2Fb:c~d?x=y%20z", trial.base_url());
            let charge = trial.look_up().uri(&uri);
            let seen = trial.send(charge.clone())?;
            seen.must_be_its_own()?;
            for received in trial.journal().received() {
                must_be_the_same(&charge, &received, false)?;
                let lengths = received.header("content-length");
                if !received.header("transfer-encoding").is_empty()
                    || lengths.iter().any(|length| *length != b"0")
                {
                    return Err(Breach::new("the look-up announced a body; it should have had none"));
                }
            }
            Ok(())
        })
    })
}

/// The server receives a payment of three mebibytes.
///
/// It arrives whole, byte for byte, in one request.
pub fn a_large_payment_arrives_byte_for_byte(stack: &impl Stack) -> Verdict {
    let why = "a body that is cut, or sent in two attempts, is another payment";
    Contract::as_data("a_large_payment_arrives_byte_for_byte", why).check(stack, |stage| {
        stage.scripted("answers every request", [Act::Echo], |trial| {
            let charge = trial.charge().body_of(3 * 1024 * 1024);
            let seen = trial.send(charge.clone())?;
            seen.must_be_its_own()?;
            trial.must_have_arrived_once(&seen.id)?;
            for received in trial.journal().received() {
                must_be_the_same(&charge, &received, stage.speaks_http1())?;
            }
            Ok(())
        })
    })
}

/// The server looks for headers that the transport was not asked to send, before and after it has set a cookie, offered
/// another protocol and asked for credentials.
///
/// `Host`, `Content-Length`, `Connection`, `User-Agent` and `Accept` are the transport's to add, and nothing else is:
/// `Accept-Encoding` asks for answers that core cannot read, `Expect` splits the request in two, a cookie ties one
/// customer's payment to another's.
pub fn nothing_else_is_added_to_a_request(stack: &impl Stack) -> Verdict {
    let why = "what a transport adds, the service acts upon, and nobody has checked it";
    Contract::as_data("nothing_else_is_added_to_a_request", why).check(stack, |stage| {
        let mut tempting = answer(StatusCode::OK, "{}");
        for (name, value) in [
            ("set-cookie", "session=1; Path=/"),
            ("alt-svc", "h2=\":443\"; ma=3600"),
            ("strict-transport-security", "max-age=3600"),
            ("accept-ch", "Width"),
            ("etag", "\"1\""),
            ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("cache-control", "max-age=3600"),
        ] {
            tempting.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        stage.scripted("answers with headers that a browser acts upon", [Act::Answer(tempting)], |trial| {
            for _ in 0..2 {
                let bare = ["accept-encoding", "accept", "user-agent"];
                let bare = bare.into_iter().fold(trial.charge(), Charge::without_header);
                for charge in [trial.charge(), bare, trial.look_up()] {
                    let seen = trial.send(charge.clone())?;
                    seen.must_bring(b"{}")?;
                    trial.must_have_arrived_once(&seen.id)?;
                    let received = trial.journal().received();
                    let received = received.iter().find(|received| received.has_id(&seen.id));
                    received.map_or(Ok(()), |received| must_have_nothing_added(&charge, received))?;
                }
            }
            Ok(())
        })
    })
}

fn must_have_nothing_added(sent: &Charge, received: &Received) -> Result<(), Breach> {
    let own = ["host", "content-length", "connection", "user-agent", "accept"];
    for (name, value) in &received.headers {
        let name = name.to_ascii_lowercase();
        if !sent.request().headers().contains_key(&name) && !own.contains(&name.as_str()) {
            let value = String::from_utf8_lossy(value);
            return Err(Breach::new(format!(
                "the transport added the header {name}: {value}; it should not have"
            )));
        }
    }
    Ok(())
}

fn must_be_the_same(sent: &Charge, received: &Received, over_http1: bool) -> Result<(), Breach> {
    let request = sent.request();
    let differs = |what: &str, received: &str, sent: &str| {
        Err(Breach::new(format!("{what} arrived as {received}; it should have been {sent}")))
    };
    if received.method != request.method().as_str() {
        return differs("the method", &received.method, request.method().as_str());
    }
    let target = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    if received.target != target {
        return differs("the target", &received.target, target);
    }
    for name in request.headers().keys() {
        let sent: Vec<_> = request.headers().get_all(name).iter().map(HeaderValue::as_bytes).collect();
        if received.header(name.as_str()) != sent {
            let shown = |values: &[&[u8]]| {
                let texts: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value)).collect();
                format!("{texts:?}")
            };
            return differs(
                &format!("the header {name}"),
                &shown(&received.header(name.as_str())),
                &shown(&sent),
            );
        }
    }
    if received.body != *request.body() {
        let length = |body: &[u8]| format!("{} bytes", body.len());
        return differs("the body", &format!("other {}", length(&received.body)), &length(request.body()));
    }
    if over_http1 { must_be_framed_once(sent, received) } else { Ok(()) }
}

fn must_be_framed_once(sent: &Charge, received: &Received) -> Result<(), Breach> {
    let length = sent.request().body().len().to_string();
    if received.header("content-length") != [length.as_bytes()]
        || !received.header("transfer-encoding").is_empty()
    {
        return Err(Breach::new(format!(
            "the request did not give its length in exactly one Content-Length of {length}, without Transfer-Encoding; \
             two readers on the way must not see two ends of it"
        )));
    }
    let host = sent.request().uri().authority().map_or("", http::uri::Authority::as_str);
    if received.header("host") != [host.as_bytes()] {
        return Err(Breach::new(format!("the request did not have exactly one Host, {host}")));
    }
    Ok(())
}
