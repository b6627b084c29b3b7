use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use payments_model::TransactionId;

use crate::operation::Operation;
use crate::operation::OperationError as _;
use crate::{
    AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, Observer, OperationName, Success,
    Timer,
};

/// Tells the observer how an attempt ends; dropped before that, it tells of an abandoned one.
pub(crate) struct Watch<'a> {
    observer: Option<&'a dyn Observer>,
    timer: &'a dyn Timer,
    operation: OperationName,
    attempt: u32,
    started: Instant,
}

impl<'a> Watch<'a> {
    pub(crate) fn start(
        observer: &'a dyn Observer,
        timer: &'a dyn Timer,
        operation: OperationName,
        attempt: u32,
    ) -> Self {
        unharmed(|| observer.attempt_started(&AttemptStarted { operation, attempt }));
        Self { observer: Some(observer), timer, operation, attempt, started: timer.now() }
    }

    pub(crate) fn finish<O: Operation>(mut self, result: &Result<Success<O::Data>, O::Error>) {
        let Some(observer) = self.observer.take() else {
            return;
        };
        let (operation, attempt) = (self.operation, self.attempt);
        let latency = self.timer.now().saturating_duration_since(self.started);
        let event = match result {
            Ok(success) => AttemptFinished {
                operation,
                attempt,
                latency,
                failure: None,
                http_status: Some(success.http_status()),
                request_id: success.request_id(),
                transaction_id: O::transaction_id(success.data()),
            },
            Err(error) => AttemptFinished {
                operation,
                attempt,
                latency,
                failure: Some(AttemptFailure {
                    outcome: error.outcome_to_observe(),
                    kind: error.failure().kind(),
                }),
                http_status: error.failure().http_status(),
                request_id: error.failure().request_id(),
                transaction_id: error.transaction_to_observe().map(TransactionId::as_str),
            },
        };
        unharmed(|| observer.attempt_finished(&event));
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Some(observer) = self.observer else { return };
        let event = AttemptAbandoned {
            operation: self.operation,
            attempt: self.attempt,
            latency: self.timer.now().saturating_duration_since(self.started),
        };
        unharmed(|| observer.attempt_abandoned(&event));
    }
}

/// An observer that panics must not take the outcome of a payment with it: its panic is reported and ends here.
fn unharmed(tell: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(tell));
}
