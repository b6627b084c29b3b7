//! The rows of a file of resolutions.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use payments_journal::{HistoryEvent, Intent, IntentKey, IntentState, Verdict};
use payments_model::Amount;
use payments_model::unversioned::{is_blank, printable_field_name};

use super::super::cells::Written;
use super::super::resolution::{TypedVerdict, is_written_as};
use super::super::status_words;
use crate::failure::Problem;
use crate::format::timestamp;
use crate::intent::{self, exported_transaction};
use crate::rows::own_files::{
    COMPARED_BY, PROPOSALS, SEARCHED_BY, is_of_reconcile, is_only_of_an_export, plain,
};
use crate::rows::{Problems, RowFile, Table};
use crate::style::for_terminal;

/// Where a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file, if there are several.
    file: Option<Box<str>>,
    /// Which of the files, from 0, because one may be given twice.
    pub(super) number: usize,
    line: u64,
}

/// A row that resolves nothing.
pub(super) struct LeftAlone {
    pub(super) place: Place,
    pub(super) key: IntentKey,
    /// Whether a person has written a note into it.
    pub(super) has_note: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.file.iter().try_for_each(|file| write!(f, " of {file}"))
    }
}

/// A row of the file: what a person found out.
pub(super) struct ResolutionRow {
    pub(super) place: Place,
    pub(super) key: IntentKey,
    /// `None` if it cannot be read, or lacks its id.
    pub(super) verdict: Option<TypedVerdict>,
    /// The fields that break a rule by themselves.
    pub(super) broken: Vec<&'static str>,
    /// Whether a person says so: in the column Verdict, or with an id in a file that a person wrote. An export has the ids that
    /// the journal knows.
    pub(super) is_decided: bool,
    pub(super) note: Option<String>,
    /// What the person saw, if the columns are there.
    pub(super) attempt: Option<u32>,
    pub(super) revision: Option<u64>,
    /// From an exported file, if the column is still there.
    pub(super) amount: Option<Amount>,
    /// The service and the time of the key that the person saw, if an export or `--out` wrote them: another journal may have the same
    /// key.
    pub(super) service: Option<String>,
    pub(super) begun_at: Option<String>,
    /// The column by which an id without a verdict may be that of a payment that was not made, and what it has.
    pub(super) against: Option<(String, String)>,
}

impl ResolutionRow {
    /// A problem of the row, without its key.
    pub(super) fn problem_without_key(
        &self,
        field: &'static str,
        rule: impl Into<Cow<'static, str>>,
    ) -> Problem {
        Problem { file: self.place.file.clone(), ..Problem::new(self.place.line, field, rule) }
    }

    pub(super) fn problem(&self, field: &'static str, rule: impl Into<Cow<'static, str>>) -> Problem {
        self.problem_without_key(field, rule).of(&self.key)
    }

    /// The id that it names.
    pub(super) fn id(&self) -> Option<&str> {
        self.verdict.as_ref().and_then(TypedVerdict::id)
    }

    /// Whether it names a transaction of an attempt that moved no money, as far as the journal knows, or of an earlier one. The row
    /// must show that the person saw the intent as it is.
    pub(super) fn is_late_finding(&self, intent: &Intent) -> bool {
        let may_give_way = match &intent.state {
            IntentState::Sending | IntentState::Processed { .. } => false,
            IntentState::Unknown(_) => self.attempt != Some(intent.attempts),
            _ => intent.processed_as().is_none(),
        };
        let is_earlier = self.attempt.is_some_and(|number| number < intent.attempts);
        matches!(self.verdict, Some(TypedVerdict::Processed(_)))
            && self.revision == Some(intent.revision)
            && self.attempt.is_some_and(|number| number <= intent.attempts)
            && (may_give_way || is_earlier)
    }

    /// Whether the file shows nothing of the key that this intent has not.
    pub(super) fn may_be_of(&self, intent: &Intent) -> bool {
        self.attempt.is_none_or(|number| number == intent.attempts)
            && self.revision.is_none_or(|seen| seen == intent.revision)
            && self.is_of_service(intent)
            && self.is_of_time(intent)
            && self.is_of_amount(intent)
    }

    pub(super) fn is_of_service(&self, intent: &Intent) -> bool {
        self.service.as_ref().is_none_or(|written| *written == shown_service(intent))
    }

