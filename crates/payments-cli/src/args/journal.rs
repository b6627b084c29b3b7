//! The arguments of `payments journal`, and the options of a charge with a key.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand, ValueEnum};
use payments_journal::{IntentKey, Journal, StateName};
use payments_model::unversioned::is_blank;

use super::global::{dry_run, hidden_but};
use crate::help::{end, help};
use crate::local_time::{parse_zone, time};

/// Where the journal is.
#[derive(Args)]
pub(crate) struct PlaceOptions {
    /// Journal, which makes sure that each key is sent at most once: a file, or postgres://… [env: PAYMENTS_JOURNAL]
    #[arg(long, global = true, value_name = "PLACE")]
    pub(crate) journal: Option<OsString>,

    /// File on another disk by which a restored older journal is noticed [env: PAYMENTS_JOURNAL_WITNESS]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) witness: Option<PathBuf>,
}

/// The help of `--existing-journal`.
pub(super) const EXISTING_JOURNAL: &str =
    "Refuse a journal that does not exist, instead of creating it [env: PAYMENTS_JOURNAL_MUST_EXIST=true]";

/// The journal and the key of a charge that is sent at most once.
#[derive(Args)]
pub(crate) struct IntentOptions {
    #[command(flatten)]
    pub(crate) place: PlaceOptions,

    /// Your own name for this payment, such as invoice-2026-0017; needs a journal
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Option<IntentKey>,

    #[arg(long, requires = "key", help = EXISTING_JOURNAL)]
    pub(crate) existing_journal: bool,

    /// Accept a key, TokenId, ReferenceNo or id of a void that looks like a card number
    #[arg(long, requires = "key")]
    pub(crate) ids_are_not_cards: bool,

    /// Make one new attempt with a key that was rejected or not processed, such as with another card
    #[arg(long, requires = "key")]
    pub(crate) after_rejection: bool,
}

#[derive(Args)]
pub(crate) struct JournalArguments {
    #[command(flatten)]
    pub(crate) place: PlaceOptions,

    #[command(subcommand)]
    pub(crate) command: JournalCommand,
}

#[derive(Subcommand)]
pub(crate) enum JournalCommand {
    /// List the intents
    #[command(long_about = help!("list"), after_long_help = end(help!("read_codes"), "payments journal list --journal billing.db --unresolved"), args = hidden_but(&["verbose"]))]
    List(ListArguments),

    /// Show one intent
    #[command(after_long_help = end(help!("read_codes"), "payments journal show invoice-17 --journal billing.db"), args = hidden_but(&["verbose"]))]
    Show {
        /// The intent's key
        #[arg(value_name = "KEY", value_parser = key)]
        key: IntentKey,
    },

    /// Count the intents of each state
    #[command(long_about = help!("summary"), after_long_help = end(help!("read_codes"), "payments journal summary --journal billing.db"), args = hidden_but(&["verbose"]))]
    Summary,

    /// Print all or selected intents, for a spreadsheet or a program
    #[command(long_about = help!("export"), after_long_help = end(help!("read_codes"), "payments journal export --journal billing.db --format csv"), args = hidden_but(&["verbose"]))]
    Export(ExportArguments),

    /// Record what happened to one or many intents whose outcome is unknown
    #[command(override_usage = "\
        payments journal resolve [OPTIONS] <KEY> --processed <TRANSACTION_ID>\n       \
        payments journal resolve [OPTIONS] <KEY> --rejected[=<TRANSACTION_ID>]\n       \
        payments journal resolve [OPTIONS] <KEY> --not-processed\n       \
        payments journal resolve [OPTIONS] --from <FILE>...", long_about = help!("resolve"), after_long_help = end(help!("resolve_codes"), "payments journal resolve invoice-17 --processed txn_1"), arg = dry_run("With --from: check and look up every row, and change nothing"))]
    Resolve(ResolveArguments),

    /// Find unknown payments in a processor's report
    #[command(long_about = help!("reconcile"), after_long_help = end(help!("reconcile_codes"), "payments journal reconcile settlement.csv --charged-status Settled \\\n      --declined-status Declined --out found.csv --rest rest.csv"), args = hidden_but(&["verbose", "base_url", "merchant"]))]
    Reconcile(ReconcileArguments),

