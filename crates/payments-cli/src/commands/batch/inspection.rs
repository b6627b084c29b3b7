//! Checks every row of a billing file before one is sent.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use payments_core::Outcome;
use payments_journal::{
    Intent, IntentKey, IntentRequest, IntentState, Journal, StateName, StoreError, Verdict,
};

use super::billing_file::{BillingFile, BillingRow, LikeCards, RowRead};
use super::earlier_charges::{RowHashes, charged_before, compare_in_file, names};
use super::hashes::Hashes;
use super::newcomers::RecentPages;
use crate::call::admission::{ASKED_AT_ONCE, find_all};
use crate::call::same_payment::{EarlierCharges, Fate, charge_of, is_of_key, is_same_reference, marks};
use crate::failure::{Failure, Problem, RecordedIntent};
use crate::report::advice::of_other_service;
use crate::report::run::Summary;
use crate::rows::card_like_ids;
use crate::rows::{Problems, Role};
use crate::settings::{KnownKeys, PrintedCommands, shell_word};
use crate::stderr;
use crate::style::for_terminal;

/// A valid file: every row can be charged or has been charged.
pub(super) struct Inspected {
    /// Of each row: to send, charged or rejected.
    pub(super) fates: Vec<Fate>,
    /// The outcomes of earlier runs, and the first rows that are unknown since then.
    pub(super) summary: Summary,
    /// How many ids look like card numbers and are none, as the person says.
    pub(super) like_cards: u64,
    /// About rows that may charge somebody twice.
    pub(super) warnings: Vec<String>,
    /// Every key of the file.
    pub(super) keys: Hashes,
    /// The keys that were not in the journal when the file was checked, if there was a journal.
    pub(super) newer: Option<RecentPages>,
    /// What was in it, and would be the same payment as a row if others sent it again.
    pub(super) watched: EarlierCharges,
}

/// What a row must not have.
pub(super) struct Rules {
    /// No text may contain one of these.
    pub(super) api_keys: KnownKeys,
    /// Whether ids that look like card numbers are accepted.
    pub(super) ids_are_not_cards: bool,
    /// Where the rows would be sent. A key that the journal has for another service is refused.
    pub(super) service: String,
    pub(super) commands: PrintedCommands,
}

fn cannot_read_journal(error: &StoreError) -> Failure {
    let message = format!("the journal cannot be read; nothing was sent: {error}");
    Failure { message, ..Failure::of_store(error) }
}

/// Checks every row. With a journal, looks up each row in it. The error may have the problems of a file of which no row is
/// sent.
pub(super) async fn inspect(
    file: &BillingFile,
    rules: &Rules,
    journal: Option<&Journal>,
) -> Result<Inspected, Failure> {
    let journal = match journal {
        Some(journal) if has_entries(journal).await? => Some(journal),
        _ => None,
    };
    let (rows, of_header) = file.rows(&rules.api_keys);
    let mut problems = Problems::of(file.csv.name.clone(), Role::BillingRun);
    problems.extend(of_header);
    let mut inspection = Inspection {
        rules,
        journal,
        problems,
        hashes: RowHashes::default(),
        left_out: 0,
        new_left_out: Vec::new(),
        charged_twice: Vec::new(),
        of_others: BTreeMap::new(),
        other_references: (0, String::new()),
        without_reference: 0,
        inspected: Inspected {
            fates: Vec::new(),
            summary: Summary { commands: rules.commands.clone(), ..Summary::default() },
            like_cards: 0,
            warnings: Vec::new(),
            keys: Hashes::default(),
            newer: None,
            watched: EarlierCharges::of_service(&*rules.service),
        },
    };
    let mut rows = rows.into_iter().flatten().peekable();
    while rows.peek().is_some() {
        let some: Vec<_> = rows.by_ref().take(ASKED_AT_ONCE).collect();
        let keys = some.iter().filter_map(|row| Some(row.content.as_ref().ok()?.key.clone()));
        let found = match journal {
            Some(journal) => find_all(journal, keys).await.map_err(|error| cannot_read_journal(&error))?,
            None => Vec::new(),
        };
        let mut found = found.into_iter();
        for row in some {
            let intent = row.content.is_ok().then(|| found.next().flatten()).flatten();
            inspection.take(row, intent.as_ref());
        }
    }
    if file.csv.may_be_cut() && inspection.inspected.fates.last() == Some(&Fate::ToSend) {
        inspection.inspected.warnings.push(MAY_BE_CUT.to_owned());
    }
    inspection.finish(|| file.rows(&rules.api_keys).0.into_iter().flatten()).await
}

