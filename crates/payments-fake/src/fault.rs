use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{self, DocumentError};
use crate::fault_document::FaultDocument;

/// A planned failure: what the client sees, and separately, whether the payment takes place.
///
/// The two are separate on purpose. A client that sees a closed connection cannot know whether it was charged, and a
/// program is correct only if it handles both cases:
///
/// ```
/// use payments_core::OperationName;
/// use payments_fake::Fault;
///
/// // The client sees the same. Only the second one charges.
/// let lost_on_the_way = Fault::request_lost(OperationName::Transaction);
/// let lost_on_the_way_back = Fault::response_lost(OperationName::Transaction);
///
/// // In full: the operation, the phase, the symptom, and then which requests.
/// let flaky = Fault::on(OperationName::Transaction).after_commit().reset().skip(1).times(3);
/// # let _ = (lost_on_the_way, lost_on_the_way_back, flaky);
/// ```
///
/// A fault `before_commit` fires for any request for its operation, valid or invalid. A fault `after_commit` or `late`
/// waits for a payment or a void that the service processes: one that the service refuses shows its refusal, and counts
/// neither for [`skip`](Self::skip) nor for [`times`](Self::times). A declined payment is processed, and a lookup always
/// counts, found or not.
///
/// # What the client sees, and what the ledger holds
///
#[doc = include_str!("../docs/fault-table.md")]
///
/// # What a test should assert about a payment
///
/// | outcome | what the program should do | the ledger afterwards |
/// |---|---|---|
/// | `Ok` | record the payment | charged once |
/// | `NotProcessed` | send it again, or tell the payer that nothing was charged | charged once, or nothing |
/// | `Rejected` | tell the payer that the payment was refused, and not send the same request again | nothing, unless the fault is a false rejection |
/// | `Unknown` | not send it again, and leave it to reconciliation | charged once or nothing, depending on the phase; never twice |
///
/// Use [`Ledger::assert_charged_once`](crate::Ledger::assert_charged_once) and
/// [`Ledger::assert_nothing_charged`](crate::Ledger::assert_nothing_charged). For a fault in the phase `late`, assert
/// before the delivery and after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[must_use = "a fault does nothing until it is armed"]
pub struct Fault {
    #[serde(serialize_with = "written::operation")]
    pub(crate) operation: Option<OperationName>,
    pub(crate) phase: Phase,
    #[serde(flatten)]
    pub(crate) kind: FaultKind,
    #[serde(serialize_with = "written::header", skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<HeaderValue>,
    /// How many requests pass before it first fires.
    pub(crate) skip: u32,
    /// How many times it fires.
    pub(crate) times: u32,
}

named! {
    /// When a faulty request takes effect.
    ///
    /// Complete: before, after, or later.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[allow(clippy::exhaustive_enums, reason = "an effect comes before the symptom, after it, or never")]
    pub enum Phase {
        /// Never: the request is lost, or refused before anything happened. Only a [`Delay`](FaultKind::Delay) lets it take
        /// effect, after the pause.
        BeforeCommit = "before_commit",
        /// Before the symptom: the payment takes place, and the client does not learn of it.
        AfterCommit = "after_commit",
        /// After the client already got its error: the payment takes place when the test calls
        /// [`FakeGateway::deliver_late`](crate::FakeGateway::deliver_late).
        ///
        /// It models a request in a queue behind a proxy that has already given up. A client that looks the transaction
        /// up before the delivery finds nothing, and must not conclude that it will never be charged.
        Late = "late",
    }
}