    /// Allow rejected intents to be sent again
    #[command(long_about = help!("retry"), after_long_help = end(help!("retry_codes"), "payments journal retry --journal billing.db --status 401,403,429"), args = hidden_but(&["verbose", "base_url", "merchant"]))]
    Retry(RetryArguments),

    /// Allow a journal that has lost its newest entries to charge again
    #[command(override_usage = "\
        payments journal accept-history [OPTIONS] --by <NAME> --sent <FILE>...\n       \
        payments journal accept-history [OPTIONS] --by <NAME> --nothing-was-sent", long_about = help!("accept_history"), after_long_help = end(help!("write_codes"), "payments journal accept-history --sent orders.csv --by ada"), args = hidden_but(&["verbose"]))]
    AcceptHistory(AcceptHistoryArguments),

    /// Give all intents of a service that was renamed its new name
    #[command(long_about = help!("rename_service"), after_long_help = end(help!("write_codes"), "payments journal rename-service https://old.example.com \\\n      https://new.example.com"), args = hidden_but(&["verbose"]))]
    RenameService {
        /// The name of the service as list prints it
        #[arg(value_name = "OLD")]
        old: String,

        /// The new name
        #[arg(value_name = "NEW")]
        new: String,

        #[command(flatten)]
        confirmed: ServiceConfirmation,
    },

    /// Remove all intents of a service, such as a rehearsal
    #[command(long_about = help!("forget_service"), after_long_help = end(help!("write_codes"), "payments journal forget-service http://127.0.0.1:8437"), args = hidden_but(&["verbose"]))]
    ForgetService {
        /// The name of the service as list prints it
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        confirmed: ServiceConfirmation,
    },

    /// Remove intents that ended long ago
    #[command(long_about = help!("purge"), after_long_help = end(help!("write_codes"), "payments journal purge --journal billing.db --older-than 90d"), args = hidden_but(&["verbose"]))]
    Purge {
        /// Remove intents that ended longer ago than this, such as 90d; at least 24h
        #[arg(long, value_name = "AGE", value_parser = age)]
        older_than: Age,
    },
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only intents without a known outcome: sending or unknown
    #[arg(long, conflicts_with = "states")]
    pub(crate) unresolved: bool,

    #[command(flatten)]
    pub(crate) states: States,
}

#[derive(Args)]
pub(crate) struct States {
    /// Only these states: sending, processed, rejected, not_processed, unknown, resolved
    #[arg(long = "state", value_name = "STATE,…", value_delimiter = ',', value_parser = state)]
    states: Vec<StateName>,
}

impl States {
    /// The requested states, or all.
    pub(crate) fn asked(&self) -> &[StateName] {
        if self.states.is_empty() { StateName::ALL } else { &self.states }
    }
}

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// jsonl, with one JSON object per line, or csv
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", hide_possible_values = true)]
    pub(crate) format: ExportFormat,

    #[command(flatten)]
    pub(crate) states: States,

    /// Only intents sent at that time or later, by begun_at: 2026-11-01 (UTC) or 2026-11-01T08:00:00+01:00
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<SystemTime>,

    /// Only the keys in this file, which is the file of a billing run or of its --results
    #[arg(long, value_name = "FILE")]
    pub(crate) run: Option<PathBuf>,

    #[arg(long, requires = "run", help = KEYS_ARE_NOT_CARDS)]
    pub(crate) ids_are_not_cards: bool,
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
    pub(crate) key: Option<IntentKey>,

    #[command(flatten)]
    pub(crate) resolution: ResolutionOptions,

    /// The attempt, as list, show and export print it; required if the key has more than one
    #[arg(long, value_name = "N", requires = "key", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: Option<u32>,

    /// What an earlier resolution said: its transaction's id, rejected, not-processed, or unknown if it became that since; required to replace it
    #[arg(long, value_name = "WHAT", requires = "key")]
    pub(crate) replace: Option<String>,

    /// Record the id without looking it up: only your word stands for it
    #[arg(long, conflicts_with_all = ["rejected", "not_processed", "from"])]
    pub(crate) unverified: bool,

    /// How you know
    #[arg(long, value_name = "TEXT", conflicts_with = "from")]
    pub(crate) note: Option<String>,

    /// Accept keys and ids that look like card numbers and are not in the journal
    #[arg(long)]
    pub(crate) ids_are_not_cards: bool,

    /// Who resolves it [default: the login name; required where there is none, as in a container]
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: Option<String>,
}

