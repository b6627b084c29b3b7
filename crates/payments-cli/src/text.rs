//! Reports for people: the outcome first, then what is known, then what to do.

use std::fmt::{self, Write as _};

use payments_model::TransactionId;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::escape::for_terminal;
use crate::failure::{FailedOutcome, Failure};
use crate::processed::Processed;
use crate::style::{Style, Tone};

/// The lines of a success.
pub(crate) fn processed(processed: &Processed, style: Style) -> String {
    let heading = style.paint(Tone::Good, "PROCESSED");
    let status = style.paint(Tone::Faint, &format!("(HTTP {})", processed.http_status));
    let mut text = format!("{heading} {status}\n");
    match serde_json::from_str::<Members>(processed.data.get()) {
        Ok(Members(members)) => {
            write_rows(&mut text, members.iter().map(|(name, value)| (&**name, readable(value))));
        }
        Err(_) => write_rows(&mut text, [("data", processed.data.get().to_owned())]),
    }
    text
}

/// The lines of a failure.
pub(crate) fn failed(failure: &Failure, style: Style) -> String {
    let (tone, heading) = match failure.outcome {
        FailedOutcome::Invalid => (Tone::Bad, "INVALID, nothing was sent"),
        FailedOutcome::NotProcessed => (Tone::Bad, "NOT PROCESSED, it is safe to run it again"),
        FailedOutcome::Rejected => (Tone::Bad, "REJECTED"),
        FailedOutcome::Unknown => {
            (Tone::Doubtful, "OUTCOME UNKNOWN, do not run it again before you have looked it up")
        }
    };
    let code = style.paint(Tone::Faint, &format!("(exit code {})", failure.exit_code().number()));
    let mut text = format!("{} {code}\n", style.paint(tone, heading));
    if failure.violations.is_empty() {
        writeln!(text, "  {}", for_terminal(&failure.message)).expect("a String takes every write");
    }
    write_rows(
        &mut text,
        failure.violations.iter().map(|violation| (violation.field(), violation.rule().to_owned())),
    );
    write_rows(&mut text, facts(failure));
    text
}

/// What is known beside the message.
fn facts(failure: &Failure) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = failure.cause.iter().map(|cause| ("because", cause.clone())).collect();
    let Some(answer) = &failure.answer else { return facts };
    facts.push(("HTTP status", answer.http_status.to_string()));
    if let Some(id) = &answer.transaction_id {
        facts.push(("TransactionId", id.clone()));
        // An id that no look-up takes is no part of a command that somebody may copy.
        if TransactionId::new(id.as_str()).is_ok() {
            facts.push(("look it up", format!("payments transaction get {id}")));
        }
    }
    facts.extend(answer.request_id.iter().map(|id| ("request id", id.clone())));
    facts.extend(answer.retry_after_seconds.map(|seconds| ("retry after", format!("{seconds} s"))));
    facts
}

fn write_rows<'a>(text: &mut String, rows: impl IntoIterator<Item = (&'a str, String)>) {
    let rows: Vec<_> =
        rows.into_iter().map(|(name, value)| (for_terminal(name), for_terminal(&value))).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in rows {
        let row = format!("  {name:width$}  {value}");
        writeln!(text, "{}", row.trim_end()).expect("a String takes every write");
    }
}

/// A text without its quotes; anything else, such as an amount, exactly as it was sent.
fn readable(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// An object's members in their order, each value as it was written.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
