//! The arguments of `payments batch`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::global::{dry_run, up_to_a_day};
use super::journal::{EXISTING_JOURNAL, PlaceOptions};
use crate::help::{end, help};

#[derive(Subcommand)]
pub(crate) enum BatchCommand {
    /// Charge every row of a file, each at most once
    #[command(
        long_about = help!("batch_run"),
        after_long_help = end(help!("batch_run_codes"), "payments batch run invoices.csv --journal billing.db --results results.jsonl"),
        arg = dry_run("Check and count every row, and send nothing")
    )]
    Run(BatchArguments),
}

#[derive(Args)]
pub(crate) struct BatchArguments {
    /// CSV file with a row for each charge: a regular file of at most 256 MiB
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) place: PlaceOptions,

    #[arg(long, help = EXISTING_JOURNAL)]
    pub(crate) existing_journal: bool,

    /// Maximum number of charges in flight at once, 1 to 512
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=MOST_IN_FLIGHT))]
    pub(crate) concurrency: u16,

    /// Maximum rate of new charges, evenly spaced, such as 50/s or 600/m
    #[arg(long, value_name = "N/s", value_parser = rate)]
    pub(crate) rate: Option<Duration>,

    /// File to append each result to, as JSON Lines, or as CSV if its name ends in .csv
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Accept tokens, keys and references that look like card numbers, and store them as they are
    #[arg(long)]
    pub(crate) ids_are_not_cards: bool,

    /// Columns to ignore, whose names are no fields of a charge. The file then needs a column Key
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) ignore_columns: Vec<String>,

    /// Stop when more than this many rows were rejected in this run
    #[arg(long, value_name = "N")]
    pub(crate) max_rejected: Option<u64>,

    /// How many seconds to wait for an outage to end, or for other processes, before giving up
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = patience)]
    pub(crate) patience: Duration,
}

/// The number of connections that the transport keeps.
const MOST_IN_FLIGHT: i64 = 512;

/// The time between the starts of two charges at `N/s`, `N/m` or `N/h`. The error is the rule that the text breaks.
fn rate(text: &str) -> Result<Duration, &'static str> {
    const RULE: &str = "must be a whole number from 1 to 100000 per s, m or h, such as 50/s";
    let (count, unit) = text.split_once('/').ok_or(RULE)?;
    let per = match unit {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return Err(RULE),
    };
    match count.parse::<NonZeroU32>() {
        Ok(number) if number.get() <= 100_000 && !count.starts_with('+') => Ok(per / number.get()),
        _ => Err(RULE),
    }
}

/// At most a day, in seconds. The error is the rule that the text breaks.
fn patience(text: &str) -> Result<Duration, &'static str> {
    up_to_a_day(text).ok_or("must be a number of seconds from 0 to 86400")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_a_count_per_second_minute_or_hour() {
        assert_eq!(rate("50/s"), Ok(Duration::from_millis(20)));
        assert_eq!(rate("600/m"), Ok(Duration::from_millis(100)));
        assert_eq!(rate("1/h"), Ok(Duration::from_hours(1)));
        for bad in ["", "50", "0/s", "-1/s", "+1/s", "1.5/s", "1/d", "/s", "1/", "100001/s", "1 /s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn patience_may_be_zero() {
        assert_eq!(patience("0"), Ok(Duration::ZERO));
        assert_eq!(patience("1.5"), Ok(Duration::from_millis(1500)));
        for bad in ["", "-1", "86401", "5m", "NaN"] {
            assert!(patience(bad).is_err(), "{bad}");
        }
    }
}