/// Exactly one of the four.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ResolutionOptions {
    /// It was processed as this transaction, which is looked up first
    #[arg(long, value_name = "TRANSACTION_ID", requires = "key")]
    pub(crate) processed: Option<String>,

    /// It was declined or failed at the service: no run sends it again. Requires --note
    #[arg(long, value_name = "TRANSACTION_ID", num_args = 0..=1, require_equals = true, requires = "key")]
    #[allow(clippy::option_option, reason = "the option may be absent, or have no id, or have one")]
    pub(crate) rejected: Option<Option<String>>,

    /// It was not processed: the key may be sent again. Requires --note
    #[arg(long, requires = "key")]
    pub(crate) not_processed: bool,

    /// CSV file with the columns Key, TransactionId, Verdict and Note: resolve many, after all of them are looked up; may be repeated
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "key")]
    pub(crate) from: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ReconcileArguments {
    /// The processor's report, a CSV file
    #[arg(value_name = "REPORT")]
    pub(crate) report: PathBuf,

    /// Columns with other headings: id, amount, reference, last-four, time, status
    #[arg(long = "column", value_name = "NAME=HEADING,…", value_delimiter = ',', value_parser = column)]
    pub(crate) columns: Vec<(Field, String)>,

    /// Words of the status that mean that the money moved
    #[arg(long = "charged-status", value_name = "WORD,…", value_delimiter = ',')]
    pub(crate) charged_statuses: Vec<String>,

    /// Words of the status that mean that it was declined or failed
    #[arg(long = "declined-status", value_name = "WORD,…", value_delimiter = ',')]
    pub(crate) declined_statuses: Vec<String>,

    /// The order in dates with slashes: dmy (day first) or mdy (month first)
    #[arg(long, value_name = "ORDER", hide_possible_values = true)]
    pub(crate) dates: Option<DateOrder>,

    /// The zone of times without one: UTC, or an offset such as +01:00 [default: any]
    #[arg(long, value_name = "ZONE", value_parser = zone, allow_hyphen_values = true)]
    pub(crate) zone: Option<i64>,

    /// How long after a payment ended the report may show it [default: 24h]
    #[arg(long, value_name = "SPAN", value_parser = humantime::parse_duration)]
    pub(crate) within: Option<Duration>,

    /// The report has every payment from that time on: 2026-11-01 (UTC) or 2026-11-01T08:00:00+01:00
    #[arg(long, value_name = "TIME", value_parser = time, requires = "complete_to")]
    pub(crate) complete_from: Option<SystemTime>,

    /// The report has every payment until that time, which is past
    #[arg(long, value_name = "TIME", value_parser = time, requires = "complete_from")]
    pub(crate) complete_to: Option<SystemTime>,

    /// Nothing else charges at this service: a charged row of no key is an error
    #[arg(long)]
    pub(crate) journal_is_complete: bool,

    /// The service that the report is from, as `list` prints it; if the journal has several, give it, or --merchant
    #[arg(long, value_name = "NAME", conflicts_with_all = ["base_url", "merchant"])]
    pub(crate) service: Option<String>,

    /// New CSV file for what was found, which `resolve --from` takes
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// New CSV file for the unknown keys that were not found: fill it in for `resolve --from`
    #[arg(long, value_name = "FILE")]
    pub(crate) rest: Option<PathBuf>,

    /// Accept transaction ids that look like card numbers
    #[arg(long)]
    pub(crate) ids_are_not_cards: bool,
}

/// What a report shows of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Id,
    Amount,
    Reference,
    LastFour,
    Time,
    Status,
}

impl Field {
    /// In their order.
    pub(crate) const ALL: [Self; 6] =
        [Self::Id, Self::Amount, Self::Reference, Self::LastFour, Self::Time, Self::Status];

    /// Its name in `--column`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Amount => "amount",
            Self::Reference => "reference",
            Self::LastFour => "last-four",
            Self::Time => "time",
            Self::Status => "status",
        }
    }
}

/// In which order a date with slashes or hyphens is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateOrder {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
}

