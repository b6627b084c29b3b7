use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Instant, SystemTime};

use payments_model::TransactionId;

use crate::endpoint::Endpoint;
use crate::error::{CallError, Error};
use crate::observer::{
    AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, BodySnippet, Observer,
};
use crate::operation::{Describe, Facts, secrets_of};
use crate::response::{Secrets, Success};
use crate::{CallId, CallerHeaders, Timer};

/// What all attempts of one call share. It owns the only copy of the secrets that are masked in what is kept of the call.
pub(crate) struct Call<'a> {
    pub(crate) id: CallId,
    pub(crate) secrets: Secrets,
    endpoint: &'a Endpoint,
    facts: Facts<'a>,
    /// Masked.
    reference: Option<String>,
    observer: Option<&'a dyn Observer>,
    timer: &'a dyn Timer,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl<'a> Call<'a> {
    pub(crate) fn start(
        operation: &'a impl Describe,
        endpoint: &'a Endpoint,
        observer: Option<&'a dyn Observer>,
        timer: &'a dyn Timer,
        id: CallId,
    ) -> Self {
        let (secrets, mut facts) = (secrets_of(operation, endpoint), operation.describe());
        facts.transaction_id.take_if(|id| secrets.are_in(id.as_str()));
        #[cfg(feature = "tracing")]
        let span = super::span::of_call(facts.operation, id);
        #[cfg(feature = "tracing")]
        let is_watched = observer.is_some() || !span.is_disabled();
        #[cfg(not(feature = "tracing"))]
        let is_watched = observer.is_some();
        let reference = facts.reference.filter(|_| is_watched);
        let reference = reference.map(|reference| secrets.mask(reference, usize::MAX));
        #[cfg(feature = "tracing")]
        {
            span.record("payment.amount", facts.amount.map(tracing::field::display));
            span.record("payment.reference", reference.as_deref());
        }
        Self {
            id,
            secrets,
            endpoint,
            facts,
            reference,
            observer,
            timer,
            #[cfg(feature = "tracing")]
            span,
        }
    }

    /// Records how the call ended, in its span.
    #[cfg(feature = "tracing")]
    pub(crate) fn finish<D, E: CallError>(&self, result: &Result<Success<D>, E>) {
        super::span::end_call(&self.span, self.facts.operation, result);
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
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

/// Creates an event from the fields that all events share and its own fields.
macro_rules! event {
    ($event:ident of $attempt:ident at $started_at:ident { $($added:tt)* }) => {
        $event {
            call_id: $attempt.call.id,
            service: $attempt.call.endpoint.service(),
            operation: $attempt.call.facts.operation,
            attempt: $attempt.number,
            started_at: $started_at,
            amount: $attempt.call.facts.amount,
            reference: $attempt.call.reference.as_deref(),
            last_four: $attempt.call.facts.last_four,
            caller_headers: &$attempt.caller_headers,
            $($added)*
        }
    };
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(call: &'a Call<'a>, number: u32) -> Self {
        Self {
            call,
            number,
            caller_headers: CallerHeaders::new(),
            started: None,
            is_open: true,
            #[cfg(feature = "tracing")]
            span: super::span::of_attempt(&call.span, call.facts.operation, call.endpoint, number),
        }
    }

    /// Runs a function within the attempt's span.
    #[cfg_attr(not(feature = "tracing"), expect(clippy::unused_self, reason = "only a span needs it"))]
    pub(crate) fn in_scope<T>(&self, of: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        return self.span.in_scope(of);
        #[cfg(not(feature = "tracing"))]
        of()
    }

    /// The request is about to be passed to the transport, with these headers of the caller.
    pub(crate) fn start(&mut self, caller_headers: CallerHeaders) {
        let timer = self.call.timer;
        self.caller_headers = caller_headers;
        let started_at = timer.system_time();
        self.started = Some((timer.now(), started_at));
        if let Some(observer) = self.call.observer {
            let transaction_id = self.transaction_id();
            let event = event!(AttemptStarted of self at started_at { transaction_id });
            catch_panic(|| observer.attempt_started(&event));
        }
    }

    pub(crate) fn finish<O: Describe>(mut self, result: &Result<Success<O::Data>, O::Error>) {
        self.is_open = false;
        #[cfg(feature = "tracing")]
        super::span::end_attempt(&self.span, result);
        let (Some(observer), Some((started, started_at))) = (self.call.observer, self.started) else {
            return;
        };
        let latency = self.call.timer.now().saturating_duration_since(started);
        let event = match result {
            Ok(success) => {
                let id = O::transaction_id(success.data()).map(TransactionId::as_str);
                event!(AttemptFinished of self at started_at {
                    latency,
                    failure: None,
                    http_status: Some(success.http_status()),
                    request_id: success.request_id(),
                    transaction_id: id.filter(|id| !self.call.secrets.are_in(id)),
                    refusal: None,
                })
            }
            Err(error) => {
                let call = error.failed_call();
                let id = error.as_payment().and_then(Error::transaction_id);
                event!(AttemptFinished of self at started_at {
                    latency,
                    failure: Some(AttemptFailure::of(error)),
                    http_status: call.http_status(),
                    request_id: call.request_id(),
                    transaction_id: id.map(TransactionId::as_str),
                    refusal: call.metadata().filter(|_| call.is_readable_refusal()).map(BodySnippet),
                })
            }
        };
        catch_panic(|| observer.attempt_finished(&event));
    }

    /// The transaction to void or to look up.
    fn transaction_id(&self) -> Option<&'a str> {
        self.call.facts.transaction_id.map(TransactionId::as_str)
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        #[cfg(feature = "tracing")]
        super::span::drop_attempt(&self.call.span, &self.span, self.call.facts.operation);
        if let (Some(observer), Some((started, started_at))) = (self.call.observer, self.started) {
            let latency = self.call.timer.now().saturating_duration_since(started);
            let transaction_id = self.transaction_id();
            let event = event!(AttemptAbandoned of self at started_at { latency, transaction_id });
            catch_panic(|| observer.attempt_abandoned(&event));
        }
    }
}

/// A panic of the observer must not lose the outcome of a payment.
fn catch_panic(report: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(report));
}