named! {
    /// What the client sees. In JSON its name is the member `kind`, beside its fields.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum FaultKind {
        /// No connection is accepted. Nothing can have been sent, so the phase is always before the commit.
        Refuse = "refuse",
        /// The connection is closed after the request was read, without a response.
        Close = "close",
        /// The connection is reset after the request was read, without a response.
        Reset = "reset",
        /// No response is sent, and the connection stays open until the client gives up.
        Stall = "stall",
        /// The response body is sent in pieces of `bytes`, with a pause of `every` before each.
        ///
        /// A complete response would report a payment that did not take place, so its last byte is sent only in the phase
        /// after the commit.
        Drip {
            /// How large a piece is.
            bytes: NonZeroUsize,
            /// The pause before each piece.
            #[serde(rename = "delay_ms", serialize_with = "written::millis")]
            every: Duration,
        } = "drip",
        /// The connection is closed after `bytes` of the response body, and always before the announced last byte.
        Truncate {
            /// How much of the body is sent.
            bytes: usize,
        } = "truncate",
        /// Bytes that are not HTTP.
        Garbage = "garbage",
        /// A proxy's HTML page.
        Html {
            /// Its HTTP status.
            #[serde(serialize_with = "written::status")]
            status: StatusCode,
        } = "html",
        /// A response with this HTTP status and the service's error body.
        ///
        /// A 4xx after the commit is a false rejection: no client can know that it was charged.
        Status {
            /// The HTTP status.
            #[serde(serialize_with = "written::status")]
            status: StatusCode,
        } = "status",
        /// The normal response, but late. Before the commit, the request waits and is then processed, unless the client has
        /// gone; after the commit, it is processed at once. In the phase `Late` no response is sent.
        Delay {
            /// How long.
            #[serde(rename = "delay_ms", serialize_with = "written::millis")]
            by: Duration,
        } = "delay",
        /// HTTP 200 with JSON that does not match the interface.
        WrongShape = "wrong_shape",
    }
}

impl FaultKind {
    /// Every kind, with these values in those that have them.
    pub(crate) fn all(bytes: usize, pause: Duration, status: StatusCode) -> [Self; 11] {
        [
            Self::Refuse,
            Self::Close,
            Self::Reset,
            Self::Stall,
            Self::Drip { bytes: NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN), every: pause },
            Self::Truncate { bytes },
            Self::Garbage,
            Self::Html { status },
            Self::Status { status },
            Self::Delay { by: pause },
            Self::WrongShape,
        ]
    }
}

impl Fault {
    /// A fault of one operation; choose the phase next.
    pub fn on(operation: OperationName) -> FaultTarget {
        FaultTarget { operation: Some(operation) }
    }

    /// A fault of any operation; choose the phase next.
    pub fn on_any() -> FaultTarget {
        FaultTarget { operation: None }
    }

    /// The request never reached the service: the connection closes, nothing is charged.
    ///
    /// To the client it looks exactly like [`response_lost`](Self::response_lost).
    pub fn request_lost(operation: OperationName) -> Self {
        Self::on(operation).before_commit().close()
    }

    /// The service processed the request and its response was lost: the connection closes, the money has moved.
    ///
    /// To the client it looks exactly like [`request_lost`](Self::request_lost).
    pub fn response_lost(operation: OperationName) -> Self {
        Self::on(operation).after_commit().close()
    }

