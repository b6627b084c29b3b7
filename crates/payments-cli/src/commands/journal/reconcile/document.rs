//! What was found by comparing a report with the journal, as JSON and as text.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use payments_journal::{
    Intent, IntentKey, IntentState, OfAnotherMerchant, Proposal, ReconciledAttempt, Reconciliation,
    ReportRow, RowStatus, StateName, UndecidedReason, Unexplained, Verdict,
};
use payments_model::{Amount, mask};
use serde::Serialize;

use super::processor_report::{ProcessorReport, Unreadable, UnreadableColumn, part};
use super::proposals::still_unknown;
use crate::args::journal::Field;
use crate::commands::journal::status_words;
use crate::format::{counted, exact, in_words, money, timestamp};
use crate::settings::{PrintedCommands, by_option, shell_word};
use crate::style::{Style, Tone, for_terminal};

pub(super) fn lines_of(lines: &[u64]) -> String {
    let numbers: Vec<_> = lines.iter().map(u64::to_string).collect();
    format!("line{} {}", if lines.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

/// What was found, as JSON and as text.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    service: Option<&'a str>,
    rows: u64,
    proposals: Vec<Proposed<'a>>,
    undecided: Vec<Open<'a>>,
    missing: Vec<Key<'a>>,
    unexplained: Vec<Charged<'a>>,
    doubtful: Vec<ShownRow<'a>>,
    foreign: Vec<ShownRow<'a>>,
    other_merchants: Vec<Other<'a>>,
    unreadable: Vec<UnreadableRow>,
    /// How many rows have each word of a status that may mean a charge and that no option names.
    unnamed_statuses: &'a BTreeMap<String, u64>,
    /// The columns that were not read, if none has a status: every row counts as charged then.
    #[serde(rename = "unread_columns", skip_serializing_if = "<[_]>::is_empty")]
    unread: &'a [String],
    /// The file of `--out`.
    out: Option<String>,
    /// The file of `--rest`.
    rest: Option<String>,
    /// The keys that are or would be in it.
    #[serde(skip)]
    still_unknown: Vec<&'a IntentKey>,
    #[serde(skip)]
    report: &'a ProcessorReport,
}

/// A key as its attempt was compared.
#[derive(Serialize)]
#[allow(clippy::struct_field_names, reason = "the member of the document is called `key`")]
struct Key<'a> {
    key: &'a str,
    attempt: u32,
    revision: u64,
    state: &'static str,
    #[serde(serialize_with = "exact")]
    amount: Option<Amount>,
    begun_at: String,
    /// What a person has said about it.
    #[serde(skip)]
    resolved: Option<(&'a Verdict, &'a Intent)>,
}

#[derive(Serialize)]
struct Proposed<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    verdict: String,
    row: ShownRow<'a>,
}

#[derive(Serialize)]
struct Open<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    /// Of [`words`].
    why: &'static str,
    #[serde(skip)]
    explained: &'static str,
    candidates: Vec<ShownRow<'a>>,
}

#[derive(Serialize)]
struct Charged<'a> {
    keys: Vec<Key<'a>>,
    rows: Vec<ShownRow<'a>>,
    /// Whether it is in the file of `--out`.
    is_proposed: bool,
    /// Whether it is a processed key whose own row is declined.
    #[serde(skip)]
    is_declined: bool,
}

/// A row of the report; of several with one id, the first.
#[derive(Serialize)]
struct ShownRow<'a> {
    lines: Vec<u64>,
    transaction_id: Option<String>,
    reference: Option<String>,
    #[serde(serialize_with = "exact")]
    amount: Option<Amount>,
    status: Option<String>,
    /// The column and the word that contradict a charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a str>,
    /// The other keys that a candidate may be of.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_keys: Option<Vec<&'a str>>,
}

/// A row that is the payment of another merchant's key.
#[derive(Serialize)]
struct Other<'a> {
    lines: &'a [u64],
    key: &'a str,
    service: &'a str,
}