    /// Whether the time is that of an attempt, as it was written or as a spreadsheet shows it.
    pub(super) fn is_of_time(&self, intent: &Intent) -> bool {
        let Some(seen) = &self.begun_at else { return true };
        let history = intent.history();
        let begun = history.iter().filter_map(|event| match event {
            HistoryEvent::Begun { at, .. } => Some(*at),
            _ => None,
        });
        let shown = Written::parse(seen);
        let mut begun = begun.chain([intent.begun_at]);
        begun.any(|at| timestamp(at) == *seen || shown.is_some_and(|shown| shown.shows(at)))
    }

    pub(super) fn is_of_amount(&self, intent: &Intent) -> bool {
        self.amount.is_none() || self.amount == intent.request.amount
    }

    /// The row as one that resolves nothing.
    pub(super) fn left_alone(self) -> LeftAlone {
        LeftAlone { place: self.place, key: self.key, has_note: self.note.is_some() }
    }

    /// Whether the journal has this verdict about the attempt of the row, whose key may have been sent again since: the same file may be
    /// given again.
    pub(super) fn is_recorded(&self, intent: &Intent, verdict: &Verdict) -> bool {
        let decided = intent.decision_about(self.attempt.unwrap_or(intent.attempts));
        match (decided.map(|decided| &decided.verdict), verdict) {
            (Some(Verdict::Rejected(_)), Verdict::Rejected(None)) => true,
            (decided, said) => decided == Some(said),
        }
    }

    /// Whether it only repeats what the journal exports about this intent: an id of a declined payment does not say that it was
    /// charged.
    pub(super) fn says_nothing(&self, intent: &Intent) -> bool {
        let named = match &intent.state {
            IntentState::Unknown(_) => exported_transaction(intent),
            IntentState::Sending => None,
            _ if intent.processed_as().is_some() => None,
            _ => intent.transaction_id(),
        };
        let named = named.filter(|_| !self.is_decided);
        named.zip(self.id()).is_some_and(|(named, id)| is_written_as(named, id))
    }
}

/// The service of a key, as a file has it.
pub(super) fn shown_service(intent: &Intent) -> String {
    intent.service.as_deref().map_or_else(|| "not known".to_owned(), for_terminal)
}

/// The valid rows of all files that say something, and those that say nothing.
pub(super) fn read(files: &[RowFile], problems: &mut Problems) -> (Vec<ResolutionRow>, Vec<LeftAlone>) {
    let (mut rows, mut left_alone, mut places) = (Vec::new(), Vec::new(), HashMap::new());
    for (number, file) in files.iter().enumerate() {
        let name = || file.name.clone().unwrap_or_else(|| format!("file {}", number + 1)).into_boxed_str();
        let name = (files.len() > 1).then(name);
        problems.enter(name.clone());
        let separator = file.separator();
        let Ok(mut table) = file.table(separator).map_err(|problem| problems.push(problem)) else { continue };
        let Some(columns) = Columns::of(&table, separator, problems) else { continue };
        while let Some(key) = table.next_key(columns.places["Key"], problems) {
            let line = table.line();
            let place = Place { file: name.clone(), number, line };
            let first = places.entry(key.clone()).or_insert_with(|| place.clone());
            if *first != place {
                let rule = format!("is the same as in {first}");
                problems.push(Problem::new(line, "Key", rule).of(&key));
            }
            let mut broken = Broken::default();
            match columns.row(&table, &place, &key, &mut broken) {
                Ok(row) => rows.push(row),
                Err(says_nothing) => left_alone.push(says_nothing),
            }
            let broken = broken.0.into_iter();
            problems.extend(broken.map(|(field, rule)| Problem::new(line, field, rule).of(&key)));
        }
        // Without rows, `reconcile` found nothing.
        if !is_of_reconcile(table.headings()) {
            table.require_rows(problems);
        }
    }
    problems.enter(None);
    (rows, left_alone)
}

/// Where the columns are.
struct Columns {
    /// By their names in messages. A heading may be in any case and have underscores.
    places: BTreeMap<&'static str, usize>,
    /// An export has an empty one, and a person may add another. The one that is filled in counts.
    verdicts: Vec<usize>,
    /// Those that no export has, or in a person's file all others. Under a misspelt heading could be the verdict that a payment was
    /// declined.
    foreign: Vec<usize>,
    /// In a file that a person wrote, an id without a verdict was found.
    is_exported: bool,
    /// Of amounts: a spreadsheet that separates cells with semicolons writes a comma.
    decimal_mark: char,
}

