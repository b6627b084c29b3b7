//! Checks the rows of a file of resolutions against the journal and the service, before anything is written.

use std::collections::HashMap;

use payments_core::{Client, ErrorKind, LookupError};
use payments_journal::{Intent, IntentState, Journal, Resolution, StateName, Verdict};
use payments_model::{TransactionId, TransactionRecord};
use tokio::task::JoinSet;

use super::super::resolution::{SERVICE_IS_LOST, held, is_written_as, needs_service};
use super::super::{CommandError, for_each_page};
use super::rows::{LeftAlone, ResolutionRow, shown_service};
use crate::call::hints;
use crate::failure::{Abandoned, FailedOutcome, Failure, Problem, Purpose};
use crate::format::{in_words, timestamp};
use crate::intent::state;
use crate::report::advice::of_other_service;
use crate::rows::card_like_ids::{self, is_like_a_card};
use crate::rows::spreadsheet::{Forms, is_exact_variant};
use crate::rows::{NO_API_KEY, Problems};
use crate::service::Service;
use crate::settings::{KnownKeys, PrintedCommands, Settings};

/// A row and its intent, whose outcome is unknown, or which gives way to a found transaction.
pub(super) struct CheckedRow {
    pub(super) row: ResolutionRow,
    pub(super) verdict: Verdict,
    pub(super) intent: Intent,
    pub(super) record: Option<TransactionRecord>,
}

/// The rows that resolve something, those that say nothing about unknown keys, and the keys that are already as their rows say.
pub(super) struct Checked {
    pub(super) rows: Vec<CheckedRow>,
    pub(super) left_alone: Vec<LeftAlone>,
    pub(super) already_so: Vec<Intent>,
}

/// What a row says about its key.
enum Said {
    Nothing,
    /// What the journal already has.
    AlreadySo,
    New(Verdict),
}

/// What the rows are checked against.
pub(super) struct Check<'a> {
    pub(super) journal: &'a Journal,
    pub(super) api_keys: &'a KnownKeys,
    pub(super) ids_are_not_cards: bool,
    /// Where transactions are looked up.
    pub(super) service: Option<&'a str>,
    pub(super) commands: &'a PrintedCommands,
}

