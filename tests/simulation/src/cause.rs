use std::fmt;

use payments_core::{OperationName, Outcome, TransportErrorKind};
use payments_fake::{FaultKind, Phase};

/// The cause of how a call ended: the one thing that went wrong, if anything did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Nothing went wrong.
    Nothing,
    /// A fault of the fake service.
    Gateway(Symptom, Phase),
    /// A fault between the client and the fake service.
    Wire(WireFault),
    /// A gate held the request or its response for a while.
    Held(Phase),
    /// The clock jumped during the call.
    Jumped,
    /// The request could not be built: nothing was sent.
    Local,
    /// Several of these.
    Several,
}

/// What the client sees of a service fault: [`FaultKind`] without its parameters, except the HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the `FaultKind` of its name")]
pub enum Symptom {
    Refuse,
    Close,
    Reset,
    Stall,
    Drip,
    Truncate,
    Garbage,
    Html(u16),
    Status(u16),
    Delay,
    WrongShape,
}

/// A fault between the client and the service that the fake's own faults cannot show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WireFault {
    /// The name does not resolve.
    Unresolved,
    /// No server listens.
    Unreachable,
    /// The TLS handshake fails.
    TlsFailed,
    /// No connection is established by the connect deadline.
    ConnectStall,
    /// A pooled connection is found dead before the request is written.
    PoolDead,
    /// The transport is shut down before the request is written.
    ShutDown,
    /// The request is lost after its first byte is written.
    RequestLost,
    /// The service responds, and the response is lost.
    ResponseLost,
    /// The response is cut off.
    ResponseCut,
    /// The transport ignores its deadline and reports the true result later.
    ReportsLate,
    /// The request is sent, and the transport never returns.
    HangsAfterSending,
    /// The request is not sent, and the transport never returns.
    HangsBeforeSending,
    /// The request reaches the service later, even if the client no longer waits.
    DeliveredLater,
    /// The response has a content coding that the client did not accept.
    Encoded,
    /// The response is larger than the cap, and the transport ignores the cap.
    Oversized,
    /// An intermediary changes the HTTP status to this one and keeps the body.
    OtherHttpStatus(u16),
    /// A success response has another `status_code`.
    OtherStatusCode,
    /// A success response has the status `pending`.
    Pending,
}

/// How a call ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// With a success.
    Succeeded,
    /// With an error of this outcome.
    Rejected,
    /// With an error of this outcome; for a lookup, with an error that is not a rejection.
    NotProcessed,
    /// With an error of this outcome.
    Unknown,
    /// The caller dropped its future.
    Abandoned,
}

