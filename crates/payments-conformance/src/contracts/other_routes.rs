//! There is another route to the service: a request that may have arrived must not take it.

use std::net::{Ipv6Addr, TcpListener, ToSocketAddrs, UdpSocket};

use http::{StatusCode, Uri};

use crate::arrivals::counted;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::server::{Security, Server};
use crate::situations::{MEDIUM, own_response_and_once, unknown_and_once};
use crate::violation::Violation;
use crate::{AnyStack, Verdict};

/// The server advertises an alternative service in `Alt-Svc` and closes after each response. Later it responds with 421, and
/// then loses a response.
///
/// Every request must go to the server in the URL. The alternative, which would respond, sees no connection and no packet.
pub fn an_alternative_service_is_not_used(stack: &dyn AnyStack) -> Verdict {
    let why = "one response header would redirect all later payments, with the card and the API key. A payment lost on \
               one route would be charged again over the other. Disable Alt-Svc in the HTTP client";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let other = harness.another_server(Connection::serve);
        // HTTP/3 would arrive here. If the port is taken, HTTP/3 is not checked.
        let datagrams = UdpSocket::bind(other.address).and_then(|udp| udp.set_nonblocking(true).map(|()| udp));
        let port = other.address.port();
        let services = ["h3", "h2", "http/1.1", "http%2F1.1"].map(|protocol| format!("{protocol}=\":{port}\"; ma=3600"));
        let services = services.join(", ");
        let script = move |connection: &mut Connection| {
            let Some(request) = connection.read_request() else { return };
            if request.has_id("charge-00005") {
                return connection.close();
            }
            let status = if request.has_id("charge-00004") { "421 Misdirected Request" } else { "200 OK" };
            connection.write(format!(
                "HTTP/1.1 {status}\r\nAlt-Svc: {services}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"
            ));
            connection.close();
        };
        let what = "advertises an alternative service in each response, later responds with 421, then closes without one";
        harness.with_server(what, script, |run| {
            let mut calls = Vec::new();
            for charge in [run.charge(), run.charge(), run.lookup(), run.charge(), run.charge()] {
                calls.push(run.send(charge)?);
                if other.arrivals.connections() > 0 || datagrams.as_ref().is_ok_and(|udp| udp.peek_from(&mut [0; 1]).is_ok()) {
                    let found = "the transport contacted the alternative service; it must contact only the server in the \
                                 URL";
                    return Err(Violation::dangerous(found).detail("other server", other.arrivals.to_string()));
                }
            }
            let (ok, misdirected) = (StatusCode::OK, StatusCode::MISDIRECTED_REQUEST);
            for (call, status) in calls.iter().zip([ok, ok, ok, misdirected]) {
                call.must_have_status(status)?;
            }
            calls[4].must_be_unknown()?;
            calls.iter().try_for_each(|call| run.must_have_arrived_once(&call.id))
        })
    })
}

/// The server's name has two addresses, with a server at each. The one that the transport connects to reads the request and
/// closes or resets the connection.
///
/// The call must be `Unknown`, and the request arrives once, at one address. Trying another address is for failed connects,
/// not for requests that may have been read.
///
/// The name is `localhost`. On a machine without IPv6, or on which the name has only one address, the contract does not apply,
/// unless a violation is found all the same.
pub fn the_next_address_is_not_tried_after_the_request(stack: &dyn AnyStack) -> Verdict {
    let why = "both addresses lead to the same service: a payment lost at the first is charged again at the \
               second";
    Contract::new(own_name!(), why).check(stack, |harness| {
        for end in [Connection::close, Connection::reset] {
            let script = move |connection: &mut Connection| {
                if connection.read_request().is_some() {
                    end(connection);
                }
            };
            let what = "listens at two addresses, reads the whole request and ends the connection";
            harness.with_server(what, script, |run| {
                let port = port_of(&run.base_url);
                let listener = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
                let second = listener.map(|listener| {
                    Server::start_on(listener, harness.security(), run.arrivals.clone(), script)
                });
                let charge = run.charge_at(&format!("{}://localhost:{port}/api/v1/public", harness.scheme));
                let call = run.send(charge)?;
                if let Ok(second) = &second {
                    run.block_on(second.until_idle())?;
                }
                unknown_and_once(run, &call)?;
                let addresses = ("localhost", port).to_socket_addrs();
                if second.is_err() {
                    harness.not_checked("this machine has no second loopback address to listen on");
                } else if !addresses.is_ok_and(|mut all| all.any(|address| address.is_ipv6())) {
                    harness.not_checked("this machine resolves localhost to only one address");
                }
                harness.figure(counted(run.arrivals.connections(), "connection"));
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server offers HTTP/2 and HTTP/1.1, and prefers HTTP/2. Over HTTP/2 it does not respond.
///
/// Every call must succeed over HTTP/1.1, unless [`Setup::wants_http2`](crate::Setup::wants_http2) asks for HTTP/2.
pub fn http2_is_not_spoken_unasked(stack: &dyn AnyStack) -> Verdict {
    let why = "over HTTP/2 many payments share a connection, and one failure makes all of them unknown. Offer only \
               `http/1.1` in the TLS handshake unless HTTP/2 is chosen";
    Contract::over_tls(own_name!(), why).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            if connection.speaks_http2() {
                connection.note("HTTP/2 was chosen");
                connection.close();
            } else {
                connection.serve();
            }
        };
        let security = Security::Tls(harness.authority.server_speaking(&["h2", "http/1.1"]));
        harness.with_server_over(security, "prefers HTTP/2 and also offers HTTP/1.1", script, |run| {
            own_response_and_once(run, &run.send(run.charge().total(MEDIUM))?)
        })
    })
}

fn port_of(url: &str) -> u16 {
    let uri: Uri = url.parse().expect("the kit's addresses are valid");
    uri.port_u16().expect("the kit's addresses have a port")
}
