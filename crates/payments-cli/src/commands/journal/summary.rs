//! `payments journal summary`: count, sum and age of the oldest, for each state.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use payments_journal::{StateName, StateSummary, Summary};
use payments_model::Amount;
use serde::Serialize;

use super::sums::{OfState, Sums};
use super::{CommandError, READ, for_each_page};
use crate::format::{counted, exact, in_words, timestamp};
use crate::intent::{is_zero, sum_for_people};
use crate::output::Output;
use crate::settings::{JournalPlace, OpenFor};

pub(super) async fn run(place: &JournalPlace, output: &Output) -> Result<(), CommandError> {
    let journal = place.open(OpenFor::Reading).await?;
    let found = journal.summary().await?;
    let mut sums = Sums::default();
    if output.is_text() {
        let read = for_each_page(&journal, &[StateName::Resolved], |intents| {
            for intent in intents {
                sums.add(intent);
            }
            Ok(())
        });
        read.await.map_err(CommandError::before_output)?;
    }
    let document = Document { count: found.count(), states: states(&found) };
    super::write(READ, output, &document, |_| lines(&found, &sums))
}

#[derive(Serialize)]
struct Document {
    count: u64,
    states: Vec<StateObject>,
}

#[derive(Serialize)]
pub(super) struct StateObject {
    state: &'static str,
    count: u64,
    /// `None` if it is too large to be exact.
    #[serde(serialize_with = "exact")]
    sum: Option<Amount>,
    /// How many are not in the sum because the journal has lost what was sent.
    #[serde(skip_serializing_if = "is_zero")]
    lost: u64,
    oldest_begun_at: Option<String>,
    oldest_age_seconds: Option<u64>,
}

/// Every state, for a document.
pub(super) fn states(summary: &Summary) -> Vec<StateObject> {
    let now = SystemTime::now();
    let object = |of: &StateSummary| StateObject {
        state: of.state.as_str(),
        count: of.count,
        sum: of.sum,
        lost: of.lost,
        oldest_begun_at: of.oldest.map(timestamp),
        oldest_age_seconds: of.age_of_oldest(now).map(|age| age.as_secs()),
    };
    summary.states.iter().map(object).collect()
}

/// A line for each state that an intent is in, and two for resolved intents of which `known` has the verdicts.
pub(super) fn lines(summary: &Summary, known: &Sums) -> String {
    let (mut text, now) = (String::new(), SystemTime::now());
    let mut write = |name: &str, intents: String, sum: String, age: Duration| {
        let age = humantime::format_duration(Duration::from_secs(age.as_secs()));
        let _ = writeln!(text, "{name:24}  {intents:>15}  {sum:>14}  oldest {age}");
    };
    for of in summary.states.iter().filter(|of| of.count > 0) {
        let mut parts = known.resolved().filter(|_| of.state == StateName::Resolved).peekable();
        if parts.peek().is_none() {
            let age = of.age_of_oldest(now).unwrap_or_default();
            write(
                &in_words(of.state.as_str()),
                counted(of.count, "intent"),
                sum_for_people(of.sum, of.lost),
                age,
            );
        }
        for OfState { name, sum, oldest, .. } in parts {
            write(name, sum.intents(), sum.sum(), now.duration_since(*oldest).unwrap_or_default());
        }
    }
    if text.is_empty() { "none\n".to_owned() } else { text }
}

/// The states that intents are in, on one line.
pub(super) fn one_line(summary: &Summary) -> String {
    let states = summary.states.iter().filter(|of| of.count > 0);
    let states: Vec<_> = states
        .map(|of| format!("{} {}, {}", of.count, of.state.as_str(), sum_for_people(of.sum, of.lost)))
        .collect();
    states.join("; ")
}