impl Check<'_> {
    /// Checks that each row's key is unknown now and that the row can resolve it, or that the key is already as the row says.
    pub(super) async fn rows(
        &self,
        rows: Vec<ResolutionRow>,
        problems: &mut Problems,
    ) -> Result<Checked, Failure> {
        let mut checked = Checked { rows: Vec::new(), left_alone: Vec::new(), already_so: Vec::new() };
        for row in rows {
            if self.api_keys.is_in(row.key.as_str()) {
                problems.push(row.problem_without_key("Key", NO_API_KEY));
                continue;
            }
            let found = self.journal.find(&row.key).await.map_err(|error| Failure::of_store(&error))?;
            let mut wrong = Vec::new();
            let said = self.said(&row, found.as_ref(), &mut wrong);
            problems.extend(wrong);
            let (Some(said), Some(intent)) = (said, found) else { continue };
            match said {
                Said::Nothing => checked.left_alone.push(row.left_alone()),
                Said::AlreadySo => checked.already_so.push(intent),
                Said::New(verdict) => checked.rows.push(CheckedRow { row, verdict, intent, record: None }),
            }
        }
        Ok(checked)
    }

    /// What the row says about the key's intent, and all that is wrong with it. `None` if nothing can be said, or if the transaction
    /// need not be looked up to know that.
    fn said(&self, row: &ResolutionRow, found: Option<&Intent>, wrong: &mut Vec<Problem>) -> Option<Said> {
        // A key that is in the journal was accepted before. No other problem may show the key of this row.
        if found.is_none() && self.is_like_a_card(row.key.as_str()) {
            wrong.push(row.problem_without_key("Key", card_like_ids::refusal("Key")));
            return None;
        }
        if found.is_none() {
            wrong.push(row.problem("Key", "is not in the journal"));
        }
        if found.is_some_and(|intent| row.says_nothing(intent)) {
            return Some(Said::Nothing);
        }
        let verdict = self.verdict(row, found, wrong);
        let intent = found?;
        if let Some(rule) = self.of_another_service(row, intent) {
            wrong.push(Problem { is_of_a_setting: true, ..row.problem("Key", rule) });
            return None;
        }
        let said = match verdict? {
            verdict if row.is_recorded(intent, &verdict) => Said::AlreadySo,
            verdict => Said::New(verdict),
        };
        if let Said::New(verdict) = &said
            && let Some(rule) = self.why_not(row, intent, verdict)
        {
            wrong.push(row.problem("Key", rule));
            return None;
        }
        let mismatches = mismatches(row, intent, &said, self.commands).into_iter();
        let mismatches = mismatches.filter(|(field, _)| !row.broken.contains(field));
        wrong.extend(mismatches.map(|(field, rule)| row.problem(field, rule)));
        Some(said)
    }

    /// The verdict of the row, if its id can be shown and looked up.
    fn verdict(
        &self,
        row: &ResolutionRow,
        found: Option<&Intent>,
        wrong: &mut Vec<Problem>,
    ) -> Option<Verdict> {
        let mut refuse = |field, rule: String| wrong.push(row.problem(field, rule));
        if let Some(rule) = row.id().and_then(|id| self.secret_rule(id, found)) {
            refuse("TransactionId", rule);
            return None;
        }
        if let Some((column, has)) = row.against.as_ref().filter(|_| !row.broken.contains(&"row")) {
            let rule = format!(
                "has {has} in the column {column}, and an id without a verdict is a payment that was made: write the \
                 verdict into a column Verdict"
            );
            refuse("row", rule);
        }
        let verdict = row.verdict.as_ref()?.about(found);
        let verdict = verdict.map_err(|error| {
            let rule = error.violations().first().map_or("is invalid", |it| it.rule());
            refuse("TransactionId", rule.to_owned());
        });
        let verdict = verdict.ok()?;
        if let Some(id) = to_look_up(&verdict, found)
            && id.path_segment().is_err()
        {
            let rule = match verdict {
                Verdict::Processed(_) => {
                    "cannot be looked up: remove this row from the file, and resolve the key alone with `payments journal \
                     resolve KEY --processed ID --unverified`"
                        .to_owned()
                }
                _ => format!("cannot be looked up{MAY_BE_EMPTY}"),
            };
            refuse("TransactionId", rule);
            return None;
        }
        Some(verdict)
    }

    fn of_another_service(&self, row: &ResolutionRow, intent: &Intent) -> Option<String> {
        let called = self.service.filter(|called| row.id().is_some() && !intent.is_of(called))?;
        let recorded = intent.service.as_deref().unwrap_or_default();
        Some(format!(
            "belongs to another service: it was first used for {recorded}, and a lookup at {called} proves nothing about it: \
             check the base URL, the merchant and the API key; {}",
            of_other_service(recorded, called)
        ))
    }

    /// Why the row cannot resolve this intent.
    fn why_not(&self, row: &ResolutionRow, intent: &Intent, verdict: &Verdict) -> Option<String> {
        if self.service.is_none() && needs_service(intent, verdict) {
            return Some(format!("cannot be resolved from a file: {SERVICE_IS_LOST}"));
        }
        if row.is_late_finding(intent) || intent.state.name() == StateName::Unknown {
            return None;
        }
        if intent.state == IntentState::Sending {
            return Some("is being sent now: wait until it has ended".to_owned());
        }
        let Some(decided) = intent.decision_about(intent.attempts) else {
            return Some(format!("is not unknown but {}: remove this row from the file", state(intent)));
        };
        let (by, was) = (&decided.by, in_words(decided.verdict.as_str()));
        Some(format!(
            "was already resolved differently, by {by}: as {was}; remove this row from the file, and correct the key alone with \
             `payments journal resolve KEY`"
        ))
    }

    /// Why this id is not looked up: a lookup would send it, in a path that servers log.
    fn secret_rule(&self, id: &str, found: Option<&Intent>) -> Option<String> {
        let is_known =
            || found.and_then(Intent::transaction_id).is_some_and(|known| is_written_as(known, id));
        if self.api_keys.is_in(id) {
            return Some(NO_API_KEY.to_owned());
        }
        (self.is_like_a_card(id) && !is_known()).then(|| card_like_ids::refusal("TransactionId"))
    }

    fn is_like_a_card(&self, id: &str) -> bool {
        !self.ids_are_not_cards && is_like_a_card(id)
    }

    /// Reports rows that may be about another unresolved key: a spreadsheet makes `17` of `0017`.
    pub(super) async fn spellings(
        &self,
        rows: &[CheckedRow],
        problems: &mut Problems,
    ) -> Result<(), CommandError> {
        let mut alike: HashMap<String, Vec<&ResolutionRow>> = HashMap::new();
        for CheckedRow { row, .. } in rows {
            for form in Forms::of(row.key.as_str()).exact {
                alike.entry(form).or_default().push(row);
            }
        }
        if alike.is_empty() {
            return Ok(());
        }
        let found = for_each_page(self.journal, StateName::UNRESOLVED, |intents| {
            for other in intents {
                let forms = Forms::of(other.key.as_str()).exact;
                let rows = forms.iter().filter_map(|form| alike.get(form)).flatten();
                let is_alike = |row: &ResolutionRow| {
                    row.key != other.key && is_exact_variant(row.key.as_str(), other.key.as_str())
                };
                for row in rows.filter(|row| is_alike(row) && row.may_be_of(other)) {
                    let alone = self.commands.about_key("resolve", &row.key, "");
                    let rule = format!(
                        "may stand for {}, which is unresolved too, and a spreadsheet writes both alike: fill in an export, which \
                         shows the time of each, or resolve the key alone with `{alone}`",
                        other.key
                    );
                    problems.push(row.problem("Key", rule));
                }
            }
            Ok(())
        });
        found.await.map_err(CommandError::before_output)
    }

    /// Reports transactions that are in the file twice, or that belong to another key. As in the journal, payments are compared
    /// with payments and voids with voids, of one base URL.
    pub(super) async fn transactions(
        &self,
        rows: &[CheckedRow],
        problems: &mut Problems,
    ) -> Result<(), CommandError> {
        let mut named: HashMap<(bool, &TransactionId), Vec<(&str, &ResolutionRow)>> = HashMap::new();
        // A key whose entry was lost may be of any service, and becomes one of the service that is asked.
        let may_be_one = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|name| Service::of(name).base_url);
            one.is_empty() || other.is_empty() || one == other
        };
        for CheckedRow { row, verdict, intent, .. } in rows {
            let Some(id) = verdict.transaction_id() else { continue };
            let service = intent.service.as_deref().or(self.service).unwrap_or_default();
            let named = named.entry((intent.is_void(), id)).or_default();
            if let Some((_, first)) = named.iter().find(|(first, _)| may_be_one(first, service)) {
                let rule = format!("is the same as in {}", first.place);
                problems.push(row.problem("TransactionId", rule));
            }
            named.push((service, row));
        }
        if named.is_empty() {
            return Ok(());
        }
        let found = for_each_page(self.journal, StateName::ALL, |intents| {
            for other in intents {
                let rows = other.held_transactions().filter_map(|id| named.get(&(other.is_void(), id)));
                if let Some((_, row)) = rows
                    .flatten()
                    .find(|(service, _)| may_be_one(service, other.service.as_deref().unwrap_or_default()))
                {
                    let rule = format!("already belongs to {}", other.key);
                    problems.push(row.problem("TransactionId", rule));
                }
            }
            Ok(())
        });
        found.await.map_err(CommandError::before_output)
    }
}

