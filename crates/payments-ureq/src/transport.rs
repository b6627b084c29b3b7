use std::fmt;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request, Response};
use payments_core::blocking::Transport;
use payments_core::{TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use rustls::{AlertDescription, ClientConfig};
use ureq::Agent;

use crate::agents::Agents;
use crate::attempt::{Attempt, Progress};
use crate::builder::{Pool, UreqTransportBuilder};

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
        Attempt::run(request.deadlines(), |attempt| {
            // ureq has assertions that may panic. A panic must not hide whether the request was sent.
            catch_unwind(AssertUnwindSafe(|| call(attempt, &self.agents.get(), request)))
                .unwrap_or_else(|_| Err(attempt.no_status(TransportErrorKind::Other, "the call panicked")))
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
    let response = response.map_err(|error| match client_certificate(&error) {
        Some(explanation) => attempt.no_status(TransportErrorKind::Tls, Explained { explanation, error }),
        None => attempt.no_status(kind_of(&error, attempt), error),
    })?;

    // A response with two lengths may belong to another request, so its status proves nothing.
    if has_ambiguous_length(response.headers()) {
        attempt.discard_connection();
        return Err(
            attempt.no_status(TransportErrorKind::Protocol, "the response gives its length more than once")
        );
    }
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

/// Whether two readers could see the end of this response in different places. ureq accepts some of these responses.
fn has_ambiguous_length(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else {
        return false;
    };
    lengths.next().is_some() || first.as_bytes().contains(&b',') || headers.contains_key(TRANSFER_ENCODING)
}

/// For people and logs only. The attempt decides what the error proves.
fn kind_of(error: &ureq::Error, attempt: &Attempt) -> TransportErrorKind {
    match (error, attempt.progress()) {
        _ if attempt.is_expired() => TransportErrorKind::Timeout,
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

/// An error of ureq, and what it means.
#[derive(Debug, thiserror::Error)]
#[error("{explanation}")]
struct Explained {
    explanation: &'static str,
    #[source]
    error: ureq::Error,
}

/// What the server's alert says about the client's certificate. With TLS 1.3 it arrives after the handshake, perhaps when the request
/// has been written.
fn client_certificate(error: &ureq::Error) -> Option<&'static str> {
    let ureq::Error::Io(error) = error else { return None };
    let mut inner = error.get_ref();
    // `await_input` wraps an error in another.
    while let Some(error) = inner.and_then(|inner| inner.downcast_ref::<io::Error>()) {
        inner = error.get_ref();
    }
    let Some(rustls::Error::AlertReceived(alert)) = inner?.downcast_ref() else { return None };
    Some(match alert {
        AlertDescription::CertificateRequired => {
            "the server requires a client certificate, which payments-ureq does not support"
        }
        AlertDescription::NoCertificate
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied
        | AlertDescription::HandshakeFailure => {
            "the server refused the TLS handshake; it may require a client certificate, which payments-ureq does not support"
        }
        _ => return None,
    })
}
