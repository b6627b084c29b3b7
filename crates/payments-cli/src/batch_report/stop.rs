//! Why a billing run ended before every row was sent.

use std::fmt;
use std::time::Duration;

use payments_core::Outcome;

/// Why a run ended before every row was sent.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A signal: what was in flight has ended.
    Interrupted(&'static str),
    /// A signal after another reason: what was in flight was left behind.
    GivenUp { signal: &'static str, after: Box<Self> },
    /// HTTP 401.
    Unauthorized,
    /// HTTP 403, and what is known of the row that met it.
    Forbidden(Outcome),
    /// `--max-rejected`.
    TooManyRejected(u64),
    /// An outage outlasted `--patience`; the last failure in its own words.
    Outage(String),
    /// HTTP 429 with a pause that is longer than `--patience`, or again and again.
    Throttled(Option<Duration>),
    /// The journal failed, in its own words.
    Journal(String),
    /// The file of `--results` could not be written.
    Results(String),
    /// The file is no longer what was inspected.
    Changed(Option<u64>),
    /// The file could not be read again.
    Unreadable(String),
    /// A defect.
    Internal,
}

impl Stop {
    /// Whether what was counted may not be all that the file has.
    pub(crate) fn leaves_rows_uncounted(&self) -> bool {
        matches!(self.first(), Self::Changed(_) | Self::Unreadable(_) | Self::Internal)
    }

    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self.first(), Self::Unauthorized)
    }

    /// What ended it before anybody gave it up.
    fn first(&self) -> &Self {
        match self {
            Self::GivenUp { after, .. } => after,
            _ => self,
        }
    }

    /// One stable word.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::GivenUp { after, .. } => after.reason(),
            Self::Interrupted(_) => "interrupted",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden(_) => "forbidden",
            Self::TooManyRejected(_) => "max_rejected",
            Self::Outage(_) => "outage",
            Self::Throttled(_) => "throttled",
            Self::Journal(_) => "journal",
            Self::Results(_) => "results",
            Self::Changed(_) => "file_changed",
            Self::Unreadable(_) => "file_unreadable",
            Self::Internal => "internal",
        }
    }
}

/// What happened, and what to do.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(signal) => {
                write!(f, "interrupted by {signal}; no new charge was begun, and those in flight have ended")
            }
            Self::GivenUp { signal, after } => {
                if !matches!(**after, Self::Interrupted(_)) {
                    write!(f, "{after}; then ")?;
                }
                write!(
                    f,
                    "given up at {signal}; what was in flight may have been processed, \
                     and the journal will list it as unknown: it is not sent again"
                )
            }
            Self::Unauthorized => {
                f.write_str("the API key was refused (HTTP 401): fix it, then reopen the rejected rows")
            }
            Self::Forbidden(Outcome::Unknown) => f.write_str(
                "something between here and the service answered HTTP 403, before or after the service acted: find the \
                 cause with `payments check`, and look for the payment in the service's books before anything is sent again; \
                 `payments journal resolve --from FILE` takes what you find of many",
            ),
            Self::Forbidden(_) => f.write_str(
                "the service forbids the charge (HTTP 403): find out why, then `payments journal retry --status 403`",
            ),
            Self::TooManyRejected(limit) => {
                write!(f, "more than {limit} were rejected in this run (--max-rejected)")
            }
            Self::Outage(why) => {
                write!(f, "the service is out of reach or does not answer as it should: {why}")
            }
            Self::Throttled(Some(pause)) => write!(
                f,
                "too many requests (HTTP 429): the service asks for a pause of {} s, longer than --patience; \
                 run it again then, with a lower --rate, and reopen the rejected rows before it",
                pause.as_secs()
            ),
            Self::Throttled(None) => f.write_str(
                "too many requests (HTTP 429), again and again: run it later with a lower --rate, \
                 and reopen the rejected rows before it",
            ),
            Self::Journal(why) => write!(
                f,
                "the journal failed, and without it nothing is sent: {why}; a row that it did not take is not started: this \
                 run did not send it, but an earlier run may have paid it: do not pay it another way, \
                 run the same command again once the journal works"
            ),
            Self::Results(why) => write!(f, "the file of --results cannot be written: {why}"),
            Self::Changed(Some(line)) => {
                write!(f, "the file has changed since it was inspected, at line {line} or before")
            }
            Self::Changed(None) => f.write_str("the file has changed since it was inspected"),
            Self::Unreadable(why) => write!(f, "the file cannot be read any more: {why}"),
            Self::Internal => f.write_str("internal error; no new charge was begun"),
        }
    }
}
