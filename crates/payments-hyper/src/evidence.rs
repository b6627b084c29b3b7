use std::error::Error as StdError;

use hyper_util::client::legacy;
use payments_core::transport::causes;
use payments_core::{TransportError, TransportErrorKind};

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
    if let Some(code) = goaway_code(&error) {
        // The error's own text quotes the peer's debug data.
        return evidence.with_source(format!("the server ended the HTTP/2 connection with GOAWAY: {code}"));
    }
    let tls = causes(&error).find_map(|cause| cause.downcast_ref::<rustls::Error>());
    let alert = match tls {
        Some(&rustls::Error::AlertReceived(alert)) => Some(alert.into()),
        _ => None,
    };
    let evidence = match connect_error(&error) {
        Some(failed) if failed.is_refused_for_good() => evidence.permanent(),
        // Without an error of TLS, the network ended the handshake.
        Some(failed) if failed.kind == TransportErrorKind::Tls && tls.is_some() => {
            evidence.ended_handshake(alert)
        }
        _ => evidence,
    };
    match alert {
        Some(alert) => evidence.with_tls_alert(alert, error),
        None => evidence.with_source(error),
    }
}

fn connect_error(error: &legacy::Error) -> Option<&ConnectError> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// For people and logs. Nothing depends on it.
fn kind_of(error: &legacy::Error) -> TransportErrorKind {
    if let Some(error) = connect_error(error) {
        return error.kind;
    }
    for this in causes(error) {
        match this.downcast_ref::<hyper::Error>() {
            Some(error) if error.is_parse() => return TransportErrorKind::Protocol,
            // The connection's task is gone: it panicked, or its runtime was shut down.
            Some(error) if error.is_user() => return TransportErrorKind::Other,
            _ => {}
        }
        if this.is::<rustls::Error>() {
            return TransportErrorKind::Tls;
        }
    }
    TransportErrorKind::Closed
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
