//! `payments journal resolve`.

use std::env;
use std::time::{Duration, SystemTime};

use payments_core::ErrorKind;
use payments_journal::{
    HistoryEvent, Intent, IntentKey, IntentState, Journal, JournaledClient, Resolution, ResolveError,
    Subject, Verdict,
};
use payments_model::{TransactionId, TransactionRecord, ValidationError};
use serde::{Serialize, Serializer};

use super::CommandError;
use super::{resolve_file, show};
use crate::args::ClientOptions;
use crate::args::journal::{ResolutionOptions, ResolveArguments};
use crate::call::{self, Prepared};
use crate::failure::{FailedOutcome, Failure, Purpose};
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;
use crate::report::Processed;
use crate::report::intent_object::IntentObject;
pub(super) use crate::report::intent_object::second_charge;
use crate::report::text;
use crate::settings::{KnownKeys, Settings};
use crate::style::{Style, for_terminal};

/// Records what a person found out. A transaction is looked up first.
pub(super) async fn run(
    options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    asked: ResolveArguments,
) -> Result<(), CommandError> {
    let ResolveArguments { key, resolution, attempt, replace, unverified, note, ids_are_not_cards, by } =
        asked;
    let ResolutionOptions { processed, rejected, not_processed: _, from } = resolution;
    if options.dry_run && from.is_none() {
        let message = "without --from this command takes no --dry-run; nothing was changed: to see the intent, run payments journal show";
        return Err(Failure::invalid("usage", message).into());
    }
    let by = person(by)?;
    if let Some(path) = from {
        return resolve_file::run(options, place, output, &path, ids_are_not_cards, &by).await;
    }
    if unverified && processed.is_none() {
        let message = "--unverified is for --processed; nothing was changed: leave it out";
        return Err(Failure::invalid("usage", message).into());
    }
    let key = key.expect("a key is required without a file");
    let note = note.filter(|text| !text.trim().is_empty());
    if processed.is_none() && note.is_none() {
        let what = if rejected.is_some() { "rejected" } else { "not processed" };
        let message = format!("--note is empty; nothing was changed: say how you know that it was {what}");
        return Err(Failure::invalid("usage", message).into());
    }
    let is_looked_up = processed.is_some() && !unverified;
    let verdict = match (processed, rejected) {
        (Some(id), _) => TypedVerdict::Processed(id),
        (None, Some(id)) => TypedVerdict::Rejected(id),
        (None, None) => TypedVerdict::NotProcessed,
    };
    let said = Said { verdict, attempt, replace, is_unverified: unverified, note, by };
    let resolved = if is_looked_up {
        look_up_and_resolve(options, place, output, &key, said).await?
    } else {
        let keys = Settings::known_keys(&options);
        let said = said.without(&keys)?;
        let (journal, read) = read(place, &key).await.map_err(|error| error.without(&keys))?;
        let resolution = said.about(&read)?;
        let resolved = if needs_service(&read, &resolution.verdict) {
            let settings = Settings::resolve(&options).map_err(|error| {
                let message = format!("{SERVICE_IS_LOST}: {}", error.message);
                keys.hidden_in(Failure { message, ..error })
            })?;
            journal.resolve_of_service(&read, resolution, settings.service()).await
        } else {
            // The other settings are not needed, and any of them may be missing.
            journal.resolve(&read, resolution).await
        };
        ResolvedIntent { intent: resolved.map_err(|error| keys.hidden_in(failure(&error)))?, record: None }
    };
    let intent = &resolved.intent;
    if let IntentState::Resolved { resolution, .. } = &intent.state
        && may_be_sent_too_early(intent, &resolution.verdict)
    {
        output.warn(&[format!("it {TOO_EARLY} before the key is sent again")]);
    }
    let written = resolved.write(output);
    match second_charge(intent) {
        Some(warning) => {
            output.warn(&[warning]);
            Err(CommandError::SecondCharge)
        }
        None => written,
    }
}

/// A verdict of which the id is still the text that a person wrote.
pub(super) enum TypedVerdict {
    Processed(String),
    Rejected(Option<String>),
    NotProcessed,
}

