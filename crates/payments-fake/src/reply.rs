//! What the network would carry back.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};

use crate::envelope::{ErrorEnvelope, ok, with_body};
use crate::fault::{Fault, FaultKind, Phase};
use crate::randomness::Randomness;

/// What the network would carry back: a complete response, or a symptom.
///
/// [`FakeTransport`](crate::FakeTransport) turns it into the result of a transport, and the sandbox into events on a socket,
/// so both see the same bytes.
#[non_exhaustive]
pub enum Reply {
    /// A complete response.
    Response(Response<Bytes>),
    /// A complete response after a pause.
    Delayed {
        /// The pause.
        by: Duration,
        /// The response.
        response: Response<Bytes>,
    },
    /// The head at once, then the body in pieces.
    Drip {
        /// The response whose body is sent in pieces.
        response: Response<Bytes>,
        /// The size of a piece.
        bytes: NonZeroUsize,
        /// The pause before each piece.
        every: Duration,
        /// Whether the last byte is sent; if not, the connection stays open without it.
        complete: bool,
    },
    /// The head, with the length of the whole body, and then only `bytes` of the body before the connection closes.
    Truncated {
        /// The complete response.
        response: Response<Bytes>,
        /// How much of its body is sent: always less than all.
        bytes: usize,
    },
    /// These bytes, which are not HTTP, and then the connection closes.
    Garbage(Bytes),
    /// No connection was accepted.
    Refused,
    /// The request was read and the connection closed.
    Closed,
    /// The request was read and the connection reset.
    Reset,
    /// Nothing is sent, and the connection stays open.
    Stalled,
}

impl Reply {
    /// What the client sees instead of `response`. This is the only place where a fault becomes a symptom.
    pub(crate) fn of_fault(fault: &Fault, response: Response<Bytes>, randomness: &mut Randomness) -> Self {
        let retry_after = fault.retry_after.as_ref();
        let committed = fault.phase() == Phase::AfterCommit;
        match fault.kind() {
            FaultKind::Refuse => Self::Refused,
            FaultKind::Close => Self::Closed,
            FaultKind::Reset => Self::Reset,
            FaultKind::Drip { bytes, every } => Self::Drip { response, bytes, every, complete: committed },
            FaultKind::Truncate { bytes } => {
                let bytes = bytes.min(response.body().len().saturating_sub(1));
                Self::Truncated { response, bytes }
            }
            FaultKind::Garbage => {
                // The head of a TLS record: what a client receives when it sends plain HTTP to the wrong port.
                let mut bytes = vec![0x16, 0x03, 0x01, 0x00, 0x40];
                bytes.extend((0..8).flat_map(|_| randomness.next().to_be_bytes()));
                Self::Garbage(bytes.into())
            }
            FaultKind::Html { status } => {
                let page = format!(
                    "<!DOCTYPE html>\n<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n"
                );
                let response = with_body(status, "text/html; charset=utf-8", page.into_bytes());
                Self::Response(finished(response, retry_after))
            }
            FaultKind::Status { status } => {
                let msg = status.canonical_reason().unwrap_or("Error");
                let response = ErrorEnvelope::new(status, msg).response();
                Self::Response(finished(response, retry_after))
            }
            FaultKind::Delay { by } if committed => Self::Delayed { by, response },
            // A delay before the commit was already handled as a held request; a late delay never sends a response.
            FaultKind::Stall | FaultKind::Delay { .. } => Self::Stalled,
            FaultKind::WrongShape => Self::Response(ok(&BTreeMap::from([("result", "ok")]))),
        }
    }

    /// The HTTP status that the client sees, now or later.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Response(response)
            | Self::Delayed { response, .. }
            | Self::Drip { response, .. }
            | Self::Truncated { response, .. } => Some(response.status()),
            _ => None,
        }
    }

    /// What the client sees instead of a whole response.
    pub fn symptom(&self) -> Option<FaultKind> {
        match *self {
            Self::Response(_) | Self::Delayed { .. } => None,
            Self::Drip { bytes, every, .. } => Some(FaultKind::Drip { bytes, every }),
            Self::Truncated { bytes, .. } => Some(FaultKind::Truncate { bytes }),
            Self::Garbage(_) => Some(FaultKind::Garbage),
            Self::Refused => Some(FaultKind::Refuse),
            Self::Closed => Some(FaultKind::Close),
            Self::Reset => Some(FaultKind::Reset),
            Self::Stalled => Some(FaultKind::Stall),
        }
    }

    /// The response that is sent completely or in part.
    pub fn response_mut(&mut self) -> Option<&mut Response<Bytes>> {
        match self {
            Self::Response(response)
            | Self::Delayed { response, .. }
            | Self::Drip { response, .. }
            | Self::Truncated { response, .. } => Some(response),
            _ => None,
        }
    }
}

/// Bodies may hold personal data, so they are not shown.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, symptom) = (self.status(), self.symptom());
        f.debug_struct("Reply").field("status", &status).field("symptom", &symptom).finish_non_exhaustive()
    }
}

/// A response with the status of a fault: without a body where the status forbids one, and with `Retry-After`.
fn finished(mut response: Response<Bytes>, retry_after: Option<&HeaderValue>) -> Response<Bytes> {
    let status = response.status();
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED) {
        // These have no body (RFC 9110, 15.3.5, 15.3.6 and 15.4.5).
        response.headers_mut().remove(CONTENT_TYPE);
        *response.body_mut() = Bytes::new();
    }
    if let Some(value) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, value.clone());
    }
    response
}
