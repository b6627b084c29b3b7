//! The first reading of a file: every row is judged before one is sent.

use std::io;

use payments_journal::{Intent, IntentKey, IntentRequest, IntentState, Verdict};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::{Row, RowRead, Rows};
use crate::batch_report::{Doubt, Problem, Problems, Recorded, Tallies};
use crate::failure::Failure;
use crate::row_file::{Role, RowFile};

/// A file in which every row can be charged, or has been.
#[derive(Debug)]
pub(super) struct Inspected {
    pub(super) rows: u64,
    /// Where every row stands before the run.
    pub(super) tallies: Tallies,
    /// The rows whose outcome an earlier run has left unknown: the first ones.
    pub(super) doubts: Vec<Doubt>,
    pub(super) scratch: Scratch,
}

/// Why no row of a file is sent.
#[derive(Debug)]
pub(super) enum Refusal {
    Problems(Problems),
    Failure(Box<Failure>),
}

/// Asks the journal for each of these rows.
pub(super) type Recall<'a> = &'a mut dyn FnMut(&[Row]) -> Result<Vec<Option<Intent>>, Failure>;

/// Reads the whole file, in the memory of a few rows. With a journal, asks what it has of each. A key in which the API
/// key stands, by `is_secret`, is refused.
pub(super) fn inspect<'a>(
    file: &mut RowFile,
    is_secret: &'a dyn Fn(&str) -> bool,
    recall: Option<Recall<'a>>,
) -> Result<Inspected, Refusal> {
    let (rows, problems) = Rows::begin(file).map_err(|error| unreadable(&error))?;
    let mut inspection = Inspection {
        is_secret,
        recall,
        waiting: Vec::new(),
        problems: Problems::of(file.name.clone(), Role::BillingRun),
        inspected: Inspected {
            rows: 0,
            tallies: Tallies::default(),
            doubts: Vec::new(),
            scratch: Scratch::new().map_err(|error| no_scratch(&error))?,
        },
    };
    inspection.problems.extend(problems);
    if let Some(mut rows) = rows {
        while let Some(row) = rows.next().map_err(|error| unreadable(&error))? {
            inspection.take(row)?;
        }
        inspection.settle()?;
        inspection.find_duplicates()?;
    }
    if file.has_changed().map_err(|error| unreadable(&error))? {
        let message = "the file was written to while it was inspected; nothing was sent: \
                       run it again when it is complete";
        return Err(Failure::not_processed("file_changed", message).into());
    }
    let Inspection { mut problems, inspected, .. } = inspection;
    if inspected.rows == 0 && problems.is_empty() {
        // Whoever bills wants somebody charged: an export that went wrong must not pass for a success.
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    if problems.is_empty() {
        return Ok(inspected);
    }
    problems.sort();
    Err(Refusal::Problems(problems))
}

struct Inspection<'a> {
    /// Whether the API key stands in a text.
    is_secret: &'a dyn Fn(&str) -> bool,
    recall: Option<Recall<'a>>,
    /// Good rows that the journal was not asked for yet.
    waiting: Vec<(u64, u64, Row)>,
    problems: Problems,
    inspected: Inspected,
}

/// Rows that the journal is asked for together.
const ASKED_AT_ONCE: usize = 256;