impl Cause {
    /// Every single cause that can be set for an operation.
    pub fn all() -> impl Iterator<Item = Self> {
        let moments = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];
        let gateway = Symptom::all().filter(|symptom| *symptom != Symptom::Refuse);
        let gateway =
            gateway.flat_map(move |symptom| moments.into_iter().map(move |at| Self::Gateway(symptom, at)));
        [Self::Nothing, Self::Gateway(Symptom::Refuse, Phase::BeforeCommit)]
            .into_iter()
            .chain(gateway)
            .chain(WireFault::ALL.into_iter().map(Self::Wire))
            .chain([
                Self::Held(Phase::BeforeCommit),
                Self::Held(Phase::AfterCommit),
                Self::Jumped,
                Self::Local,
            ])
    }

    /// Whether no byte of the request was sent, and the transport can prove it.
    pub(crate) fn is_before_the_first_byte(self) -> bool {
        match self {
            Self::Gateway(symptom, _) => symptom == Symptom::Refuse,
            Self::Wire(fault) => fault.unsent().is_some(),
            _ => false,
        }
    }

    /// Whether it makes the service respond with a rejection although it charged. No client can detect this: the fake
    /// documents it for [`FaultKind::Status`], and a proxy's page with such a status has the same effect.
    ///
    /// This includes only the statuses for which the outcome table says rejected. After another one, such as 408, 409 or 425, a
    /// client that reports a rejection has a bug.
    pub(crate) fn is_false_rejection(self) -> bool {
        let Self::Gateway(Symptom::Status(_) | Symptom::Html(_), moment) = self else { return false };
        moment != Phase::BeforeCommit && matches!(self.endings_of_a_payment().must, [Ending::Rejected])
    }

    /// The endings that a call of this operation can have, except `Abandoned`, which is always possible.
    ///
    /// Written by hand from the outcome table, independent of the code that it checks.
    pub fn endings(self, operation: OperationName) -> Endings {
        match (operation, self) {
            // A void is processed or refused, and a fault or a gate after the commit is not for one that is refused.
            (
                OperationName::Void,
                Self::Gateway(Symptom::Drip | Symptom::Delay, Phase::AfterCommit)
                | Self::Held(Phase::AfterCommit),
            ) => Endings { must: &[Ending::Succeeded, Ending::Unknown], may: &[] },
            _ if operation.moves_money() => self.endings_of_a_payment(),
            _ => self.endings_of_a_lookup(),
        }
    }

    fn endings_of_a_payment(self) -> Endings {
        use Ending::{NotProcessed, Rejected, Succeeded, Unknown};
        let must: &[Ending] = match self {
            Self::Nothing | Self::Wire(WireFault::OtherHttpStatus(202)) => &[Succeeded, Rejected],
            cause if cause.is_before_the_first_byte() => &[NotProcessed],
            Self::Local => return Endings::NONE,
            Self::Gateway(symptom, moment) => match (symptom, moment) {
                (Symptom::Status(200 | 400 | 402 | 404 | 429) | Symptom::Html(404), _) => &[Rejected],
                (Symptom::Drip, Phase::AfterCommit)
                | (Symptom::Delay, Phase::BeforeCommit | Phase::AfterCommit) => {
                    &[Succeeded, Rejected, Unknown]
                }
                _ => &[Unknown],
            },
            Self::Wire(fault) => match fault {
                WireFault::OtherStatusCode | WireFault::Pending | WireFault::OtherHttpStatus(400) => {
                    &[Rejected, Unknown]
                }
                WireFault::ReportsLate | WireFault::DeliveredLater => &[Succeeded, Rejected, Unknown],
                _ => &[Unknown],
            },
            Self::Held(_) => &[Succeeded, Rejected, Unknown],
            Self::Jumped => return Endings { must: &[Succeeded, Rejected, Unknown], may: &[NotProcessed] },
            Self::Several => return Endings::ANY,
        };
        Endings { must, may: &[] }
    }

    fn endings_of_a_lookup(self) -> Endings {
        use Ending::{NotProcessed, Rejected, Succeeded};
        let must: &[Ending] = match self {
            Self::Nothing | Self::Wire(WireFault::OtherHttpStatus(202)) => &[Succeeded, Rejected],
            Self::Local => &[NotProcessed],
            Self::Gateway(symptom, moment) => match (symptom, moment) {
                // A redirect is neither followed nor retried. A stalled lookup, and one whose response was not read whole at the
                // deadline, has no time left for a retry.
                (Symptom::Status(302) | Symptom::Stall, _)
                | (Symptom::Delay, Phase::Late)
                | (Symptom::Drip, Phase::BeforeCommit | Phase::Late) => &[NotProcessed],
                (Symptom::Status(200 | 400 | 402 | 404 | 409) | Symptom::Html(402..=404), _) => &[Rejected],
                // Retried after a pause, which may leave too little time for the next response.
                (Symptom::Status(408 | 425 | 429), _) => {
                    return Endings { must: &[Succeeded, Rejected], may: &[NotProcessed] };
                }
                _ => &[Succeeded, Rejected, NotProcessed],
            },
            Self::Wire(fault) => match fault {
                WireFault::TlsFailed
                | WireFault::HangsAfterSending
                | WireFault::HangsBeforeSending
                | WireFault::Oversized => &[NotProcessed],
                WireFault::OtherHttpStatus(400 | 409) => &[Rejected],
                _ => &[Succeeded, Rejected, NotProcessed],
            },
            Self::Held(_) | Self::Jumped => &[Succeeded, Rejected, NotProcessed],
            Self::Several => return Endings::ANY,
        };
        Endings { must, may: &[] }
    }
}

