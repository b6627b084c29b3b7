//! The rows of a file of resolutions.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use payments_journal::{Intent, IntentKey, IntentState, Verdict};
use payments_model::Amount;
use payments_model::unversioned::printable_field_name;

use super::super::resolution::{TypedVerdict, is_written_as};
use super::super::status_words;
use crate::failure::Problem;
use crate::intent::{self, exported_transaction};
use crate::rows::own_files::{PROPOSALS, SEARCHED_BY, is_of_reconcile, is_only_of_an_export, plain};
use crate::rows::{Problems, RowFile, Table};

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
    pub(super) verdict: TypedVerdict,
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

    /// Whether its transaction is looked up: also the declined one that it names, which must be the key's own.
    pub(super) fn is_looked_up(&self) -> bool {
        self.verdict.id().is_some()
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
        matches!(self.verdict, TypedVerdict::Processed(_))
            && self.revision == Some(intent.revision)
            && self.attempt.is_some_and(|number| number <= intent.attempts)
            && (may_give_way || is_earlier)
    }

    /// The row as one that resolves nothing.
    pub(super) fn left_alone(self) -> LeftAlone {
        LeftAlone { place: self.place, key: self.key, has_note: self.note.is_some() }
    }

    /// Whether the key is already as the row says: the same file may be given again.
    pub(super) fn is_already_so(&self, intent: &Intent, verdict: &Verdict) -> bool {
        let is_newest = self.attempt.is_none_or(|number| number == intent.attempts);
        // Of an earlier attempt nothing else can be said.
        self.is_recorded(intent, verdict) && (is_newest || matches!(verdict, Verdict::Processed(_)))
    }

    /// Whether the journal has this verdict about the attempt of the row, which may have been sent again since.
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
        named.is_some_and(|named| self.verdict.id().is_some_and(|id| is_written_as(named, id)))
    }
}

/// The valid rows of all files that say something, and those that say nothing.
pub(super) fn read(files: &[RowFile], problems: &mut Problems) -> (Vec<ResolutionRow>, Vec<LeftAlone>) {
    let (mut rows, mut left_alone, mut places) = (Vec::new(), Vec::new(), HashMap::new());
    for (number, file) in files.iter().enumerate() {
        let name = || file.name.clone().unwrap_or_else(|| format!("file {}", number + 1)).into_boxed_str();
        let name = (files.len() > 1).then(name);
        problems.enter(name.clone());
        let (found, says_nothing) = read_one(file, (number, name.as_deref()), &mut places, problems);
        rows.extend(found);
        left_alone.extend(says_nothing);
    }
    problems.enter(None);
    (rows, left_alone)
}