impl Inspection<'_> {
    fn take(&mut self, row: RowRead) -> Result<(), Refusal> {
        let RowRead { line, digest, key, content } = row;
        self.inspected.rows += 1;
        let number = self.inspected.rows;
        match content {
            Err(problems) => {
                self.keep(number, line, key.as_ref().map(IntentKey::as_str), digest, false)?;
                self.problems.extend(problems);
            }
            Ok(row) => {
                if (self.is_secret)(row.key.as_str()) {
                    self.problems.push(Problem::new(line, "Key", "must not hold the API key"));
                    return self.keep(number, line, None, digest, false);
                }
                let total = &mut self.inspected.tallies.total;
                if let Some(more) = total.checked_with(row.payment.amount()) {
                    *total = more;
                } else {
                    let rule = "is too large to be added up exactly with those before it";
                    self.problems.push(Problem::new(line, "Amount", rule));
                }
                if self.recall.is_none() {
                    return self.keep(number, line, Some(row.key.as_str()), digest, false);
                }
                self.waiting.push((number, digest, row));
                if self.waiting.len() >= ASKED_AT_ONCE {
                    self.settle()?;
                }
            }
        }
        Ok(())
    }

    /// Asks the journal for the rows that wait.
    fn settle(&mut self) -> Result<(), Refusal> {
        let Some(recall) = &mut self.recall else { return Ok(()) };
        let (places, rows): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).map(|(number, digest, row)| ((number, digest), row)).unzip();
        let found = recall(&rows)?;
        for (((number, digest), row), intent) in places.into_iter().zip(rows).zip(found) {
            let is_settled = intent.is_some_and(|intent| self.is_settled(&row, &intent));
            self.keep(number, row.line, Some(row.key.as_str()), digest, is_settled)?;
        }
        Ok(())
    }

    /// Whether the journal's intent with the row's key leaves nothing to be sent.
    fn is_settled(&mut self, row: &Row, intent: &Intent) -> bool {
        let differences = intent.request.differences(&IntentRequest::from(&row.payment));
        if !differences.is_empty() {
            let problem = Problem::new(row.line, "Key", reused(intent, &differences));
            self.problems.push(problem.recorded(Recorded {
                key: intent.key.to_string(),
                state: intent.state.name().as_str(),
                amount: intent.request.amount,
                transaction_id: intent.transaction_id().map(ToString::to_string),
            }));
            return false;
        }
        let Tallies { earlier, refused, .. } = &mut self.inspected.tallies;
        let amount = row.payment.amount();
        // Its sum may not fit, and then nothing is sent or shown.
        let tally = match &intent.state {
            IntentState::Processed { .. } => &mut earlier.processed,
            IntentState::Resolved { resolution, .. } => match &resolution.verdict {
                Verdict::Processed(_) => &mut earlier.processed,
                Verdict::NotProcessed => return false,
            },
            IntentState::Rejected(failure) => {
                refused.add(failure.http_status, amount);
                &mut earlier.rejected
            }
            IntentState::Unknown(failure) => {
                if self.inspected.doubts.len() < Doubt::MOST_LISTED {
                    self.inspected.doubts.push(Doubt {
                        line: row.line,
                        key: row.key.to_string(),
                        amount,
                        transaction_id: failure.transaction_id.as_ref().map(ToString::to_string),
                        unwritten: None,
                        kind: failure.kind.to_string(),
                    });
                }
                &mut earlier.unknown
            }
            // Whoever is sending it may have ended by the time its turn comes.
            _ => return false,
        };
        *tally = tally.checked_with(amount).unwrap_or(*tally);
        true
    }

    fn find_duplicates(&mut self) -> Result<(), Refusal> {
        let problems = &mut self.problems;
        let tell = |line, first: u64| {
            problems.push(Problem::new(line, "Key", format!("is the same as in line {first}")));
        };
        self.inspected.scratch.duplicates(tell).map_err(|error| no_scratch(&error))
    }

    fn keep(
        &self,
        number: u64,
        line: u64,
        key: Option<&str>,
        digest: u64,
        is_settled: bool,
    ) -> Result<(), Refusal> {
        let seen = Seen { digest, is_settled };
        self.inspected.scratch.keep(number, line, key, seen).map_err(|error| no_scratch(&error))
    }
}

/// Of the request that the key stands for: what became of it decides what may be done with this row.
fn reused(intent: &Intent, differences: &[&str]) -> String {
    let differences = differences.join(" and another ");
    let amount = intent.request.amount.map(|amount| format!(" of {amount}")).unwrap_or_default();
    let processed = intent.processed_as().map(|id| id.as_str().escape_debug().to_string());
    let became = match (&intent.state, processed) {
        (_, Some(id)) => {
            format!(
                "is processed as transaction {id}: do not pay it another way, and take this row out of the file; \
                 only something else to be paid gets a key of its own"
            )
        }
        (IntentState::Sending, None) => {
            "is being sent at this moment and may have been processed: never pay this under another key"
                .to_owned()
        }
        (IntentState::Unknown(_), None) => {
            "is unknown and may have been processed: resolve it first, and never pay \
                                            this under another key"
                .to_owned()
        }
        (state, None) => {
            format!(
                "is {} and moved no money: to pay it another way, charge it by hand with the same key and \
                 --after-rejection, and take this row out of the file; only something else to be paid gets a key of its own",
                state.name().as_str().replace('_', " ")
            )
        }
    };
    let key = &intent.key;
    format!(
        "{key} already stands in the journal for another request, with another {differences}; that one{amount} {became}"
    )
}