impl Columns {
    /// `None` if one is missing that every file needs.
    fn of(table: &Table<'_>, separator: u8, problems: &mut Problems) -> Option<Self> {
        let headings = table.headings();
        let is_in = |names: &[&str], heading: &str| names.iter().any(|name| plain(name) == plain(heading));
        let mut column = |(name, is_required): (&'static str, bool)| {
            let rule = match table.column(|heading| is_in(&[name], heading)) {
                Ok(None) if !is_required => return None,
                Ok(None) => "is missing in the header",
                Ok(Some(index)) => return Some((name, index)),
                Err(rule) => rule,
            };
            problems.push(Problem::new(table.line(), name, rule));
            None
        };
        let verdicts = table.columns(|heading| is_in(&["Verdict"], heading));
        // Under any other heading could be the id of a payment that was made. A file that only says that nothing was charged needs none.
        let needs_id = verdicts.is_empty() || !headings.iter().all(|heading| is_in(&PROPOSALS, heading));
        let required = [("Key", true), ("TransactionId", needs_id), ("Note", true)].map(&mut column);
        let seen = [("Attempt", false), ("Revision", false)].map(&mut column);
        let has = |name: &str| headings.iter().any(|heading| heading == name);
        let is_exported = ["key", "transaction_id", "note"].into_iter().all(has)
            || headings.iter().any(|heading| is_only_of_an_export(heading));
        // In a file that a person wrote these columns are the person's own.
        let are_ours = is_exported || seen.iter().all(Option::is_some);
        let ours = [("Service", false), ("BegunAt", false), (COMPARED_BY[0], false)]
            .map(|it| if are_ours { column(it) } else { None });
        // In a file of this command the amount shows if the cells of several rows were mixed up.
        let amount = headings.iter().position(|heading| are_ours && plain(heading) == "amount");
        let amount = amount.map(|index| ("amount", index));
        let is_member = |heading: &str| is_in(&intent::names(), heading);
        let is_ours = |heading: &str| {
            is_in(&PROPOSALS, heading)
                || (are_ours && (is_in(&SEARCHED_BY, heading) || is_in(&COMPARED_BY, heading)))
        };
        let foreign =
            table.columns(|heading| !(if is_exported { is_member(heading) } else { is_ours(heading) }));
        let [key, id, note] = required;
        let is_complete = key.is_some() && note.is_some() && (id.is_some() || !needs_id);
        let places = required.into_iter().chain(seen).chain(ours).chain([amount]).flatten().collect();
        let decimal_mark = if separator == b';' { ',' } else { '.' };
        is_complete.then_some(Self { places, verdicts, foreign, is_exported, decimal_mark })
    }

    /// The cell of a column, unless it is empty.
    fn cell(&self, table: &Table<'_>, name: &'static str, broken: &mut Broken) -> Option<String> {
        let text = broken.or_add(name, table.text(*self.places.get(name)?))?;
        Some(text).filter(|text| !text.is_empty())
    }

    /// What the row says, and whether in a column Verdict; `None` if it says nothing.
    fn verdict(
        &self,
        table: &Table<'_>,
        has_note: bool,
        broken: &mut Broken,
    ) -> Option<(Option<TypedVerdict>, bool)> {
        for index in &self.foreign {
            let cell = broken.or_add("row", table.text(*index));
            if matches!(word_of(cell.as_slice()), Ok(Some(_))) {
                let name = printable_field_name(&table.headings()[*index]);
                let rule =
                    format!("has a verdict in the column {name}: name that column Verdict, or remove it");
                broken.add("row", rule);
            }
        }
        let id = self.cell(table, "TransactionId", broken);
        let cells = self.verdicts.iter().filter_map(|index| broken.or_add("Verdict", table.text(*index)));
        let word = word_of(&cells.collect::<Vec<_>>());
        let Some(word) = broken.or_add("Verdict", word.map_err(str::to_owned)) else {
            return Some((None, true));
        };
        let verdict = match (word, id) {
            (None, None) if broken.0.is_empty() => return None,
            (None, None) => None,
            (None | Some(Word::Processed), Some(id)) => Some(TypedVerdict::Processed(id)),
            (Some(Word::Processed), None) => {
                broken.add("TransactionId", "is required where the verdict is processed");
                None
            }
            (Some(Word::Rejected), id) => Some(TypedVerdict::Rejected(id)),
            (Some(Word::NotProcessed), id) => {
                if id.is_some() {
                    broken.add("TransactionId", "must be empty where the verdict is not processed");
                }
                if self.cell(table, COMPARED_BY[0], broken).is_some() {
                    let rule = "is not processed, and the report has this row, which may be its payment, and the key would be sent again: if the row is \
                                another payment's, empty its ReportRow";
                    broken.add("Verdict", rule);
                }
                Some(TypedVerdict::NotProcessed)
            }
        };
        if let Some(word @ (Word::Rejected | Word::NotProcessed)) = word
            && !has_note
        {
            let what = if word == Word::Rejected { "rejected" } else { "not processed" };
            broken.add("Note", format!("is required where the verdict is {what}: say how you know"));
        }
        Some((verdict, word.is_some()))
    }

