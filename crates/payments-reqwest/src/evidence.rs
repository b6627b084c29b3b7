//! What an error of reqwest proves about the request.

use std::error::Error as StdError;
use std::io;

use payments_core::{TransportError, TransportErrorKind};
use tokio::time::error::Elapsed;

/// The evidence of an error that reqwest reported before a status.
pub(crate) fn before_a_status(error: reqwest::Error) -> TransportError {
    let evidence = if error.is_connect() {
        TransportError::not_processed(if error.is_dns() {
            TransportErrorKind::Resolve
        } else if has_source(&error, <dyn StdError>::is::<Elapsed>) {
            TransportErrorKind::Timeout
        } else if has_source(&error, is_tls) {
            TransportErrorKind::Tls
        } else {
            TransportErrorKind::Connect
        })
    } else {
        // No other error proves that the server read nothing, whatever its kind or text.
        TransportError::unknown(if has_source(&error, is_not_http) {
            TransportErrorKind::Protocol
        } else {
            TransportErrorKind::Closed
        })
    };
    evidence.with_source(error.without_url())
}

/// The evidence of a request that was never passed to reqwest.
pub(crate) fn never_sent(
    kind: TransportErrorKind,
    reason: impl Into<Box<dyn StdError + Send + Sync>>,
) -> TransportError {
    TransportError::not_processed(kind).with_source(reason)
}

fn has_source(error: &reqwest::Error, is_match: impl Fn(&(dyn StdError + 'static)) -> bool) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if is_match(error) {
            return true;
        }
        source = error.source();
    }
    false
}

fn is_tls(error: &(dyn StdError + 'static)) -> bool {
    // `source` of an io::Error skips the error that it wraps, and here one io::Error wraps another.
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().is_some_and(|inner| is_tls(inner)),
        None => error.is::<rustls::Error>(),
    }
}

fn is_not_http(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
}
