//! The first reading of a file: every row is checked before one is sent.

use std::io;

use payments_journal::{Intent, IntentKey, IntentRequest, IntentState, Verdict};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::{IsSecret, LikeCards, Row, RowRead, Rows, like_a_card};
use crate::batch_report::{Problem, Problems, RecordedIntent, Tallies, UnresolvedRow};
use crate::failure::{Failure, shell_word};
use crate::row_file::{Role, RowFile};

/// A valid file: every row can be charged or has been charged.
#[derive(Debug)]
pub(super) struct Inspected {
    pub(super) rows: u64,
    /// The outcomes of earlier runs.
    pub(super) tallies: Tallies,
    /// The first rows whose outcome is unknown since an earlier run.
    pub(super) unresolved: Vec<UnresolvedRow>,
    /// How many ids look like card numbers and are none, as the person says.
    pub(super) like_cards: u64,
    pub(super) scratch: ScratchDatabase,
}

/// Looks up these rows in the journal.
pub(super) type JournalLookup<'a> = &'a mut dyn FnMut(&[Row]) -> Result<Vec<Option<Intent>>, Failure>;

/// Reads the whole file, with only a few rows in memory. With a journal, looks up each row in it. A text that contains the
/// API key, according to `is_secret`, is refused, and so is a key that the journal has for another service than `service`. So are
/// ids that look like card numbers, unless `ids_are_not_cards`. The inner error has the problems of a file of which no row is
/// sent.
pub(super) fn inspect<'a>(
    file: &mut RowFile,
    is_secret: IsSecret<'_>,
    ids_are_not_cards: bool,
    service: &'a str,
    look_up: Option<JournalLookup<'a>>,
) -> Result<Result<Inspected, Problems>, Failure> {
    let (rows, problems) = Rows::begin(file, is_secret).map_err(|error| unreadable(&error))?;
    let mut inspection = Inspection {
        ids_are_not_cards,
        service,
        look_up,
        waiting: Vec::new(),
        problems: Problems::of(file.name.clone(), Role::BillingRun),
        inspected: Inspected {
            rows: 0,
            tallies: Tallies::default(),
            unresolved: Vec::new(),
            like_cards: 0,
            scratch: ScratchDatabase::new().map_err(|error| no_scratch(&error))?,
        },
    };
    inspection.problems.extend(problems);
    if let Some(mut rows) = rows {
        while let Some(row) = rows.next().map_err(|error| unreadable(&error))? {
            inspection.take(row)?;
        }
        inspection.settle()?;
        let problems = &mut inspection.problems;
        let report = |line, first: u64| {
            problems.push(Problem::new(line, "Key", format!("is the same as in line {first}")));
        };
        inspection.inspected.scratch.duplicates(report).map_err(|error| no_scratch(&error))?;
    }
    if file.has_changed().map_err(|error| unreadable(&error))? {
        let message = "the file was written to while it was checked; nothing was sent: \
                       run it again when it is complete";
        return Err(Failure::not_processed("file_changed", message));
    }
    let Inspection { mut problems, inspected, .. } = inspection;
    if inspected.rows == 0 && problems.is_empty() {
        // A billing run without rows is probably a failed export, and must not look like a success.
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    if problems.is_empty() {
        return Ok(Ok(inspected));
    }
    problems.sort();
    Ok(Err(problems))
}

struct Inspection<'a> {
    ids_are_not_cards: bool,
    /// Where the rows would be sent.
    service: &'a str,
    look_up: Option<JournalLookup<'a>>,
    /// Valid rows that were not looked up in the journal yet.
    waiting: Vec<WaitingRow>,
    problems: Problems,
    inspected: Inspected,
}

struct WaitingRow {
    row: Row,
    digest: u64,
    /// The field that is the key, if it looks like a card number.
    key_like_a_card: Option<&'static str>,
}

/// How many rows are looked up in the journal together.
const ASKED_AT_ONCE: usize = 256;