/// Whether there is anything to look up, or to compare with: a first run has one page to read instead of each row.
async fn has_entries(journal: &Journal) -> Result<bool, Failure> {
    let first = journal.pages(StateName::ALL).next().await.map_err(|error| cannot_read_journal(&error))?;
    Ok(first.is_some_and(|intents| !intents.is_empty()))
}

const MAY_BE_CUT: &str = "the last line of the file has no end, as if the file had been cut: compare it with its source, because a \
                          cut amount is charged as it is, and so is the whole row later, if its key is cut";

/// Says once what helps if rows have keys of other services: the file may have no other problem.
fn about_other_services(failure: Failure, of_others: &BTreeMap<String, u64>, called: &str) -> Failure {
    let Some((recorded, count)) = of_others.iter().find(|(recorded, _)| !recorded.is_empty()) else {
        return failure;
    };
    let helps = of_other_service(recorded, called);
    if failure.violation_count.map(NonZeroU64::get) != Some(*count) {
        return failure.hint(helps);
    }
    let rows = if *count == 1 {
        "1 row has a key that was".to_owned()
    } else {
        format!("{count} rows have keys that were")
    };
    failure.with_message(format!(
        "{rows} first used for {recorded}, and this run is for {called}; nothing was sent: {helps}"
    ))
}

/// The problem of a field that looks like a card number.
fn like_a_card(line: u64, field: &'static str) -> Problem {
    Problem::new(line, field, card_like_ids::refusal(field))
}

/// The rows so far.
struct Inspection<'a> {
    rules: &'a Rules,
    journal: Option<&'a Journal>,
    problems: Problems,
    hashes: RowHashes,
    /// How many rows have keys that look as if a sign left them out, and the lines of those that are new.
    left_out: u64,
    new_left_out: Vec<u64>,
    /// The keys of which several attempts may have been charged, as the journal has recorded.
    charged_twice: Vec<IntentKey>,
    /// How many rows have keys of each other service; of lost keys the service is not known.
    of_others: BTreeMap<String, u64>,
    /// How many keys were used before with another reference, and the first of them.
    other_references: (u64, String),
    /// How many rows to send have no reference.
    without_reference: u64,
    inspected: Inspected,
}

/// Whether a person may have meant to leave out the row with this key.
fn is_left_out(key: &IntentKey) -> bool {
    ["#", "//", ";"].iter().any(|sign| key.as_str().starts_with(sign))
}

const NOT_LEFT_OUT: &str = "begins with a sign as if the row were left out, and it would be charged: a sign does not leave a row out, \
                            so remove the row, or the sign";

