use std::error::Error as StdError;
use std::fmt;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::{Method, Request, Response};
use payments_core::blocking::Transport;
use payments_core::transport::{causes, has_ambiguous_length};
use payments_core::{TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use rustls::ClientConfig;
use ureq::Agent;

use crate::agents::Agents;
use crate::attempt::{Attempt, Progress};
use crate::builder::{Pool, UreqTransportBuilder};
use crate::connection::UnusableName;

/// A blocking transport over ureq: HTTP/1.1 over TCP and TLS, with rustls.
///
/// A call runs on its caller's thread and blocks it. Clones are cheap and share their connections. Any number of threads can
/// use one transport at once, and so can a forked process: [it has connections of its own](crate#forked-processes).
#[derive(Clone)]
pub struct UreqTransport {
    agents: Arc<Agents>,
}

impl UreqTransport {
    /// Returns a builder with every setting at its default.
    pub fn builder() -> UreqTransportBuilder {
        UreqTransportBuilder::with_defaults()
    }

    pub(crate) fn from_parts(tls: Arc<ClientConfig>, pool: Pool) -> Self {
        Self { agents: Arc::new(Agents::new(tls, pool)) }
    }
}

impl fmt::Debug for UreqTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UreqTransport").finish_non_exhaustive()
    }
}

impl Transport for UreqTransport {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let server = request.server()?.clone();
        // A logger may make this call within another one. ureq logs while it holds the lock of its pool.
        let is_nested = Attempt::current().is_ok();
        let agent = if is_nested { self.agents.separate() } else { self.agents.get() };
        Attempt::run(server, request.deadlines(), |attempt| {
            // ureq has assertions that may panic. A panic must not hide whether the request was sent.
            catch_unwind(AssertUnwindSafe(|| call(attempt, &agent.agent, request))).unwrap_or_else(|_| {
                agent.discard();
                Err(attempt.no_status(TransportErrorKind::Other).with_source("the call panicked"))
            })
        })
    }
}

fn call(
    attempt: &Attempt,
    agent: &Agent,
    request: TransportRequest,
) -> Result<TransportResponse, TransportError> {
    let cap = request.response_cap();
    let (head, body) = request.into_http().into_parts();
    // ureq does not accept an empty body for a method that may have no body.
    let response = if body.is_empty() && matches!(head.method, Method::GET | Method::HEAD) {
        agent.run(Request::from_parts(head, ()))
    } else {
        agent.run(Request::from_parts(head, &body[..]))
    };
    let response = response.map_err(|error| transport_error(error, attempt))?;

    // A response with two lengths may belong to another request, so its status proves nothing.
    if has_ambiguous_length(response.headers()) {
        let evidence = attempt.no_status(TransportErrorKind::Protocol);
        return Err(evidence.with_source("the response gives its length more than once"));
    }
    attempt.allow_reuse();
    let (head, body) = response.into_parts();
    let one_more = u64::try_from(cap).unwrap_or(u64::MAX).saturating_add(1);
    let mut read = Vec::new();
    let ended = body.into_reader().take(one_more).read_to_end(&mut read);
    let is_too_large = read.len() > cap;
    read.truncate(cap);
    // The part that arrived is always kept, because it may contain the transaction's id.
    let response = Response::from_parts(head, read.into());
    match ended {
        _ if is_too_large => Err(TransportError::answered(TransportErrorKind::BodyTooLarge, response)),
        Ok(_) => Ok(TransportResponse::new(response)),
        Err(error) => {
            let kind = if attempt.is_expired() {
                TransportErrorKind::Timeout
            } else {
                TransportErrorKind::BodyTruncated
            };
            Err(TransportError::answered(kind, response).with_source(error))
        }
    }
}

/// The evidence of an error that ureq reported before a status.
fn transport_error(error: ureq::Error, attempt: &Attempt) -> TransportError {
    let tls = cause_of::<rustls::Error>(&error);
    let alert = match tls {
        Some(&rustls::Error::AlertReceived(alert)) => Some(alert.into()),
        _ => None,
    };
    let kind = if alert.is_some() { TransportErrorKind::Tls } else { kind_of(&error, attempt) };
    let evidence = attempt.no_status(kind);
    // Without an error of TLS, the network ended the handshake.
    let is_handshake = tls.is_some() && attempt.progress() == Progress::Handshaking;
    let evidence = if is_handshake { evidence.ended_handshake(alert) } else { evidence };
    match alert {
        Some(alert) => evidence.with_tls_alert(alert, error),
        None => evidence.with_source(error),
    }
}

/// For people and logs only. The attempt decides what the error proves.
fn kind_of(error: &ureq::Error, attempt: &Attempt) -> TransportErrorKind {
    match (error, attempt.progress()) {
        _ if attempt.is_expired() => TransportErrorKind::Timeout,
        _ if cause_of::<UnusableName>(error).is_some() => TransportErrorKind::Configuration,
        (ureq::Error::Io(_), Progress::Resolving) => TransportErrorKind::Resolve,
        (ureq::Error::Io(_), Progress::Connecting) => TransportErrorKind::Connect,
        (ureq::Error::Io(_), Progress::Handshaking) => TransportErrorKind::Tls,
        (ureq::Error::Io(_), Progress::MayBeSent) => TransportErrorKind::Closed,
        (ureq::Error::Protocol(_) | ureq::Error::Http(_) | ureq::Error::LargeResponseHeader(..), _) => {
            TransportErrorKind::Protocol
        }
        _ => TransportErrorKind::Other,
    }
}

fn cause_of<E: StdError + 'static>(error: &ureq::Error) -> Option<&E> {
    // ureq does not return it as its source.
    let ureq::Error::Io(error) = error else { return None };
    causes(error).find_map(|cause| cause.downcast_ref())
}
