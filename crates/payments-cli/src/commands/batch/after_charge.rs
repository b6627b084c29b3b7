//! What happens after a charge, to its row and to the run: a function of its result.

use std::time::Duration;

use payments_core::{ErrorKind, Outcome, TransportError};

use super::charge_result::ChargeResult;
use crate::failure::{Failure, is_invalid};

/// What a result means for the rows that follow. `problem` is one or two words for people.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AfterCharge {
    /// Another process is sending the row: ask the journal about it again.
    IsElsewhere,
    /// The journal had the outcome, or nothing was sent: the service has said nothing.
    SaysNothing,
    /// A panic, which is a bug.
    Internal,
    /// The service has responded as it should, with any outcome.
    Responded,
    /// HTTP 401.
    Unauthorized(Outcome),
    /// HTTP 403.
    Forbidden(Outcome, ErrorKind),
    /// HTTP 429, with the requested pause.
    TooManyRequests { outcome: Outcome, asked: Option<Duration> },
    /// The outcome is unknown.
    Unknown { problem: &'static str },
    /// The request provably did not leave this machine, because of the network.
    NotReached { problem: &'static str, explained: String, may_try_again: bool },
    /// The same, or unknown, and waiting does not help.
    Unreachable { problem: &'static str, explained: String, may_try_again: bool },
}

/// The row may be tried again in this run only if the request provably did not leave this machine, and the journal has
/// recorded that.
pub(super) fn after(charged: &ChargeResult) -> AfterCharge {
    let error = match charged {
        Ok(journaled) if journaled.is_from_the_journal() => return AfterCharge::SaysNothing,
        Ok(_) => return AfterCharge::Responded,
        Err(error) => error,
    };
    let Some(call) = error.call_error() else {
        return match error.kind() {
            _ if error.is_in_progress() => AfterCharge::IsElsewhere,
            "panic" | "lost" if !error.is_recorded() => AfterCharge::Internal,
            _ => AfterCharge::SaysNothing,
        };
    };
    let failed = call.failed_call();
    let problem = payments_journal::Failure::kind_of(failed);
    let is_permanent = failed.transport_error().is_some_and(TransportError::is_permanent);
    let may_try_again = call.outcome() == Outcome::NotProcessed && error.not_recorded().is_none();
    match (call.outcome(), call.http_status().map(|status| status.as_u16())) {
        (outcome, Some(401)) => AfterCharge::Unauthorized(outcome),
        (outcome, Some(403)) => AfterCharge::Forbidden(outcome, call.kind()),
        (outcome, Some(429)) => AfterCharge::TooManyRequests { outcome, asked: failed.retry_after_delay() },
        (Outcome::Rejected, _) => AfterCharge::Responded,
        (Outcome::NotProcessed, _) if is_invalid(call.kind()) => AfterCharge::SaysNothing,
        (Outcome::NotProcessed | Outcome::Unknown, _) if is_permanent => {
            AfterCharge::Unreachable { problem, explained: explained(call), may_try_again }
        }
        (Outcome::NotProcessed, _) => {
            AfterCharge::NotReached { problem, explained: explained(call), may_try_again }
        }
        (Outcome::Unknown, _) => AfterCharge::Unknown { problem },
    }
}

/// What happened, why, and what to check.
fn explained(call: &payments_core::Error) -> String {
    let Failure { cause, advice, .. } = Failure::of(call);
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    let hints = advice.hints.into_iter().map(|hint| format!("; {hint}"));
    format!("{}{cause}{}", call.failed_call(), hints.collect::<String>())
}

#[cfg(test)]
mod tests {
    use payments_core::TransportErrorKind;
    use payments_fake::ScriptedTransport;

    use super::super::charge_result::tests::{PAID, Panics, charge_over, charge_twice};
    use super::*;

    #[tokio::test]
    async fn every_result_has_one_consequence_d54() {
        use AfterCharge::{
            Forbidden, Internal, IsElsewhere, NotReached, Responded, SaysNothing, TooManyRequests,
            Unauthorized, Unknown, Unreachable,
        };
        use TransportErrorKind::{Closed, Connect};

        let answer = |status, body: &str| ScriptedTransport::new().respond_json(status, body.to_owned());
        let refuse =
            |status| answer(status, &format!(r#"{{"status":"failed","status_code":{status},"msg":"no"}}"#));
        let fail = |error| ScriptedTransport::new().fail(error);
        let (outcome, asked) = (Outcome::Rejected, None);
        for (transport, expected) in [
            (answer(200, PAID), Responded),
            (refuse(400), Responded),
            (refuse(401), Unauthorized(outcome)),
            (refuse(429), TooManyRequests { outcome, asked }),
            (fail(TransportError::unknown(Closed)), Unknown { problem: "closed" }),
        ] {
            assert_eq!(after(&charge_over(transport).await), expected);
        }
        // A response that cannot be read does not show whether a charge was made.
        let encoded = |status: u16| {
            let response = http::Response::builder().status(status).header("content-encoding", "gzip");
            ScriptedTransport::new().respond(response.body("xyz".into()).expect("a response"))
        };
        assert_eq!(after(&charge_over(encoded(401)).await), Unauthorized(Outcome::Unknown));
        assert_eq!(after(&charge_over(encoded(403)).await), Forbidden(Outcome::Unknown, ErrorKind::Unclear));
        let unclear = TooManyRequests { outcome: Outcome::Unknown, asked };
        assert_eq!(after(&charge_over(encoded(429)).await), unclear);
        let foreign = after(&charge_over(answer(403, "<html>blocked</html>")).await);
        assert_eq!(foreign, Forbidden(Outcome::Unknown, ErrorKind::RefusedByIntermediary));
        let forbidden = after(&charge_over(refuse(403)).await);
        assert!(matches!(forbidden, Forbidden(Outcome::Rejected, _)), "{forbidden:?}");
        let not_reached = fail(TransportError::not_processed(Connect));
        let after_not_reached = after(&charge_over(not_reached).await);
        let may_be_tried_again =
            matches!(after_not_reached, NotReached { problem: "connect", may_try_again: true, .. });
        assert!(may_be_tried_again, "{after_not_reached:?}");
        for (error, is_unsent) in [
            (TransportError::not_processed(Connect).permanent(), true),
            (TransportError::unknown(Closed).permanent(), false),
        ] {
            match after(&charge_over(fail(error)).await) {
                Unreachable { may_try_again, .. } => assert_eq!(may_try_again, is_unsent),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(after(&charge_over(Panics).await), Internal);
        assert_eq!(after(&charge_twice(answer(200, PAID)).await), SaysNothing);
        assert_eq!(after(&charge_twice(ScriptedTransport::new().hang()).await), IsElsewhere);
    }
}
