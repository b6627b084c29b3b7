use std::borrow::Cow;
use std::error::Error as StdError;

use http::StatusCode;
use thiserror::Error;

use super::evidence::{ClientCertificateAlert, causes};
use super::response::TransportResponse;

/// How far a request provably got. It alone decides the outcome that the caller sees.
///
/// Complete: a transport can know only that nothing was sent, that something may have been sent, or that a response began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "transports and tests match on all three; there is no fourth case"
)]
pub enum Delivery {
    /// Not one byte of the request reached a connection. A claim, made only with proof.
    NotProcessed,
    /// Some of the request may have been read and acted upon.
    Unknown,
    /// A final status was received, but not the complete response.
    Answered(StatusCode),
}

/// What went wrong, for people and logs. The consequence for the money follows from [`Delivery`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The host name did not resolve.
    Resolve,
    /// The TCP connection failed.
    Connect,
    /// The TLS handshake failed, the certificate included.
    Tls,
    /// A deadline passed.
    Timeout,
    /// The connection was closed or reset.
    Closed,
    /// The response is not valid HTTP.
    Protocol,
    /// The response's body was truncated.
    BodyTruncated,
    /// The response's body is larger than the limit.
    BodyTooLarge,
    /// The transport was shut down, or the attempt was cancelled.
    Cancelled,
    /// The transport cannot send: its runtime is missing, for example. The [source](std::error::Error::source) names what is
    /// missing. With [`Delivery::NotProcessed`], the error has the kind
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration).
    Configuration,
    /// Anything else.
    Other,
}

impl TransportErrorKind {
    /// The kind as one word, for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        self.words().0
    }

    /// The kind in words, as error messages use them, such as `the connection was closed`.
    pub const fn description(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Resolve => ("resolve", "the host name did not resolve"),
            Self::Connect => ("connect", "could not connect"),
            Self::Tls => ("tls", "the TLS handshake failed"),
            Self::Timeout => ("timeout", "the deadline passed"),
            Self::Closed => ("closed", "the connection was closed"),
            Self::Protocol => ("protocol", "the server violated the HTTP protocol"),
            Self::BodyTruncated => ("body_truncated", "the response was truncated"),
            Self::BodyTooLarge => ("body_too_large", "the response is larger than the limit"),
            Self::Cancelled => ("cancelled", "the attempt was cancelled"),
            Self::Configuration => ("configuration", "the transport cannot send"),
            Self::Other => ("transport", "the transport failed"),
        }
    }
}

/// Why one attempt received no complete response, and how far the request provably got.
///
/// There is no `From<io::Error>`: a transport must state its evidence. If it is unsure, it returns
/// [`TransportError::unknown`], because [`TransportError::not_processed`] lets the caller charge again.
#[derive(Debug, Error)]
#[error("{}{}", kind.description(), self.progress())]
pub struct TransportError {
    kind: TransportErrorKind,
    delivery: Delivery,
    is_permanent: bool,
    partial: Option<Box<TransportResponse>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TransportError {
    /// The request may have been read: the caller must not send it again blindly.
    #[must_use]
    pub fn unknown(kind: TransportErrorKind) -> Self {
        Self::new(kind, Delivery::Unknown)
    }

    /// Not one byte of the request reached a connection, and the transport can prove it: the caller may send again.
    #[must_use]
    pub fn not_processed(kind: TransportErrorKind) -> Self {
        Self::new(kind, Delivery::NotProcessed)
    }

    /// A status was received, but not the complete body. `partial` is the status, the headers, and the body so far.
    #[must_use]
    pub fn answered(kind: TransportErrorKind, partial: impl Into<TransportResponse>) -> Self {
        let partial = partial.into();
        let error = Self::new(kind, Delivery::Answered(partial.status()));
        Self { partial: Some(Box::new(partial)), ..error }
    }

    fn new(kind: TransportErrorKind, delivery: Delivery) -> Self {
        let is_permanent = kind == TransportErrorKind::Configuration;
        Self { kind, delivery, is_permanent, partial: None, source: None }
    }

    /// Marks a failure that recurs until somebody fixes its cause: an expired certificate, for example, or a proxy that refuses
    /// the address. A TLS handshake that the network interrupted is not one. It changes the advice, and a lookup is not retried. It
    /// says nothing about the money. [`TransportErrorKind::Configuration`] is always permanent.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.is_permanent = true;
        self
    }

