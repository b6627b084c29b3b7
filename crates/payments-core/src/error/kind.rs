use std::fmt;

/// The kind of failure: one `match` decides who has to act.
///
/// It does not say whether the money can have moved. Check [`Error::outcome`](crate::Error::outcome) first.
///
/// ```
/// use payments_core::{Error, ErrorKind};
///
/// fn advice(error: &Error) -> &'static str {
///     match error.kind() {
///         ErrorKind::Refused => "show the reason to the payer",
///         ErrorKind::Unauthorized | ErrorKind::Configuration => "alert the owner of the API key",
///         ErrorKind::RateLimited => "slow down",
///         ErrorKind::RefusedByIntermediary => "alert the owner of the proxy",
///         _ => "follow the outcome",
///     }
/// }
/// # let error = payments_core::ApiKey::new("").unwrap_err();
/// # assert_eq!(advice(&error), "alert the owner of the API key");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid. Nothing was sent.
    Invalid,
    /// The configuration of the client or its transport is wrong. Nothing was sent.
    Configuration,
    /// Connecting failed: name resolution, TCP or TLS.
    NotConnected,
    /// A deadline passed.
    TimedOut,
    /// The exchange was interrupted: the connection was closed, the attempt was cancelled, or the response was truncated, too
    /// large or not HTTP.
    Interrupted,
    /// The service refused, with its error body: a declined card, an invalid token, a wrong field.
    Refused,
    /// The service does not know the record (HTTP 404, with the service's error body).
    NotFound,
    /// The service refused the API key (HTTP 401, with the service's error body).
    Unauthorized,
    /// Too many requests (HTTP 429), from the service or from something in front of it.
    RateLimited,
    /// Something between here and the service responded, such as a proxy or a firewall: the words are not the service's.
    /// The outcome may be [`Unknown`](crate::Outcome::Unknown): a page with HTTP 403 or 502 can come after the service has charged.
    RefusedByIntermediary,
    /// A complete response is neither a success nor a refusal, or it could not be read.
    Unclear,
}

impl ErrorKind {
    /// The kind as one word, for logs and metrics, such as `rate_limited`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Configuration => "configuration",
            Self::NotConnected => "not_connected",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
            Self::Refused => "refused",
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::RefusedByIntermediary => "refused_by_intermediary",
            Self::Unclear => "unclear",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
