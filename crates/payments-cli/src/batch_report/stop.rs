//! Why a billing run stopped.

use std::fmt;
use std::time::Duration;

use payments_core::{ErrorKind, Outcome};

/// Why a run ended before every row was sent.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A signal. The charges in flight have ended.
    Interrupted(&'static str),
    /// A signal after another reason. The charges in flight were abandoned.
    GivenUp { signal: &'static str, after: Box<Self> },
    /// HTTP 401, with the outcome of the row that received it.
    Unauthorized(Outcome),
    /// HTTP 403, with the same and the kind of the failure.
    Forbidden(Outcome, ErrorKind),
    /// `--max-rejected`.
    TooManyRejected(u64),
    /// An outage lasted longer than `--patience`; with the message of the last failure.
    Outage(String),
    /// The service cannot be reached, and waiting does not help; with the cause.
    Unreachable(String),
    /// HTTP 429, with the requested pause, and what was left of `--patience`.
    Throttled { outcome: Outcome, asked: Option<Duration>, left: Duration },
    /// The journal failed; with its message.
    Journal(String),
    /// The file of `--results` could not be written.
    Results(String),
    /// A panic, which is a bug.
    Internal,
}

impl Stop {
    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self.first(), Self::Unauthorized(_))
    }

    /// Whether the next run stops for the same reason until somebody fixes the cause.
    pub(crate) fn needs_a_fix(&self) -> bool {
        matches!(self.first(), Self::Unreachable(_))
    }

    pub(crate) fn is_internal(&self) -> bool {
        matches!(self.first(), Self::Internal)
    }

    /// The reason before a signal abandoned the run.
    fn first(&self) -> &Self {
        match self {
            Self::GivenUp { after, .. } => after,
            _ => self,
        }
    }

    /// Replaces that reason if the new one decides the exit code: a panic, or else a refused API key.
    pub(super) fn replace_first(&mut self, stop: Self) {
        let decides = stop.is_internal() || (stop.is_unauthorized() && !self.is_internal());
        match self {
            _ if !decides => {}
            Self::GivenUp { after, .. } => **after = stop,
            first => *first = stop,
        }
    }

    /// A stable word for programs.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::GivenUp { after, .. } => after.reason(),
            Self::Interrupted(_) => "interrupted",
            Self::Unauthorized(_) => "unauthorized",
            Self::Forbidden(..) => "forbidden",
            Self::TooManyRejected(_) => "max_rejected",
            Self::Outage(_) | Self::Unreachable(_) => "outage",
            Self::Throttled { .. } => "throttled",
            Self::Journal(_) => "journal",
            Self::Results(_) => "results",
            Self::Internal => "internal",
        }
    }
}

const UNCLEAR: &str = "in a response that does not show whether a charge was made";

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(signal) => {
                write!(f, "interrupted by {signal}; no new charge was started, and those in flight have ended")
            }
            Self::GivenUp { signal, after } => {
                if !matches!(**after, Self::Interrupted(_)) {
                    write!(f, "{after}; then ")?;
                }
                write!(
                    f,
                    "abandoned at {signal}; the charges in flight may have been processed: \
                     the journal will list them as unknown, and they are not sent again"
                )
            }
            Self::Unauthorized(Outcome::Unknown) => write!(
                f,
                "the API key was refused (HTTP 401) {UNCLEAR}: fix the key, then resolve the unknown rows"
            ),
            Self::Unauthorized(_) => {
                f.write_str("the API key was refused (HTTP 401): fix it, then reopen the rejected rows")
            }
            Self::Forbidden(Outcome::Unknown, kind) => {
                match kind {
                    ErrorKind::RefusedByIntermediary => f.write_str(
                        "something between here and the service returned HTTP 403, before or after the service acted",
                    )?,
                    _ => write!(f, "HTTP 403 {UNCLEAR}")?,
                }
                f.write_str(
                    ": find the cause with `payments check`, and look for the payment in the service's records before you \
                     send anything again; `payments journal resolve --from FILE` resolves many at once",
                )
            }
            Self::Forbidden(..) => f.write_str(
                "the service forbids the charge (HTTP 403): find out why, then run `payments journal retry --status 403`",
            ),
            Self::TooManyRejected(limit) => {
                write!(f, "more than {limit} rows were rejected in this run (--max-rejected)")
            }
            Self::Outage(why) => {
                write!(f, "the service is unreachable or does not respond as it should: {why}")
            }
            Self::Unreachable(why) => {
                write!(f, "the service cannot be reached, and waiting does not help: {why}")
            }
            Self::Throttled { outcome, asked, left } => {
                f.write_str("too many requests (HTTP 429)")?;
                if *outcome == Outcome::Unknown {
                    write!(f, " {UNCLEAR}")?;
                }
                match asked {
                    Some(asked) => write!(
                        f,
                        ": the service asks for a pause of {} s, and the {:.1} s left of --patience are not enough",
                        asked.as_secs(),
                        left.as_secs_f64()
                    )?,
                    None => f.write_str(", repeatedly")?,
                }
                let rows = match outcome {
                    Outcome::Unknown => "resolve the unknown rows",
                    _ => "reopen the rejected rows",
                };
                write!(f, "; later, {rows} and run the same command with a lower --rate")
            }
            Self::Journal(why) => write!(
                f,
                "the journal failed, and nothing is sent without it: {why}; a row that could not be recorded is not started: \
                 this run did not send it, but an earlier run may have paid it: do not pay it another way, \
                 run the same command again once the journal works"
            ),
            Self::Results(why) => write!(f, "the file of --results cannot be written: {why}"),
            Self::Internal => f.write_str(
                "internal error, which is a bug: report the place that stderr names; no new charge was started; \
                 `payments journal list --unresolved` shows what is unknown",
            ),
        }
    }
}