/// The transaction to look up. Of a declined payment, an id that the journal already has for the key is the key's own.
fn to_look_up<'a>(verdict: &'a Verdict, intent: Option<&Intent>) -> Option<&'a TransactionId> {
    match verdict {
        Verdict::Processed(id) => Some(id),
        Verdict::Rejected(id) => {
            id.as_ref().filter(|id| intent.is_none_or(|intent| held(intent, id.as_str()).is_none()))
        }
        Verdict::NotProcessed => None,
    }
}

/// Ends the rule that the id of a rejected payment breaks.
const MAY_BE_EMPTY: &str = "; the id of a rejected payment may be left empty";

/// What the person who wrote the row did not see, because the key has changed since, or mixed up. A key that is already as the row
/// says has changed by that.
fn mismatches(
    row: &ResolutionRow,
    intent: &Intent,
    said: &Said,
    commands: &PrintedCommands,
) -> Vec<(&'static str, String)> {
    let is_already_so = matches!(said, Said::AlreadySo);
    let Intent { key, attempts, revision, .. } = intent;
    let mut found = Vec::new();
    let mut add = |field, rule| found.push((field, rule));
    if intent.is_void() && row.note.is_none() && !is_already_so {
        let rule = "is required for a void: the record of its transaction does not show that it was voided";
        add("Note", rule.to_owned());
    }
    let must_be_newest = !is_already_so && !row.is_late_finding(intent);
    match row.attempt {
        Some(number) if must_be_newest && number != *attempts => add(
            "Attempt",
            format!(
                "is {number}, and the newest is {attempts}: if the row is about attempt {number}, resolve it alone with `{}`",
                commands.about_key("resolve", key, &format!(" --attempt {number}"))
            ),
        ),
        None if must_be_newest && *attempts > 1 => add(
            "Attempt",
            format!(
                "is required, because the key has {attempts} attempts: see `{}`",
                commands.about_key("show", key, "")
            ),
        ),
        _ => {}
    }
    if row.revision.is_none()
        && matches!(said, Said::New(verdict) if verdict.processed_as().is_none())
        && let Some(Resolution { by, .. }) = intent.overtaken_decision()
    {
        let rule = format!(
            "is required, because the key became unknown after {by} had resolved it: find out about the time whose entries the \
             journal has lost, and export it again"
        );
        add("Revision", rule);
    }
    if must_be_newest && row.revision.is_some_and(|seen| seen != *revision) {
        let rule =
            format!("is not {revision}: the key has changed since this file was exported, export it again");
        add("Revision", rule);
    }
    if !row.is_of_service(intent) {
        let service = shown_service(intent);
        let rule = format!("is not that of the key, which is {service}: {ANOTHER_JOURNAL}");
        add("Service", rule);
    }
    if !row.is_of_time(intent) {
        let at = timestamp(intent.begun_at);
        let restore =
            "if a spreadsheet has changed only the form of the time, write it as it was, or empty the cell";
        let rule = format!("is not that of the key, which was sent at {at}: {ANOTHER_JOURNAL}; {restore}");
        add("BegunAt", rule);
    }
    if !row.is_of_amount(intent) {
        let rule = "is not the amount of the key's payment: compare the row with `payments journal show KEY`";
        add("amount", rule.to_owned());
    }
    found
}

