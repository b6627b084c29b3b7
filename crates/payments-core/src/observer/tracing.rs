use tracing::field::{debug, display};
use tracing::{debug, error, info, warn};

use super::events::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};
use crate::TransportErrorKind;
use crate::error::Outcome;

/// Reports the end of an attempt, with these fields between those that every such event has.
macro_rules! report {
    ($level:ident, $event:ident, $message:literal, [$($field:tt)*]) => {
        $level!(
            target: "payments",
            operation = $event.started.operation.as_str(),
            attempt = $event.started.attempt,
            call_id = display($event.started.call_id),
            latency = debug($event.latency),
            $($field)*,
            amount = $event.started.amount.map(display),
            reference = $event.started.reference,
            last_four = $event.started.last_four,
            $message
        )
    };
}

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
        let AttemptFinished { request_id, transaction_id, .. } = *event;
        let http_status = event.http_status.map(|status| status.as_u16());
        let kind = event.failure.map(|failure| failure.kind.as_str());
        let transport = event.failure.and_then(|failure| failure.transport).map(TransportErrorKind::as_str);
        macro_rules! report_finished {
            ($level:ident, $outcome:expr, $message:literal) => {
                report!(
                    $level,
                    event,
                    $message,
                    [outcome = $outcome, kind, transport, http_status, request_id, transaction_id]
                )
            };
        }
        match event.failure {
            None if event.started.operation.moves_money() => {
                report_finished!(info, "processed", "attempt succeeded");
            }
            None => report_finished!(info, "found", "attempt succeeded"),
            Some(failure) if failure.outcome == Some(Outcome::Unknown) => {
                report_finished!(error, "unknown", "outcome unknown: it may have been processed");
            }
            Some(failure) => {
                report_finished!(warn, failure.outcome.map(Outcome::as_str), "attempt failed");
            }
        }
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        let AttemptStarted { started_at, transaction_id, .. } = *event.started;
        if event.started.operation.moves_money() {
            report!(error, event, "call dropped: it may have been processed", [?started_at, transaction_id]);
        } else {
            report!(debug, event, "call dropped", [?started_at, transaction_id]);
        }
    }
}
