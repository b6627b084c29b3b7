//! The problems of a file of rows.

use std::num::NonZeroU64;

use crate::failure::{Failure, Problem, Purpose, Situation};
use crate::files;
use crate::format::counted;

/// The purpose of a file, which decides its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The file of `batch run`.
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

    const fn purpose(self) -> Purpose {
        match self {
            Self::BillingRun => Purpose::MoveMoney,
            Self::Run | Self::Resolutions | Self::Report | Self::Sent => Purpose::KeepJournal,
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
        let (_, file, _) = self.words();
        self.failure(format!("{file}{why}; {}: {what_helps}", self.purpose().nothing_done()))
    }

    fn failure(self, message: String) -> Failure {
        let (kind, ..) = self.words();
        let situation = if self == Self::Report { Situation::Report } else { Situation::Plain };
        Failure { situation, ..Failure::invalid(kind, message) }
    }
}

/// The problems of a file. Only the first ten thousand are kept in memory; all are counted.
#[derive(Clone, Debug)]
pub(crate) struct Problems {
    kept: Vec<Problem>,
    count: u64,
    /// The file's name, if it may be shown.
    file: Option<String>,
    /// The one of several files that is being read.
    current: Option<Box<str>>,
    role: Role,
}

/// Chosen by this command: more than anyone fixes by hand, in a document of about a megabyte.
pub(crate) const MOST_KEPT: usize = 10_000;

impl Problems {
    /// No problems yet, for the file with this name.
    pub(crate) fn of(file: Option<String>, role: Role) -> Self {
        Self { kept: Vec::new(), count: 0, file, current: None, role }
    }

    /// The next problems are in this one of several files.
    pub(crate) fn enter(&mut self, file: Option<Box<str>>) {
        self.current = file;
    }

    pub(crate) fn push(&mut self, mut problem: Problem) {
        problem.file = problem.file.or_else(|| self.current.clone());
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

    /// Sorts by file and line and keeps the first ones. A row may be found wrong in two ways that are one problem.
    fn sort(&mut self) {
        self.kept.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        let found = self.kept.len();
        self.kept.dedup();
        self.count -= (found - self.kept.len()) as u64;
        self.kept.truncate(MOST_KEPT);
    }

    /// Refuses the file if it has problems.
    pub(crate) fn refuse(mut self) -> Result<(), Failure> {
        self.sort();
        let Self { kept, count, file, role, .. } = self;
        let Some(violation_count) = NonZeroU64::new(count) else { return Ok(()) };
        let file = match file {
            Some(name) => format!("file {name} has"),
            None if kept.iter().any(|problem| problem.file.is_some()) => "files have".to_owned(),
            None => "file has".to_owned(),
        };
        let (problems, nothing_done) = (counted(count, "problem"), role.purpose().nothing_done());
        let them = if count == 1 { "it" } else { "them" };
        let message = format!("the {file} {problems}; {nothing_done}: fix {them}, then run it again");
        let violations = kept.into();
        let failure = role.failure(message).for_purpose(role.purpose());
        Err(Failure { violations, violation_count: Some(violation_count), ..failure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_problems_are_kept_in_any_order_of_discovery() {
        let mut problems = Problems::of(None, Role::BillingRun);
        for line in (1..=50_000_u64).rev() {
            problems.push(Problem::new(line, "Amount", "is required"));
        }
        problems.sort();
        assert_eq!(problems.count, 50_000);
        let lines: Vec<_> = problems.kept.iter().filter_map(|problem| problem.line).collect();
        assert_eq!(lines, (1..=10_000).collect::<Vec<_>>());
        let failure = problems.refuse().expect_err("it has problems");
        let counts = (failure.violations.len(), failure.violation_count.map(NonZeroU64::get));
        assert_eq!(counts, (10_000, Some(50_000)));
    }
}