#[derive(Serialize)]
struct UnreadableRow {
    line: u64,
    why: String,
    /// Whether it is counted with its columns.
    #[serde(skip)]
    is_counted: bool,
}

impl<'a> Key<'a> {
    fn of(attempt: &'a ReconciledAttempt) -> Self {
        Self {
            key: attempt.key.as_str(),
            attempt: attempt.attempt,
            revision: attempt.revision,
            state: attempt.state.as_str(),
            amount: attempt.request.amount,
            begun_at: timestamp(attempt.begun_at),
            resolved: None,
        }
    }

    /// What the journal says, with the verdict of a person.
    fn recorded(&self) -> String {
        let verdict = self.resolved.map(|(verdict, _)| format!(" as {}", in_words(verdict.as_str())));
        format!("{}{}", in_words(self.state), verdict.unwrap_or_default())
    }

    fn shown(&self) -> String {
        let amount = self.amount.map(|amount| format!("  {}", money(amount))).unwrap_or_default();
        format!("{}{amount}", for_terminal(self.key))
    }
}

impl ShownRow<'_> {
    fn shown(&self) -> String {
        let column = |text: &Option<String>| {
            let text = text.as_deref().filter(|text| !text.is_empty());
            text.map(|text| format!("  {}", for_terminal(text))).unwrap_or_default()
        };
        let [id, reference, status] = [&self.transaction_id, &self.reference, &self.status].map(column);
        let amount = self.amount.map(|amount| format!("  {}", money(amount))).unwrap_or_default();
        let against = self.against.map(|against| format!(" ({})", for_terminal(against))).unwrap_or_default();
        let others: Vec<_> = self.other_keys.iter().flatten().map(|key| for_terminal(key)).collect();
        let others = if others.is_empty() { String::new() } else { format!("; or of {}", others.join(", ")) };
        format!("{}{id}{reference}{amount}{status}{against}{others}", lines_of(&self.lines))
    }
}

