use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, SystemTime};

use http::StatusCode;
use payments_model::Amount;

use crate::error::{CallError, Error, ErrorKind, Outcome};
use crate::response::Metadata;
use crate::{CallId, CallerHeaders, OperationName, TransportError, TransportErrorKind};

/// Receives an event for every attempt of a client, for metrics, traces and alarms. No event contains a secret.
///
/// The methods run during the call, so they must return at once. An observer cannot change an outcome; its panics are caught.
///
/// ```
/// use payments_core::{AttemptAbandoned, AttemptFinished, Observer};
///
/// struct Log;
///
/// impl Observer for Log {
///     fn attempt_finished(&self, event: &AttemptFinished<'_>) {
///         println!("{} {} took {:?}", event.started.call_id, event.started.operation, event.latency);
///     }
///
///     fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
///         let started = event.started;
///         if started.operation.moves_money() {
///             eprintln!("reconcile: {:?} {:?} at {:?}", started.amount, started.reference, started.started_at);
///         }
///     }
/// }
///
/// # let gateway = payments_fake::FakeGateway::new();
/// # let (endpoint, transport, timer) = (gateway.endpoint(), gateway.transport(), gateway.clock().clone());
/// let client = payments_core::Client::builder(endpoint, transport, timer).observer(Log).build();
/// # payments_fake::block_on(client.transaction(&"txn_1".parse()?)).unwrap_err();
/// # Ok::<(), payments_core::model::ValidationError>(())
/// ```
pub trait Observer: Send + Sync + 'static {
    /// A request is about to be passed to the transport.
    fn attempt_started(&self, _event: &AttemptStarted<'_>) {}

    /// The attempt ended, with a success or a failure.
    fn attempt_finished(&self, _event: &AttemptFinished<'_>) {}

    /// The call's future was dropped while the transport had the request.
    ///
    /// For an operation that [moves money](OperationName::moves_money), the outcome is unknown, and no error reports it to the
    /// caller. Record this event, and reconcile the payment.
    fn attempt_abandoned(&self, _event: &AttemptAbandoned<'_>) {}
}

/// Both receive every event, the first one first, even if it panics.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        both(|| self.0.attempt_started(event), || self.1.attempt_started(event));
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        both(|| self.0.attempt_finished(event), || self.1.attempt_finished(event));
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        both(|| self.0.attempt_abandoned(event), || self.1.attempt_abandoned(event));
    }
}

fn both(first: impl FnOnce(), second: impl FnOnce()) {
    let first = catch_unwind(AssertUnwindSafe(first));
    second();
    first.unwrap_or_else(|panic| resume_unwind(panic));
}

/// An attempt is starting.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptStarted<'a> {
    /// The call. All attempts of one call have the same id.
    pub call_id: CallId,
    /// The [service](crate::Client::service) that is called, with the label of a merchant.
    pub service: &'a str,
    /// The operation.
    pub operation: OperationName,
    /// 1 for the first attempt. Only lookups have more than one.
    pub attempt: u32,
    /// When the attempt began, by the client's [clock](crate::Timer::system_time).
    pub started_at: SystemTime,
    /// The amount of a payment.
    pub amount: Option<Amount>,
    /// The `ReferenceNo` of a token payment, [masked](payments_model::mask). No other operation has one.
    pub reference: Option<&'a str>,
    /// The last four digits of the card.
    pub last_four: Option<&'a str>,
    /// The transaction to void or to look up.
    pub transaction_id: Option<&'a str>,
    /// The caller's headers that are sent. Only their names can be read, because any value may be a secret.
    pub caller_headers: &'a CallerHeaders,
}

/// An attempt ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptFinished<'a> {
    /// How the attempt began.
    pub started: &'a AttemptStarted<'a>,
    /// From the start of the attempt until the response was read.
    pub latency: Duration,
    /// The failure, or `None` if the operation succeeded.
    pub failure: Option<AttemptFailure>,
    /// The response's HTTP status, if there was one.
    pub http_status: Option<StatusCode>,
    /// The response's request id header.
    pub request_id: Option<&'a str>,
    /// The transaction of a success, otherwise [that of the error](crate::Error::transaction_id).
    pub transaction_id: Option<&'a str>,
    /// The beginning of the body of a refusal: HTTP 4xx, or a 2xx that says no.
    pub refusal: Option<BodySnippet<'a>>,
}

/// An attempt's future was dropped before it ended. Its start has what is needed to find the payment in the service's records.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptAbandoned<'a> {
    /// How the attempt began.
    pub started: &'a AttemptStarted<'a>,
    /// From the start of the attempt until the future was dropped.
    pub latency: Duration,
}

/// The first 2 KiB of a response's body. `Debug` shows none of it, because it may contain personal data.
#[derive(Clone, Copy)]
pub struct BodySnippet<'a>(pub(crate) &'a Metadata);

impl BodySnippet<'_> {
    /// The text, [masked](payments_model::mask) and on one line.
    pub fn text(&self) -> String {
        self.0.snippet.text()
    }
}

impl fmt::Debug for BodySnippet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodySnippet").finish_non_exhaustive()
    }
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptFailure {
    /// Whether the money can have moved. `None` for a lookup, which says nothing about a payment.
    pub outcome: Option<Outcome>,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What the transport reported, if no complete response was read. It is finer than the kind.
    pub transport: Option<TransportErrorKind>,
}

impl AttemptFailure {
    pub(crate) fn of(error: &impl CallError) -> Self {
        let call = error.failed_call();
        Self {
            outcome: error.as_payment().map(Error::outcome),
            kind: call.kind(),
            transport: call.transport_error().map(TransportError::kind),
        }
    }

    /// `error.type` by OpenTelemetry's conventions: the HTTP status if it is not a success, otherwise the kind.
    pub(crate) fn error_type(self, http_status: Option<StatusCode>) -> String {
        match http_status {
            Some(status) if !status.is_success() => status.as_str().to_owned(),
            _ => self.kind.as_str().to_owned(),
        }
    }
}