impl Inspection<'_> {
    fn take(&mut self, row: RowRead) -> Result<(), Failure> {
        let RowRead {
            number,
            line,
            digest,
            key,
            like_cards: LikeCards { key: mut key_like_a_card, others },
            content,
        } = row;
        self.inspected.rows = number;
        if self.ids_are_not_cards {
            self.inspected.like_cards +=
                (others.len() + usize::from(key_like_a_card.take().is_some())) as u64;
        } else {
            self.problems.extend(others.into_iter().map(|field| like_a_card(line, field)).collect());
        }
        match content {
            Err(problems) => {
                self.keep(number, line, key.as_ref().map(IntentKey::as_str), digest, false)?;
                self.problems.extend(problems);
            }
            Ok(row) => {
                let total = &mut self.inspected.tallies.total;
                if let Some(more) = total.checked_with(row.payment.amount()) {
                    *total = more;
                } else {
                    let rule = "makes the sum of the file too large to be exact";
                    self.problems.push(Problem::new(line, "Amount", rule));
                }
                if self.look_up.is_none() {
                    self.problems
                        .extend(key_like_a_card.map(|field| like_a_card(line, field)).into_iter().collect());
                    return self.keep(number, line, Some(row.key.as_str()), digest, false);
                }
                self.waiting.push(WaitingRow { row, digest, key_like_a_card });
                if self.waiting.len() >= ASKED_AT_ONCE {
                    self.settle()?;
                }
            }
        }
        Ok(())
    }

    /// Looks up the waiting rows in the journal.
    fn settle(&mut self) -> Result<(), Failure> {
        let Some(look_up) = &mut self.look_up else { return Ok(()) };
        let (marks, rows): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).map(|it| ((it.digest, it.key_like_a_card), it.row)).unzip();
        let found = look_up(&rows)?;
        for (((digest, key_like_a_card), row), intent) in marks.into_iter().zip(rows).zip(found) {
            // A key that is in the journal was accepted before.
            let refused = key_like_a_card.filter(|_| intent.is_none());
            self.problems.extend(refused.map(|field| like_a_card(row.line, field)).into_iter().collect());
            let is_settled = intent.is_some_and(|intent| self.is_settled(&row, &intent));
            self.keep(row.number, row.line, Some(row.key.as_str()), digest, is_settled)?;
        }
        Ok(())
    }

    /// Whether the row is not to be sent, because of the journal's intent with its key.
    fn is_settled(&mut self, row: &Row, intent: &Intent) -> bool {
        if !intent.is_of(self.service) {
            // Whatever happened there says nothing about this service, so it is not shown.
            let rule = format!(
                "belongs to another service: it was first used for {}, and this run is for {}: check the base URL and the \
                 journal, and do not pay it under another key before you have looked",
                intent.service, self.service
            );
            self.problems.push(Problem::new(row.line, "Key", rule).of(&row.key));
            return false;
        }
        let request = IntentRequest::from(&row.payment);
        let differences = intent.differences(&request);
        if !differences.is_empty() {
            let problem = Problem::new(row.line, "Key", reused(intent, &request, &differences));
            self.problems.push(problem.recorded(RecordedIntent {
                key: intent.key.to_string(),
                state: intent.state.name().as_str(),
                amount: intent.request.amount,
                transaction_id: intent.transaction_id().map(ToString::to_string),
            }));
            return false;
        }
        let Tallies { earlier, rejected_by_status, .. } = &mut self.inspected.tallies;
        let amount = row.payment.amount();
        // If the sum does not fit, the file is refused and no tally is shown.
        let tally = match &intent.state {
            IntentState::Processed { .. } => &mut earlier.processed,
            IntentState::Resolved { resolution, .. } => match &resolution.verdict {
                Verdict::Processed(_) => &mut earlier.processed,
                Verdict::Rejected(_) | Verdict::NotProcessed => return false,
            },
            IntentState::Rejected(failure) => {
                rejected_by_status.add(failure.http_status, amount);
                &mut earlier.rejected
            }
            IntentState::Unknown(failure) => {
                if self.inspected.unresolved.len() < UnresolvedRow::MOST_LISTED {
                    self.inspected.unresolved.push(UnresolvedRow {
                        number: row.number,
                        line: row.line,
                        key: row.key.to_string(),
                        amount,
                        transaction_id: failure.transaction_id.as_ref().map(ToString::to_string),
                        unrecorded: None,
                        kind: failure.kind.to_string(),
                    });
                }
                &mut earlier.unknown
            }
            // A row that another process is sending may have ended by the time its turn comes.
            _ => return false,
        };
        *tally = tally.checked_with(amount).unwrap_or(*tally);
        true
    }

    fn keep(
        &self,
        number: u64,
        line: u64,
        key: Option<&str>,
        digest: u64,
        is_settled: bool,
    ) -> Result<(), Failure> {
        let seen = RowRecord { digest, is_settled };
        self.inspected.scratch.keep(number, line, key, seen).map_err(|error| no_scratch(&error))
    }
}

/// The rule for a key that belongs to another request, whose outcome decides what to do with this row.
fn reused(intent: &Intent, request: &IntentRequest, differences: &[&str]) -> String {
    let differences = differences.join(" and another ");
    let amount = intent.request.amount.map(|amount| format!(" of {amount}")).unwrap_or_default();
    let processed = intent.processed_as().map(|id| id.as_str().escape_debug().to_string());
    let became = match (&intent.state, processed) {
        (_, Some(id)) => {
            format!(
                "is processed as transaction {id}: do not pay it another way, and remove this row from the file; \
                 use a new key only for a different payment"
            )
        }
        (IntentState::Sending, None) => {
            "is being sent now and may have been processed: never pay this with another key".to_owned()
        }
        (IntentState::Unknown(_), None) => {
            "is unknown and may have been processed: resolve it first, and never pay this with another key"
                .to_owned()
        }
        (state, None) => {
            let correction = how_to_reopen(intent, request).map(|retry| {
                format!("if this row corrects it, run `payments journal retry {retry}` first; ")
            });
            format!(
                "is {} and moved no money: {}to pay it another way, charge it by hand with the same key and \
                 --after-rejection, and remove this row from the file; use a new key only for a different payment",
                state.name().as_str().replace('_', " "),
                correction.unwrap_or_default()
            )
        }
    };
    let key = &intent.key;
    format!(
        "{key} is already in the journal for another request, with another {differences}; that request{amount} {became}"
    )
}