#[derive(Args)]
pub(crate) struct RetryArguments {
    /// HTTP statuses of the rejections, such as 401,403,429
    #[arg(
        long = "status",
        value_name = "STATUS,…",
        value_delimiter = ',',
        required_unless_present = "key",
        value_parser = status
    )]
    pub(crate) statuses: Vec<u16>,

    /// Only the intent with this key, whatever its status
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Option<IntentKey>,

    /// Why; each intent's history keeps it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    /// Who allows it [default: the login name; required where there is none, as in a container]
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: Option<String>,
}

#[derive(Args)]
pub(crate) struct AcceptHistoryArguments {
    #[command(flatten)]
    pub(crate) lost: LostOptions,

    #[arg(long, requires = "sent", help = KEYS_ARE_NOT_CARDS)]
    pub(crate) ids_are_not_cards: bool,

    /// Accept keys that look as if a spreadsheet had changed them and are not in the journal
    #[arg(long, requires = "sent")]
    pub(crate) keys_are_exact: bool,

    /// Who says so
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: String,
}

/// What a person gives back after they have seen what is concerned.
#[derive(Args)]
pub(crate) struct ServiceConfirmation {
    /// The number of intents that was shown; without it, they are shown and nothing is changed
    #[arg(long, value_name = "N", requires = "by")]
    pub(crate) count: Option<u64>,

    /// The code that was shown: refused if any number, sum or age has changed since
    #[arg(long, value_name = "CODE", requires = "count")]
    pub(crate) shown: Option<String>,

    /// Who does it
    #[arg(long, value_name = "NAME", requires = "count", value_parser = person)]
    pub(crate) by: Option<String>,
}

/// What was sent in the lost time: exactly one of the two.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct LostOptions {
    /// CSV file with a column Key: what was, or may have been, sent in the lost time; may be repeated
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) sent: Vec<PathBuf>,

    /// Nothing was sent in the lost time: no key changes
    #[arg(long)]
    pub(crate) nothing_was_sent: bool,
}

/// The help of `--ids-are-not-cards` where a file is only read.
const KEYS_ARE_NOT_CARDS: &str = "Accept keys that look like card numbers and are not in the journal";

/// The minimum age of an intent to purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Age {
    pub(crate) duration: Duration,
    /// The argument itself, because a month and a year have no fixed number of days.
    pub(crate) text: String,
}

/// No message repeats the argument: it may be a card number in the wrong place.
pub(super) fn key(text: &str) -> Result<IntentKey, String> {
    IntentKey::new(text).map_err(|error| format!("the intent key {}", error.rule()))
}

/// A name that a person can read: the history keeps it.
fn person(name: &str) -> Result<String, &'static str> {
    if is_blank(name) { Err("must be a name that can be read") } else { Ok(name.to_owned()) }
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

/// `id=Txn` as the field and the heading. An empty one says that no column is a status.
fn column(text: &str) -> Result<(Field, String), String> {
    let pair = text.split_once('=').and_then(|(name, heading)| {
        let field = Field::ALL.into_iter().find(|field| field.name() == name)?;
        (field == Field::Status || !heading.trim().is_empty()).then(|| (field, heading.to_owned()))
    });
    pair.ok_or_else(|| {
        format!("must be NAME=HEADING, and the name one of {}", Field::ALL.map(Field::name).join(", "))
    })
}

fn zone(text: &str) -> Result<i64, &'static str> {
    parse_zone(text).ok_or("must be UTC, or an offset such as +01:00")
}

fn age(text: &str) -> Result<Age, &'static str> {
    let age = humantime::parse_duration(text).ok().filter(|age| *age >= Journal::YOUNGEST_TO_PURGE);
    age.map(|duration| Age { duration, text: text.trim().to_owned() })
        .ok_or("must be at least 24h, such as 90d or 18months: a newer key may still be used again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_4xx_statuses_can_be_retried() {
        assert_eq!(status("401"), Ok(401));
        for bad in ["", "200", "399", "500", "4010", "-401", "401.0"] {
            assert!(status(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn age_needs_a_unit() {
        assert_eq!(age("30d").map(|age| age.duration), Ok(Duration::from_hours(720)));
        for bad in ["30", "", "23h 59m", "-30d"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