const ANOTHER_JOURNAL: &str = "the row is of another journal, or was changed since it was exported";

/// Chosen by this command: fast enough for a person, and little load for the service.
const LOOKED_UP_AT_ONCE: usize = 4;

/// Looks up every transaction, and returns whether one is missing. A lookup that fails for any other reason ends the command.
pub(super) async fn look_up(
    client: &Client,
    settings: &Settings,
    rows: &mut [CheckedRow],
    problems: &mut Problems,
) -> Result<bool, Failure> {
    let mut is_one_missing = false;
    let named = rows.iter().enumerate().filter_map(|(index, CheckedRow { verdict, intent, .. })| {
        Some((index, to_look_up(verdict, Some(intent))?.clone()))
    });
    let mut waiting = named.collect::<Vec<_>>().into_iter();
    let mut lookups = JoinSet::new();
    loop {
        for (index, id) in waiting.by_ref().take(LOOKED_UP_AT_ONCE - lookups.len()) {
            let client = client.clone();
            lookups.spawn(async move { (index, client.transaction(&id).await, id) });
        }
        let Some(ended) = lookups.join_next().await else { return Ok(is_one_missing) };
        let (index, found, id) = ended.map_err(|_| Abandoned::Panic.harmless("; nothing was changed"))?;
        let CheckedRow { row, intent, record, verdict } = &mut rows[index];
        let rule = match found {
            // Another server's 404 says nothing about the transaction.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                is_one_missing = true;
                "is not known to the service (HTTP 404)".to_owned()
            }
            Err(error) => return Err(lookup_failure(row, &error, settings)),
            Ok(found) if found.transaction_id != id => {
                "returns the record of another transaction: check it with `payments transaction get`"
                    .to_owned()
            }
            Ok(found) => {
                let request = row.attempt.and_then(|number| intent.request_of(number));
                let contradictions = request.unwrap_or(&intent.request).contradictions(&found);
                *record = Some(found.into_data());
                if contradictions.is_empty() {
                    continue;
                }
                format!("cannot belong to this intent: {}", contradictions.join("; "))
            }
        };
        let rule = if matches!(verdict, Verdict::Rejected(_)) { rule + MAY_BE_EMPTY } else { rule };
        problems.push(row.problem("TransactionId", rule));
    }
}

/// Whatever the response, the file is not the cause, and running it again is safe.
fn lookup_failure(row: &ResolutionRow, error: &LookupError, settings: &Settings) -> Failure {
    let ResolutionRow { place, key, .. } = row;
    let failure = hints::failure(error, settings).for_purpose(Purpose::FindTransaction);
    let message =
        format!("{place}, {key}: the transaction could not be looked up: {error}; nothing was changed");
    Failure { outcome: FailedOutcome::NotProcessed, ..failure.with_message(message) }
}
