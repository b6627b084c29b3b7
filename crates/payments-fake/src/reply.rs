use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::fault::{Fault, FaultKind, Phase};
use crate::randomness::Randomness;
use crate::{HeldRequest, answer};

/// What the network would carry back: a whole answer, or a symptom.
///
/// The same value becomes what a transport reports ([`FakeTransport`](crate::FakeTransport)) and what a socket does (the
/// sandbox), so both see the same bytes.
#[non_exhaustive]
pub enum Reply {
    /// A whole answer.
    Answer(Response<Bytes>),
    /// A whole answer after a pause.
    Delayed {
        /// The pause.
        by: Duration,
        /// The answer.
        answer: Response<Bytes>,
    },
    /// The request waits before it is processed: give it to [`Responder::resume`](crate::Responder::resume) after the
    /// pause, unless the client has gone.
    Held {
        /// The pause.
        by: Duration,
        /// What to resume with.
        request: HeldRequest,
    },
    /// The head at once, then the body in pieces.
    Drip {
        /// The answer whose body is dripped.
        answer: Response<Bytes>,
        /// The size of a piece.
        bytes: usize,
        /// The pause before each piece.
        every: Duration,
        /// Whether the last byte comes; if not, the connection stays open without it.
        complete: bool,
    },
    /// The head, with the length of the whole body, and then only `bytes` of it before the connection closes.
    Truncated {
        /// The whole answer.
        answer: Response<Bytes>,
        /// How much of its body comes: always less than all.
        bytes: usize,
    },
    /// These bytes, which are no HTTP, and then the connection closes.
    Garbage(Bytes),
    /// No connection was made.
    Refused,
    /// The request was read and the connection closed.
    Closed,
    /// The request was read and the connection reset.
    Reset,
    /// Nothing comes, and the connection stays open.
    Stalled,
}

impl Reply {
    /// What the client is shown instead of `answer`. The only place where a fault becomes a symptom.
    pub(crate) fn of_fault(fault: &Fault, answer: Response<Bytes>, randomness: &mut Randomness) -> Self {
        let retry_after = fault.retry_after_header();
        let committed = fault.phase() == Phase::AfterCommit;
        match fault.kind() {
            FaultKind::Refuse => Self::Refused,
            FaultKind::Close => Self::Closed,
            FaultKind::Reset => Self::Reset,
            FaultKind::Drip { bytes, every } => {
                Self::Drip { answer, bytes: bytes.get(), every, complete: committed }
            }
            FaultKind::Truncate { bytes } => {
                let bytes = bytes.min(answer.body().len().saturating_sub(1));
                Self::Truncated { answer, bytes }
            }
            FaultKind::Garbage => Self::Garbage(garbage(randomness)),
            FaultKind::Html { status } => Self::Answer(answer::html(status, retry_after)),
            FaultKind::Status { status } => Self::Answer(answer::status(status, retry_after)),
            FaultKind::Delay { by } if committed => Self::Delayed { by, answer },
            // A request that waits before it is processed is held back before it comes here; a late one never answers.
            FaultKind::Stall | FaultKind::Delay { .. } => Self::Stalled,
            FaultKind::WrongShape => Self::Answer(answer::wrong_shape()),
        }
    }
}

impl Reply {
    /// The HTTP status that the client sees, now or later.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Answer(answer)
            | Self::Delayed { answer, .. }
            | Self::Drip { answer, .. }
            | Self::Truncated { answer, .. } => Some(answer.status()),
            _ => None,
        }
    }

    /// The kind of fault that the client sees instead of a whole response: `refuse`, `close`, `reset`, `stall`, `drip`,
    /// `truncate` or `garbage`.
    pub fn symptom(&self) -> Option<&'static str> {
        match self {
            Self::Answer(_) | Self::Delayed { .. } | Self::Held { .. } => None,
            Self::Drip { .. } => Some("drip"),
            Self::Truncated { .. } => Some("truncate"),
            Self::Garbage(_) => Some("garbage"),
            Self::Refused => Some("refuse"),
            Self::Closed => Some("close"),
            Self::Reset => Some("reset"),
            Self::Stalled => Some("stall"),
        }
    }

    /// The answer that it is, or of which it shows a part.
    pub fn answer_mut(&mut self) -> Option<&mut Response<Bytes>> {
        match self {
            Self::Answer(answer)
            | Self::Delayed { answer, .. }
            | Self::Drip { answer, .. }
            | Self::Truncated { answer, .. } => Some(answer),
            Self::Held { .. }
            | Self::Garbage(_)
            | Self::Refused
            | Self::Closed
            | Self::Reset
            | Self::Stalled => None,
        }
    }
}

/// It begins with the head of a TLS record: what a client meets when it speaks plain HTTP to the wrong port.
fn garbage(randomness: &mut Randomness) -> Bytes {
    let mut bytes = vec![0x16, 0x03, 0x01, 0x00, 0x40];
    bytes.extend((0..8).flat_map(|_| randomness.next().to_be_bytes()));
    bytes.into()
}

/// Bodies may hold personal data: only their lengths are shown.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of =
            |answer: &Response<Bytes>| format!("HTTP {} with {} bytes", answer.status(), answer.body().len());
        match self {
            Self::Answer(answer) => write!(f, "Answer({})", of(answer)),
            Self::Delayed { by, answer } => write!(f, "Delayed({by:?}, {})", of(answer)),
            Self::Held { by, request: _ } => write!(f, "Held({by:?})"),
            Self::Drip { answer, bytes, every, complete } => {
                write!(f, "Drip({bytes} bytes every {every:?} of {}, complete: {complete})", of(answer))
            }
            Self::Truncated { answer, bytes } => {
                write!(f, "Truncated(after {bytes} bytes of {})", of(answer))
            }
            Self::Garbage(bytes) => write!(f, "Garbage({} bytes)", bytes.len()),
            Self::Refused => f.write_str("Refused"),
            Self::Closed => f.write_str("Closed"),
            Self::Reset => f.write_str("Reset"),
            Self::Stalled => f.write_str("Stalled"),
        }
    }
}
