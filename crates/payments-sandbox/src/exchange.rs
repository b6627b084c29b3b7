use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{Fault, FaultKind, Phase, Reply, RequestEffect};

/// One request and what became of it, for a log. It holds no secret and no personal data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// Who asked.
    pub client: SocketAddr,
    /// The HTTP method, which is any word; what is hidden in the path is hidden in it.
    pub method: String,
    /// The path without its query; a card number in it is masked, and so are the keys.
    pub path: String,
    /// What the client was shown.
    pub shown: Shown,
    /// The answer's `x-request-id`, if there was an answer.
    pub request_id: Option<String>,
    /// The operation, if method and path are those of one and the request came to the service.
    pub operation: Option<OperationName>,
    /// The amount that the request names, if it can be read.
    pub amount: Option<Amount>,
    /// What the service did, whatever the client was shown.
    pub effect: RequestEffect,
    /// The fault that struck the request.
    pub fault: Option<Fault>,
    /// From the end of the request to the beginning of what was shown.
    pub took: Duration,
}

impl Exchange {
    /// Whether money moved and the client was shown anything but the whole and true answer: it cannot know that it was
    /// charged, or that its void was done.
    pub fn is_untold(&self) -> bool {
        let moved = matches!(self.effect, RequestEffect::Charged | RequestEffect::Voided);
        let is_true = |fault: &Fault| match fault.kind() {
            FaultKind::Delay { .. } => true,
            FaultKind::Drip { .. } => fault.phase() == Phase::AfterCommit,
            _ => false,
        };
        moved && !self.fault.as_ref().is_none_or(is_true)
    }
}

/// What a client was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shown {
    /// A whole answer of this HTTP status.
    Answer(u16),
    /// What a fault did instead, by the name of its kind.
    Fault(&'static str),
}

impl Shown {
    pub(crate) fn by(reply: &Reply) -> Self {
        match (reply.symptom(), reply.status()) {
            (None, Some(status)) => Self::Answer(status.as_u16()),
            (symptom, _) => Self::Fault(symptom.unwrap_or("close")),
        }
    }
}

/// As a line of a log: `127.0.0.1:40123 POST /api/v1/public/void 200 in 1.2ms, req_…`.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, method, path, shown, request_id, took, .. } = self;
        write!(f, "{client} {method} {path} ")?;
        match shown {
            Shown::Answer(status) => write!(f, "{status}")?,
            Shown::Fault(kind) => write!(f, "{kind}")?,
        }
        write!(f, " in {took:.1?}")?;
        match request_id {
            Some(id) => write!(f, ", {id}"),
            None => Ok(()),
        }
    }
}
