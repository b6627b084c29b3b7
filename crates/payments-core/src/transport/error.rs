use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use thiserror::Error;

use crate::TransportResponse;

/// How far a request provably got. This alone decides what the caller is told about the money.
///
/// Complete: a transport can only know that nothing left, that something may have left, or that an answer began.
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
    /// A final status was received, but the answer could not be read to its end.
    Answered(StatusCode),
}

/// What went wrong, for people and logs. What it means for the money follows from [`Delivery`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The host name did not resolve.
    Resolve,
    /// No TCP connection could be made.
    Connect,
    /// The TLS handshake failed, the certificate included.
    Tls,
    /// A deadline ended.
    Timeout,
    /// The connection was closed or reset.
    Closed,
    /// What came back is not HTTP, or breaks its rules.
    Protocol,
    /// The answer's body broke off.
    BodyTruncated,
    /// The answer's body is longer than the cap.
    BodyTooLarge,
    /// The transport was shut down, or the attempt was cancelled.
    Cancelled,
    /// The transport cannot send as it was set up or where it was called: its runtime is missing, for one. The
    /// [source](std::error::Error::source) names what is missing. With [`Delivery::NotProcessed`] it makes
    /// [`Error::is_configuration`](crate::Error::is_configuration) true.
    Configuration,
    /// Anything else.
    Other,
}

impl TransportErrorKind {
    /// The kind as one word, for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
            Self::BodyTruncated => "body_truncated",
            Self::BodyTooLarge => "body_too_large",
            Self::Cancelled => "cancelled",
            Self::Configuration => "configuration",
            Self::Other => "transport",
        }
    }

    /// The kind in words, as error messages use them.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Resolve => "the host name did not resolve",
            Self::Connect => "no connection could be made",
            Self::Tls => "the TLS handshake failed",
            Self::Timeout => "the deadline ended",
            Self::Closed => "the connection was closed",
            Self::Protocol => "the peer broke the HTTP protocol",
            Self::BodyTruncated => "the answer broke off",
            Self::BodyTooLarge => "the answer is larger than the cap",
            Self::Cancelled => "the attempt was cancelled",
            Self::Configuration => "the transport is not set up to send",
            Self::Other => "the transport failed",
        }
    }
}

/// Why one attempt brought no whole answer, and the evidence of how far it got.
///
/// There is no `From<io::Error>`: a transport must say what it knows. Where it is unsure it says
/// [`TransportError::unknown`], because [`TransportError::not_processed`] lets the caller charge again.
#[derive(Debug, Error)]
#[error("{}{}", kind.description(), How(self))]
pub struct TransportError {
    kind: TransportErrorKind,
    delivery: Delivery,
    partial: Option<Box<TransportResponse>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TransportError {
    /// The request may have been read: the caller is told not to send it again blindly.
    #[must_use]
    pub fn unknown(kind: TransportErrorKind) -> Self {
        Self { kind, delivery: Delivery::Unknown, partial: None, source: None }
    }

    /// Not one byte of the request reached a connection, and the transport can prove it: the caller may send again.
    #[must_use]
    pub fn not_processed(kind: TransportErrorKind) -> Self {
        Self { kind, delivery: Delivery::NotProcessed, partial: None, source: None }
    }

    /// A status came, but not the whole body. `partial` is the status, the headers, and the body as far as it was read.
    #[must_use]
    pub fn answered(kind: TransportErrorKind, partial: impl Into<TransportResponse>) -> Self {
        let partial = partial.into();
        Self {
            kind,
            delivery: Delivery::Answered(partial.status()),
            partial: Some(Box::new(partial)),
            source: None,
        }
    }

    /// Adds the underlying error. Its text must hold no secret: it is shown in logs.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong, for people.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// How far the request provably got.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Nothing was sent, and nothing will be before the program is corrected.
    pub(crate) fn is_configuration(&self) -> bool {
        self.kind == TransportErrorKind::Configuration && self.delivery == Delivery::NotProcessed
    }

    /// What was read of an answer that broke off.
    pub fn partial(&self) -> Option<&TransportResponse> {
        self.partial.as_deref()
    }
}

/// `{kind} before the request was sent`, and so on.
struct How<'a>(&'a TransportError);

impl fmt::Display for How<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.delivery {
            Delivery::NotProcessed if self.0.is_configuration() => Ok(()),
            Delivery::NotProcessed => f.write_str(" before the request was sent"),
            Delivery::Unknown => f.write_str(" after the request may have been sent"),
            Delivery::Answered(status) => write!(f, " after HTTP status {}", status.as_u16()),
        }
    }
}