impl<'a> Document<'a> {
    /// With the intents of what nobody explains that a person has resolved.
    pub(super) fn of(
        found: &'a Reconciliation,
        report: &'a ProcessorReport,
        resolved: &'a HashMap<IntentKey, Intent>,
        [out, rest]: [Option<String>; 2],
    ) -> Self {
        let by_line: HashMap<u64, &ReportRow> = report.rows.iter().map(|row| (row.line, row)).collect();
        let row = |lines: &[u64]| {
            let first = lines.first().and_then(|line| by_line.get(line));
            let masked = |text: &str| mask(text, &[]).into_owned();
            ShownRow {
                lines: lines.to_vec(),
                // A person may have said that it is no card number.
                transaction_id: first.and_then(|row| Some(masked(row.id.value()?.as_str()))),
                reference: first.and_then(|row| Some(masked(row.reference.value()?))),
                amount: first.and_then(|row| row.amount.value().copied()),
                status: lines.first().and_then(|line| report.statuses.get(line)).map(|word| masked(word)),
                against: lines.iter().find_map(|line| report.against.get(line)).map(String::as_str),
                other_keys: None,
            }
        };
        let proposed = |Proposal { attempt, lines, verdict, .. }: &'a Proposal| Proposed {
            key: Key::of(attempt),
            verdict: in_words(verdict.as_str()),
            row: row(lines),
        };
        let verdict = |key: &IntentKey| {
            resolved.get(key).and_then(|intent| match &intent.state {
                IntentState::Resolved { resolution, .. } => Some((&resolution.verdict, intent)),
                _ => None,
            })
        };
        let is_declined = |line: &u64| by_line.get(line).is_some_and(|row| row.status == RowStatus::Declined);
        let is_processed = |attempt: &ReconciledAttempt| {
            attempt.state == StateName::Processed
                || matches!(verdict(&attempt.key), Some((Verdict::Processed(_), _)))
        };
        let charged = |Unexplained { attempts, rows, proposal, .. }: &'a Unexplained| Charged {
            keys: attempts
                .iter()
                .map(|attempt| Key { resolved: verdict(&attempt.key), ..Key::of(attempt) })
                .collect(),
            rows: rows.iter().map(|lines| row(lines)).collect(),
            is_proposed: proposal.is_some(),
            is_declined: rows.iter().flatten().all(is_declined) && attempts.iter().all(is_processed),
        };
        let newest = report.rows.iter().filter_map(|row| row.time.value()).map(|time| time.latest).max();
        let is_too_old = |at| newest.is_some_and(|newest| newest < at);
        let undecided = found.undecided.iter().map(|open| {
            let candidates = open.candidates.iter().map(|candidate| ShownRow {
                other_keys: Some(candidate.other_keys.iter().map(IntentKey::as_str).collect()),
                ..row(&candidate.lines)
            });
            let (why, explained) = words(open.why);
            let explained = match open.why {
                UndecidedReason::NoRow if is_too_old(open.attempt.begun_at) => {
                    "was sent after the newest row of this report: export a later one"
                }
                UndecidedReason::NoRow if !open.candidates.is_empty() => {
                    "a row has its amount and time, and another reference or card, as a spreadsheet or a wallet writes it: look before you \
                     resolve it"
                }
                _ => explained,
            };
            Open { key: Key::of(&open.attempt), why, explained, candidates: candidates.collect() }
        });
        let others = found
            .other_merchants
            .iter()
            .map(|OfAnotherMerchant { lines, key, service, .. }| Other { lines, key: key.as_str(), service });
        let unreadable = found.unreadable.iter().map(|line| {
            let why = report.unreadable.get(line);
            UnreadableRow {
                line: *line,
                why: why.map_or_else(|| "cannot be read".to_owned(), ToString::to_string),
                is_counted: matches!(why, Some(Unreadable::Cells(_))),
            }
        });
        // A refund or a failure is no charge, also if nobody has named its word.
        let may_be_charged = |line: &&u64| {
            let word = report.statuses.get(*line);
            word.is_none_or(|word| !status_words::is_no_charge(word))
        };
        Self {
            service: found.service.as_deref(),
            rows: report.rows.len() as u64,
            proposals: found.proposals.iter().map(proposed).collect(),
            undecided: undecided.collect(),
            missing: found.missing.iter().map(Key::of).collect(),
            unexplained: found.unexplained.iter().map(charged).collect(),
            doubtful: found.doubtful.iter().filter(may_be_charged).map(|line| row(&[*line])).collect(),
            foreign: found.foreign.iter().map(|line| row(&[*line])).collect(),
            other_merchants: others.collect(),
            unreadable: unreadable.collect(),
            unnamed_statuses: &report.unnamed_statuses,
            unread: &report.unread,
            out,
            rest,
            still_unknown: still_unknown(found).map(|(attempt, _)| &attempt.key).collect(),
            report,
        }
    }

    pub(super) fn lines(&self, style: Style, commands: &PrintedCommands) -> String {
        let mut text = Sections { text: String::new(), style };
        text.write(
            Tone::Warning,
            "NO STATUS, so every row counts as charged",
            (!self.unread.is_empty()).then(|| format!("not read: {}", self.unread.join(", "))).into_iter(),
            "does one of these say what became of a payment? name it: --column status=HEADING",
        );
        let first = text.text.len();
        let keys = |count: usize| counted(count as u64, "key");
        let rows = |count: usize| counted(count as u64, "row");
        let proposals = self.proposals.iter();
        let proposals = proposals.map(|it| format!("{}  {}: {}", it.key.shown(), it.verdict, it.row.shown()));
        text.write(Tone::Success, &format!("FOUND: {}", keys(self.proposals.len())), proposals, "");
        text.write(
            Tone::Warning,
            &format!("STAYS UNKNOWN: {}", keys(self.undecided.len())),
            self.undecided.iter().flat_map(Open::lines),
            "search the processor's records for them by amount, reference and time",
        );
        text.write(
            Tone::Warning,
            &format!("NOT IN THE REPORT: {}", keys(self.missing.len())),
            self.missing.iter().map(Key::shown),
            "that is no proof: ask the service before you resolve them",
        );
        self.write_unexplained(&mut text, commands);
        text.write(
            Tone::Warning,
            &format!("MAY BE A CHARGE THAT NOBODY EXPLAINS: {}", rows(self.doubtful.len())),
            self.doubtful.iter().map(ShownRow::shown),
            "say what the status means: --charged-status or --declined-status",
        );
        text.write(
            Tone::Warning,
            "STATUS THAT NOBODY HAS NAMED, so its rows decide nothing",
            self.unnamed_lines(),
            "is a word misspelled? say what each means: --charged-status or --declined-status",
        );
        text.write(
            Tone::Dim,
            &format!("CHARGED, AND OF NO KEY: {}", rows(self.foreign.len())),
            self.foreign.iter().map(ShownRow::shown),
            "",
        );
        text.write(
            Tone::Warning,
            &format!("OF ANOTHER MERCHANT: {}", rows(self.other_merchants.len())),
            self.other_merchants.iter().map(|Other { lines, key, service }| {
                let be = if lines.len() == 1 { "is" } else { "are" };
                let [key, service] = [key, service].map(|text| for_terminal(text));
                format!("{} {be} the payment of {key} of {service}", lines_of(lines))
            }),
            "is this the report of the right merchant?",
        );
        // Of the same column there are often as many as rows.
        let columns = self.report.unreadable_columns.iter().flat_map(|(field, column)| column.lines(*field));
        let others = self.unreadable.iter().filter(|row| !row.is_counted);
        let others = others.map(|row| format!("line {}  {}", row.line, for_terminal(&row.why)));
        text.write(
            Tone::Warning,
            &format!("CANNOT BE READ: {}", rows(self.unreadable.len())),
            columns.chain(others),
            "",
        );
        if text.text.len() == first {
            if first > 0 {
                text.text.push('\n');
            }
            text.text.push_str(match self.rows {
                0 => "nothing is unknown; the report has no rows, as after a failed export\n",
                _ => "nothing is unknown, and every charge is explained\n",
            });
        }
        let mut text = text.text;
        let next_step = self.next_step(commands);
        if !next_step.is_empty() {
            text.push('\n');
        }
        text + &next_step
    }

    fn write_unexplained(&self, text: &mut Sections, commands: &PrintedCommands) {
        // Without as many rows that agree, a wrong column is more likely than as many wrong charges.
        let (declined, unexplained): (Vec<_>, Vec<_>) =
            self.unexplained.iter().partition(|case| case.is_declined);
        let cases = |cases: &[_]| counted(cases.len() as u64, "case");
        let wrong: usize = unexplained.iter().flat_map(|it| &it.rows).map(|row| row.lines.len()).sum();
        let of_no_key = self.foreign.len() + self.doubtful.len() + self.unreadable.len();
        let agreeing = self.rows.saturating_sub((wrong + of_no_key + self.other_merchants.len()) as u64);
        let is_amount_wrong = unexplained.len() > 1
            && unexplained.iter().all(|case| case.has_another_amount())
            && agreeing < wrong as u64;
        let undo = if is_amount_wrong {
            "every row has another amount than its key: is it after a fee, or in cents? --column amount=HEADING names another"
        } else {
            "somebody may have paid twice, or for nothing: undo what is wrong"
        };
        text.write(
            Tone::Error,
            &format!("MONEY THAT NOBODY EXPLAINS: {}", cases(&unexplained)),
            unexplained.iter().flat_map(|case| case.lines()),
            undo,
        );
        let service = self.service_options(commands);
        text.write(
            Tone::Error,
            &format!("RECORDED AS PAID, AND DECLINED IN THE REPORT: {}", cases(&declined)),
            declined.iter().flat_map(|case| {
                let correction = case.correction(commands, &service).map(|command| format!("  {command}"));
                case.lines().into_iter().chain(correction)
            }),
            "nobody has paid if the report is right: look at its row, and correct the journal or ask the processor",
        );
    }

    fn unnamed_lines(&self) -> impl Iterator<Item = String> {
        let are_there = !self.unnamed_statuses.is_empty();
        let shown = are_there.then(|| status_words::shown(self.unnamed_statuses));
        let missing = &self.report.missing_statuses;
        let missing = (are_there && !missing.is_empty()).then(|| {
            let words = if missing.len() == 1 { "word" } else { "words" };
            format!("no row has the {words} {}, which an option names", missing.join(", "))
        });
        shown.into_iter().chain(missing)
    }

    fn service_options(&self, commands: &PrintedCommands) -> String {
        self.service
            .map_or_else(|| commands.service_options(), |service| commands.options_of_service(service))
    }

    fn next_step(&self, commands: &PrintedCommands) -> String {
        let mut text = String::new();
        let is_proposed =
            !self.proposals.is_empty() || self.unexplained.iter().any(|charged| charged.is_proposed);
        // One without rows is for programs.
        let out = self.out.as_ref().filter(|_| is_proposed);
        let rest = self.rest.as_ref().filter(|_| !self.still_unknown.is_empty());
        if is_proposed && out.is_none() {
            text.push_str("--out FILE.csv writes what was found for `resolve --from`\n");
        }
        if let (Some(first), None) = (self.still_unknown.first(), rest) {
            let options = format!(" --not-processed --note TEXT{}", by_option());
            let command = match &*self.still_unknown {
                [_] => commands.about_key("resolve", first, &options),
                _ => commands.journal(&format!("resolve KEY{options}")),
            };
            text.extend([
                "only with proof that a payment was not made, because its key is then sent again:\n",
                &format!("  {}\n", for_terminal(&command)),
                "--rest FILE.csv writes all that stay unknown, to be filled in for `resolve --from`\n",
            ]);
        }
        let files: Vec<_> = out.into_iter().chain(rest).map(|name| for_terminal(name)).collect();
        if files.is_empty() {
            return text;
        }
        if rest.is_some() {
            text.push_str(FILL_IN);
        }
        let what = match (out, rest) {
            (Some(out), Some(rest)) => format!("read {}, fill in {}", for_terminal(out), for_terminal(rest)),
            (Some(out), None) => format!("read {}", for_terminal(out)),
            _ => format!("fill in {}", files.concat()),
        };
        let from: Vec<_> = files.iter().map(|name| format!(" --from {}", shell_word(name))).collect();
        let (resolve, by) = (commands.journal(&format!("resolve{}", from.concat())), by_option());
        let service = self.service_options(commands);
        let _ = writeln!(text, "{what}, then:\n  {resolve}{service}{by}");
        text
    }
}

