//! The problems of a file of rows.

use std::borrow::Cow;
use std::fmt::Write as _;

use payments_journal::IntentKey;
use payments_model::Amount;
use serde::{Serialize, Serializer};

use crate::failure::{FailedDocument, Failure, Purpose};
use crate::files;
use crate::format::{counted, exact};
use crate::report::exit_code::ExitCode;
use crate::style::{Style, Tone, for_terminal};

/// The purpose of a file, which decides its name in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// The file of `batch run`.
    #[default]
    BillingRun,
    /// The file of `journal export --run`.
    Run,
    /// The file of `journal resolve --from`.
    Resolutions,
    /// The report of `journal reconcile`.
    Report,
    /// A file of `journal accept-history --sent`.
    Sent,
}

impl Role {
    /// The error kind of a file with errors, the file in a message, and what to do about one that does not fit into memory. In a
    /// part of a report, the sales of the other part seem to be missing; and keys that are named after the lost time was accepted
    /// are too late.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        const SPLIT: &str = "split it";
        match self {
            Self::BillingRun => ("batch_file", "the file of the billing run", SPLIT),
            Self::Run => ("run_file", "the file of --run", SPLIT),
            Self::Resolutions => ("resolve_file", "the file of --from", SPLIT),
            Self::Report => (
                "report",
                "the report",
                "export a shorter time, and narrow --complete-from and --complete-to to it",
            ),
            Self::Sent => (
                "sent_file",
                "the file of --sent",
                "split it, and give every part with a --sent of its own in one command",
            ),
        }
    }

    const fn nothing_done(self) -> &'static str {
        match self {
            Self::BillingRun => Purpose::MoveMoney.nothing_done(),
            Self::Run | Self::Resolutions | Self::Report | Self::Sent => Purpose::KeepJournal.nothing_done(),
        }
    }

    /// Refuses a file that was written to while it was read, because what was read may be half of each version. A billing run
    /// may just wait for the file.
    pub(crate) fn changed(self) -> Failure {
        match self {
            Self::BillingRun => {
                let message = "the file of the billing run was written to while it was read; nothing was sent: \
                               run it again when it is complete";
                Failure::not_processed("file_changed", message)
            }
            _ => self.refused(" was written to while it was read"),
        }
    }

    /// Refuses a file that does not fit into memory.
    pub(crate) fn too_large(self, most_mib: u64) -> Failure {
        let (_, _, what_to_do) = self.words();
        self.refused(&format!(" is larger than {most_mib} MiB and would not fit into memory: {what_to_do}"))
    }

    /// Refuses the file; `why` continues a sentence that starts with the file.
    pub(crate) fn refused(self, why: &str) -> Failure {
        self.refused_until(why, files::FIX_THE_FILE)
    }

    /// The same, where something else helps than another file.
    pub(crate) fn refused_until(self, why: &str, what_helps: &str) -> Failure {
        let (kind, file, _) = self.words();
        Failure::invalid(kind, format!("{file}{why}; {}: {what_helps}", self.nothing_done()))
    }
}

/// A problem with one row. It never holds the row's text, because any cell may contain a token or a card number. A key that
/// is in the journal contains neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// Where the row begins, from 1; the header of a CSV file is line 1.
    pub(crate) line: u64,
    /// The key of the row, where it can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<IntentKey>,
    /// A field name of the interface, or `Key`, `row`, `header` or `file`.
    pub(crate) field: Cow<'static, str>,
    /// The rest of a sentence that starts with the field.
    pub(crate) rule: Cow<'static, str>,
    /// The journal's intent with the row's key, if that is the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<Box<RecordedIntent>>,
}

/// The intent that already has the key of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RecordedIntent {
    pub(crate) key: String,
    pub(crate) state: &'static str,
    #[serde(serialize_with = "exact")]
    pub(crate) amount: Option<Amount>,
    pub(crate) transaction_id: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        line: u64,
        field: impl Into<Cow<'static, str>>,
        rule: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { line, key: None, field: field.into(), rule: rule.into(), recorded: None }
    }

    /// Adds the row's key.
    pub(crate) fn of(self, key: &IntentKey) -> Self {
        Self { key: Some(key.clone()), ..self }
    }

    /// Adds the journal's intent.
    pub(crate) fn recorded(self, recorded: RecordedIntent) -> Self {
        Self { recorded: Some(Box::new(recorded)), ..self }
    }
}

