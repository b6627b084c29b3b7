use h2::Reason;

use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::http2_peer::{Peer, Request};
use crate::server::Security;
use crate::situations::unknown_and_once;
use crate::{AnyStack, Verdict};

/// The server offers HTTP/2 and HTTP/1.1. Over HTTP/2 it reads the request and fails it, with `HTTP_1_1_REQUIRED` or
/// `INADEQUATE_SECURITY`, or by closing. Over HTTP/1.1 it would respond.
///
/// The call must be `Unknown`, and the request arrives once, over HTTP/2. `HTTP_1_1_REQUIRED` asks the client to use the
/// other version, but does not prove that nothing was processed.
pub fn another_http_version_is_not_tried_after_a_failure(stack: &dyn AnyStack) -> Verdict {
    let why = "a request that fails in one version and is sent again in the other can be charged twice";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        for (how, fail) in FAILURES {
            let script = move |connection: &mut Connection| {
                if !connection.speaks_http2() {
                    connection.note("HTTP/1.1 was chosen");
                    return connection.serve();
                }
                if let Some(mut peer) = Peer::start(connection) {
                    while let Some(request) = peer.next_request() {
                        fail(&mut peer, &request);
                    }
                }
            };
            let security = Security::Tls(harness.authority.server_speaking(&["h2", "http/1.1"]));
            let what = format!("reads the whole request over HTTP/2 and {how}; over HTTP/1.1 it responds");
            harness.with_server_over(security, &what, script, |run| {
                let call = run.send(run.charge())?;
                unknown_and_once(run, &call)
            })?;
        }
        Ok(())
    })
}

/// The transport offers HTTP/2, and the server supports only HTTP/1.1. The server either says so in the handshake or ignores
/// the offer.
///
/// The call must succeed over HTTP/1.1.
pub fn http1_is_spoken_to_a_server_that_knows_no_other(stack: &dyn AnyStack) -> Verdict {
    let why = "a server cannot read a request in a protocol that it does not speak, and the payment becomes unknown";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        for (protocols, what) in
            [(&["http/1.1"][..], "offers only HTTP/1.1"), (&[][..], "does not negotiate a protocol")]
        {
            let security = Security::Tls(harness.authority.server_speaking(protocols));
            harness.with_server_over(security, what, Connection::serve, |run| {
                run.send(run.charge())?.must_get_own_response()?;
                run.send(run.charge())?.must_get_own_response()
            })?;
        }
        Ok(())
    })
}

/// A way for a request to fail.
type Failure = fn(&mut Peer<'_>, &Request);

const FAILURES: [(&str, Failure); 4] = [
    ("resets its stream with HTTP_1_1_REQUIRED", |peer, request| {
        peer.reset(request.stream, Reason::HTTP_1_1_REQUIRED);
    }),
    ("ends the connection with HTTP_1_1_REQUIRED", |peer, request| {
        peer.goaway(request.stream, Reason::HTTP_1_1_REQUIRED);
        peer.connection().close();
    }),
    ("ends the connection with INADEQUATE_SECURITY", |peer, request| {
        peer.goaway(request.stream, Reason::INADEQUATE_SECURITY);
        peer.connection().close();
    }),
    ("closes the connection", |peer, _| peer.connection().close()),
];