/// How a person fills in the file of `--rest`.
const FILL_IN: &str = "\
    each row that you find something out about needs a Verdict and a Note:
  processed      with its TransactionId
  rejected       it was declined or failed
  not processed  only with proof: the key is then sent again
";

impl UnreadableColumn {
    /// What cannot be read, and what helps.
    fn lines(&self, field: Field) -> [String; 2] {
        let Self { heading, rows, line, example } = self;
        let example = if example.is_empty() { String::new() } else { format!(": {}", for_terminal(example)) };
        let (rows, heading, part) = (counted(*rows, "row"), for_terminal(heading), part(field));
        let what = format!("{part}: {rows} in the column {heading}, such as line {line}{example}");
        let form = match field {
            Field::Id => "write the id of a transaction",
            Field::Amount => "write it as 10.50",
            Field::Time => "write it as 2026-11-01 or 2026-11-01T08:00:00+01:00",
            Field::LastFour => "write them as 4242",
            Field::Reference => "write it as it was sent",
            Field::Status => "write one of its words",
        };
        [what, format!("  {form}, or name another column: --column {}=HEADING", field.name())]
    }
}

impl Open<'_> {
    /// The key and why it stays unknown, then the rows that may be it.
    fn lines(&self) -> Vec<String> {
        let candidates = self.candidates.iter().map(|row| format!("  {}", row.shown()));
        let heading = format!("{}  {}", self.key.shown(), self.explained);
        [heading].into_iter().chain(candidates).collect()
    }
}

