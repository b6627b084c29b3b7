//! Why a billing run stopped.

use std::time::Duration;

use payments_core::{ErrorKind, Outcome};

use crate::settings::PrintedCommands;

/// Why a run ended before every row was sent.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A signal. The charges in flight have ended.
    Interrupted(&'static str),
    /// HTTP 401, with the outcome of the row that received it.
    Unauthorized(Outcome),
    /// HTTP 403, with the same and the kind of the failure.
    Forbidden(Outcome, ErrorKind),
    /// Several rejections in a row said nothing about the payments; with the HTTP status of the last one.
    Blocked(u16),
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
    /// Another process has meanwhile charged the payment of a row under another key, or used its key for another request or at another
    /// service, or the payment became unknown in another row; with the kind, the row and what to do.
    NotSent { kind: &'static str, why: String },
    /// The file of `--results` could not be written.
    Results(String),
    /// A panic, which is a bug.
    Internal,
}

impl Stop {
    pub(crate) const fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Unauthorized(_))
    }

    /// Whether the service needs a longer pause than `--patience` allows.
    pub(crate) const fn is_of_patience(&self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::Outage(_))
    }

    /// What a person does before the same command runs again, in the headline and where the rest of the rows is described.
    /// "Safe" would be wrong where each run gets one more row rejected.
    pub(super) fn next_run(&self) -> NextRun {
        match self {
            Self::Unauthorized(_)
            | Self::Forbidden(..)
            | Self::Blocked(_)
            | Self::Unreachable(_)
            | Self::Journal(_)
            | Self::NotSent { .. }
            | Self::Results(_) => NextRun {
                headline: "fix the cause, then run the same command again",
                when: "once the cause is fixed, ",
            },
            Self::TooManyRejected(_) => NextRun {
                headline: "find out why rows were rejected, then run the same command again",
                when: "once you know why rows were rejected, ",
            },
            Self::Throttled { .. } => NextRun {
                headline: "wait, then run the same command again with a lower --rate",
                when: "later, and with a lower --rate, ",
            },
            Self::Interrupted(_) | Self::Outage(_) | Self::Internal => NextRun::ANY_TIME,
        }
    }

    pub(crate) const fn is_internal(&self) -> bool {
        matches!(self, Self::Internal)
    }

    /// A stable word for programs.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Interrupted(_) => "interrupted",
            Self::Unauthorized(_) => "unauthorized",
            Self::Forbidden(..) => "forbidden",
            Self::Blocked(_) => "blocked",
            Self::TooManyRejected(_) => "max_rejected",
            Self::Outage(_) | Self::Unreachable(_) => "outage",
            Self::Throttled { .. } => "throttled",
            Self::Journal(_) => "journal",
            Self::NotSent { kind, .. } => kind,
            Self::Results(_) => "results",
            Self::Internal => "internal",
        }
    }

    /// The same for people, with what to do.
    pub(super) fn message(&self, commands: &PrintedCommands) -> String {
        match self {
            Self::Interrupted(signal) => {
                format!("interrupted by {signal}; no new charge was started, and those in flight have ended")
            }
            Self::Unauthorized(Outcome::Unknown) => {
                format!(
                    "the API key was refused (HTTP 401) {UNCLEAR}: fix the key, then resolve the unknown rows"
                )
            }
            Self::Unauthorized(_) => {
                "the API key was refused (HTTP 401): fix it, then reopen the rejected rows".to_owned()
            }
            Self::Forbidden(Outcome::Unknown, kind) => {
                let what = match kind {
                    ErrorKind::RefusedByIntermediary => {
                        "something between here and the service returned HTTP 403, before or after the service acted".to_owned()
                    }
                    _ => format!("HTTP 403 {UNCLEAR}"),
                };
                format!(
                    "{what}: find the cause with `payments check`, and look for the payment in the service's records before you \
                     send anything again; `payments journal resolve --from FILE` resolves many at once"
                )
            }
            Self::Forbidden(..) => format!(
                "the service forbids the charge (HTTP 403): find out why, then run `{}`",
                commands.retry("--status 403")
            ),
            Self::Blocked(status) => format!(
                "several rejections in a row say nothing about the payments (the last is HTTP {status}), and none of them moved \
                 money: the base URL has a wrong path, or something between here and the service refuses; find the cause with \
                 `payments check`, then reopen the rejected rows"
            ),
            Self::TooManyRejected(limit) => {
                format!("more than {limit} rows were rejected in this run (--max-rejected)")
            }
            Self::Outage(why) => {
                format!("the service is unreachable or does not respond as it should: {why}")
            }
            Self::Unreachable(why) => {
                format!("the service cannot be reached, and waiting does not help: {why}")
            }
            Self::Throttled { outcome, asked, left } => {
                let (unclear, rows) = match outcome {
                    Outcome::Unknown => (format!(" {UNCLEAR}"), "resolve the unknown rows"),
                    _ => (String::new(), "reopen the rejected rows"),
                };
                let why = asked.map_or_else(
                    || ", repeatedly".to_owned(),
                    |asked| {
                        format!(
                            ": the service asks for a pause of {} s, and the {:.1} s left of --patience are not enough",
                            asked.as_secs(),
                            left.as_secs_f64()
                        )
                    },
                );
                format!(
                    "too many requests (HTTP 429){unclear}{why}; later, {rows} and run the same command with a lower --rate"
                )
            }
            Self::Journal(why) => format!(
                "the journal failed, and nothing is sent without it: {why}; a row that could not be recorded is not started: \
                 this run did not send it, but an earlier run may have paid it: do not pay it another way, \
                 run the same command again once the journal works"
            ),
            Self::NotSent { why, .. } => why.clone(),
            Self::Results(why) => format!("the file of --results cannot be written: {why}"),
            Self::Internal => format!(
                "internal error, which is a bug: report the place that stderr names; no new charge was started; `{}` shows what is \
                 unknown",
                commands.journal("list --unresolved")
            ),
        }
    }
}

