//! What an error of reqwest proves about the request.

use std::error::Error as StdError;

use payments_core::transport::causes;
use payments_core::{TransportError, TransportErrorKind};
use tokio::time::error::Elapsed;

use crate::connect_deadline::Misconfigured;

/// Converts reqwest's error for a request without a status, with what it proves.
///
/// A request was not processed if there was no connection. No other error proves that the server read nothing, whatever its kind
/// or text.
pub(crate) fn transport_error(error: reqwest::Error) -> TransportError {
    let kind = kind_of(&error);
    let evidence =
        if error.is_connect() { TransportError::not_processed(kind) } else { TransportError::unknown(kind) };
    let refusal = causes(&error).find_map(proxy_refusal);
    if let Some(refusal) = refusal {
        let evidence = if refusal == NEEDS_CREDENTIALS { evidence.permanent() } else { evidence };
        return evidence.with_source(Refused { refusal, error: error.without_url() });
    }
    let tls = tls_error(&error);
    let alert = match tls {
        Some(&rustls::Error::AlertReceived(alert)) => Some(alert.into()),
        _ => None,
    };
    // Without an error of TLS, the network ended the handshake.
    let is_handshake = tls.is_some() && error.is_connect();
    let evidence = if is_handshake { evidence.ended_handshake(alert) } else { evidence };
    match alert {
        Some(alert) => evidence.with_tls_alert(alert, error.without_url()),
        None => evidence.with_source(error.without_url()),
    }
}

/// For people and logs. Nothing depends on it.
fn kind_of(error: &reqwest::Error) -> TransportErrorKind {
    let has = |is: fn(&(dyn StdError + 'static)) -> bool| causes(error).any(is);
    match error.is_connect() {
        true if error.is_dns() => TransportErrorKind::Resolve,
        true if has(<dyn StdError>::is::<Elapsed>) => TransportErrorKind::Timeout,
        true if has(<dyn StdError>::is::<Misconfigured>) => TransportErrorKind::Configuration,
        false if has(is_not_http) => TransportErrorKind::Protocol,
        _ if tls_error(error).is_some() => TransportErrorKind::Tls,
        true => TransportErrorKind::Connect,
        false => TransportErrorKind::Closed,
    }
}

fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// An error of reqwest, and which refusal of a proxy it is.
#[derive(Debug, thiserror::Error)]
#[error("{refusal}")]
struct Refused {
    refusal: &'static str,
    #[source]
    error: reqwest::Error,
}

const NEEDS_CREDENTIALS: &str = "the proxy returned 407";

/// How the proxy refused to open a connection. hyper-util does not export the type of its error, so this reads the text. Nothing
/// about the money depends on it.
fn proxy_refusal(cause: &(dyn StdError + 'static)) -> Option<&'static str> {
    match cause.to_string().as_str() {
        "tunnel error: proxy authorization required" => Some(NEEDS_CREDENTIALS),
        "tunnel error: unsuccessful" => {
            Some("the proxy refused to open a connection, with a status that reqwest does not show")
        }
        _ => None,
    }
}

/// The error of a request that was never passed to reqwest. The kind makes it permanent.
pub(crate) fn misconfigured(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> TransportError {
    TransportError::not_processed(TransportErrorKind::Configuration).with_source(reason)
}

fn is_not_http(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
}