impl TypedVerdict {
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Processed(id) | Self::Rejected(Some(id)) => Some(id),
            Self::Rejected(None) | Self::NotProcessed => None,
        }
    }

    /// The verdict about this intent. An id that the intent holds is accepted as the service returned it.
    pub(super) fn about(&self, intent: Option<&Intent>) -> Result<Verdict, ValidationError> {
        let held = |text: &str| {
            let intent = intent?;
            let voided = match &intent.request.subject {
                Subject::Transaction(id) => Some(id),
                _ => None,
            };
            let said = intent.resolutions().filter_map(|said| said.resolution.verdict.transaction_id());
            let mut ids = intent.transaction_id().into_iter().chain(voided).chain(said);
            ids.find(|id| is_written_as(id, text)).cloned()
        };
        let id = self.id().map(|text| held(text).map_or_else(|| TransactionId::new(text), Ok)).transpose()?;
        Ok(match (self, id) {
            (Self::Processed(_), Some(id)) => Verdict::Processed(id),
            (Self::Rejected(_), id) => Verdict::Rejected(id),
            _ => Verdict::NotProcessed,
        })
    }
}

/// Whether a text is this id, as the service returned it or as this command shows it.
pub(super) fn is_written_as(id: &TransactionId, text: &str) -> bool {
    id.as_str() == text || for_terminal(id.as_str()) == text
}

/// What a person said on the command line.
struct Said {
    verdict: TypedVerdict,
    attempt: Option<u32>,
    replace: Option<String>,
    is_unverified: bool,
    note: Option<String>,
    by: String,
}

impl Said {
    /// With texts in which these API keys are masked. An id cannot be masked.
    fn without(self, keys: &KnownKeys) -> Result<Self, Failure> {
        if self.verdict.id().is_some_and(|id| keys.is_in(id)) {
            return Err(Failure::invalid("usage", "the id holds the API key; nothing was changed"));
        }
        let by = keys.mask(&self.by);
        let note = self.note.map(|note| keys.mask(&note));
        Ok(Self { note, by, ..self })
    }

    /// The resolution of this intent, if the command line shows that the person has seen what the journal knows.
    fn about(self, intent: &Intent) -> Result<Resolution, Failure> {
        let Intent { key, attempts, .. } = intent;
        let verdict = self.verdict.about(Some(intent))?;
        let number = self.attempt.unwrap_or(*attempts);
        let refused = |kind: &str, why: String, what_to_do: String| {
            Err(Failure::invalid(kind, format!("{why}; nothing was changed: {what_to_do}")))
        };
        // Nothing can be said about the newest attempt of these, so they are refused for that.
        let is_final = matches!(intent.state, IntentState::Sending | IntentState::Processed { .. });
        if self.attempt.is_none() && *attempts > 1 && !is_final {
            return refused(
                "attempt_required",
                format!("{key} has {attempts} attempts"),
                format!("say which one you mean with --attempt, as `payments journal show {key}` prints it"),
            );
        }
        let decided = intent.decision_about(number);
        let known = match (decided.map(|decided| &decided.verdict), &intent.state) {
            (Some(verdict), _) => Some(label(verdict)),
            (None, _) if number != *attempts => None,
            (None, IntentState::Rejected(_)) => Some("rejected"),
            (None, IntentState::NotProcessed(_)) => Some("not-processed"),
            (None, IntentState::Processed { transaction_id }) => Some(transaction_id.as_str()),
            (None, _) => None,
        };
        // An earlier attempt was resolved before the next one began, and gives way to a found id. Who says the same again
        // replaces nothing.
        let is_replaced = |decided: &Resolution| {
            decided.verdict != verdict
                && (number == *attempts || matches!(decided.verdict, Verdict::Processed(_)))
        };
        match (&self.replace, known, decided) {
            (None, Some(known), Some(decided)) if is_replaced(decided) => {
                let note = decided.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
                return refused(
                    "already_resolved",
                    format!(
                        "attempt {number} of {key} was already resolved as {known} by {}{note}",
                        decided.by
                    ),
                    format!("if you know better, give --replace {known}"),
                );
            }
            (Some(named), Some(known), decided) if named != known && *named != for_terminal(known) => {
                let by = decided.map(|decided| format!(", by {}", decided.by)).unwrap_or_default();
                return refused(
                    "changed_meanwhile",
                    format!("attempt {number} of {key} is {known}{by}, and --replace names {named}"),
                    format!("look at it with `payments journal show {key}`"),
                );
            }
            (Some(_), None, _) => {
                return refused(
                    "changed_meanwhile",
                    format!("attempt {number} of {key} is not resolved, so there is nothing to replace"),
                    format!("look at it with `payments journal show {key}`"),
                );
            }
            _ => {}
        }
        let Self { is_unverified, note, by, .. } = self;
        let resolution = resolution(verdict, by, note);
        let resolution = if is_unverified { resolution.unverified() } else { resolution };
        Ok(if number == *attempts { resolution } else { resolution.of_attempt(number) })
    }
}