    /// The column that says something else than that a payment was made, and what it has. What stands in a column of statuses means
    /// something else to each processor.
    fn against(&self, table: &Table<'_>) -> Option<(String, String)> {
        self.foreign.iter().chain(self.places.get("Note")).find_map(|index| {
            let heading = &table.headings()[*index];
            // One that cannot be read is a problem already.
            let cell = table.text(*index).ok()?;
            let is_no = self.places.get("Note") == Some(index) && status_words::begins_with_no(&cell);
            let is_status = status_words::is_status_column(heading) && !cell.trim().is_empty();
            let has = match status_words::against_a_charge(&cell) {
                Some(word) => format!("the word {word}"),
                None if is_no => "something".to_owned(),
                None if !is_status && status_words::against_in_column(heading, &cell).is_none() => {
                    return None;
                }
                None if cell.trim().is_empty() => "nothing".to_owned(),
                None => "something".to_owned(),
            };
            Some((printable_field_name(heading).to_string(), has))
        })
    }

    /// The row, if it says something, and every rule that it breaks without the others.
    fn row(
        &self,
        table: &Table<'_>,
        place: &Place,
        key: &IntentKey,
        broken: &mut Broken,
    ) -> Result<ResolutionRow, LeftAlone> {
        let note = self.cell(table, "Note", broken).filter(|text| !is_blank(text));
        let (place, key) = (place.clone(), key.clone());
        let Some((verdict, has_word)) = self.verdict(table, note.is_some(), broken) else {
            return Err(LeftAlone { place, key, has_note: note.is_some() });
        };
        let mut text = |name| {
            let cell = self.cell(table, name, broken)?.trim().to_owned();
            Some(cell).filter(|text| !text.is_empty())
        };
        let [attempt, revision, amount] = ["Attempt", "Revision", "amount"].map(&mut text);
        let [service, begun_at] = ["Service", "BegunAt"].map(text);
        let mut number = |name, cell: Option<String>| {
            broken.or_add(name, cell?.parse::<u64>().map_err(|_| "must be a number".to_owned()))
        };
        let attempt = number("Attempt", attempt).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let revision = number("Revision", revision);
        let amount = amount.and_then(|text| {
            let amount = text.replace(self.decimal_mark, ".").parse();
            let rule = "cannot be read: write it as it was exported";
            broken.or_add("amount", amount.map_err(|_| rule.to_owned()))
        });
        let is_found = !has_word && verdict.as_ref().is_some_and(|verdict| verdict.id().is_some());
        let against = if is_found { self.against(table) } else { None };
        let is_decided = has_word || !self.is_exported;
        Ok(ResolutionRow {
            place,
            key,
            verdict,
            broken: broken.0.iter().map(|(field, _)| *field).collect(),
            is_decided,
            note,
            attempt,
            revision,
            amount,
            service,
            begun_at,
            against,
        })
    }
}

/// The fields of a row that break a rule by themselves, each with the rule.
#[derive(Default)]
struct Broken(Vec<(&'static str, String)>);

impl Broken {
    fn add(&mut self, field: &'static str, rule: impl Into<String>) {
        self.0.push((field, rule.into()));
    }

    fn or_add<T>(&mut self, field: &'static str, read: Result<T, String>) -> Option<T> {
        read.map_err(|rule| self.add(field, rule)).ok()
    }
}

/// The words of the column Verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Processed,
    Rejected,
    NotProcessed,
}

/// The word in the filled cells, in any case; `None` if all are empty.
fn word_of(cells: &[String]) -> Result<Option<Word>, &'static str> {
    let mut said = None;
    for cell in cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()) {
        let word = match &*cell.to_ascii_lowercase().replace(['_', '-'], " ") {
            "processed" => Word::Processed,
            "rejected" => Word::Rejected,
            "not processed" => Word::NotProcessed,
            _ => return Err("must be processed, rejected, not processed, or empty"),
        };
        if said.is_some_and(|said| said != word) {
            return Err("differs between its columns");
        }
        said = Some(word);
    }
    Ok(said)
}
