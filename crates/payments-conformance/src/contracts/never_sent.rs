//! No byte of the request was sent: the transport should report that, because it can prove it.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use payments_core::Delivery;
use rustls::ServerConfig;
use socket2::{Domain, Socket, Type};

use crate::authority::Authority;
use crate::completed_call::{CompletedCall, TOLERANCE};
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::script::Act;
use crate::server::Security;
use crate::violation::Violation;
use crate::{AnyStack, Verdict};

/// Nothing listens on the server's port.
///
/// The call must be `NotProcessed`. With `Unknown`, every outage of the service leaves a pile of payments that a person has
/// to look up.
pub fn refused_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), NOTHING_SENT).check(stack, |harness| {
        harness.with_script("does not listen on its port", [Act::Refuse], |run| {
            run.send(run.charge())?.must_be_not_processed()
        })
    })
}

/// The server's name does not resolve.
///
/// The call must be `NotProcessed`, within its connect deadline.
pub fn an_unknown_host_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), NOTHING_SENT).check(stack, |harness| {
        harness.with_server("has a name that does not exist", Connection::serve, |run| {
            let uri = format!("{}://no-such-host.invalid/transaction", harness.scheme);
            let deadline = Duration::from_secs(5);
            let call = run.send(run.charge().uri(&uri).connect(deadline))?;
            call.must_be_not_processed()?;
            must_end_by_the_connect_deadline(&call, deadline)
        })
    })
}

/// The server presents a certificate from an untrusted authority.
///
/// It may be anyone. The call must be `NotProcessed`, and neither API key nor card are sent.
pub fn an_untrusted_certificate_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), NOTHING_SENT).check(stack, |harness| {
        let other_authority = Authority::new().server();
        is_refused(harness, "presents a certificate from an unknown authority", other_authority)
    })
}

/// The server presents a valid certificate for another name.
///
/// The call must be `NotProcessed`. Otherwise anyone with any valid certificate could take the card.
pub fn a_certificate_for_another_host_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), NOTHING_SENT).check(stack, |harness| {
        let other = harness.authority.server_named("elsewhere.example");
        is_refused(harness, "presents a trusted certificate for elsewhere.example", other)
    })
}

/// The server presents an expired certificate.
///
/// The call must be `NotProcessed`.
pub fn an_expired_certificate_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), NOTHING_SENT).check(stack, |harness| {
        let expired = harness.authority.expired_server();
        is_refused(harness, "presents a trusted certificate that has expired", expired)
    })
}

/// The server at an `https` address does not speak TLS.
///
/// The call must be `NotProcessed`, and no part of the request is sent unencrypted.
pub fn a_server_without_tls_is_sent_nothing(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), NOTHING_SENT).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            connection.read_at_least(1);
            connection.write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            connection.close();
        };
        let what = "speaks plain HTTP at an https address";
        harness.with_server_over(Security::Plain, what, script, |run| {
            // A request that arrives breaks a general rule.
            run.send(run.charge())?.must_be_not_processed()
        })
    })
}

/// The server closes or resets the connection during the TLS handshake.
///
/// The call must be `NotProcessed`: no request can have been read before the handshake is complete.
pub fn a_broken_handshake_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), NOTHING_SENT).check(stack, |harness| {
        for end in [Connection::close, Connection::reset] {
            let script = move |connection: &mut Connection| {
                connection.read_at_least(1);
                end(connection);
            };
            let what = "ends the connection during the TLS handshake";
            harness.with_server_over(Security::Plain, what, script, |run| {
                run.send(run.charge())?.must_be_not_processed()
            })?;
        }
        Ok(())
    })
}

/// The server accepts the connection and never begins the TLS handshake.
///
/// The call must end at its connect deadline, which covers name resolution, connecting and the handshake together. It must
/// not be `Answered`. Ideally it is `NotProcessed`; the figure shows what was reported.
pub fn a_stalled_handshake_ends_with_the_connect_deadline(stack: &dyn AnyStack) -> Verdict {
    let why = "if the connect timeout does not cover TLS, one dead load balancer delays every payment until its total \
               deadline";
    Contract::over_tls(own_name!(), why).check(stack, |harness| {
        let deadline = Duration::from_millis(300);
        let script = |connection: &mut Connection| {
            connection.wait_for_close();
        };
        let what = "accepts the connection and never speaks TLS";
        harness.with_server_over(Security::Plain, what, script, |run| {
            let call = run.send(run.charge().connect(deadline))?;
            let delivery = call.must_fail()?.delivery();
            let is_answered = matches!(delivery, Delivery::Answered(_));
            call.must(!is_answered, "an error without Delivery::Answered")?;
            must_end_by_the_connect_deadline(&call, deadline)?;
            let late = call.must_end_with("connect", deadline)?;
            harness.figure(format!(
                "{late:.1?} after the connect deadline (goal 50 ms), Delivery::{delivery:?}"
            ));
            Ok(())
        })
    })
}

/// The server's queue of connections is full, so the network drops every attempt to connect.
///
/// The call must be `NotProcessed`, at its connect deadline.
pub fn a_stalled_connect_ends_with_the_connect_deadline(stack: &dyn AnyStack) -> Verdict {
    let why =
        "with one timeout for everything, each payment waits for a dead server until its total deadline";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let Some(busy) = BusyServer::start() else {
            harness.not_checked("this system accepts or refuses a connection when the queue is full");
            return Ok(());
        };
        harness.with_address(busy.address, "does not complete a connection", |run| {
            let deadline = Duration::from_millis(300);
            let call = run.send(run.charge().connect(deadline))?;
            call.must_be_not_processed()?;
            must_end_by_the_connect_deadline(&call, deadline)?;
            call.must_end_with("connect", deadline).map(drop)
        })
    })
}

fn must_end_by_the_connect_deadline(call: &CompletedCall, deadline: Duration) -> Result<(), Violation> {
    let in_time = call.took <= deadline + TOLERANCE;
    call.must(in_time, &format!("this error at its connect deadline of {deadline:.0?}"))
}

/// A server that accepts no connection, and whose queue is full.
struct BusyServer {
    address: SocketAddr,
    _listener: Socket,
    _queue: Vec<TcpStream>,
}

impl BusyServer {
    /// `None` if this system does not drop the next attempt to connect.
    fn start() -> Option<Self> {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
        listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).ok()?;
        listener.listen(0).ok()?;
        let address = listener.local_addr().ok()?.as_socket()?;
        let mut queue = Vec::new();
        while queue.len() < LONGEST_QUEUE {
            match TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
                Ok(queued) => queue.push(queued),
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Some(Self { address, _listener: listener, _queue: queue });
                }
                Err(_) => return None,
            }
        }
        None
    }
}

/// Systems round the length of a queue up.
const LONGEST_QUEUE: usize = 300;

fn is_refused(harness: &Harness<'_>, what: &str, config: Arc<ServerConfig>) -> Result<(), Violation> {
    harness.with_server_over(Security::Tls(config), what, Connection::serve, |run| {
        run.must_send_nothing();
        run.send(run.charge())?.must_be_not_processed()
    })
}

const NOTHING_SENT: &str = "nothing was sent, and the transport can prove it. Without that proof the caller must treat \
     the payment as possibly charged, and a person has to look it up";
