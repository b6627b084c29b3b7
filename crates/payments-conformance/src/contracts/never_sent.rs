//! No byte of the request ever left: the caller may be told so, and should be.

use std::sync::Arc;
use std::time::Duration;

use payments_core::Delivery;
use rustls::ServerConfig;

use crate::authority::Authority;
use crate::violation::Violation;
use crate::contract::{Contract, Harness};
use crate::connection::Connection;
use crate::script::Act;
use crate::server::Security;
use crate::{Ability, Stack, Verdict};

/// Nobody listens at the server's port.
///
/// The call is `NotProcessed`: whoever says `Unknown` here turns every outage of the service into a pile of payments
/// that a person has to look up.
pub fn refused_is_not_processed(stack: &impl Stack) -> Verdict {
    Contract::scripted("refused_is_not_processed", NOTHING_SENT).check(stack, |harness| {
        harness.with_script("nobody listens at its port", [Act::Refuse], |run| {
            run.send(run.charge())?.must_be_not_processed()?;
            Ok(())
        })
    })
}

/// The server's name does not resolve.
///
/// The call is `NotProcessed`, within its connect deadline.
pub fn an_unknown_host_is_not_processed(stack: &impl Stack) -> Verdict {
    Contract::new("an_unknown_host_is_not_processed", NOTHING_SENT).check(stack, |harness| {
        harness.with_server("is at a name that does not exist", Connection::serve, |run| {
            let uri = format!("{}://no-such-host.invalid/transaction", harness.scheme);
            let charge = run.charge().uri(&uri).connect(Duration::from_secs(5));
            run.send(charge)?.must_be_not_processed()?;
            Ok(())
        })
    })
}

/// The server shows a certificate of an authority that nobody told the transport to trust.
///
/// It may be anybody. The call is `NotProcessed`, and neither key nor card reach it.
pub fn an_untrusted_certificate_is_not_processed(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("an_untrusted_certificate_is_not_processed", NOT_THE_SERVICE).needs(Ability::Https);
    contract.check(stack, |harness| {
        let stranger = Authority::new().server();
        is_refused(harness, "shows a certificate of an unknown authority", stranger)
    })
}

/// The server shows a good certificate for another name.
///
/// The call is `NotProcessed`: whoever has any certificate at all could otherwise take the card.
pub fn a_certificate_for_another_host_is_not_processed(stack: &impl Stack) -> Verdict {
    let name = "a_certificate_for_another_host_is_not_processed";
    Contract::new(name, NOT_THE_SERVICE).needs(Ability::Https).check(stack, |harness| {
        let other = harness.authority.server_named("elsewhere.example");
        is_refused(harness, "shows a trusted certificate for elsewhere.example", other)
    })
}

/// The server shows a certificate that has expired.
///
/// The call is `NotProcessed`.
pub fn an_expired_certificate_is_not_processed(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("an_expired_certificate_is_not_processed", NOT_THE_SERVICE).needs(Ability::Https);
    contract.check(stack, |harness| {
        let expired = harness.authority.expired_server();
        is_refused(harness, "shows a trusted certificate that has expired", expired)
    })
}

/// What is at an `https` address does not speak TLS.
///
/// The call is `NotProcessed`, and nothing of the request is sent in clear.
pub fn a_server_without_tls_is_sent_nothing(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("a_server_without_tls_is_sent_nothing", NOT_THE_SERVICE).needs(Ability::Https);
    contract.check(stack, |harness| {
        let script = |connection: &mut Connection| {
            connection.read_at_least(1);
            connection.write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            connection.close();
        };
        let what = "speaks plain HTTP at an https address";
        harness.with_server_over(Security::Plain, what, script, |run| {
            run.send(run.charge())?.must_be_not_processed()?;
            if run.journal().requests() > 0 {
                return Err(Violation::new(
                    "the request was sent in clear; it should not have been sent at all",
                ));
            }
            Ok(())
        })
    })
}

/// The server closes or resets the connection in the middle of the TLS handshake.
///
/// The call is `NotProcessed`: without a finished handshake no request can have been read.
pub fn a_broken_handshake_is_not_processed(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("a_broken_handshake_is_not_processed", NOTHING_SENT).needs(Ability::Https);
    contract.check(stack, |harness| {
        for end in [Connection::close, Connection::reset] {
            let script = move |connection: &mut Connection| {
                connection.read_at_least(1);
                end(connection);
            };
            let what = "ends the connection in the middle of the TLS handshake";
            harness.with_server_over(Security::Plain, what, script, |run| {
                run.send(run.charge())?.must_be_not_processed()?;
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server accepts the connection and never begins the TLS handshake.
///
/// The call ends with its connect deadline, which covers name, connection and handshake together, and not with the
/// total one. It is not an answer; best it is `NotProcessed`, and the figure tells.
pub fn a_stalled_handshake_ends_with_the_connect_deadline(stack: &impl Stack) -> Verdict {
    let name = "a_stalled_handshake_ends_with_the_connect_deadline";
    let why = "in a stack whose connect time-out leaves out TLS, one dead load balancer holds every payment for the \
               whole of its total deadline";
    Contract::new(name, why).needs(Ability::Https).check(stack, |harness| {
        let deadline = Duration::from_millis(300);
        let script = |connection: &mut Connection| {
            connection.wait_for_close();
        };
        let what = "accepts the connection and never speaks TLS";
        harness.with_server_over(Security::Plain, what, script, |run| {
            let call = run.send(run.charge().connect(deadline))?;
            let delivery = call.must_fail()?.delivery();
            if matches!(delivery, Delivery::Answered(_)) {
                return Err(call.expected("an error that claims no answer"));
            }
            if call.took > deadline + Duration::from_secs(2) {
                return Err(call.expected(&format!("that error after its connect deadline of {deadline:.0?}")));
            }
            let late = call.took.saturating_sub(deadline);
            harness.figure(format!(
                "{late:.1?} after the connect deadline (goal 50 ms), Delivery::{delivery:?}"
            ));
            Ok(())
        })
    })
}

fn is_refused<S: Stack>(harness: &Harness<'_, S>, what: &str, config: Arc<ServerConfig>) -> Result<(), Violation> {
    harness.with_server_over(Security::Tls(config), what, Connection::serve, |run| {
        run.send(run.charge())?.must_be_not_processed()?;
        Ok(())
    })
}

const NOTHING_SENT: &str = "nothing was sent, and the transport can know it. Without the proof the caller must treat \
     the payment as possibly taken, and a person has to look it up";

const NOT_THE_SERVICE: &str = "whoever answers there is not the service: a request that is sent all the same hands over the \
     API key and the card";