/// The problems of a file. Only the first ten thousand are kept in memory; all are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<Problem>,
    count: u64,
    /// The file's name, if it may be shown.
    file: Option<String>,
    role: Role,
}

/// Chosen by this command: more than anyone fixes by hand, in a document of about a megabyte.
pub(crate) const MOST_KEPT: usize = 10_000;

/// Chosen by this command: a few screens.
const MOST_SHOWN: usize = 100;

impl Problems {
    /// No problems yet, for the file with this name.
    pub(crate) fn of(file: Option<String>, role: Role) -> Self {
        Self { file, role, ..Self::default() }
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        self.count += 1;
        self.kept.push(problem);
        if self.kept.len() >= 2 * MOST_KEPT {
            self.sort();
        }
    }

    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }

    /// Removes each key that contains a secret.
    pub(crate) fn hide_keys(&mut self, is_secret: impl Fn(&str) -> bool) {
        for problem in &mut self.kept {
            problem.key.take_if(|key| is_secret(key.as_str()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Sorts by line and keeps the first ones. A row may be found wrong in two ways that are one problem.
    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|problem| problem.line);
        let found = self.kept.len();
        self.kept.dedup();
        self.count -= (found - self.kept.len()) as u64;
        self.kept.truncate(MOST_KEPT);
    }

    /// The report for people.
    pub(crate) fn lines(&self, style: Style) -> String {
        let heading = style.paint(Tone::Error, &format!("INVALID, {}", self.role.nothing_done()));
        let code = style.paint(Tone::Dim, &format!("(exit code {})", ExitCode::Invalid.number()));
        let mut text = format!("{heading} {code}\n  {}\n", for_terminal(&self.message()));
        for Problem { line, key, field, rule, recorded: _ } in self.kept.iter().take(MOST_SHOWN) {
            let article = if ["row", "header", "file"].contains(&&**field) { "the " } else { "" };
            let key = key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
            let row = format!("  line {line}: {key}{article}{field} {rule}");
            let _ = writeln!(text, "{}", for_terminal(&row));
        }
        let shown = self.kept.len().min(MOST_SHOWN) as u64;
        if self.count > shown {
            let rest = self.count - shown;
            let _ = writeln!(text, "  and {rest} more; --output json has up to {MOST_KEPT}");
        }
        text
    }

    fn message(&self) -> String {
        let file = self.file.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let problems = counted(self.count, "problem");
        format!("the file{file} has {problems}; {}: fix it, then run it again", self.role.nothing_done())
    }
}

/// The document of a failed command, with the line of each violation and their number.
impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, ..) = self.role.words();
        let failure = Failure::invalid(kind, self.message());
        let kept = self.kept.iter().collect();
        FailedDocument::of(&failure, kept, Some(self.count)).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_problems_are_kept_in_any_order_of_discovery() {
        let mut problems = Problems::default();
        for line in (1..=50_000_u64).rev() {
            problems.push(Problem::new(line, "Amount", "is required"));
        }
        problems.sort();
        assert_eq!(problems.count, 50_000);
        let lines: Vec<_> = problems.kept.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, (1..=10_000).collect::<Vec<_>>());
        let text = problems.lines(Style::Plain);
        assert_eq!(text.lines().count(), 2 + 100 + 1, "{text}");
        assert!(text.ends_with("  and 49900 more; --output json has up to 10000\n"), "{text}");
    }

    #[test]
    fn row_header_and_file_have_an_article() {
        let mut problems = Problems::default();
        problems.push(Problem::new(1, "file", "has no rows"));
        problems.push(Problem::new(2, "Amount", "is required"));
        let text = problems.lines(Style::Plain);
        assert!(text.ends_with("  line 1: the file has no rows\n  line 2: Amount is required\n"), "{text}");
    }
}