/// The options of `payments journal retry` after which the key takes this request, if it is a correction of its own.
fn how_to_reopen(intent: &Intent, request: &IntentRequest) -> Option<String> {
    let status = match &intent.state {
        IntentState::Rejected(failure) => failure.http_status.filter(|status| (400..=499).contains(status)),
        _ => None,
    };
    match status.filter(|status| intent.is_corrected_by(request, Some(&[*status]))) {
        Some(status) => Some(format!("--status {status}")),
        None => intent
            .is_corrected_by(request, None)
            .then(|| format!("--key={}", shell_word(intent.key.as_str()))),
    }
}

fn unreadable(error: &io::Error) -> Failure {
    let message = "the file of the billing run cannot be read; nothing was sent";
    Failure::invalid("batch_file", message).with_cause(error)
}

fn no_scratch(error: &rusqlite::Error) -> Failure {
    let message = "the folder for temporary files, which is needed to compare keys, cannot be used; nothing was sent: \
                   free some space there, or set SQLITE_TMPDIR";
    Failure::not_processed("temporary_file", message).with_cause(error)
}

/// A temporary SQLite database of the rows.
#[derive(Debug)]
pub(super) struct ScratchDatabase(Connection);

/// What is recorded of a row, to compare it with the second reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowRecord {
    pub(super) digest: u64,
    /// Whether the row is not to be sent, according to the journal.
    pub(super) is_settled: bool,
}

impl ScratchDatabase {
    pub(super) fn new() -> rusqlite::Result<Self> {
        let connection = Connection::open("")?;
        // It is not needed after a crash.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4096;
             CREATE TABLE row (number INTEGER PRIMARY KEY, line INTEGER NOT NULL, key TEXT,
                               digest INTEGER NOT NULL, is_settled INTEGER NOT NULL);
             BEGIN",
        )?;
        Ok(Self(connection))
    }

    /// Records the row with this number, counted from 1.
    pub(super) fn keep(
        &self,
        number: u64,
        line: u64,
        key: Option<&str>,
        seen: RowRecord,
    ) -> rusqlite::Result<()> {
        let RowRecord { digest, is_settled } = seen;
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

    /// Calls `report` with the line of each row whose key was in an earlier line, and with that line.
    pub(super) fn duplicates(&self, mut report: impl FnMut(u64, u64)) -> rusqlite::Result<()> {
        let mut rows =
            self.0.prepare("SELECT key, line FROM row WHERE key IS NOT NULL ORDER BY key, number")?;
        let mut rows = rows.query([])?;
        let mut first: Option<(String, i64)> = None;
        while let Some(row) = rows.next()? {
            let (key, line) = (row.get_ref(0)?.as_str()?, row.get(1)?);
            match &first {
                Some((same, first)) if same == key => report(i64::cast_unsigned(line), first.cast_unsigned()),
                _ => first = Some((key.to_owned(), line)),
            }
        }
        Ok(())
    }

    /// The record of the row with this number.
    pub(super) fn seen(&self, number: u64) -> rusqlite::Result<Option<RowRecord>> {
        let mut select = self.0.prepare_cached("SELECT digest, is_settled FROM row WHERE number = ?")?;
        let seen = |row: &rusqlite::Row<'_>| {
            Ok(RowRecord { digest: row.get::<_, i64>(0)?.cast_unsigned(), is_settled: row.get(1)? })
        };
        select.query_row([number.cast_signed()], seen).optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_reported_with_the_first_line() {
        let scratch = ScratchDatabase::new().unwrap();
        let keys = [Some("b"), Some("a"), None, Some("b"), Some("B"), None, Some("b")];
        let seen = RowRecord { digest: u64::MAX, is_settled: true };
        for (number, key) in (1..).zip(keys) {
            scratch.keep(number, number * 10, key, seen).unwrap();
        }
        let mut reported = Vec::new();
        scratch.duplicates(|line, first| reported.push((line, first))).unwrap();
        assert_eq!(reported, [(40, 10), (70, 10)]);
        assert_eq!(scratch.seen(7).unwrap(), Some(seen));
        assert_eq!(scratch.seen(8).unwrap(), None);
    }
}
