//! There is another route to the service: a request that may have arrived must not take it.

use std::io::{self, ErrorKind};
use std::net::{Ipv6Addr, TcpListener, ToSocketAddrs, UdpSocket};

use http::StatusCode;

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
        // HTTP/3 would arrive at the second.
        let listen = |other: &Server| UdpSocket::bind(other.address);
        let both = on_one_port(|| harness.another_server(Connection::serve), listen);
        let both = both.and_then(|(other, udp)| udp.set_nonblocking(true).map(|()| (other, udp)));
        let (other, datagrams) =
            both.map_err(|error| Violation::new(format!("this machine cannot receive HTTP/3 over loopback: {error}")))?;
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
                if other.arrivals.connections() > 0 || datagrams.peek_from(&mut [0; 1]).is_ok() {
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
/// unless a violation is still found.
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
            let listen = |first: &Server| TcpListener::bind((Ipv6Addr::LOCALHOST, first.address.port()));
            let (first, second) = match on_one_port(|| harness.another_server(script), listen) {
                Ok((first, listener)) => {
                    let arrivals = first.arrivals.clone();
                    (first, Some(Server::start_on(listener, harness.security(), arrivals, script)))
                }
                Err(_) => (harness.another_server(script), None),
            };
            harness.with_started(&first, what, |run| {
                let port = first.address.port();
                let charge = run.charge_at(&format!("{}://localhost:{port}/api/v1/public", harness.scheme));
                let call = run.send(charge)?;
                if let Some(second) = &second {
                    run.block_on(second.until_idle())?;
                }
                unknown_and_once(run, &call)?;
                let addresses = ("localhost", port).to_socket_addrs();
                if second.is_none() {
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

/// Opens one socket on a free port, and another one with the same number. If another program has that one, tries other ports.
fn on_one_port<A, B>(first: impl Fn() -> A, second: impl Fn(&A) -> io::Result<B>) -> io::Result<(A, B)> {
    let mut tries = 0;
    loop {
        tries += 1;
        let first = first();
        match second(&first) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && tries < MOST_TRIES => {}
            second => return Ok((first, second?)),
        }
    }
}

const MOST_TRIES: usize = 100;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn only_a_taken_port_is_replaced_and_not_forever() {
        let (taken, missing) = (ErrorKind::AddrInUse, ErrorKind::AddrNotAvailable);
        for (first_free, there, expected, tries) in [
            (2, Ok("free"), Ok((2, "free")), 3),
            (2, Err(missing), Err(missing), 3),
            (usize::MAX, Ok("free"), Err(taken), MOST_TRIES),
        ] {
            let ports = Cell::new(0);
            let next = || ports.replace(ports.get() + 1);
            let listen = |port: &usize| if *port < first_free { Err(taken) } else { there };
            let opened = on_one_port(next, |port| listen(port).map_err(io::Error::from));
            assert_eq!((opened.map_err(|error| error.kind()), ports.get()), (expected, tries));
        }
    }
}
