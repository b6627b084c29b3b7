//! What reaches the server: the request, all of it, and nothing else.

use crate::breach::Breach;
use crate::charge::Charge;
use crate::contract::Contract;
use crate::received::Received;
use crate::script::Act;
use crate::{Ability, Stack, Verdict};

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
                must_be_the_same(&charge, &received, !stage.lacks(Ability::Sockets))?;
            }
            Ok(())
        })
    })
}

fn must_be_the_same(sent: &Charge, received: &Received, over_the_wire: bool) -> Result<(), Breach> {
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
        let sent: Vec<_> = request.headers().get_all(name).iter().map(http::HeaderValue::as_bytes).collect();
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
    if over_the_wire { must_be_framed_once(sent, received) } else { Ok(()) }
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