    /// Lets this many requests pass before it first fires.
    pub fn skip(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    /// Fires for this many requests; one by default.
    ///
    /// # Panics
    ///
    /// If the number is zero: such a fault would never fire.
    #[track_caller]
    pub fn times(mut self, requests: u32) -> Self {
        assert!(requests > 0, "times {TIMES_RULE}");
        self.times = requests;
        self
    }

    /// Adds `Retry-After` to the response of [`status`](FaultMoment::status) and [`html`](FaultMoment::html), in seconds or
    /// as a date; other kinds ignore it.
    ///
    /// # Panics
    ///
    /// If the text is empty or not visible ASCII.
    #[track_caller]
    pub fn retry_after(mut self, text: &str) -> Self {
        let value = retry_after(text);
        assert!(value.is_some(), "retry_after {RETRY_AFTER_RULE}");
        if matches!(self.kind, FaultKind::Status { .. } | FaultKind::Html { .. }) {
            self.retry_after = value;
        }
        self
    }

    /// Reads a fault from its JSON form. `operation`, `phase` and `kind` are required. Their values are the names that
    /// [`OperationName::as_str`] (or `any`), [`Phase::as_str`] and [`FaultKind::as_str`] return:
    ///
    /// ```
    /// use payments_fake::{Fault, FaultKind};
    ///
    /// let fault = Fault::from_json(r#"{"operation": "transaction", "phase": "after_commit", "kind": "reset"}"#)?;
    /// assert_eq!(fault.kind(), FaultKind::Reset);
    /// # Ok::<(), payments_fake::DocumentError>(())
    /// ```
    ///
    /// | field | kinds and meaning | default |
    /// |---|---|---|
    /// | `status` | `status`, `html`: the HTTP status, 200 to 599 | 502 |
    /// | `retry_after` | `status`, `html`: the header, seconds or a date | none |
    /// | `bytes` | `truncate`: how much of the body arrives; `drip`: the size of a piece | 10 |
    /// | `delay_ms` | `delay`: how long; `drip`: the pause before each piece | 500 |
    /// | `skip` | how many requests pass first | 0 |
    /// | `times` | how many times it fires | 1 |
    ///
    /// A field that the kind does not use is refused. `id`, `seen` and `fired`, which
    /// [`ArmedFault::to_json`](crate::ArmedFault::to_json) writes, are accepted.
    ///
    /// # Errors
    ///
    /// The first problem found.
    pub fn from_json(json: &str) -> Result<Self, DocumentError> {
        document::read(json).map(|FaultDocument(fault)| fault)
    }

    /// The fault in its [JSON form](Self::from_json).
    pub fn to_json(&self) -> String {
        document::to_json(self)
    }

    /// Whether it can fire for a payment or a void that the service refuses, or for any other request.
    pub(crate) fn can_fire(&self, is_refused: bool) -> bool {
        self.phase == Phase::BeforeCommit || !is_refused
    }

    /// The operation it fires for, or `None` for any.
    pub fn operation(&self) -> Option<OperationName> {
        self.operation
    }

    /// When the request takes effect. A refused connection carries no request, so it is always before the commit.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What the client sees.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

/// Reads the [JSON form](Fault::from_json) of a fault from JSON that is already parsed, so that an error has no line.
///
/// # Errors
///
/// The first problem found.
pub fn fault_from_value(json: Value) -> Result<Fault, DocumentError> {
    document::read_from(json).map(|FaultDocument(fault)| fault)
}

/// For example `after_commit reset on transaction, from request 2, 3 times`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.operation.map_or("any operation", OperationName::as_str);
        write!(f, "{} {} on {operation}", self.phase().as_str(), self.kind.as_str())?;
        if self.skip > 0 {
            write!(f, ", from request {}", u64::from(self.skip) + 1)?;
        }
        match self.times {
            1 => Ok(()),
            times => write!(f, ", {times} times"),
        }
    }
}

/// A fault whose operation is known; choose when the request takes effect.
#[derive(Clone, Copy, Debug)]
#[must_use = "a fault does nothing until it is armed"]
pub struct FaultTarget {
    pub(crate) operation: Option<OperationName>,
}

impl FaultTarget {
    /// The request never takes effect, except after a [`delay`](FaultMoment::delay).
    pub fn before_commit(self) -> FaultMoment {
        self.at(Phase::BeforeCommit)
    }

    /// The request takes effect, then the client sees the symptom.
    pub fn after_commit(self) -> FaultMoment {
        self.at(Phase::AfterCommit)
    }

    /// The client sees the symptom, and the request takes effect when the test
    /// [delivers it](crate::FakeGateway::deliver_late).
    pub fn late(self) -> FaultMoment {
        self.at(Phase::Late)
    }

    /// The phase as a value.
    pub fn at(self, phase: Phase) -> FaultMoment {
        FaultMoment { operation: self.operation, phase }
    }
}

/// A fault whose operation and phase are known; choose what the client sees.
#[derive(Clone, Copy, Debug)]
#[must_use = "a fault does nothing until it is armed"]
pub struct FaultMoment {
    operation: Option<OperationName>,
    phase: Phase,
}