/// What a person found out, without the attempt that it is about.
pub(super) fn resolution(verdict: Verdict, by: impl Into<String>, note: Option<String>) -> Resolution {
    let resolution = match verdict {
        Verdict::Processed(id) => Resolution::processed(id, by),
        Verdict::Rejected(id) => Resolution::rejected(id, by),
        Verdict::NotProcessed => Resolution::not_processed(by),
    };
    note.into_iter().fold(resolution, Resolution::note)
}

/// How `--replace` names a verdict.
fn label(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Processed(id) => id.as_str(),
        Verdict::Rejected(_) => "rejected",
        Verdict::NotProcessed => "not-processed",
    }
}

async fn read(place: &JournalPlace, key: &IntentKey) -> Result<(Journal, Intent), CommandError> {
    let journal = place.open_existing().await?;
    let read = journal.find(key).await?.ok_or_else(|| show::no_such_key(key))?;
    Ok((journal, read))
}

/// Whether nobody would get an answer from the resolved intent, because the journal has lost which service it belongs to.
pub(super) fn needs_service(intent: &Intent, verdict: &Verdict) -> bool {
    intent.service.is_empty() && *verdict != Verdict::NotProcessed
}

pub(super) const SERVICE_IS_LOST: &str =
    "the entry of this key was lost, so the journal does not know its service: name it, as for a call";

/// What was done, for the message that the result could not be written to stdout.
pub(super) const RESOLVED: &str = "resolved";

/// Whether a person allows it to be sent again, and its request may still be on its way. How long that can take is not
/// published. Every report of the service covers a day.
pub(super) fn may_be_sent_too_early(intent: &Intent, verdict: &Verdict) -> bool {
    const SOON: Duration = Duration::from_hours(24);

    // A key of a lost time began at its earliest then, and at the latest when a person named it.
    let history = intent.history();
    let sent_at = history.iter().filter_map(|event| match event {
        HistoryEvent::Lost { at, .. } => Some(*at),
        _ => None,
    });
    let sent_at = sent_at.fold(intent.begun_at, SystemTime::max);
    // A time in the future is one of another clock.
    let is_long_ago = sent_at.elapsed().is_ok_and(|elapsed| elapsed >= SOON);
    *verdict == Verdict::NotProcessed && !is_long_ago
}

/// The warning about such an intent.
pub(super) const TOO_EARLY: &str =
    "was sent less than 24 hours ago, and a request that is delayed on its way may still be processed: wait";

/// Looks up the transaction and records that the key was processed as it.
async fn look_up_and_resolve(
    options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    key: &IntentKey,
    said: Said,
) -> Result<ResolvedIntent, CommandError> {
    let prepared = Prepared::new(options, output, || Ok(())).await?;
    let Prepared { settings, client, call: (), mut interrupt } = prepared;
    let said = said.without(settings.keys())?;
    let resolving = async {
        let (journal, read) = read(place, key).await.map_err(|error| error.without(settings.keys()))?;
        let resolution = said.about(&read)?;
        let client = JournaledClient::new(client.build(), journal);
        let resolved = client.look_up_and_resolve(&read, resolution).await;
        let (intent, record) =
            resolved.map_err(|error| settings.keys().hidden_in(failure_with_hints(&error, &settings)))?;
        Ok(ResolvedIntent { intent, record: Some(record) })
    };
    tokio::select! {
        biased;
        resolved = resolving => resolved,
        signal = interrupt.arrived() => Err(Failure::interrupted(signal, "; it is safe to run it again").into()),
    }
}