/// What a person does before the same command runs again.
pub(super) struct NextRun {
    pub(super) headline: &'static str,
    /// Empty, or a clause with a comma.
    pub(super) when: &'static str,
}

impl NextRun {
    pub(super) const ANY_TIME: Self = Self { headline: "it is safe to run the same command again", when: "" };
}

const UNCLEAR: &str = "in a response that does not show whether a charge was made";

#[cfg(test)]
mod tests {
    use payments_model::Amount;

    use super::*;
    use crate::report::run::Summary;
    use crate::style::Style;

    /// The first line of the text, and when to do what the last line says.
    type Said = (&'static str, &'static str);

    const SAFE: Said = ("UNFINISHED, it is safe to run the same command again (exit code 3)", "");
    const FIX: Said = (
        "UNFINISHED, fix the cause, then run the same command again (exit code 3)",
        "once the cause is fixed, ",
    );
    const LOOK: Said = (
        "UNFINISHED, find out why rows were rejected, then run the same command again (exit code 3)",
        "once you know why rows were rejected, ",
    );
    const WAIT: Said = (
        "UNFINISHED, wait, then run the same command again with a lower --rate (exit code 3)",
        "later, and with a lower --rate, ",
    );
    const REFUSED: Said = ("STOPPED, the API key was refused (exit code 6)", "once the cause is fixed, ");
    const RUN: &str = "run the same command again to send the rows that are not processed or not started";

