use std::time::Duration;

use http::StatusCode;

use crate::{OperationName, Outcome};

/// Is told of every attempt a client makes, for metrics, traces and alarms. Nothing it is told is secret.
///
/// The calls are made on the path of the payment: return at once. What an observer does cannot change an outcome, not
/// even a panic, which is swallowed.
pub trait Observer: Send + Sync + 'static {
    /// A request is about to be handed to the transport.
    fn attempt_started(&self, _event: &AttemptStarted) {}

    /// The attempt ended, one way or the other.
    fn attempt_finished(&self, _event: &AttemptFinished<'_>) {}

    /// The call's future was dropped while the transport had the request.
    ///
    /// For an operation that [moves money](OperationName::moves_money) this is an unknown outcome that nobody else
    /// will ever hear of: record it, and reconcile.
    fn attempt_abandoned(&self, _event: &AttemptAbandoned) {}
}

/// An attempt begins.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptStarted {
    /// The operation.
    pub operation: OperationName,
    /// 1 for the first attempt. Only look-ups have a second.
    pub attempt: u32,
}

/// An attempt ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptFinished<'a> {
    /// The operation.
    pub operation: OperationName,
    /// 1 for the first attempt. Only look-ups have a second.
    pub attempt: u32,
    /// From the hand-over to the transport until the answer was read.
    pub latency: Duration,
    /// What failed, or `None` where the operation succeeded.
    pub failure: Option<AttemptFailure>,
    /// The answer's HTTP status, if there was one.
    pub http_status: Option<StatusCode>,
    /// The answer's request id header.
    pub request_id: Option<&'a str>,
    /// The transaction that the answer names, or else the one that a void of unknown outcome was to void.
    pub transaction_id: Option<&'a str>,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptFailure {
    /// Whether the money can have moved. `None` for a lookup, which says nothing about money.
    pub outcome: Option<Outcome>,
    /// One word, as [`Error::kind`](crate::Error::kind) and [`LookupError::kind`](crate::LookupError::kind) give it.
    pub kind: &'static str,
}

/// An attempt's future was dropped before it ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptAbandoned {
    /// The operation.
    pub operation: OperationName,
    /// 1 for the first attempt. Only look-ups have a second.
    pub attempt: u32,
    /// From the hand-over to the transport until the future was dropped.
    pub latency: Duration,
}
