//! Events of every attempt, for metrics, traces and alarms.

#[cfg(feature = "opentelemetry")]
mod opentelemetry;
#[cfg(feature = "tracing")]
mod tracing;

use std::fmt;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use payments_model::Amount;

use crate::operation::OperationError;
use crate::response::Metadata;
use crate::{ErrorKind, OperationName, Outcome};

#[cfg(feature = "opentelemetry")]
pub use opentelemetry::MeterObserver;
#[cfg(feature = "tracing")]
pub use tracing::TracingObserver;

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
///         println!("{} {} took {:?}", event.call_id, event.operation, event.latency);
///     }
///
///     fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
///         if event.operation.moves_money() {
///             eprintln!("reconcile: {:?} {:?} at {:?}", event.amount, event.reference, event.started_at);
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

/// Both receive every event, the first one first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.0.attempt_started(event);
        self.1.attempt_started(event);
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        self.0.attempt_finished(event);
        self.1.attempt_finished(event);
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        self.0.attempt_abandoned(event);
        self.1.attempt_abandoned(event);
    }
}

/// Declares an event with the fields that all events share and its own fields.
macro_rules! event {
    ($(#[$meta:meta])* $event:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $event<'a> {
            /// The call. All attempts of one call have the same id.
            pub call_id: CallId,
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
            $($(#[$field_meta])* pub $field: $type,)*
        }
    };
}

event! {
    /// An attempt is starting.
    AttemptStarted {
        /// The transaction to void or to look up.
        transaction_id: Option<&'a str>,
    }
}

event! {
    /// An attempt ended.
    AttemptFinished {
        /// From the start of the attempt until the response was read.
        latency: Duration,
        /// The failure, or `None` if the operation succeeded.
        failure: Option<AttemptFailure>,
        /// The response's HTTP status, if there was one.
        http_status: Option<StatusCode>,
        /// The response's request id header.
        request_id: Option<&'a str>,
        /// The transaction that the response names. Otherwise, for a void of unknown outcome, the transaction to be voided.
        transaction_id: Option<&'a str>,
        /// The beginning of the body of a refusal: HTTP 4xx, or a 2xx that says no.
        refusal: Option<BodySnippet<'a>>,
    }
}

event! {
    /// An attempt's future was dropped before it ended. The event has what is needed to find the payment in the service's records.
    AttemptAbandoned {
        /// From the start of the attempt until the future was dropped.
        latency: Duration,
        /// The transaction to void or to look up.
        transaction_id: Option<&'a str>,
    }
}

/// The first 2 KiB of a response's body. `Debug` shows none of it, because it may contain personal data.
#[derive(Clone, Copy)]
pub struct BodySnippet<'a>(pub(crate) &'a Metadata);

impl BodySnippet<'_> {
    /// The text, [masked](payments_model::mask) and on one line.
    pub fn text(&self) -> String {
        self.0.body_snippet()
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
    /// The failure as one word: see [`Error::code`](crate::Error::code) and [`LookupError::code`](crate::LookupError::code).
    pub code: &'static str,
}

impl AttemptFailure {
    pub(crate) fn of(error: &impl OperationError) -> Self {
        let failure = error.failure();
        Self { outcome: error.outcome_to_observe(), kind: failure.kind(), code: failure.code() }
    }

    /// `error.type` by OpenTelemetry's conventions: the HTTP status if it is not a success, otherwise the code.
    #[cfg(any(feature = "tracing", feature = "opentelemetry"))]
    pub(crate) fn error_type(&self, http_status: Option<StatusCode>) -> String {
        match http_status {
            Some(status) if !status.is_success() => status.as_str().to_owned(),
            _ => self.code.to_owned(),
        }
    }
}

/// Identifies one call of a client, such as `5f1c9a04be7d2a33`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub(crate) u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({self})")
    }
}