/// The endings that a cause allows.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Endings {
    /// Endings that occur in every long enough run.
    pub must: &'static [Ending],
    /// Endings that need a rare coincidence.
    pub may: &'static [Ending],
}

impl Endings {
    const NONE: Self = Self { must: &[], may: &[] };

    const ANY: Self = Self {
        must: &[],
        may: &[Ending::Succeeded, Ending::Rejected, Ending::NotProcessed, Ending::Unknown],
    };

    /// Whether the ending is in the set.
    pub fn has(self, ending: Ending) -> bool {
        self.must.contains(&ending) || self.may.contains(&ending)
    }
}

impl Symptom {
    fn all() -> impl Iterator<Item = Self> {
        use Symptom::{Close, Delay, Drip, Garbage, Refuse, Reset, Stall, Truncate, WrongShape};
        let statuses = [200, 204, 302, 400, 402, 404, 408, 409, 425, 429, 500, 503, 504];
        [Refuse, Close, Reset, Stall, Drip, Truncate, Garbage, Delay, WrongShape]
            .into_iter()
            .chain([200, 402, 403, 404, 502].map(Self::Html))
            .chain(statuses.map(Self::Status))
    }
}

impl WireFault {
    const ALL: [Self; 21] = [
        Self::Unresolved,
        Self::Unreachable,
        Self::TlsFailed,
        Self::ConnectStall,
        Self::PoolDead,
        Self::ShutDown,
        Self::RequestLost,
        Self::ResponseLost,
        Self::ResponseCut,
        Self::ReportsLate,
        Self::HangsAfterSending,
        Self::HangsBeforeSending,
        Self::DeliveredLater,
        Self::Encoded,
        Self::Oversized,
        Self::OtherHttpStatus(202),
        Self::OtherHttpStatus(400),
        Self::OtherHttpStatus(409),
        Self::OtherHttpStatus(500),
        Self::OtherStatusCode,
        Self::Pending,
    ];

    /// What the transport reports if it has sent no byte.
    pub(crate) fn unsent(self) -> Option<TransportErrorKind> {
        Some(match self {
            Self::Unresolved => TransportErrorKind::Resolve,
            Self::Unreachable => TransportErrorKind::Connect,
            Self::TlsFailed => TransportErrorKind::Tls,
            Self::ConnectStall => TransportErrorKind::Timeout,
            Self::PoolDead => TransportErrorKind::Closed,
            Self::ShutDown => TransportErrorKind::Cancelled,
            _ => return None,
        })
    }
}

impl Ending {
    /// Every ending, in the order of the table's columns.
    pub const ALL: [Self; 5] =
        [Self::Succeeded, Self::Rejected, Self::NotProcessed, Self::Unknown, Self::Abandoned];

    /// The ending as one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Rejected => "rejected",
            Self::NotProcessed => "not_processed",
            Self::Unknown => "unknown",
            Self::Abandoned => "abandoned",
        }
    }
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::NotProcessed => Self::NotProcessed,
            Outcome::Rejected => Self::Rejected,
            Outcome::Unknown => Self::Unknown,
        }
    }
}

impl From<FaultKind> for Symptom {
    fn from(kind: FaultKind) -> Self {
        match kind {
            FaultKind::Refuse => Self::Refuse,
            FaultKind::Close => Self::Close,
            FaultKind::Reset => Self::Reset,
            FaultKind::Stall => Self::Stall,
            FaultKind::Drip { .. } => Self::Drip,
            FaultKind::Truncate { .. } => Self::Truncate,
            FaultKind::Garbage => Self::Garbage,
            FaultKind::Html { status } => Self::Html(status.as_u16()),
            FaultKind::Status { status } => Self::Status(status.as_u16()),
            FaultKind::Delay { .. } => Self::Delay,
            FaultKind::WrongShape => Self::WrongShape,
            other => unreachable!("the simulation does not know the fault {} yet", other.as_str()),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
