use std::error::Error as StdError;
use std::io;

use hyper_util::client::legacy;
use payments_core::{TransportError, TransportErrorKind};
use rustls::AlertDescription;
use thiserror::Error;

use crate::connector::ConnectError;

/// Converts hyper-util's error for a request without a response, with what it proves.
///
/// A request was not processed if there was no connection, if hyper returned it unwritten, or if the server refused its HTTP/2
/// stream. Nothing else is proof: a server that reads the whole request and then closes causes the same errors as one that
/// reads none of it.
pub(crate) fn transport_error(error: legacy::Error) -> TransportError {
    let kind = kind_of(&error);
    let not_processed = error.is_connect()
        || error.connect_info().is_none()
        || causes(&error).any(|cause| {
            cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) || is_refused(cause)
        });
    let evidence =
        if not_processed { TransportError::not_processed(kind) } else { TransportError::unknown(kind) };
    let explanation = causes(&error).find_map(alert).and_then(client_certificate);
    let is_permanent = explanation.is_some()
        || causes(&error).filter_map(|cause| cause.downcast_ref()).any(ConnectError::is_permanent);
    let evidence = if is_permanent { evidence.permanent() } else { evidence };
    if let Some(code) = goaway_code(&error) {
        // The error's own text quotes the peer's debug data.
        return evidence.with_source(format!("the server ended the HTTP/2 connection with GOAWAY: {code}"));
    }
    match explanation {
        Some(explanation) => evidence.with_source(Explained { explanation, error }),
        None => evidence.with_source(error),
    }
}

/// An error of hyper-util, and what it means.
#[derive(Debug, Error)]
#[error("{explanation}")]
struct Explained {
    explanation: &'static str,
    #[source]
    error: legacy::Error,
}

/// The alert that the server sent instead of finishing or continuing the TLS session.
fn alert(cause: &(dyn StdError + 'static)) -> Option<AlertDescription> {
    match tls_error(cause) {
        Some(rustls::Error::AlertReceived(alert)) => Some(*alert),
        _ => None,
    }
}

/// An `io::Error` contains the rustls error, but does not return it as its source. hyper-rustls wraps it twice.
pub(crate) fn tls_error<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().and_then(|inner| tls_error(inner)),
        None => cause.downcast_ref(),
    }
}

/// What this alert says about the client's certificate. With TLS 1.3 it arrives after the handshake, perhaps when the request has
/// been written.
fn client_certificate(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CertificateRequired => "the server requires a client certificate",
        AlertDescription::NoCertificate
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => "the server refused the client certificate, or requires one",
        AlertDescription::HandshakeFailure => {
            "the server refused the TLS handshake; it may require a client certificate"
        }
        _ => return None,
    })
}

/// For people and logs. Nothing depends on it.
fn kind_of(error: &legacy::Error) -> TransportErrorKind {
    for this in causes(error) {
        if let Some(connect_error) = this.downcast_ref::<ConnectError>() {
            return connect_error.kind;
        }
        match this.downcast_ref::<hyper::Error>() {
            Some(error) if error.is_parse() => return TransportErrorKind::Protocol,
            // The connection's task is gone: it panicked, or its runtime was shut down.
            Some(error) if error.is_user() => return TransportErrorKind::Other,
            _ => {}
        }
        if tls_error(this).is_some() {
            return TransportErrorKind::Tls;
        }
    }
    TransportErrorKind::Closed
}

fn causes(error: &legacy::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// The code of the peer's `GOAWAY` frame.
#[cfg(feature = "http2")]
fn goaway_code(error: &legacy::Error) -> Option<h2::Reason> {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<h2::Error>())
        .find(|error| error.is_go_away() && error.is_remote())?
        .reason()
}

#[cfg(not(feature = "http2"))]
fn goaway_code(_: &legacy::Error) -> Option<&'static str> {
    None
}

/// Whether the server reset the stream with `REFUSED_STREAM`, the only code that promises no processing (RFC 9113, 8.7).
#[cfg(feature = "http2")]
fn is_refused(cause: &(dyn StdError + 'static)) -> bool {
    cause.downcast_ref::<h2::Error>().is_some_and(|error| {
        error.is_remote() && error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)
    })
}

#[cfg(not(feature = "http2"))]
fn is_refused(_: &(dyn StdError + 'static)) -> bool {
    false
}
