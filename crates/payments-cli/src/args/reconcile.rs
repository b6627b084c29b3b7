//! The arguments of `payments journal reconcile`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};

use crate::local_time::{parse_zone, time};

#[derive(Args)]
pub(crate) struct ReconcileArguments {
    /// The processor's report, a CSV file
    #[arg(value_name = "REPORT")]
    pub(crate) report: PathBuf,

    /// Columns with other headings: id, amount, reference, last-four, time, status
    #[arg(long = "column", value_name = "NAME=HEADING,…", value_delimiter = ',', value_parser = column)]
    pub(crate) columns: Vec<(String, String)>,

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
pub(crate) const FIELDS: [&str; 6] = ["id", "amount", "reference", "last-four", "time", "status"];

/// In which order a date with slashes or hyphens is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateOrder {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
}

/// `id=Txn` as the field and the heading. An empty one says that no column is a status.
fn column(text: &str) -> Result<(String, String), String> {
    let pair = text
        .split_once('=')
        .filter(|(name, heading)| FIELDS.contains(name) && (*name == "status" || !heading.trim().is_empty()));
    let pair = pair.map(|(name, heading)| (name.to_owned(), heading.to_owned()));
    pair.ok_or_else(|| format!("must be NAME=HEADING, and the name one of {}", FIELDS.join(", ")))
}

fn zone(text: &str) -> Result<i64, &'static str> {
    parse_zone(text).ok_or("must be UTC, or an offset such as +01:00")
}
