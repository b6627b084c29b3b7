//! The command line of `payments journal`, and the options of a charge that a journal keeps.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use payments_journal::{IntentKey, Journal, StateName};

use crate::help::hidden_settings;
use crate::help::journal as help;

/// The journal and the key of a charge that is sent at most once.
#[derive(Args)]
pub(crate) struct IntentOptions {
    #[arg(
        long,
        value_name = "PLACE",
        help = "Journal that lets each key be sent at most once: a file, or postgres://… [env: PAYMENTS_JOURNAL]"
    )]
    pub(crate) journal: Option<OsString>,

    /// Your own name for this payment, such as invoice-2026-0017; needs a journal
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Option<IntentKey>,

    /// One new attempt with a key that was rejected or not processed, such as with another card
    #[arg(long, requires = "key")]
    pub(crate) after_rejection: bool,
}

#[derive(Args)]
pub(crate) struct JournalArguments {
    #[arg(
        long,
        global = true,
        value_name = "PLACE",
        help = "The journal: a file, or postgres://… [env: PAYMENTS_JOURNAL]"
    )]
    pub(crate) journal: Option<OsString>,

    #[command(subcommand)]
    pub(crate) command: JournalCommand,
}

#[derive(Subcommand)]
pub(crate) enum JournalCommand {
    /// List the intents
    #[command(long_about = help::LIST, after_long_help = help::READ_CODES, args = hidden_settings())]
    List(ListArguments),

    /// Show one intent
    #[command(after_long_help = help::READ_CODES, args = hidden_settings())]
    Show(IntentToShow),

    /// Print every intent, for a spreadsheet or a program
    #[command(long_about = help::EXPORT, after_long_help = help::READ_CODES, args = hidden_settings())]
    Export(ExportArguments),

    /// Say what became of an intent whose outcome is unknown
    #[command(long_about = help::RESOLVE, after_long_help = help::RESOLVE_CODES)]
    Resolve(ResolveArguments),

    /// Let rejected intents be sent again
    #[command(long_about = help::RETRY, after_long_help = help::WRITE_CODES, args = hidden_settings())]
    Retry(RetryArguments),

    /// Remove what ended long ago
    #[command(long_about = help::PURGE, after_long_help = help::WRITE_CODES, args = hidden_settings())]
    Purge(PurgeArguments),
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only what is being sent or unknown: what nobody knows the end of
    #[arg(long, conflicts_with = "states")]
    pub(crate) unresolved: bool,

    #[arg(
        long = "state",
        value_name = "STATE,…",
        value_delimiter = ',',
        value_parser = state,
        help = "Only these: sending, processed, rejected, not_processed, unknown, resolved"
    )]
    pub(crate) states: Vec<StateName>,
}

#[derive(Args)]
pub(crate) struct IntentToShow {
    /// The intent's key
    #[arg(value_name = "KEY", value_parser = key)]
    pub(crate) key: IntentKey,
}

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// jsonl, one JSON object on each line, or csv
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", hide_possible_values = true)]
    pub(crate) format: ExportFormat,
}

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object on each line.
    Jsonl,
    /// A line of names, then one line for each intent.
    Csv,
}

#[derive(Args)]
pub(crate) struct ResolveArguments {
    /// The intent's key
    #[arg(value_name = "KEY", value_parser = key)]
    pub(crate) key: IntentKey,

    #[command(flatten)]
    pub(crate) verdict: VerdictOptions,

    /// How you know
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    /// Who says so [default: the login name; needed where there is none, as in a container]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

/// One of the two.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct VerdictOptions {
    #[arg(
        long,
        value_name = "TRANSACTION_ID",
        help = "It was processed as this transaction, which is looked up first"
    )]
    pub(crate) processed: Option<String>,

    /// It was not processed: the key may be sent again. Needs --note
    #[arg(long, requires = "note")]
    pub(crate) not_processed: bool,
}

#[derive(Args)]
pub(crate) struct RetryArguments {
    /// HTTP statuses of the rejections, such as 401,403,429
    #[arg(long = "status", value_name = "STATUS,…", value_delimiter = ',', required = true, value_parser = status)]
    pub(crate) statuses: Vec<u16>,

    /// Only the intent with this key
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Option<IntentKey>,
}

#[derive(Args)]
pub(crate) struct PurgeArguments {
    /// Remove what ended longer ago than this, such as 90d; at least 24h
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Age,
}

/// A time that is long enough ago to purge what ended before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Age {
    pub(crate) duration: Duration,
    /// As it was given, because a year and a month have no fixed number of days.
    pub(crate) given: String,
}

/// No message repeats what was typed: it may be a card number in the wrong place.
fn key(text: &str) -> Result<IntentKey, String> {
    IntentKey::new(text).map_err(|error| {
        let rule = error.to_string();
        // That nothing was sent is said of every wrong use.
        rule.strip_suffix("; nothing was sent").unwrap_or(&rule).to_owned()
    })
}

fn state(name: &str) -> Result<StateName, String> {
    StateName::from_name(name).ok_or_else(|| {
        let names: Vec<_> = StateName::ALL.iter().map(|state| state.as_str()).collect();
        format!("must be one of {}", names.join(", "))
    })
}

fn status(text: &str) -> Result<u16, &'static str> {
    let status = text.parse().ok().filter(|status| (400..=499).contains(status));
    status.ok_or("must be HTTP statuses from 400 to 499, such as 401,403,429")
}

fn age(text: &str) -> Result<Age, &'static str> {
    let age = humantime::parse_duration(text).ok().filter(|age| *age >= Journal::YOUNGEST_TO_PURGE);
    age.map(|duration| Age { duration, given: text.trim().to_owned() })
        .ok_or("must be a time of at least 24h, such as 90d or 18months: a younger key may still be repeated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_by_the_service_have_a_status_to_retry() {
        assert_eq!(status("401"), Ok(401));
        for bad in ["", "200", "399", "500", "4010", "-401", "401.0"] {
            assert!(status(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("30d").map(|age| age.duration), Ok(Duration::from_hours(720)));
        for bad in ["30", "", "23h 59m", "-30d"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