/// The same of one of them. `places` has the keys of all.
fn read_one(
    file: &RowFile,
    (number, name): (usize, Option<&str>),
    places: &mut HashMap<IntentKey, Place>,
    problems: &mut Problems,
) -> (Vec<ResolutionRow>, Vec<LeftAlone>) {
    let separator = file.separator();
    let (mut rows, mut left_alone) = (Vec::new(), Vec::new());
    let mut table = match file.table(separator) {
        Ok(table) => table,
        Err(problem) => {
            problems.push(problem);
            return (rows, left_alone);
        }
    };
    let Some(columns) = Columns::of(&table, separator, problems) else { return (rows, left_alone) };
    while let Some(key) = table.next_key(columns.places["Key"], problems) {
        let line = table.line();
        let place = Place { file: name.map(Into::into), number, line };
        let first = places.entry(key.clone()).or_insert_with(|| place.clone());
        if *first != place {
            let rule = format!("is the same as in {first}");
            problems.push(Problem::new(line, "Key", rule).of(&key));
        }
        match columns.row(&table, &place, &key) {
            Ok(Ok(row)) => rows.push(row),
            Ok(Err(says_nothing)) => left_alone.push(says_nothing),
            Err((field, rule)) => problems.push(Problem::new(line, field, rule).of(&key)),
        }
    }
    // Without rows, `reconcile` found nothing.
    if !is_of_reconcile(table.headings()) {
        table.require_rows(problems);
    }
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
        let ours =
            [("Service", false), ("BegunAt", false)].map(|it| if are_ours { column(it) } else { None });
        // In a file of this command the amount shows if the cells of several rows were mixed up.
        let amount = headings.iter().position(|heading| are_ours && plain(heading) == "amount");
        let amount = amount.map(|index| ("amount", index));
        let is_member = |heading: &str| is_in(&intent::names(), heading);
        let is_ours =
            |heading: &str| is_in(&PROPOSALS, heading) || (are_ours && is_in(&SEARCHED_BY, heading));
        let foreign =
            table.columns(|heading| !(if is_exported { is_member(heading) } else { is_ours(heading) }));
        let [key, id, note] = required;
        let is_complete = key.is_some() && note.is_some() && (id.is_some() || !needs_id);
        let places = required.into_iter().chain(seen).chain(ours).chain([amount]).flatten().collect();
        let decimal_mark = if separator == b';' { ',' } else { '.' };
        is_complete.then_some(Self { places, verdicts, foreign, is_exported, decimal_mark })
    }

    /// The cell of a column, unless it is empty.
    fn cell(&self, table: &Table<'_>, name: &'static str) -> Result<Option<String>, Broken> {
        let Some(place) = self.places.get(name) else { return Ok(None) };
        let text = table.text(*place).map_err(|rule| (name, rule))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// The verdict of the row, and its word; `None` if it says nothing.
    fn verdict(
        &self,
        table: &Table<'_>,
        has_note: bool,
    ) -> Result<Option<(TypedVerdict, Option<Word>)>, Broken> {
        let cell = |field, index| table.text(index).map_err(|rule| (field, rule));
        for index in &self.foreign {
            if matches!(word_of(&[cell("row", *index)?]), Ok(Some(_))) {
                let name = printable_field_name(&table.headings()[*index]);
                let rule =
                    format!("has a verdict in the column {name}: name that column Verdict, or remove it");
                return Err(("row", rule));
            }
        }
        let id = self.cell(table, "TransactionId")?;
        let verdicts =
            self.verdicts.iter().map(|index| cell("Verdict", *index)).collect::<Result<Vec<_>, _>>()?;
        let word = word_of(&verdicts).map_err(|rule| ("Verdict", rule.to_owned()))?;
        let verdict = match (word, id) {
            (None, None) => return Ok(None),
            (None | Some(Word::Processed), Some(id)) => TypedVerdict::Processed(id),
            (Some(Word::Rejected), id) => TypedVerdict::Rejected(id),
            (Some(Word::NotProcessed), None) => TypedVerdict::NotProcessed,
            (Some(Word::Processed), None) => {
                return Err(("TransactionId", "is required where the verdict is processed".to_owned()));
            }
            (Some(Word::NotProcessed), Some(_)) => {
                return Err(("TransactionId", "must be empty where the verdict is not processed".to_owned()));
            }
        };
        if !has_note && !matches!(verdict, TypedVerdict::Processed(_)) {
            let what = if word == Some(Word::Rejected) { "rejected" } else { "not processed" };
            return Err(("Note", format!("is required where the verdict is {what}: say how you know")));
        }
        Ok(Some((verdict, word)))
    }

    /// The column that says something else than that a payment was made, and what it has. What stands in a column of statuses means
    /// something else to each processor.
    fn against(&self, table: &Table<'_>) -> Result<Option<(String, String)>, Broken> {
        for index in self.foreign.iter().chain(self.places.get("Note")) {
            let (heading, cell) =
                (&table.headings()[*index], table.text(*index).map_err(|rule| ("row", rule))?);
            let is_no = self.places.get("Note") == Some(index) && status_words::begins_with_no(&cell);
            let is_status = status_words::is_status_column(heading) && !cell.trim().is_empty();
            let has = match status_words::against_a_charge(&cell) {
                Some(word) => format!("the word {word}"),
                None if is_no => "something".to_owned(),
                None if !is_status && status_words::against_in_column(heading, &cell).is_none() => continue,
                None if cell.trim().is_empty() => "nothing".to_owned(),
                None => "something".to_owned(),
            };
            return Ok(Some((printable_field_name(heading).to_string(), has)));
        }
        Ok(None)
    }

    /// The row, if it says something. The error is the field that breaks a rule, and the rule.
    fn row(
        &self,
        table: &Table<'_>,
        place: &Place,
        key: &IntentKey,
    ) -> Result<Result<ResolutionRow, LeftAlone>, Broken> {
        let note = self.cell(table, "Note")?.filter(|text| !text.trim().is_empty());
        let (place, key) = (place.clone(), key.clone());
        let Some((verdict, word)) = self.verdict(table, note.is_some())? else {
            return Ok(Err(LeftAlone { place, key, has_note: note.is_some() }));
        };
        let text = |name| {
            let cell = self.cell(table, name)?.map(|text| text.trim().to_owned());
            Ok::<_, Broken>(cell.filter(|text| !text.is_empty()))
        };
        let number = |name| {
            let number = text(name)?.map(|text| text.parse::<u64>());
            number.transpose().map_err(|_| (name, "must be a number".to_owned()))
        };
        let attempt = number("Attempt")?.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let revision = number("Revision")?;
        let amount = text("amount")?.map(|text| text.replace(self.decimal_mark, ".").parse());
        let amount = amount
            .transpose()
            .map_err(|_| ("amount", "cannot be read: write it as it was exported".to_owned()))?;
        let (service, begun_at) = (text("Service")?, text("BegunAt")?);
        let is_found = word.is_none() && verdict.id().is_some();
        let against = if is_found { self.against(table)? } else { None };
        let is_decided = word.is_some() || !self.is_exported;
        Ok(Ok(ResolutionRow {
            place,
            key,
            verdict,
            is_decided,
            note,
            attempt,
            revision,
            amount,
            service,
            begun_at,
            against,
        }))
    }
}

/// The field that breaks a rule, and the rule.
type Broken = (&'static str, String);

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