/// A resolved intent, and the record of the transaction that it was resolved as. Only a person can compare them, so both are
/// shown.
pub(super) struct ResolvedIntent {
    pub(super) intent: Intent,
    pub(super) record: Option<TransactionRecord>,
}

impl ResolvedIntent {
    fn write(&self, output: Output) -> Result<(), CommandError> {
        super::write(RESOLVED, output, self, |style| self.text(style))
    }

    fn text(&self, style: Style) -> String {
        let Self { intent, record } = self;
        let Some(record) = record else { return show::lines(intent, style) };
        let advice = format!(
            "compare them, and its time and reference in the service's records: if this is not the payment of {}, resolve the key again \
             with --replace\n",
            intent.key
        );
        let record = text::processed(&Processed::found_record(record), style);
        format!("{}\n{record}\n{advice}", show::lines(intent, style))
    }
}

/// The members of the intent, and `record` as `transaction get` shows it.
impl Serialize for ResolvedIntent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            intent: IntentObject<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            record: Option<&'a TransactionRecord>,
        }

        let Self { intent, record } = self;
        Document { intent: IntentObject(intent), record: record.as_ref() }.serialize(serializer)
    }
}

const UNVERIFIED: &str =
    "if the service cannot look this id up although you are certain of it, record it with --unverified";

fn failure_with_hints(error: &ResolveError, settings: &Settings) -> Failure {
    match error.look_up_error() {
        Some(look_up) => {
            let failure = call::failure_of(look_up, settings).for_purpose(Purpose::FindTransaction);
            let failure = Failure { message: error.to_string(), ..failure };
            if failure.outcome == FailedOutcome::Rejected || look_up.kind() == ErrorKind::Invalid {
                failure.hint(UNVERIFIED)
            } else {
                failure
            }
        }
        None => failure(error),
    }
}

fn failure(error: &ResolveError) -> Failure {
    if let Some(error) = error.store_error() {
        return store_failure(error);
    }
    let message = error.to_string();
    if error.is_changed() {
        return Failure::not_processed("changed_meanwhile", message);
    }
    let kind = if error.is_no_such_intent() {
        "no_such_key"
    } else if error.is_other_service() {
        "other_service"
    } else if error.is_contradicted() {
        "contradicted"
    } else if error.is_not_unknown() {
        "not_unknown"
    } else {
        "not_accepted"
    };
    Failure::invalid(kind, message)
}

/// The person who does it: the named one, or the login name from the environment.
pub(super) fn person(by: Option<String>) -> Result<String, Failure> {
    let login_name = || {
        ["USER", "LOGNAME", "USERNAME"]
            .iter()
            .find_map(|name| env::var(name).ok().filter(|name| !name.is_empty()))
    };
    by.or_else(login_name).filter(|name| !name.trim().is_empty()).ok_or_else(|| {
        Failure::invalid("usage", "the login name is not known; nothing was changed: give --by NAME")
    })
}

#[cfg(test)]
mod tests {
    use payments_journal::OwnerId;
    use payments_journal::internals::Change;

    use super::*;

    #[test]
    fn key_of_a_lost_time_may_have_been_sent_until_it_was_named() {
        let (now, day) = (SystemTime::now(), Duration::from_hours(24));
        for (named_at, is_too_early) in [(now, true), (now + day, true), (now - 2 * day, false)] {
            let key = IntentKey::new("invoice-17").expect("a key");
            let lost = Change::lost(key, now - 9 * day, OwnerId::new(), "ada", named_at);
            let intent = lost.decide(None).expect("it is new");
            assert_eq!(may_be_sent_too_early(&intent, &Verdict::NotProcessed), is_too_early, "{named_at:?}");
            assert!(!may_be_sent_too_early(&intent, &Verdict::Rejected(None)));
        }
    }
}