fn unreadable(error: &io::Error) -> Refusal {
    let message = "the file of the billing run cannot be read; nothing was sent";
    Failure::invalid("batch_file", message).because(error).into()
}

fn no_scratch(error: &rusqlite::Error) -> Refusal {
    let message = "the folder for temporary files cannot be used, where keys are compared; nothing was sent: \
                   make room there, or set SQLITE_TMPDIR";
    Failure::not_processed("temporary_file", message).because(error).into()
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

/// The database.
#[derive(Debug)]
pub(super) struct Scratch(Connection);

/// What the second reading compares a row with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) digest: u64,
    /// Whether the journal says that it is not to be sent.
    pub(super) is_settled: bool,
}

impl Scratch {
    pub(super) fn new() -> rusqlite::Result<Self> {
        let connection = Connection::open("")?;
        // Nobody needs it after a crash.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4096;
             CREATE TABLE row (number INTEGER PRIMARY KEY, line INTEGER NOT NULL, key TEXT,
                               digest INTEGER NOT NULL, is_settled INTEGER NOT NULL);
             BEGIN",
        )?;
        Ok(Self(connection))
    }

    /// Keeps the row with this number, counted from 1.
    pub(super) fn keep(&self, number: u64, line: u64, key: Option<&str>, seen: Seen) -> rusqlite::Result<()> {
        let Seen { digest, is_settled } = seen;
        let mut insert = self.0.prepare_cached("INSERT INTO row VALUES (?, ?, ?, ?, ?)")?;
        insert.execute(params![
            number.cast_signed(),
            line.cast_signed(),
            key,
            digest.cast_signed(),
            is_settled
        ])?;
        Ok(())
    }

    /// Calls `tell` with the line of each row whose key stood in an earlier line, and with that line.
    pub(super) fn duplicates(&self, mut tell: impl FnMut(u64, u64)) -> rusqlite::Result<()> {
        let mut rows =
            self.0.prepare("SELECT key, line FROM row WHERE key IS NOT NULL ORDER BY key, line")?;
        let mut rows = rows.query([])?;
        let mut first: Option<(String, i64)> = None;
        while let Some(row) = rows.next()? {
            let (key, line) = (row.get_ref(0)?.as_str()?, row.get(1)?);
            match &first {
                Some((same, first)) if same == key => tell(i64::cast_unsigned(line), first.cast_unsigned()),
                _ => first = Some((key.to_owned(), line)),
            }
        }
        Ok(())
    }

    /// What was kept of the row with this number.
    pub(super) fn seen(&self, number: u64) -> rusqlite::Result<Option<Seen>> {
        let mut select = self.0.prepare_cached("SELECT digest, is_settled FROM row WHERE number = ?")?;
        let seen = |row: &rusqlite::Row<'_>| {
            Ok(Seen { digest: row.get::<_, i64>(0)?.cast_unsigned(), is_settled: row.get(1)? })
        };
        select.query_row([number.cast_signed()], seen).optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_told_with_the_line_of_the_first() {
        let scratch = Scratch::new().unwrap();
        let keys = [Some("b"), Some("a"), None, Some("b"), Some("B"), None, Some("b")];
        let seen = Seen { digest: u64::MAX, is_settled: true };
        for (number, key) in (1..).zip(keys) {
            scratch.keep(number, number * 10, key, seen).unwrap();
        }
        let mut told = Vec::new();
        scratch.duplicates(|line, first| told.push((line, first))).unwrap();
        assert_eq!(told, [(40, 10), (70, 10)]);
        assert_eq!(scratch.seen(7).unwrap(), Some(seen));
        assert_eq!(scratch.seen(8).unwrap(), None);
    }
}
