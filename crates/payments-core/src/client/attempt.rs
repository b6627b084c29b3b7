use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime};

use payments_model::TransactionId;

use super::span::{self, Span};
use crate::error::{CallError, Error};
use crate::observer::{
    AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, BodySnippet, Observer,
};
use crate::operation::{Exchange, ResponseData};
use crate::response::Success;
use crate::{CallId, CallerHeaders, Timer};

/// What all attempts of one call share.
pub(crate) struct Call<'a> {
    pub(crate) exchange: Exchange<'a>,
    id: CallId,
    /// Masked.
    reference: Option<String>,
    observer: Option<&'a dyn Observer>,
    timer: &'a dyn Timer,
    span: Span,
}

impl<'a> Call<'a> {
    pub(crate) fn start(
        exchange: Exchange<'a>,
        observer: Option<&'a dyn Observer>,
        timer: &'a dyn Timer,
        id: CallId,
    ) -> Self {
        let reference = exchange.facts.reference;
        let reference = reference.map(|reference| exchange.secrets.mask(reference, usize::MAX));
        let span = span::of_call(&exchange.facts, reference.as_deref(), id);
        Self { exchange, id, reference, observer, timer, span }
    }

    /// Records how the call ended, in its span.
    pub(crate) fn finish<D, E: CallError>(&self, result: &Result<Success<D>, E>) {
        span::end_call(&self.span, self.exchange.facts.operation, result);
    }
}

/// One attempt of a call. It reports the attempt's start and end to the observer and to the attempt's span. If it is dropped before
/// `finish`, it reports that the attempt was abandoned.
pub(crate) struct Attempt<'a> {
    call: &'a Call<'a>,
    number: u32,
    caller_headers: CallerHeaders,
    /// When the request was passed to the transport.
    started: Option<(Instant, SystemTime)>,
    is_open: bool,
    pub(crate) span: Span,
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(call: &'a Call<'a>, number: u32) -> Self {
        Self {
            call,
            number,
            caller_headers: CallerHeaders::new(),
            started: None,
            is_open: true,
            span: span::of_attempt(&call.span, call.exchange.facts.operation, call.exchange.endpoint, number),
        }
    }

    /// The request is about to be passed to the transport, with these headers of the caller.
    pub(crate) fn start(&mut self, caller_headers: CallerHeaders) {
        let timer = self.call.timer;
        self.caller_headers = caller_headers;
        let started_at = timer.system_time();
        self.started = Some((timer.now(), started_at));
        if let Some((observer, event, _)) = self.observed() {
            catch_panic(|| observer.attempt_started(&event));
        }
    }

    /// The observer, the start of the attempt and the time since then, if there is an observer and the request was passed to the
    /// transport.
    fn observed(&self) -> Option<(&'a dyn Observer, AttemptStarted<'_>, Duration)> {
        let (observer, (started, started_at)) = (self.call.observer?, self.started?);
        let Call { exchange, id, reference, timer, .. } = self.call;
        let Exchange { endpoint, facts, secrets, .. } = exchange;
        let transaction_id = facts.transaction_id.map(TransactionId::as_str);
        let event = AttemptStarted {
            call_id: *id,
            service: endpoint.service(),
            operation: facts.operation,
            attempt: self.number,
            started_at,
            amount: facts.amount,
            reference: reference.as_deref(),
            last_four: facts.last_four,
            transaction_id: transaction_id.filter(|id| !secrets.are_in(id)),
            caller_headers: &self.caller_headers,
        };
        Some((observer, event, timer.now().saturating_duration_since(started)))
    }

    pub(crate) fn finish<D: ResponseData, E: CallError>(mut self, result: &Result<Success<D>, E>) {
        self.is_open = false;
        span::end_attempt(&self.span, result);
        let Some((observer, started, latency)) = self.observed() else { return };
        let started = &started;
        let event = match result {
            Ok(success) => {
                let id = success.transaction().map(TransactionId::as_str);
                AttemptFinished {
                    started,
                    latency,
                    failure: None,
                    http_status: Some(success.http_status()),
                    request_id: success.request_id(),
                    transaction_id: id.filter(|id| !self.call.exchange.secrets.are_in(id)),
                    refusal: None,
                }
            }
            Err(error) => {
                let call = error.failed_call();
                let id = error.as_payment().and_then(Error::transaction_id);
                AttemptFinished {
                    started,
                    latency,
                    failure: Some(AttemptFailure::of(error)),
                    http_status: call.http_status(),
                    request_id: call.request_id(),
                    transaction_id: id.map(TransactionId::as_str),
                    refusal: call.metadata().filter(|_| call.is_readable_refusal()).map(BodySnippet),
                }
            }
        };
        catch_panic(|| observer.attempt_finished(&event));
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        span::drop_attempt(
            &self.call.span,
            &self.span,
            self.call.exchange.facts.operation,
            self.started.is_some(),
        );
        if let Some((observer, started, latency)) = self.observed() {
            let event = AttemptAbandoned { started: &started, latency };
            catch_panic(|| observer.attempt_abandoned(&event));
        }
    }
}

/// A panic of the observer must not lose the outcome of a payment.
fn catch_panic(report: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(report));
}