    /// Adds the underlying error. Its text must hold no secret: it is shown in logs.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds the underlying error like [`with_source`](Self::with_source), and the number of the TLS alert (RFC 8446, section 6) with
    /// which the server ended the connection.
    ///
    /// If the alert is about the client's certificate, the failure is [permanent](Self::permanent), and the
    /// [source](StdError::source) says what the server wants, before the TLS library's own error.
    #[must_use]
    pub fn with_tls_alert(self, alert: u8, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        match ClientCertificateAlert::from_number(alert) {
            Some(alert) => self.permanent().with_source(Alert { alert, source }),
            None => self.with_source(source),
        }
    }

    /// Marks a handshake that TLS itself ended as [permanent](Self::permanent), unless the server's `alert` is `internal_error`: that
    /// may be over soon. `None` if the server sent no alert.
    #[must_use]
    pub fn ended_handshake(self, alert: Option<u8>) -> Self {
        if alert == Some(INTERNAL_ERROR) { self } else { self.permanent() }
    }

    /// What went wrong, for people.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// How far the request provably got.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Whether waiting does not help: the transport [says so](Self::permanent), or it cannot send as it is configured.
    pub fn is_permanent(&self) -> bool {
        self.is_permanent
    }

    /// What the server said about the client's certificate, if it ended the connection because of it.
    pub fn client_certificate(&self) -> Option<ClientCertificateAlert> {
        Some(self.source.as_ref()?.downcast_ref::<Alert>()?.alert)
    }

    /// Nothing was sent, and nothing will be until the program is fixed.
    pub(crate) fn is_configuration(&self) -> bool {
        self.kind == TransportErrorKind::Configuration && self.delivery == Delivery::NotProcessed
    }

    /// What was read of a truncated response. A [`Client`](crate::Client) takes it out, because it is not masked.
    pub fn partial(&self) -> Option<&TransportResponse> {
        self.partial.as_deref()
    }

    /// The end of the message: how far the request got, unless the kind implies it.
    fn progress(&self) -> Cow<'static, str> {
        use TransportErrorKind::{Configuration, Connect, Resolve, Tls};

        match (self.delivery, self.kind) {
            (Delivery::NotProcessed, Resolve | Connect | Tls | Configuration) => "".into(),
            (Delivery::NotProcessed, _) => " before the request was sent".into(),
            (Delivery::Unknown, _) => ", and the request may have been sent".into(),
            (Delivery::Answered(status), _) => format!(" after HTTP status {}", status.as_u16()).into(),
        }
    }

    pub(crate) fn take_partial(&mut self) -> Option<Box<TransportResponse>> {
        self.partial.take()
    }

    /// Replaces the texts of the underlying errors if one of them shows what `redact` removes, such as a key in the name of the host.
    pub(crate) fn redact_source(&mut self, redact: &dyn Fn(&str) -> Cow<'_, str>) {
        let Some(source) = self.source.take() else { return };
        let is_shown = causes(&*source)
            .map(ToString::to_string)
            .chain([format!("{source:?}")])
            .any(|text| matches!(redact(&text), Cow::Owned(_)));
        self.source = Some(match source.downcast::<Alert>() {
            Ok(alert) if is_shown => {
                Box::new(Alert { source: Redacted::boxed(&*alert.source, redact), ..*alert })
            }
            Ok(alert) => alert,
            Err(source) if is_shown => Redacted::boxed(&*source, redact),
            Err(source) => source,
        });
    }
}

/// The number of this alert (RFC 8446, section 6).
const INTERNAL_ERROR: u8 = 80;

/// An alert, in front of the error of the TLS library.
#[derive(Debug, Error)]
#[error("{alert}")]
struct Alert {
    alert: ClientCertificateAlert,
    source: Box<dyn StdError + Send + Sync>,
}

/// The text of an underlying error, and of its causes.
#[derive(Debug, Error)]
#[error("{text}")]
struct Redacted {
    text: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Redacted {
    fn boxed(
        error: &(dyn StdError + 'static),
        redact: &dyn Fn(&str) -> Cow<'_, str>,
    ) -> Box<dyn StdError + Send + Sync> {
        let source = error.source().map(|source| Self::boxed(source, redact));
        Box::new(Self { text: redact(&error.to_string()).into_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_inside_the_server_ends_a_handshake_that_may_succeed_later() {
        // `handshake_failure`, `internal_error`, `unrecognized_name`, and an error of this side.
        for (alert, is_permanent) in [(Some(40), true), (Some(80), false), (Some(112), true), (None, true)] {
            let error = TransportError::not_processed(TransportErrorKind::Tls);
            assert_eq!(error.ended_handshake(alert).is_permanent(), is_permanent, "{alert:?}");
        }
    }
}
