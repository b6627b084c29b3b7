use std::fmt;

/// The kind of a failure, to decide in one `match` who has to act.
///
/// It does not say whether the money can have moved: ask [`Error::outcome`](crate::Error::outcome) for that, first.
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
    /// The client or its transport is not set up to send. Nothing was sent.
    Configuration,
    /// No connection could be made: name resolution, TCP or TLS failed.
    NotConnected,
    /// A deadline ended.
    TimedOut,
    /// The exchange broke off: the connection was closed, the attempt was cancelled, or the response was cut, too large or not
    /// HTTP.
    Interrupted,
    /// The service refused in its own words: a declined card, an invalid token, a wrong field.
    Refused,
    /// The service knows no such record (HTTP 404, in the service's own words).
    NotFound,
    /// The service refused the API key (HTTP 401, in the service's own words).
    Unauthorized,
    /// Too many requests (HTTP 429), from the service or from something in front of it.
    RateLimited,
    /// Something in front of the service refused, such as a proxy or a firewall.
    RefusedByIntermediary,
    /// A whole response says neither yes nor no.
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
