//! What the errors and responses of an HTTP stack prove.

use std::error::Error as StdError;
use std::io::Error as IoError;
use std::iter;

use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use thiserror::Error;

/// This error and its causes, from the outermost to the innermost.
///
/// It looks into an `io::Error`, whose `source` skips the error that it contains: the error of a TLS library, for example.
pub fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |&error| match error.downcast_ref::<IoError>().and_then(IoError::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    })
}

/// Whether two readers could see the end of a response with these headers in different places: it gives its length more than once,
/// not in digits (`+2`), or is chunked as well. It may belong to another request, or be an attack, so the outcome of its request is
/// unknown.
pub fn has_ambiguous_length(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else {
        return false;
    };
    let length = first.as_bytes().trim_ascii();
    let is_number = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
    lengths.next().is_some() || !is_number || headers.contains_key(TRANSFER_ENCODING)
}

/// What a server's TLS alert says about the client's certificate.
///
/// With TLS 1.3 the alert arrives after the handshake, perhaps when the request has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClientCertificateAlert {
    /// The server requires one.
    #[error("the server requires a client certificate")]
    Required,
    /// The server refused it. Some servers also use such an alert if there is none.
    #[error("the server refused the client certificate, or requires one")]
    Refused,
    /// The server refused the handshake. With TLS 1.2 it may require a certificate, or have no version or cipher in common.
    #[error("the server refused the TLS handshake; it may require a client certificate")]
    Handshake,
}

impl ClientCertificateAlert {
    /// `alert` is the number of the alert in RFC 8446, section 6. `None` for one that is not about the client's certificate.
    pub fn from_number(alert: u8) -> Option<Self> {
        match alert {
            40 => Some(Self::Handshake),
            41..=46 | 48 | 49 => Some(Self::Refused),
            116 => Some(Self::Required),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn length_that_readers_can_read_differently_is_ambiguous() {
        let of = |headers: &[(HeaderName, &'static str)]| {
            let headers = headers.iter().cloned();
            has_ambiguous_length(
                &headers.map(|(name, value)| (name, HeaderValue::from_static(value))).collect(),
            )
        };
        for length in ["0", "27", " 27", "0027"] {
            assert!(!of(&[(CONTENT_LENGTH, length)]), "{length:?}");
            assert!(of(&[(CONTENT_LENGTH, length), (TRANSFER_ENCODING, "chunked")]), "{length:?}");
        }
        for length in ["", "+2", "-2", "0x2", "2.0", "2, 2", "2;2", "two", "1e3"] {
            assert!(of(&[(CONTENT_LENGTH, length)]), "{length:?}");
        }
        assert!(!of(&[]) && !of(&[(TRANSFER_ENCODING, "chunked")]));
    }

    #[test]
    fn causes_include_what_an_io_error_contains() {
        let inner = IoError::other(ClientCertificateAlert::Required);
        let outer = IoError::other(inner);
        let alert = causes(&outer).find_map(|cause| cause.downcast_ref());
        assert_eq!(alert, Some(&ClientCertificateAlert::Required));
        assert_eq!(causes(&outer).count(), 3);
    }

    #[test]
    fn only_some_alerts_are_about_the_clients_certificate() {
        let numbers = (0..=u8::MAX).filter(|alert| ClientCertificateAlert::from_number(*alert).is_some());
        // 47 is `illegal_parameter`.
        assert_eq!(numbers.collect::<Vec<_>>(), [40, 41, 42, 43, 44, 45, 46, 48, 49, 116]);
    }
}