impl Charged<'_> {
    fn has_another_amount(&self) -> bool {
        self.rows.iter().all(|row| self.keys.iter().all(|key| key.amount != row.amount))
    }

    /// The command that records the declined row instead of what a person has said. What the service has said stays.
    fn correction(&self, commands: &PrintedCommands, service: &str) -> Option<String> {
        let (Verdict::Processed(said), intent) = self.keys.first()?.resolved? else { return None };
        let row = self.rows.first()?.transaction_id.as_deref()?;
        let [row, said] = [row, said.as_str()].map(shell_word);
        let attempt = if intent.attempts > 1 {
            format!(" --attempt {}", self.keys.first()?.attempt)
        } else {
            String::new()
        };
        let options =
            format!(" --rejected={row} --note TEXT --replace {said}{attempt}{service}{}", by_option());
        Some(for_terminal(&commands.about_key("resolve", &intent.key, &options)))
    }

    /// What the journal says, then the rows that show a charge.
    fn lines(&self) -> Vec<String> {
        let keys = self.keys.iter();
        let keys = keys.map(|key| format!("{}  the journal says {}", key.shown(), key.recorded()));
        keys.chain(self.rows.iter().map(|row| format!("  {}", row.shown()))).collect()
    }
}

/// A text in sections. One without lines is left out.
struct Sections {
    text: String,
    style: Style,
}

