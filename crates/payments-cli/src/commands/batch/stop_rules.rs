//! What happens after a charge to its row, and whether the run stops: a function of its result.
//!
//! A run also stops at a signal or a panic (`run`), when the journal or the file of results cannot be written, and at
//! `--max-rejected` (`counting`).

use std::error::Error as _;

use payments_core::{ErrorKind, Outcome, TransportError};
use payments_journal::{Cause, Failure};
use tokio::time::Instant;

use super::charge_result::ChargeResult;
use super::throttle::{Throttle, Ticket};
use crate::call::hints;
use crate::failure::chain;
use crate::report::run::Stop;

/// What happens after a charge.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) row: RowGoesOn,
    /// Why the run stops, if it does.
    pub(super) stop: Option<Stop>,
    /// Why the service has problems, in one or two words for people.
    pub(super) problem: Option<&'static str>,
}

/// Where a row goes after its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowGoesOn {
    /// It is counted, and not sent again in this run.
    Count,
    /// It is tried again.
    TryAgain,
    /// Another process is sending it: the journal is asked about it again.
    AskAgain,
}

impl Decision {
    const COUNT: Self = Self { row: RowGoesOn::Count, stop: None, problem: None };

    fn stop(stop: Stop) -> Self {
        Self { stop: Some(stop), ..Self::COUNT }
    }
}

/// What the results so far mean for the next one.
#[derive(Debug, Default)]
pub(super) struct StopRules {
    /// Rejections that said nothing about the payment, since the service last responded to one as it should.
    unrelated_in_a_row: u32,
}

/// Chosen by this command: a proxy may refuse one row, but this many in a row are not about the rows.
const UNRELATED_BEFORE_STOP: u32 = 3;

impl StopRules {
    /// Decides what happens after this result, and tells the throttle what it says about the service.
    ///
    /// The row may be tried again in this run only if the request provably did not leave this machine, and the journal has
    /// recorded that.
    pub(super) fn decide(
        &mut self,
        charged: &ChargeResult,
        throttle: &mut Throttle,
        ticket: Ticket,
        now: Instant,
    ) -> Decision {
        let error = match charged {
            Ok(journaled) => {
                if !journaled.is_from_the_journal() {
                    self.responded(throttle, ticket);
                }
                return Decision::COUNT;
            }
            Err(error) => error,
        };
        let call = match error.cause() {
            Cause::Call(call) => call,
            Cause::InProgress { .. } => return Decision { row: RowGoesOn::AskAgain, ..Decision::COUNT },
            Cause::Panicked(_) | Cause::Lost => return Decision::stop(Stop::Internal),
            // The journal had the outcome, or nothing was sent: the service has said nothing.
            _ => return Decision::COUNT,
        };
        let failed = call.failed_call();
        let kind = Failure::kind_of(failed);
        let problem = Some(kind);
        let is_permanent = call.kind() == ErrorKind::Configuration
            || failed.transport_error().is_some_and(TransportError::is_permanent);
        let was_not_sent = call.outcome() == Outcome::NotProcessed && error.write_error().is_none();
        let row = if was_not_sent { RowGoesOn::TryAgain } else { RowGoesOn::Count };
        match (call.outcome(), call.http_status().map(|status| status.as_u16())) {
            (outcome, Some(401)) => Decision::stop(Stop::Unauthorized(outcome)),
            (outcome, Some(403)) => Decision::stop(Stop::Forbidden(outcome, call.kind())),
            (outcome, Some(429)) => {
                let asked = failed.retry_after();
                let exceeded = throttle.throttled(ticket, now, asked).err();
                let stop = exceeded.map(|left| Stop::Throttled { outcome, asked, left });
                Decision { stop, problem: Some("HTTP 429"), ..Decision::COUNT }
            }
            (Outcome::Rejected, Some(status)) if !error.is_decline() => {
                self.unrelated_in_a_row += 1;
                let is_blocked = self.unrelated_in_a_row >= UNRELATED_BEFORE_STOP;
                let stop = is_blocked.then_some(Stop::Blocked(status));
                Decision { stop, problem, ..Decision::COUNT }
            }
            (Outcome::Rejected, _) => {
                self.responded(throttle, ticket);
                Decision::COUNT
            }
            // Of this row only. Wrong settings are wrong for every row.
            (Outcome::NotProcessed, _) if call.kind() == ErrorKind::Invalid => Decision::COUNT,
            (Outcome::NotProcessed | Outcome::Unknown, _) if is_permanent => {
                Decision { row, stop: Some(Stop::Unreachable(what_and_why(call))), problem }
            }
            (Outcome::NotProcessed, _) => {
                let exceeded = throttle.not_reached(ticket, now).err();
                Decision { row, stop: exceeded.map(|_| Stop::Outage(what_and_why(call))), problem }
            }
            (Outcome::Unknown, _) => {
                let exceeded = throttle.unknown(ticket, now).err();
                let why = format!("the most recent outcomes are unknown ({kind})");
                Decision { row, stop: exceeded.map(|_| Stop::Outage(why)), problem }
            }
        }
    }

    fn responded(&mut self, throttle: &mut Throttle, ticket: Ticket) {
        self.unrelated_in_a_row = 0;
        throttle.responded(ticket);
    }
}

