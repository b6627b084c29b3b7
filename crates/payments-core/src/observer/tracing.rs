use tracing::field::{debug, display};
use tracing::{debug, error, info, warn};

use super::events::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};
use crate::TransportErrorKind;
use crate::error::Outcome;

/// Reports every attempt to [`tracing`], under the target `payments`.
///
/// The level of a start is `debug`, of a success `info`, of a refusal or a safe failure `warn`. An unknown outcome is `error`,
/// because a person must investigate it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TracingObserver;

impl TracingObserver {
    /// Creates an observer that reports to the installed subscriber.
    pub fn new() -> Self {
        Self
    }
}

impl Observer for TracingObserver {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        let (call_id, operation) = (display(event.call_id), event.operation.as_str());
        let caller_headers = event.caller_headers.names().next().map(|_| debug(event.caller_headers));
        debug!(target: "payments", operation, attempt = event.attempt, call_id, caller_headers, "attempt started");
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let AttemptFinished { started, latency, request_id, transaction_id, .. } = *event;
        let AttemptStarted { attempt, reference, last_four, .. } = *started;
        let (call_id, operation) = (display(started.call_id), started.operation.as_str());
        let amount = started.amount.map(display);
        let http_status = event.http_status.map(|status| status.as_u16());
        let kind = event.failure.map(|failure| failure.kind.as_str());
        let transport = event.failure.and_then(|failure| failure.transport).map(TransportErrorKind::as_str);
        macro_rules! report {
            ($level:ident, $outcome:expr, $message:literal) => {
                $level!(
                    target: "payments",
                    operation,
                    attempt,
                    call_id,
                    ?latency,
                    outcome = $outcome,
                    kind,
                    transport,
                    http_status,
                    request_id,
                    transaction_id,
                    amount,
                    reference,
                    last_four,
                    $message
                )
            };
        }
        match event.failure {
            None if event.started.operation.moves_money() => report!(info, "processed", "attempt succeeded"),
            None => report!(info, "found", "attempt succeeded"),
            Some(failure) if failure.outcome == Some(Outcome::Unknown) => {
                report!(error, "unknown", "outcome unknown: it may have been processed");
            }
            Some(failure) => {
                report!(warn, failure.outcome.map(Outcome::as_str), "attempt failed");
            }
        }
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        let AttemptAbandoned { started, latency } = *event;
        let AttemptStarted { attempt, started_at, reference, last_four, transaction_id, .. } = *started;
        let (call_id, operation) = (display(started.call_id), started.operation.as_str());
        let amount = started.amount.map(display);
        macro_rules! report {
            ($level:ident, $message:literal) => {
                $level!(
                    target: "payments",
                    operation,
                    attempt,
                    call_id,
                    ?latency,
                    ?started_at,
                    transaction_id,
                    amount,
                    reference,
                    last_four,
                    $message
                )
            };
        }
        if started.operation.moves_money() {
            report!(error, "call dropped: it may have been processed");
        } else {
            report!(debug, "call dropped");
        }
    }
}
