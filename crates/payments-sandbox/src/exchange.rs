use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use payments_fake::{Fault, FaultKind, Phase, RecordedRequest, Reply, RequestEffect};

/// One request and its result, for a log. It holds no secret, and no personal data but what the caller put into a reference.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// The address of the client.
    pub client: SocketAddr,
    /// The HTTP method, which can be any word; it is masked like the path.
    pub method: String,
    /// The path without its query; card numbers and keys in it are masked.
    pub path: String,
    /// What the client saw.
    pub shown: Shown,
    /// The `x-request-id` of the response, if there was one.
    pub request_id: Option<String>,
    /// The request and what the service did with it, unless it did not reach the service.
    pub recorded: Option<RecordedRequest>,
    /// The time from the end of the request to the beginning of the response or symptom.
    pub took: Duration,
}

impl Exchange {
    /// Whether money moved and the client did not get the complete, true response: it cannot know that it was charged, or
    /// that its void took effect.
    pub fn is_untold(&self) -> bool {
        let Some(recorded) = &self.recorded else { return false };
        let moved = matches!(recorded.effect(), RequestEffect::Charged | RequestEffect::Voided);
        let delivers_response = |fault: &Fault| match fault.kind() {
            FaultKind::Delay { .. } => true,
            FaultKind::Drip { .. } => fault.phase() == Phase::AfterCommit,
            _ => false,
        };
        moved && !recorded.fault().is_none_or(delivers_response)
    }
}

/// What a client saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shown {
    /// A complete response with this HTTP status.
    Response(u16),
    /// A fault instead, by the name of its kind.
    Fault(&'static str),
}

impl Shown {
    pub(crate) fn of(reply: &Reply) -> Self {
        match (reply.symptom(), reply.status()) {
            (None, Some(status)) => Self::Response(status.as_u16()),
            (symptom, _) => Self::Fault(symptom.unwrap_or("close")),
        }
    }
}

/// A log line: `127.0.0.1:40123 POST /api/v1/public/void 200 in 1.2ms, req_…`.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, method, path, shown, request_id, took, .. } = self;
        write!(f, "{client} {method} {path} ")?;
        match shown {
            Shown::Response(status) => write!(f, "{status}")?,
            Shown::Fault(kind) => write!(f, "{kind}")?,
        }
        write!(f, " in {took:.1?}")?;
        match request_id {
            Some(id) => write!(f, ", {id}"),
            None => Ok(()),
        }
    }
}