/// What happened, why, and what to check.
fn what_and_why(call: &payments_core::Error) -> String {
    let cause = chain(call.source()).map(|cause| format!(": {cause}")).unwrap_or_default();
    let failed = call.failed_call();
    let hint = failed.transport_error().and_then(hints::likely_cause);
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{failed}{cause}{hint}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use payments_core::TransportErrorKind;
    use payments_fake::ScriptedTransport;

    use super::super::charge_result::tests::{DECLINED, PAGE, PAID, Panics, charge_over, charge_twice};
    use super::*;

    fn answer(status: u16, body: &str) -> ScriptedTransport {
        ScriptedTransport::new().respond_json(status, body.to_owned())
    }

    /// The service's own refusal.
    fn refuse(status: u16) -> ScriptedTransport {
        answer(status, &format!(r#"{{"status":"failed","status_code":{status},"msg":"no"}}"#))
    }

    /// A response that cannot be read does not show whether a charge was made.
    fn encoded(status: u16) -> ScriptedTransport {
        let response = http::Response::builder().status(status).header("content-encoding", "gzip");
        ScriptedTransport::new().respond(response.body("xyz".into()).expect("a response"))
    }

    /// What happens after this result, with this much patience.
    fn after(charged: &ChargeResult, patience: Duration) -> Decision {
        let mut throttle = Throttle::new(8, None, patience);
        let now = Instant::now();
        let ticket = throttle.start(now);
        StopRules::default().decide(charged, &mut throttle, ticket, now)
    }

    #[tokio::test(start_paused = true)]
    async fn every_result_has_one_consequence_d54() {
        use RowGoesOn::{AskAgain, Count, TryAgain};
        use TransportErrorKind::{Closed, Configuration, Connect};

        const PATIENT: Duration = Duration::from_mins(5);

        let fail = |error| ScriptedTransport::new().fail(error);
        let unreached = TransportError::not_processed;
        let lost = || TransportError::unknown(Closed);
        for (transport, patience, row, reason, problem) in [
            (answer(200, PAID), PATIENT, Count, None, None),
            (refuse(400), PATIENT, Count, None, None),
            (refuse(401), PATIENT, Count, Some("unauthorized"), None),
            (encoded(401), PATIENT, Count, Some("unauthorized"), None),
            (refuse(403), PATIENT, Count, Some("forbidden"), None),
            (encoded(403), PATIENT, Count, Some("forbidden"), None),
            (refuse(429), PATIENT, Count, None, Some("HTTP 429")),
            (refuse(429), Duration::ZERO, Count, Some("throttled"), Some("HTTP 429")),
            (encoded(429), Duration::ZERO, Count, Some("throttled"), Some("HTTP 429")),
            (fail(lost()), PATIENT, Count, None, Some("closed")),
            (fail(lost().permanent()), PATIENT, Count, Some("outage"), Some("closed")),
            (fail(unreached(Connect)), PATIENT, TryAgain, None, Some("connect")),
            (fail(unreached(Connect)), Duration::ZERO, TryAgain, Some("outage"), Some("connect")),
            (fail(unreached(Connect).permanent()), PATIENT, TryAgain, Some("outage"), Some("connect")),
            (fail(unreached(Configuration)), PATIENT, TryAgain, Some("outage"), Some("configuration")),
        ] {
            let decision = after(&charge_over(transport).await, patience);
            let seen = (decision.row, decision.stop.as_ref().map(Stop::reason), decision.problem);
            assert_eq!(seen, (row, reason, problem), "{decision:?}");
        }
        for (charged, row, reason) in [
            (charge_over(Panics).await, Count, Some("internal")),
            (charge_twice(answer(200, PAID)).await, Count, None),
            (charge_twice(ScriptedTransport::new().hang()).await, AskAgain, None),
        ] {
            let decision = after(&charged, Duration::ZERO);
            assert_eq!((decision.row, decision.stop.as_ref().map(Stop::reason)), (row, reason));
        }
    }

    #[tokio::test]
    async fn third_rejection_in_a_row_that_is_not_about_the_payment_stops_the_run_d10() {
        let lost = TransportError::unknown(TransportErrorKind::Closed);
        let (mut rules, mut throttle) =
            (StopRules::default(), Throttle::new(8, None, Duration::from_mins(5)));
        let now = Instant::now();
        for (transport, stops) in [
            (answer(400, PAGE), false),
            (answer(404, DECLINED), false),
            (answer(400, DECLINED), false),
            (answer(405, PAGE), false),
            (answer(431, PAGE), false),
            (answer(200, PAID), false),
            (answer(404, PAGE), false),
            (ScriptedTransport::new().fail(lost), false),
            (answer(413, PAGE), false),
            (answer(421, PAGE), true),
        ] {
            let ticket = throttle.start(now);
            let decision = rules.decide(&charge_over(transport).await, &mut throttle, ticket, now);
            assert_eq!(decision.row, RowGoesOn::Count);
            assert_eq!(matches!(decision.stop, Some(Stop::Blocked(421))), stops, "{decision:?}");
        }
    }

    #[tokio::test]
    async fn a_stop_keeps_the_outcome_and_who_refused() {
        use Outcome::{Rejected, Unknown};

        let foreign = answer(403, "<html>blocked</html>");
        for (transport, outcome, kind) in [
            (refuse(401), Rejected, None),
            (encoded(401), Unknown, None),
            (refuse(403), Rejected, Some(ErrorKind::Refused)),
            (encoded(403), Unknown, Some(ErrorKind::Unclear)),
            (foreign, Unknown, Some(ErrorKind::RefusedByIntermediary)),
            (refuse(429), Rejected, None),
            (encoded(429), Unknown, None),
        ] {
            let seen = match after(&charge_over(transport).await, Duration::ZERO).stop {
                Some(Stop::Unauthorized(outcome) | Stop::Throttled { outcome, .. }) => (outcome, None),
                Some(Stop::Forbidden(outcome, kind)) => (outcome, Some(kind)),
                other => panic!("{other:?}"),
            };
            assert_eq!(seen, (outcome, kind));
        }
    }
}
