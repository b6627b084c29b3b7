use std::fmt;
use std::time::Duration;

/// Why a run ended before every row was sent.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A signal: what was in flight has ended.
    Interrupted(&'static str),
    /// A second signal: what was in flight was left behind.
    GivenUp(&'static str),
    /// HTTP 401.
    Unauthorized,
    /// HTTP 403.
    Forbidden,
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
    pub(crate) const fn leaves_rows_uncounted(&self) -> bool {
        matches!(self, Self::Changed(_) | Self::Unreadable(_) | Self::Internal)
    }

    /// One stable word.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Interrupted(_) | Self::GivenUp(_) => "interrupted",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
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
            Self::GivenUp(signal) => write!(
                f,
                "given up at a second signal ({signal}); what was in flight may have been processed, \
                 and the journal will list it as unknown: it is not sent again"
            ),
            Self::Unauthorized => {
                f.write_str("the API key was refused (HTTP 401): mend it, then `payments journal retry`")
            }
            Self::Forbidden => f.write_str(
                "the service or something in front of it forbids the charge (HTTP 403): \
                 find out why, then `payments journal retry`",
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
                 run it again then, with a lower --rate, and `payments journal retry` before it",
                pause.as_secs()
            ),
            Self::Throttled(None) => f.write_str(
                "too many requests (HTTP 429), again and again: run it later with a lower --rate, \
                 and `payments journal retry` before it",
            ),
            Self::Journal(why) => write!(f, "the journal failed, and without it nothing is sent: {why}"),
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
