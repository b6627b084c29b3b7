use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;

/// A planned failure: what the client is shown, and apart from that, whether the payment was made.
///
/// The two are separate on purpose. A client that sees a closed connection cannot know whether it was charged, and a
/// program is right only if it does the right thing in both cases:
///
/// ```
/// use payments_core::OperationName;
/// use payments_fake::Fault;
///
/// // The client sees the same. Only the second one charges.
/// let lost_on_the_way = Fault::request_lost(OperationName::Transaction);
/// let lost_on_the_way_back = Fault::response_lost(OperationName::Transaction);
///
/// // Said in full: the operation, the phase, the symptom, and then which requests.
/// let flaky = Fault::on(OperationName::Transaction).after_commit().reset().nth(2).times(3);
/// # let _ = (lost_on_the_way, lost_on_the_way_back, flaky);
/// ```
///
/// A fault strikes any request for its operation, the valid and the invalid alike, before anything else is decided.
///
/// # What the client is told, and what the ledger says
///
#[doc = include_str!("../docs/fault-table.md")]
///
/// # What a test of a program then asserts of a payment
///
/// | the outcome | what the program should do | the ledger when it has done that |
/// |---|---|---|
/// | `Ok` | book the payment | charged once |
/// | `NotProcessed` | send it again, or tell the payer that nothing was charged | charged once, or nothing |
/// | `Rejected` | tell the payer that the answer is no, and not send the same again | nothing, but for the service that lies |
/// | `Unknown` | not send it again, and leave it to reconciliation | charged once or nothing, as the phase says; never twice |
///
/// [`Ledger::assert_charged_once`](crate::Ledger::assert_charged_once) and
/// [`Ledger::assert_nothing_charged`](crate::Ledger::assert_nothing_charged) say so. Of a fault in the phase `late` ask
/// once before it is delivered and once after.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a fault does nothing until it is armed"]
pub struct Fault {
    pub(crate) operation: Option<OperationName>,
    pub(crate) phase: Phase,
    pub(crate) kind: FaultKind,
    pub(crate) retry_after: Option<HeaderValue>,
    /// How many requests pass before the first strike.
    pub(crate) skip: u32,
    /// How many requests it strikes.
    pub(crate) times: u32,
}

/// The fault that one request asks for itself, as an extension of the `http::Request` that is
/// [handled](crate::FakeGateway::handle): whoever serves the gateway puts it there.
///
/// It strikes this one request, whatever its operation, `skip` and `times` say, and only if no armed fault does.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "a wrapper around one value")]
pub struct RequestedFault(pub Fault);

named! {
    /// When a faulty request takes effect.
    ///
    /// Complete: before, after, or later.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(clippy::exhaustive_enums, reason = "an effect comes before the symptom, after it, or never")]
    pub enum Phase {
        /// Never: the request is lost, or refused before anything happened.
        BeforeCommit = "before_commit",
        /// Before the symptom: the payment is made, and the client learns nothing of it.
        AfterCommit = "after_commit",
        /// After the client already got its error: the payment is made when the test calls
        /// [`FakeGateway::deliver_late`](crate::FakeGateway::deliver_late).
        ///
        /// It is the request that was stuck in a queue behind a proxy that had given up. A client that looks the
        /// transaction up before that finds nothing, and would be wrong to conclude that nothing will come.
        Late = "late",
    }
}

named! {
    /// What the client is shown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum FaultKind {
        /// No connection is accepted. Provably nothing was sent, so the phase is before the commit whatever was said.
        Refuse = "refuse",
        /// The connection is closed after the request was read, without an answer.
        Close = "close",
        /// The connection is reset after the request was read, without an answer.
        Reset = "reset",
        /// Nothing comes, and the connection stays open until the client gives up.
        Stall = "stall",
        /// The answer's body comes in pieces of `bytes`, one `every` so often.
        ///
        /// A whole answer says that the payment was made; so in any phase but after the commit its last byte never comes.
        Drip {
            /// How large a piece is.
            bytes: NonZeroUsize,
            /// The pause before each piece.
            every: Duration,
        } = "drip",
        /// The answer says how long its body is, and the connection is closed after `bytes` of it, or before its last byte.
        Truncate {
            /// How much of the body comes.
            bytes: usize,
        } = "truncate",
        /// Bytes that are not HTTP.
        Garbage = "garbage",
        /// A proxy's HTML page.
        Html {
            /// Its HTTP status.
            status: StatusCode,
        } = "html",
        /// An answer of this HTTP status with the service's error body.
        ///
        /// After the commit, a 4xx is a service that lies: no client can know that it was charged.
        Status {
            /// The HTTP status.
            status: StatusCode,
        } = "status",
        /// The true answer, but late: before the commit the request waits and is processed then, unless the client has
        /// gone; after the commit it was processed at once. In the phase `Late` it never comes.
        Delay {
            /// How long.
            by: Duration,
        } = "delay",
        /// HTTP 200 with JSON that is not the interface's.
        WrongShape = "wrong_shape",
    }
}

