use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{Fault, FaultKind, Phase, RecordedRequest, Reply, RequestEffect};

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
    /// What is known of it before it is answered. Method and path are as they may be shown.
    pub(crate) fn begin(client: SocketAddr, method: &Method, path: String) -> Self {
        Self {
            client,
            method: method.to_string(),
            path,
            shown: Shown::Fault("nothing"),
            request_id: None,
            operation: None,
            amount: None,
            effect: RequestEffect::Nothing,
            fault: None,
            took: Duration::ZERO,
        }
    }

    /// Adds what the service noted of the request.
    pub(crate) fn note(&mut self, recorded: &RecordedRequest) {
        self.operation = recorded.operation();
        self.amount = recorded.amount();
        self.effect = recorded.effect();
        self.fault = recorded.fault().cloned();
    }

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
        match reply {
            Reply::Answer(answer) | Reply::Delayed { answer, .. } => Self::Answer(answer.status().as_u16()),
            Reply::Drip { .. } => Self::Fault("drip"),
            Reply::Truncated { .. } => Self::Fault("truncate"),
            Reply::Garbage(_) => Self::Fault("garbage"),
            Reply::Refused => Self::Fault("refuse"),
            Reply::Reset => Self::Fault("reset"),
            Reply::Stalled => Self::Fault("stall"),
            // `Closed`, and what is never shown because it was resumed before.
            _ => Self::Fault("close"),
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