impl Sections {
    fn write(&mut self, tone: Tone, heading: &str, lines: impl Iterator<Item = String>, advice: &str) {
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let _ = writeln!(self.text, "{}", self.style.paint(tone, heading));
        for line in lines.iter().take(MOST_LINES) {
            let _ = writeln!(self.text, "  {line}");
        }
        if lines.len() > MOST_LINES {
            let _ = writeln!(self.text, "  and {} more: see --output json", lines.len() - MOST_LINES);
        }
        if !advice.is_empty() {
            let _ = writeln!(self.text, "  {advice}");
        }
    }
}

/// In one section; a terminal shows no more.
const MOST_LINES: usize = 100;

/// The word for programs and the words for people.
const fn words(why: UndecidedReason) -> (&'static str, &'static str) {
    match why {
        UndecidedReason::Sending => ("sending", "is being sent now: wait until it has ended"),
        UndecidedReason::Void => ("void", "is a void"),
        UndecidedReason::Ach => ("ach", "is an ACH payment"),
        UndecidedReason::Fee => ("fee", "has a fee, so its amount may differ"),
        UndecidedReason::MaskedId => ("masked_id", "has an id that is masked here"),
        UndecidedReason::Lost => ("lost", "was sent in the lost time, and its request is not known here"),
        UndecidedReason::AmountOnly => ("amount_only", "only its amount can be compared"),
        UndecidedReason::NoRow => ("no_row", "no row agrees in amount, in reference or card, and in time"),
        UndecidedReason::OtherReference => (
            "other_reference",
            "a row has its amount and time, and a reference that may be its own in another spelling: look before you resolve it",
        ),
        UndecidedReason::OtherTime => (
            "other_time",
            "a row has its amount and reference, and another time: look before you resolve it, and see --zone and --within",
        ),
        UndecidedReason::OtherAmount => (
            "other_amount",
            "a row has its reference, and another amount, as after a fee or in cents: look before you resolve it",
        ),
        UndecidedReason::UnreadableRow => {
            ("unreadable_row", "a row may be it that cannot be read or contradicts itself")
        }
        UndecidedReason::SeveralRows => ("several_rows", "several rows are like it"),
        UndecidedReason::SeveralKeys => ("several_keys", "the row may be another key's"),
        UndecidedReason::SeveralAttempts => ("several_attempts", "the row may be another attempt's"),
        UndecidedReason::Contradiction => ("contradiction", "the row with its id is another payment's"),
        UndecidedReason::Status => (
            "status",
            "the status of its row, or another column, decides nothing: --charged-status or --declined-status says what it means",
        ),
        _ => ("other", "nothing can be said"),
    }
}
