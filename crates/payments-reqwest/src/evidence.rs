//! What an error of reqwest proves about the request.

use std::error::Error as StdError;

use payments_core::transport::causes;
use payments_core::{TransportError, TransportErrorKind};
use rustls::AlertDescription;
use tokio::time::error::Elapsed;

use crate::connect_deadline::Panicked;

/// The evidence of an error that reqwest reported before a status.
pub(crate) fn before_a_status(error: reqwest::Error) -> TransportError {
    let tls = causes(&error).find_map(|cause| cause.downcast_ref::<rustls::Error>());
    let evidence = if error.is_connect() {
        TransportError::not_processed(if error.is_dns() {
            TransportErrorKind::Resolve
        } else if causes(&error).any(<dyn StdError>::is::<Elapsed>) {
            TransportErrorKind::Timeout
        } else if causes(&error).any(<dyn StdError>::is::<Panicked>) {
            TransportErrorKind::Configuration
        } else if tls.is_some() {
            TransportErrorKind::Tls
        } else {
            TransportErrorKind::Connect
        })
    } else {
        // No other error proves that the server read nothing, whatever its kind or text.
        TransportError::unknown(if causes(&error).any(is_not_http) {
            TransportErrorKind::Protocol
        } else if tls.is_some() {
            TransportErrorKind::Tls
        } else {
            TransportErrorKind::Closed
        })
    };
    let refusal = causes(&error).find_map(proxy_refusal);
    if let Some(refusal) = refusal {
        let evidence = if refusal == NEEDS_CREDENTIALS { evidence.permanent() } else { evidence };
        return evidence.with_source(Refused { refusal, error: error.without_url() });
    }
    // A handshake fails again, unless the network or an error inside the server ended it.
    let is_permanent = error.is_connect()
        && tls.is_some_and(|error| *error != rustls::Error::AlertReceived(AlertDescription::InternalError));
    let evidence = if is_permanent { evidence.permanent() } else { evidence };
    match tls {
        Some(&rustls::Error::AlertReceived(alert)) => {
            evidence.with_tls_alert(alert.into(), error.without_url())
        }
        _ => evidence.with_source(error.without_url()),
    }
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

/// The error of a request that was never passed to reqwest, and never will be until somebody fixes this.
pub(crate) fn misconfigured(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> TransportError {
    TransportError::not_processed(TransportErrorKind::Configuration).with_source(reason)
}

fn is_not_http(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
}