    #[test]
    fn every_stop_says_what_to_do_before_the_next_run_d10() {
        let text = || "why".to_owned();
        let throttled = |outcome| {
            let asked = Some(Duration::from_mins(10));
            Stop::Throttled { outcome, asked, left: Duration::from_millis(1500) }
        };
        let given_up = |stop| (stop, Some("SIGINT"));
        let stopped = |stop| (stop, None);
        let unauthorized = |outcome| stopped(Stop::Unauthorized(outcome));
        let forbidden = |outcome, kind| stopped(Stop::Forbidden(outcome, kind));
        let (foreign, own) = (ErrorKind::RefusedByIntermediary, ErrorKind::Refused);
        let same_payment = Stop::NotSent { kind: "same_payment", why: text() };
        let rejected_only: &[&str] = &["resolve", "payments check", UNCLEAR];
        let unknown_only: &[&str] = &["rejected", "retry", "reopen"];
        let unclear_is_not_foreign: &[&str] = &["rejected", "retry", "reopen", "something between"];
        let reopen = "reopen the rejected rows";
        let resolve = "resolve the unknown rows";
        let retry = "`payments journal retry --status 403";
        let acted = "before or after the service acted";
        let look = "look for the payment";
        let abandoned = "why; then abandoned at SIGINT";
        for ((stop, given_up), (headline, when), parts, wrong) in [
            (stopped(Stop::Interrupted("SIGINT")), SAFE, &["those in flight have ended"][..], &[][..]),
            (given_up(Stop::Interrupted("SIGINT")), SAFE, &["may have been processed"], &[]),
            (given_up(Stop::Outage(text())), SAFE, &[abandoned], &[]),
            (given_up(Stop::Unreachable(text())), FIX, &[abandoned], &[]),
            (unauthorized(Outcome::Rejected), REFUSED, &["HTTP 401", reopen], rejected_only),
            (
                unauthorized(Outcome::Unknown),
                REFUSED,
                &["HTTP 401", UNCLEAR, resolve],
                unclear_is_not_foreign,
            ),
            (forbidden(Outcome::Rejected, own), FIX, &["HTTP 403", retry], rejected_only),
            (forbidden(Outcome::Unknown, own), FIX, &["HTTP 403", UNCLEAR, look], unclear_is_not_foreign),
            (forbidden(Outcome::Unknown, foreign), FIX, &[acted, "`payments check`", look], unknown_only),
            (stopped(Stop::Blocked(404)), FIX, &["HTTP 404", "moved money", "reopen"], &["resolve"]),
            (stopped(Stop::TooManyRejected(7)), LOOK, &["more than 7 rows"], &[]),
            (stopped(Stop::Outage(text())), SAFE, &["does not respond as it should: why"], &[]),
            (stopped(Stop::Unreachable(text())), FIX, &["waiting does not help: why"], &[]),
            (
                stopped(throttled(Outcome::Rejected)),
                WAIT,
                &["HTTP 429", "a pause of 600 s", "the 1.5 s left", reopen],
                rejected_only,
            ),
            (
                stopped(throttled(Outcome::Unknown)),
                WAIT,
                &["HTTP 429", UNCLEAR, resolve],
                unclear_is_not_foreign,
            ),
            (stopped(Stop::Journal(text())), FIX, &["do not pay it another way"], &[]),
            (stopped(Stop::Results(text())), FIX, &["cannot be written: why"], &[]),
            (stopped(same_payment), FIX, &["why"], &[]),
            (stopped(Stop::Internal), SAFE, &["`payments journal list --unresolved`"], &[]),
        ] {
            let mut summary = Summary { stop: Some(stop), given_up, ..Summary::default() };
            let message = summary.stop_message().expect("it has stopped");
            for part in parts {
                assert!(message.contains(part), "{part}: {message}");
            }
            for wrong in wrong {
                assert!(!message.contains(wrong), "{wrong}: {message}");
            }
            summary.tallies.total.add(Amount::from_cents(1));
            let text = summary.lines(Style::Plain);
            let (first, last) = (text.lines().next(), text.lines().last());
            assert_eq!((first, last), (Some(headline), Some(&*format!("  {when}{RUN}"))), "{message}");
        }
    }
}
