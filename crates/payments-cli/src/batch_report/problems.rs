//! What is wrong with a file of rows.

use std::borrow::Cow;
use std::fmt::Write as _;

use payments_journal::IntentKey;
use payments_model::Amount;
use serde::{Serialize, Serializer};

use crate::exit_code::ExitCode;
use crate::report::exact;
use crate::row_file::Role;
use crate::style::{Style, Tone, for_terminal};

/// What is wrong with one row. It never holds what the row says, because a token or a card number may stand anywhere; a key
/// that the journal has holds neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// Where the row begins, from 1; the header of a CSV file is line 1.
    pub(crate) line: u64,
    /// The key of the row, where it can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<IntentKey>,
    /// A name of the interface, or `Key`, `row`, `header` or `file`.
    pub(crate) field: Cow<'static, str>,
    /// The rest of a sentence that begins with the field.
    pub(crate) rule: Cow<'static, str>,
    /// What the journal has of the row's key, where that is the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<Box<Recorded>>,
}

/// The intent that has the key of a row already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Recorded {
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

    /// The same problem, of the row with this key.
    pub(crate) fn of(self, key: &IntentKey) -> Self {
        Self { key: Some(key.clone()), ..self }
    }

    /// The same problem, with what the journal has.
    pub(crate) fn recorded(self, recorded: Recorded) -> Self {
        Self { recorded: Some(Box::new(recorded)), ..self }
    }
}

/// Everything that is wrong with a file, in the memory of the first ten thousand problems.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<Problem>,
    count: u64,
    /// The file, where its name may be shown.
    file: Option<String>,
    role: Role,
}

/// Chosen by this command: more than anybody fixes by hand, and still a document of a megabyte.
const MOST_KEPT: usize = 10_000;

/// Chosen by this command: a few screens.
const MOST_SHOWN: usize = 100;

impl Problems {
    /// None yet, of the file with this name.
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

    pub(crate) fn extend(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            self.push(problem);
        }
    }

    /// Takes the key away where it is a secret.
    pub(crate) fn hide_keys(&mut self, is_secret: impl Fn(&str) -> bool) {
        for problem in &mut self.kept {
            problem.key.take_if(|key| is_secret(key.as_str()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// In the order of their lines, the first ones alone.
    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|problem| problem.line);
        self.kept.truncate(MOST_KEPT);
    }

    #[allow(clippy::unused_self, reason = "as every report has it")]
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::Invalid
    }

    /// The lines for people.
    pub(crate) fn lines(&self, style: Style) -> String {
        let heading = style.paint(Tone::Bad, &format!("INVALID, {}", self.role.nothing_done()));
        let code = style.paint(Tone::Faint, &format!("(exit code {})", self.exit_code().number()));
        let mut text = format!("{heading} {code}\n  {}\n", for_terminal(&self.message()));
        for Problem { line, key, field, rule, recorded: _ } in self.kept.iter().take(MOST_SHOWN) {
            let article = if ["row", "header", "file"].contains(&&**field) { "the " } else { "" };
            let key = key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
            let row = format!("  line {line}: {key}{article}{field} {rule}");
            writeln!(text, "{}", for_terminal(&row)).expect("a String takes every write");
        }
        let shown = self.kept.len().min(MOST_SHOWN) as u64;
        if self.count > shown {
            let rest = self.count - shown;
            writeln!(text, "  and {rest} more; --output json has up to {MOST_KEPT}")
                .expect("a String takes every write");
        }
        text
    }

    fn message(&self) -> String {
        let file = self.file.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let problems =
            if self.count == 1 { "1 problem".to_owned() } else { format!("{} problems", self.count) };
        format!("the file{file} has {problems}; {}: fix it, then run it again", self.role.nothing_done())
    }
}

/// As every failed command, with the line of each violation, and how many there are.
impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            outcome: &'static str,
            error: Error<'a>,
        }

        #[derive(Serialize)]
        struct Error<'a> {
            kind: &'static str,
            message: String,
            http_status: Option<u16>,
            status_code: Option<i64>,
            transaction_id: Option<&'a str>,
            violations: &'a [Problem],
            violation_count: u64,
        }

        let error = Error {
            kind: self.role.kind(),
            message: self.message(),
            http_status: None,
            status_code: None,
            transaction_id: None,
            violations: &self.kept,
            violation_count: self.count,
        };
        Document { outcome: "invalid", error }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_problems_are_kept_whatever_the_order_in_which_they_are_found() {
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
    fn what_is_no_field_has_an_article() {
        let mut problems = Problems::default();
        problems.push(Problem::new(1, "file", "has no rows"));
        problems.push(Problem::new(2, "Amount", "is required"));
        let text = problems.lines(Style::Plain);
        assert!(text.ends_with("  line 1: the file has no rows\n  line 2: Amount is required\n"), "{text}");
    }
}
