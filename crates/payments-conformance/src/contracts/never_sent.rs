//! No byte of the request ever left: the caller may be told so, and should be.

use std::sync::Arc;
use std::time::Duration;

use payments_core::Delivery;
use rustls::ServerConfig;

use crate::authority::Authority;
use crate::breach::Breach;
use crate::contract::{Contract, Stage};
use crate::conversation::Conversation;
use crate::script::Act;
use crate::server::Greeting;
use crate::{Ability, Stack, Verdict};

/// Nobody listens at the server's port.
///
/// The call is `NotProcessed`: whoever says `Unknown` here turns every outage of the service into a pile of payments
/// that a person has to look up.
pub fn refused_is_not_processed(stack: &impl Stack) -> Verdict {
    Contract::as_data("refused_is_not_processed", NOTHING_LEFT).check(stack, |stage| {
        stage.scripted("nobody listens at its port", [Act::Refuse], |trial| {
            trial.send(trial.charge())?.must_be_not_processed()?;
            Ok(())
        })
    })
}

/// The server's name does not resolve.
///
/// The call is `NotProcessed`, within its connect deadline.
pub fn an_unknown_host_is_not_processed(stack: &impl Stack) -> Verdict {
    Contract::new("an_unknown_host_is_not_processed", NOTHING_LEFT).check(stack, |stage| {
        stage.served("is at a name that does not exist", Conversation::serve, |trial| {
            let uri = format!("{}://no-such-host.invalid/transaction", stage.scheme);
            let charge = trial.charge().uri(&uri).connect(Duration::from_secs(5));
            trial.send(charge)?.must_be_not_processed()?;
            Ok(())
        })
    })
}

/// The server shows a certificate of an authority that nobody told the transport to trust.
///
/// It may be anybody. The call is `NotProcessed`, and neither key nor card reach it.
pub fn an_untrusted_certificate_is_not_processed(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("an_untrusted_certificate_is_not_processed", ANYBODY).needs(Ability::Https);
    contract.check(stack, |stage| {
        let stranger = Authority::new().server();
        is_refused(stage, "shows a certificate of an unknown authority", stranger)
    })
}

/// The server shows a good certificate for another name.
///
/// The call is `NotProcessed`: whoever has any certificate at all could otherwise take the card.
pub fn a_certificate_for_another_host_is_not_processed(stack: &impl Stack) -> Verdict {
    let name = "a_certificate_for_another_host_is_not_processed";
    Contract::new(name, ANYBODY).needs(Ability::Https).check(stack, |stage| {
        let other = stage.authority.server_named("elsewhere.example");
        is_refused(stage, "shows a trusted certificate for elsewhere.example", other)
    })
}

/// The server shows a certificate that has expired.
///
/// The call is `NotProcessed`.
pub fn an_expired_certificate_is_not_processed(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("an_expired_certificate_is_not_processed", ANYBODY).needs(Ability::Https);
    contract.check(stack, |stage| {
        let expired = stage.authority.expired_server();
        is_refused(stage, "shows a trusted certificate that has expired", expired)
    })
}

/// What is at an `https` address does not speak TLS.
///
/// The call is `NotProcessed`, and nothing of the request is sent in clear.
pub fn a_server_without_tls_is_sent_nothing(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("a_server_without_tls_is_sent_nothing", ANYBODY).needs(Ability::Https);
    contract.check(stack, |stage| {
        let script = |connection: &mut Conversation| {
            connection.read_at_least(1);
            connection.write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            connection.close();
        };
        let what = "speaks plain HTTP at an https address";
        stage.served_with(Greeting::Plain, what, script, |trial| {
            trial.send(trial.charge())?.must_be_not_processed()?;
            if trial.journal().requests() > 0 {
                return Err(Breach::new(
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
    let contract = Contract::new("a_broken_handshake_is_not_processed", NOTHING_LEFT).needs(Ability::Https);
    contract.check(stack, |stage| {
        for end in [Conversation::close, Conversation::reset] {
            let script = move |connection: &mut Conversation| {
                connection.read_at_least(1);
                end(connection);
            };
            let what = "ends the connection in the middle of the TLS handshake";
            stage.served_with(Greeting::Plain, what, script, |trial| {
                trial.send(trial.charge())?.must_be_not_processed()?;
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
    Contract::new(name, why).needs(Ability::Https).check(stack, |stage| {
        let deadline = Duration::from_millis(300);
        let script = |connection: &mut Conversation| {
            connection.hold();
        };
        let what = "accepts the connection and never speaks TLS";
        stage.served_with(Greeting::Plain, what, script, |trial| {
            let seen = trial.send(trial.charge().connect(deadline))?;
            let delivery = seen.must_fail()?.delivery();
            if matches!(delivery, Delivery::Answered(_)) {
                return Err(seen.breach("an error that claims no answer"));
            }
            if seen.took > deadline + Duration::from_secs(2) {
                return Err(seen.breach(&format!("that error after its connect deadline of {deadline:.0?}")));
            }
            let late = seen.took.saturating_sub(deadline);
            stage.figure(format!(
                "{late:.1?} after the connect deadline (goal 50 ms), Delivery::{delivery:?}"
            ));
            Ok(())
        })
    })
}

fn is_refused<S: Stack>(stage: &Stage<'_, S>, what: &str, config: Arc<ServerConfig>) -> Result<(), Breach> {
    stage.served_with(Greeting::Tls(config), what, Conversation::serve, |trial| {
        trial.send(trial.charge())?.must_be_not_processed()?;
        Ok(())
    })
}

const NOTHING_LEFT: &str = "nothing was sent, and the transport can know it. Without the proof the caller must treat \
     the payment as possibly taken, and a person has to look it up";

const ANYBODY: &str = "whoever answers there is not the service: a request that is sent all the same hands over the \
     API key and the card";