impl FaultMoment {
    /// No connection is accepted: see [`FaultKind::Refuse`].
    pub fn refuse(self) -> Fault {
        self.show(FaultKind::Refuse)
    }

    /// The connection is closed without a response.
    pub fn close(self) -> Fault {
        self.show(FaultKind::Close)
    }

    /// The connection is reset without a response.
    pub fn reset(self) -> Fault {
        self.show(FaultKind::Reset)
    }

    /// No response is sent, and the connection stays open until the client gives up.
    pub fn stall(self) -> Fault {
        self.show(FaultKind::Stall)
    }

    /// The response body is sent in pieces of `bytes` (at least one), with a pause of `every` before each: see
    /// [`FaultKind::Drip`].
    pub fn drip(self, bytes: usize, every: Duration) -> Fault {
        self.show(FaultKind::Drip { bytes: NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN), every })
    }

    /// The connection is closed after `bytes` of the response body, and always before its last byte.
    pub fn truncate(self, bytes: usize) -> Fault {
        self.show(FaultKind::Truncate { bytes })
    }

    /// Bytes that are not HTTP.
    pub fn garbage(self) -> Fault {
        self.show(FaultKind::Garbage)
    }

    /// A proxy's HTML page with HTTP 502.
    pub fn html(self) -> Fault {
        self.show(FaultKind::Html { status: StatusCode::BAD_GATEWAY })
    }

    /// A response with this HTTP status and the service's error body: see [`FaultKind::Status`].
    ///
    /// # Panics
    ///
    /// If the status is not from 200 to 599: a 1xx is not a final response.
    #[track_caller]
    pub fn status(self, status: StatusCode) -> Fault {
        self.show(FaultKind::Status { status })
    }

    /// The normal response after a pause: see [`FaultKind::Delay`].
    pub fn delay(self, by: Duration) -> Fault {
        self.show(FaultKind::Delay { by })
    }

    /// HTTP 200 with JSON that does not match the interface.
    pub fn wrong_shape(self) -> Fault {
        self.show(FaultKind::WrongShape)
    }

    /// The kind as a value.
    ///
    /// # Panics
    ///
    /// If the kind has a status that is not from 200 to 599.
    #[track_caller]
    pub fn show(self, kind: FaultKind) -> Fault {
        if let FaultKind::Status { status } | FaultKind::Html { status } = kind {
            assert!(is_shown(status), "status {STATUS_RULE}");
        }
        let phase = if kind == FaultKind::Refuse { Phase::BeforeCommit } else { self.phase };
        Fault { operation: self.operation, phase, kind, retry_after: None, skip: 0, times: 1 }
    }
}

/// The members whose type has no JSON form of its own.
#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
mod written {
    use serde::Serializer;

    use super::{ANY, Duration, HeaderValue, OperationName, StatusCode};

    pub(super) fn operation<S: Serializer>(name: &Option<OperationName>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name.map_or(ANY, OperationName::as_str))
    }

    pub(super) fn millis<S: Serializer>(pause: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u128(pause.as_millis())
    }

    pub(super) fn status<S: Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u16(status.as_u16())
    }

    /// It is visible ASCII.
    pub(super) fn header<S: Serializer>(value: &Option<HeaderValue>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default())
    }
}

/// A value of visible ASCII that is not empty.
pub(crate) fn retry_after(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok().filter(|value| !value.is_empty() && value.to_str().is_ok())
}

/// Whether it is the status of a final response.
pub(crate) fn is_shown(status: StatusCode) -> bool {
    (200..600).contains(&status.as_u16())
}

pub(crate) const STATUS_RULE: &str = "must be an HTTP status from 200 to 599";
pub(crate) const TIMES_RULE: &str = "must be a whole number above zero";
pub(crate) const RETRY_AFTER_RULE: &str = "must be seconds or a date, as in the Retry-After header";

/// The operation of a fault of any operation.
pub(crate) const ANY: &str = "any";
