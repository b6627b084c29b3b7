use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Method, StatusCode};
use payments_fake::{FaultKind, Phase, RecordedRequest, Reply, RequestEffect};

/// One request and its result, for a log. It holds no secret, and no personal data but what the caller put into a reference.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// The address of the client.
    pub client: SocketAddr,
    /// The HTTP method, which can be any word; it is masked like the path.
    pub method: Method,
    /// The path without its query; card numbers and keys in it are masked.
    pub path: String,
    /// The HTTP status of the complete response that the client saw.
    pub status: Option<StatusCode>,
    /// What the client saw instead of one, as in [`RecordedRequest::symptom`]: `close` too if it left first.
    pub symptom: Option<FaultKind>,
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
    pub fn moved_without_response(&self) -> bool {
        let Some(recorded) = &self.recorded else { return false };
        let moved = matches!(recorded.effect, RequestEffect::Charged | RequestEffect::Voided);
        let is_known = match recorded.fault.as_ref().map(|fault| (fault.kind(), fault.phase())) {
            None | Some((FaultKind::Delay { .. }, _)) => self.status.is_some(),
            Some((FaultKind::Drip { .. }, Phase::AfterCommit)) => {
                matches!(self.symptom, Some(FaultKind::Drip { .. }))
            }
            Some(_) => false,
        };
        moved && !is_known
    }

    pub(crate) fn set_reply(&mut self, reply: &Reply) {
        self.symptom = reply.symptom();
        self.status = reply.status().filter(|_| self.symptom.is_none());
    }
}

/// A log line: `127.0.0.1:40123 POST /api/v1/public/void 200 in 1.2ms, req_…`.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, method, path, status, symptom, request_id, took, .. } = self;
        write!(f, "{client} {method} {path} ")?;
        match status {
            Some(status) => f.write_str(status.as_str())?,
            None => f.write_str(symptom.map_or("close", FaultKind::as_str))?,
        }
        write!(f, " in {took:.1?}")?;
        match request_id {
            Some(id) => write!(f, ", {id}"),
            None => Ok(()),
        }
    }
}