impl Inspection<'_> {
    /// Takes the next row, of whose key the journal has this intent.
    fn take(&mut self, row: RowRead, intent: Option<&Intent>) {
        let RowRead { line, key, like_cards: LikeCards { key: mut key_like_a_card, others }, content } = row;
        if let Some(key) = &key {
            self.hashes.keys.add(key);
            self.left_out += u64::from(is_left_out(key));
        }
        if self.rules.ids_are_not_cards {
            self.inspected.like_cards +=
                (others.len() + usize::from(key_like_a_card.take().is_some())) as u64;
        } else {
            self.problems.extend(others.into_iter().map(|field| like_a_card(line, field)));
        }
        let row = match content {
            Err(problems) => {
                self.problems.extend(problems);
                return self.inspected.fates.push(Fate::ToSend);
            }
            Ok(row) => row,
        };
        let total = &mut self.inspected.summary.tallies.total;
        if let Some(more) = total.checked_with(row.payment.amount()) {
            *total = more;
        } else {
            let rule = "makes the sum of the file too large to be exact";
            self.problems.push(Problem::new(line, "Amount", rule));
        }
        let fate = if let Some(intent) = intent {
            self.check_recorded(&row, intent)
        } else {
            // A key that is in the journal was accepted before.
            self.problems.extend(key_like_a_card.map(|field| like_a_card(line, field)));
            self.new_left_out.extend(is_left_out(&row.key).then_some(line));
            Fate::ToSend
        };
        self.inspected.fates.push(fate);
        let marks = marks((&row.key, &IntentRequest::from(&row.payment)));
        if self.journal.is_some() && fate == Fate::ToSend {
            for mark in &marks {
                self.hashes.marks.add(mark);
            }
            self.hashes.charges.add(&charge_of(&IntentRequest::from(&row.payment)));
        } else if self.journal.is_some() && fate.is_made() {
            for mark in marks.iter().filter(|mark| is_of_key(mark)) {
                self.hashes.charged.add(mark);
            }
        }
        if fate == Fate::ToSend {
            self.without_reference += u64::from(row.payment.reference_no().is_none());
        }
        for (_, name) in names(marks) {
            self.hashes.names.add(&name);
        }
    }

    /// Compares the rows with earlier charges and with each other. `again` reads the file again.
    async fn finish<I: Iterator<Item = RowRead>>(
        mut self,
        again: impl Fn() -> I,
    ) -> Result<Inspected, Failure> {
        let (hashes, Inspected { fates, warnings, watched, .. }) = (&mut self.hashes, &mut self.inspected);
        let rows = || {
            let rows = again().zip(fates.iter());
            rows.filter_map(|(row, fate)| Some((row.content.ok()?, *fate)))
        };
        // These are about the past, and a refused file changes nothing about them.
        let mut charged = Vec::new();
        let mut pages = self.journal.map(|journal| RecentPages::of(journal.pages(StateName::ALL)));
        if let Some(pages) = &mut pages {
            let found = charged_before(pages, &self.rules.service, hashes, watched, rows).await;
            let (refused, repeats, twins) = found.map_err(|error| cannot_read_journal(&error))?;
            self.problems.extend(refused);
            warnings.extend(repeats.warnings("a processed charge"));
            charged.extend(twins.warning());
        }
        if let [first, ..] = &self.charged_twice[..] {
            warnings.push(format!(
                "keys of which several attempts may have been charged: {}, the first is {first}: look at them with `{}`, and undo \
                 what was charged twice",
                self.charged_twice.len(),
                self.rules.commands.about_key("show", first, ""),
            ));
        }
        let (count, first) = &self.other_references;
        if *count > 0 {
            warnings.push(format!(
                "keys that were used before with another ReferenceNo: {count}, the first is {first}; they are not charged again: if \
                 these are other payments, such as those of another month, give them keys of their own"
            ));
        }
        // Names of orders may all begin with a sign.
        if self.left_out < fates.len() as u64 {
            let lines = self.new_left_out.into_iter();
            self.problems.extend(lines.map(|line| Problem::new(line, "Key", NOT_LEFT_OUT)));
        }
        let all_keys = self.hashes.keys.clone();
        for (line, first) in
            self.hashes.keys.duplicates(|| again().filter_map(|row| Some((row.key?, row.line))))
        {
            self.problems.push(Problem::new(line, "Key", format!("is the same as in line {first}")));
        }
        let (problems, repeats, charged_twice) = compare_in_file(self.hashes.names, rows);
        self.problems.extend(problems);
        charged.extend(charged_twice.warning_of_charged());
        if fates.is_empty() && self.problems.is_empty() {
            // A billing run without rows is probably a failed export, and must not look like a success.
            self.problems.push(Problem::new(1, "file", "has no rows"));
        }
        let about_others = |failure| about_other_services(failure, &self.of_others, &self.rules.service);
        if let Err(failure) = self.problems.refuse() {
            for warning in &charged {
                stderr::warn(warning);
            }
            return Err(about_others(failure));
        }
        warnings.extend(charged);
        if self.without_reference > 0 {
            warnings.push(format!(
                "rows to send without a ReferenceNo: {}; if a response is lost, no report can tell them apart",
                self.without_reference
            ));
        }
        warnings.extend(repeats.warnings("an earlier row"));
        Ok(Inspected { keys: all_keys, newer: pages, ..self.inspected })
    }

    /// Checks a row against the journal's intent with its key: adds its problem, or counts the earlier outcome.
    fn check_recorded(&mut self, row: &BillingRow, intent: &Intent) -> Fate {
        if !intent.answers(&self.rules.service) {
            // Whatever happened there says nothing about this service, so it is not shown.
            let rule = match &intent.service {
                None => "was lost and resolved without its service: resolve it again with its base URL and merchant"
                    .to_owned(),
                Some(recorded) => format!(
                    "belongs to another service: it was first used for {recorded}, and this run is for {}: check base URL, \
                     merchant and journal, and do not pay it under another key before you have looked",
                    self.rules.service
                ),
            };
            *self.of_others.entry(intent.service.clone().unwrap_or_default()).or_default() += 1;
            let problem = Problem::new(row.line, "Key", rule).of(&row.key);
            self.problems.push(Problem { is_of_a_setting: true, ..problem });
            return Fate::ToSend;
        }
        let request = IntentRequest::from(&row.payment);
        let differences = intent.differences(&request);
        if !differences.is_empty() {
            let rule = reused(intent, &request, &differences, &self.rules.commands);
            let recorded = RecordedIntent {
                key: intent.key.to_string(),
                state: intent.state.name().as_str(),
                amount: intent.request.amount,
                transaction_id: intent.transaction_id().map(ToString::to_string),
            };
            let problem = Problem::new(row.line, "Key", rule);
            self.problems.push(Problem { recorded: Some(Box::new(recorded)), ..problem });
            return Fate::ToSend;
        }
        let summary = &mut self.inspected.summary;
        let amount = row.payment.amount();
        // If the sum does not fit, the file is refused and no tally is shown.
        let tally = match &intent.state {
            IntentState::Processed { .. } => &mut summary.tallies.earlier.processed,
            IntentState::Resolved { resolution, .. } => match &resolution.verdict {
                Verdict::Processed(_) => &mut summary.tallies.earlier.processed,
                Verdict::Rejected(_) | Verdict::NotProcessed => return Fate::ToSend,
            },
            IntentState::Rejected(failure) => {
                summary.list_rejected(row.rejected(failure));
                let is_about_it = failure.is_about_the_payment(intent.request.operation());
                let status = failure.http_status.filter(|_| !is_about_it);
                summary.tallies.add_rejected(status, amount);
                &mut summary.tallies.earlier.rejected
            }
            IntentState::Unknown(failure) => {
                let (id, kind) = (failure.transaction_id.as_ref(), failure.kind.as_str());
                summary.list_unknown(row.unresolved(id, Some(Outcome::Unknown), kind));
                &mut summary.tallies.earlier.unknown
            }
            // A row that another process is sending may have ended by the time its turn comes.
            _ => return Fate::ToSend,
        };
        *tally = tally.checked_with(amount).unwrap_or(*tally);
        if let (Some(recorded), Some(given)) = (&intent.request.reference, &request.reference)
            && !is_same_reference(Some(recorded), Some(given))
        {
            let (count, first) = &mut self.other_references;
            *count += 1;
            if *count == 1 {
                *first = format!("{} in line {}, which was {}", intent.key, row.line, for_terminal(recorded));
            }
        }
        if intent.second_charges().next().is_some() {
            self.charged_twice.push(intent.key.clone());
        }
        if intent.moved_nothing() { Fate::Rejected } else { Fate::Charged }
    }
}

/// The rule for a key that belongs to another request, whose outcome decides what to do with this row.
fn reused(
    intent: &Intent,
    request: &IntentRequest,
    differences: &[&str],
    commands: &PrintedCommands,
) -> String {
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
            let correction = how_to_reopen(intent, request).map(|options| {
                format!("if this row corrects it, run `{}` first; ", commands.retry(&options))
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
