//! What an error of reqwest proves about the request.

use std::error::Error as StdError;
use std::io;

use payments_core::{TransportError, TransportErrorKind};
use rustls::AlertDescription;
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
        } else if has_source(&error, is_tls) {
            TransportErrorKind::Tls
        } else {
            TransportErrorKind::Closed
        })
    };
    let error = error.without_url();
    let evidence = if has_source(&error, needs_credentials) { evidence.permanent() } else { evidence };
    match explanation(&error) {
        Some(explanation) => evidence.with_source(Explained { explanation, error }),
        None => evidence.with_source(error),
    }
}

/// An error of reqwest, and what it means.
#[derive(Debug, thiserror::Error)]
#[error("{explanation}")]
struct Explained {
    explanation: &'static str,
    #[source]
    error: reqwest::Error,
}

/// What the texts of the libraries leave open. It is for people only.
fn explanation(error: &reqwest::Error) -> Option<&'static str> {
    let mut source = error.source();
    while let Some(this) = source {
        if needs_credentials(this) {
            return Some("the proxy returned 407");
        }
        if this.to_string() == "tunnel error: unsuccessful" {
            return Some("the proxy refused to open a connection, with a status that reqwest does not show");
        }
        if let Some(rustls::Error::AlertReceived(alert)) = tls_error(this) {
            return client_certificate(*alert);
        }
        source = this.source();
    }
    None
}

/// Whether the proxy returned 407. hyper-util does not export the type of this error.
fn needs_credentials(error: &(dyn StdError + 'static)) -> bool {
    error.to_string() == "tunnel error: proxy authorization required"
}

/// Whether this alert of the server is about the client's certificate.
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
    tls_error(error).is_some()
}

fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    // `source` of an io::Error skips the error that it wraps, and here one io::Error wraps another.
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().and_then(|inner| tls_error(inner)),
        None => error.downcast_ref(),
    }
}

fn is_not_http(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
}