impl Fault {
    /// A fault of one operation; say the phase next.
    pub fn on(operation: OperationName) -> FaultTarget {
        FaultTarget { operation: Some(operation) }
    }

    /// A fault of any operation; say the phase next.
    pub fn on_any() -> FaultTarget {
        FaultTarget { operation: None }
    }

    /// The request never reached the service: the connection closes, nothing is charged.
    ///
    /// To the client it looks exactly like [`response_lost`](Self::response_lost).
    pub fn request_lost(operation: OperationName) -> Self {
        Self::on(operation).before_commit().close()
    }

    /// The service did what was asked and its answer was lost: the connection closes, the money has moved.
    ///
    /// To the client it looks exactly like [`request_lost`](Self::request_lost).
    pub fn response_lost(operation: OperationName) -> Self {
        Self::on(operation).after_commit().close()
    }

    /// Lets this many requests pass before the first strike.
    pub fn skip(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    /// Strikes from the nth request on, counted from 1 since the fault was armed.
    pub fn nth(self, request: u32) -> Self {
        self.skip(request.saturating_sub(1))
    }

    /// Strikes this many requests; one by default.
    pub fn times(mut self, requests: u32) -> Self {
        self.times = requests;
        self
    }

    /// Adds `Retry-After` to the answer of [`status`](FaultMoment::status) and [`html`](FaultMoment::html), in seconds or
    /// as a date; other kinds ignore it.
    ///
    /// # Panics
    ///
    /// If the text cannot stand in a header.
    #[track_caller]
    pub fn retry_after(mut self, text: &str) -> Self {
        self.retry_after = Some(HeaderValue::from_str(text).expect("Retry-After must be visible ASCII"));
        self
    }

    /// The operation it strikes, or `None` for any.
    pub fn operation(&self) -> Option<OperationName> {
        self.operation
    }

    /// When the request takes effect. A refused connection carries no request, so it is always before the commit.
    pub fn phase(&self) -> Phase {
        match self.kind {
            FaultKind::Refuse => Phase::BeforeCommit,
            _ => self.phase,
        }
    }

    /// What the client is shown.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

/// As a test would write it: `after_commit reset on transaction, from request 2, 3 times`.
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

/// A fault whose operation is known; say when the request takes effect.
#[derive(Clone, Copy, Debug)]
#[must_use = "a fault does nothing until it is armed"]
pub struct FaultTarget {
    operation: Option<OperationName>,
}

impl FaultTarget {
    /// The request never takes effect.
    pub fn before_commit(self) -> FaultMoment {
        self.at(Phase::BeforeCommit)
    }

    /// The request takes effect, then the symptom is shown.
    pub fn after_commit(self) -> FaultMoment {
        self.at(Phase::AfterCommit)
    }

    /// The symptom is shown, and the request takes effect when the test
    /// [delivers it](crate::FakeGateway::deliver_late).
    pub fn late(self) -> FaultMoment {
        self.at(Phase::Late)
    }

    /// The phase as a value.
    pub fn at(self, phase: Phase) -> FaultMoment {
        FaultMoment { operation: self.operation, phase }
    }
}

/// A fault whose operation and phase are known; say what the client is shown.
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

    /// The connection is closed without an answer.
    pub fn close(self) -> Fault {
        self.show(FaultKind::Close)
    }

    /// The connection is reset without an answer.
    pub fn reset(self) -> Fault {
        self.show(FaultKind::Reset)
    }

    /// Nothing comes until the client gives up.
    pub fn stall(self) -> Fault {
        self.show(FaultKind::Stall)
    }

    /// The answer's body comes in pieces of `bytes` (at least one), one `every` so often: see [`FaultKind::Drip`].
    pub fn drip(self, bytes: usize, every: Duration) -> Fault {
        self.show(FaultKind::Drip { bytes: NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN), every })
    }

    /// The connection is closed after `bytes` of the answer's body, and always before its last one.
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

    /// An answer of this HTTP status with the service's error body: see [`FaultKind::Status`].
    ///
    /// # Panics
    ///
    /// If the status is a 1xx, which is no answer.
    #[track_caller]
    pub fn status(self, status: StatusCode) -> Fault {
        assert!(!status.is_informational(), "HTTP {status} is not a final status");
        self.show(FaultKind::Status { status })
    }

    /// The true answer after a pause: see [`FaultKind::Delay`].
    pub fn delay(self, by: Duration) -> Fault {
        self.show(FaultKind::Delay { by })
    }

    /// HTTP 200 with JSON that is not the interface's.
    pub fn wrong_shape(self) -> Fault {
        self.show(FaultKind::WrongShape)
    }

    /// The kind as a value.
    pub fn show(self, kind: FaultKind) -> Fault {
        Fault { operation: self.operation, phase: self.phase, kind, retry_after: None, skip: 0, times: 1 }
    }
}
