use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Instant, SystemTime};

use payments_model::TransactionId;

use crate::observer::{
    AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, BodySnippet, CallId,
};
use crate::operation::sealed::Facts;
use crate::operation::{Operation, OperationError as _};
use crate::response::Secrets;
use crate::{Endpoint, Observer, OperationName, Success, Timer};

/// Reports the start and the end of an attempt to the observer. If it is dropped before `finish`, it reports an abandoned attempt.
pub(crate) struct AttemptReporter<'a> {
    observer: Option<&'a dyn Observer>,
    timer: &'a dyn Timer,
    call_id: CallId,
    operation: OperationName,
    attempt: u32,
    facts: Facts<'a>,
    /// Masked.
    reference: Option<String>,
    secrets: Secrets,
    started: Instant,
    started_at: SystemTime,
}

/// Creates an event from the fields that all events share and its own fields.
macro_rules! event {
    ($event:ident of $reporter:ident { $($added:tt)* }) => {
        $event {
            call_id: $reporter.call_id,
            operation: $reporter.operation,
            attempt: $reporter.attempt,
            started_at: $reporter.started_at,
            amount: $reporter.facts.amount,
            reference: $reporter.reference.as_deref(),
            last_four: $reporter.facts.last_four,
            $($added)*
        }
    };
}

impl<'a> AttemptReporter<'a> {
    pub(crate) fn start<O: Operation>(
        observer: &'a dyn Observer,
        timer: &'a dyn Timer,
        endpoint: &Endpoint,
        operation: &'a O,
        call_id: CallId,
        attempt: u32,
    ) -> Self {
        let secrets = Secrets::new(&operation.secrets(), Some(endpoint));
        let mut facts = operation.facts();
        facts.transaction_id.take_if(|id| secrets.are_in(id));
        let reporter = Self {
            observer: Some(observer),
            timer,
            call_id,
            operation: O::NAME,
            attempt,
            reference: facts.reference.map(|reference| secrets.mask(reference, usize::MAX)),
            facts,
            secrets,
            started: timer.now(),
            started_at: timer.system_time(),
        };
        let event = event!(AttemptStarted of reporter { transaction_id: reporter.facts.transaction_id });
        catch_panic(|| observer.attempt_started(&event));
        reporter
    }

    pub(crate) fn finish<O: Operation>(mut self, result: &Result<Success<O::Data>, O::Error>) {
        let Some(observer) = self.observer.take() else {
            return;
        };
        let latency = self.timer.now().saturating_duration_since(self.started);
        let event = match result {
            Ok(success) => event!(AttemptFinished of self {
                latency,
                failure: None,
                http_status: Some(success.http_status()),
                request_id: success.request_id(),
                transaction_id: O::transaction_id(success.data()).filter(|id| !self.secrets.are_in(id)),
                refusal: None,
            }),
            Err(error) => {
                let failure = error.failure();
                event!(AttemptFinished of self {
                    latency,
                    failure: Some(AttemptFailure::of(error)),
                    http_status: failure.http_status(),
                    request_id: failure.metadata().and_then(|metadata| metadata.request_id()),
                    transaction_id: error.transaction_to_observe().map(TransactionId::as_str),
                    refusal: failure.metadata().filter(|_| failure.is_readable_refusal()).map(BodySnippet),
                })
            }
        };
        catch_panic(|| observer.attempt_finished(&event));
    }
}

impl Drop for AttemptReporter<'_> {
    fn drop(&mut self) {
        let Some(observer) = self.observer else { return };
        let latency = self.timer.now().saturating_duration_since(self.started);
        let transaction_id = self.facts.transaction_id;
        let event = event!(AttemptAbandoned of self { latency, transaction_id });
        catch_panic(|| observer.attempt_abandoned(&event));
    }
}

/// A panic of the observer must not lose the outcome of a payment.
fn catch_panic(report: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(report));
}
