//! `payments journal resolve`.

use std::cell::Cell;

use payments_core::ErrorKind;
use payments_journal::{
    Intent, IntentKey, IntentState, Journal, JournaledClient, Resolution, ResolveError, Verdict,
};
use payments_model::unversioned::is_blank;
use payments_model::{TransactionRecord, mask};

use super::resolution::{
    NOT_FOUND_BY_ANOTHER_KEY, RESOLVED, ResolvedIntent, SERVICE_IS_LOST, TOO_EARLY, TypedVerdict,
    is_written_as, may_be_sent_too_early, needs_service, person, resolution,
};
use super::{CommandError, code_of, resolve_file, show};
use crate::args::ClientOptions;
use crate::args::journal::{ResolutionOptions, ResolveArguments};
use crate::call::{Prepared, hints};
use crate::failure::{Abandoned, Done, FailedOutcome, Failure, Purpose};
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::cannot_start;
use crate::report::ExitCode;
use crate::report::advice::second_charge;
use crate::rows::card_like_ids::{self, NOT_CARDS, is_like_a_card};
use crate::settings::{JournalPlace, KnownKeys, OpenFor, PrintedCommands, ReadKeys, Settings, shell_word};
use crate::stderr;
use crate::style::for_terminal;

/// Records what a person found out. A transaction is looked up first.
pub(super) async fn run(
    options: ClientOptions,
    place: &JournalPlace,
    output: &Output,
    asked: ResolveArguments,
) -> Result<ExitCode, CommandError> {
    let ResolveArguments { key, resolution, attempt, replace, unverified, note, ids_are_not_cards, by } =
        asked;
    let ResolutionOptions { processed, rejected, not_processed: _, from } = resolution;
    if options.dry_run && from.is_empty() {
        let message = "without --from this command takes no --dry-run; nothing was changed: to see the intent, run payments journal show";
        return Err(Failure::usage(message).into());
    }
    let by = person(by);
    if !from.is_empty() {
        return resolve_file::run(options, place, output, &from, ids_are_not_cards, &by?).await;
    }
    let key = key.expect("a key is required without a file");
    let note = note.filter(|text| !is_blank(text));
    if processed.is_none() && note.is_none() {
        let what = if rejected.is_some() { "rejected" } else { "not processed" };
        let by = if by.is_err() { ", and give --by NAME: the login name is not known" } else { "" };
        let message = format!(
            "--note is missing or empty; nothing was changed: say how you know that it was {what}{by}"
        );
        return Err(Failure::usage(message).into());
    }
    let by = by?;
    let is_looked_up = processed.is_some() && !unverified;
    let verdict = match (processed, rejected) {
        (Some(id), _) => TypedVerdict::Processed(id),
        (None, Some(id)) => TypedVerdict::Rejected(id),
        (None, None) => TypedVerdict::NotProcessed,
    };
    let commands = output.commands.clone();
    let said =
        Said { verdict, attempt, replace, is_unverified: unverified, note, by, ids_are_not_cards, commands };
    let (intent, record) = if is_looked_up {
        look_up_and_resolve(options, place, &key, said).await?
    } else {
        let read = ReadKeys::of(&options);
        // Whatever else is missing or wrong: a person's text may contain one.
        let keys = read.known.clone();
        let resolved = resolve_as_said(&options, place, &key, said, read).await;
        (resolved.map_err(|error| error.without(&keys))?, None)
    };
    if let IntentState::Resolved { resolution, .. } = &intent.state
        && may_be_sent_too_early(&intent, &resolution.verdict)
    {
        stderr::warn(&format!("it {TOO_EARLY} before the key is sent again"));
    }
    let resolved = ResolvedIntent::new(&intent, record.as_ref());
    let written = super::write(RESOLVED, output, &resolved, |style| resolved.text(style, &output.commands));
    let warning = second_charge(&intent);
    if let Some(warning) = &warning {
        stderr::warn(warning);
    }
    Ok(code_of(&written, ExitCode::of_success(warning.is_some())))
}

/// What a person said on the command line.
struct Said {
    verdict: TypedVerdict,
    attempt: Option<u32>,
    replace: Option<String>,
    is_unverified: bool,
    note: Option<String>,
    by: String,
    ids_are_not_cards: bool,
    commands: PrintedCommands,
}

impl Said {
    /// With texts in which these API keys are masked. An id cannot be masked.
    fn without(self, keys: &KnownKeys) -> Result<Self, Failure> {
        if self.verdict.id().is_some_and(|id| keys.is_in(id)) {
            return Err(Failure::usage("the id holds the API key; nothing was changed"));
        }
        let by = keys.mask(&self.by);
        let note = self.note.map(|note| keys.mask(&note));
        Ok(Self { note, by, ..self })
    }

    /// The resolution of this intent, if the command line shows that the person has seen what the journal knows.
    fn about(self, intent: &Intent) -> Result<Resolution, Failure> {
        let Intent { key, attempts, .. } = intent;
        let is_known = |id| intent.transaction_id().is_some_and(|known| is_written_as(known, id));
        if self.verdict.id().is_some_and(|id| is_like_a_card(id) && !self.ids_are_not_cards && !is_known(id))
        {
            let rule = card_like_ids::rule("TransactionId");
            return Err(Failure::usage(format!("the id {rule}; nothing was changed; {NOT_CARDS}")));
        }
        let verdict = self.verdict.about(Some(intent))?;
        let number = self.attempt.unwrap_or(*attempts);
        let refused = |kind: &str, why: String, what_to_do: String| {
            Err(Failure::invalid(kind, format!("{why}; nothing was changed: {what_to_do}")))
        };
        // Nothing can be said about the newest attempt of these, so they are refused for that. But another id that was found may be
        // that of an earlier attempt: a second charge.
        let is_another = verdict.processed_as().is_some_and(|id| intent.processed_as() != Some(id));
        let is_final = match intent.state {
            IntentState::Sending => true,
            IntentState::Processed { .. } => !is_another,
            _ => false,
        };
        if self.attempt.is_none() && *attempts > 1 && !is_final {
            return refused(
                "attempt_required",
                format!("{key} has {attempts} attempts"),
                format!(
                    "say which one you mean with --attempt, as `{}` prints it",
                    self.commands.about_key("show", key, "")
                ),
            );
        }
        // A command that is run again must not be enough.
        let overtaken = intent.overtaken_decision().filter(|_| number == *attempts);
        if let (Some(Resolution { verdict: was, by, .. }), None, None) =
            (overtaken, &self.replace, verdict.processed_as())
        {
            return refused(
                "already_resolved",
                format!(
                    "{by} resolved {key} as {}, and then it became unknown: it may have been sent in a time whose entries the \
                     journal has lost",
                    label(was)
                ),
                "find out about that time too, then give --replace unknown".to_owned(),
            );
        }
        let decided = intent.decision_about(number);
        let known = decided.map(|decided| label(&decided.verdict)).or_else(|| match &intent.state {
            _ if number != *attempts => None,
            IntentState::Rejected(_) => Some("rejected".to_owned()),
            IntentState::NotProcessed(_) => Some("not-processed".to_owned()),
            IntentState::Processed { transaction_id } => Some(transaction_id.to_string()),
            _ => overtaken.map(|_| "unknown".to_owned()),
        });
        let look_at_it = || format!("look at it with `{}`", self.commands.about_key("show", key, ""));
        // An earlier attempt was resolved before the next one began, and gives way to a found id. Who says the same again
        // replaces nothing.
        let is_replaced = |decided: &Resolution| {
            decided.verdict != verdict
                && (number == *attempts || matches!(decided.verdict, Verdict::Processed(_)))
        };
        match (&self.replace, &known, decided) {
            (None, Some(known), Some(decided)) if is_replaced(decided) => {
                let note = decided.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
                let by = &decided.by;
                return refused(
                    "already_resolved",
                    format!("attempt {number} of {key} was already resolved as {known} by {by}{note}"),
                    format!("if you know better, give --replace {}", shell_word(known)),
                );
            }
            (Some(named), Some(known), decided) if named != known && *named != for_terminal(known) => {
                let by = decided.map(|decided| format!(", by {}", decided.by)).unwrap_or_default();
                return refused(
                    "changed_meanwhile",
                    format!(
                        "attempt {number} of {key} is {known}{by}, and --replace names {}",
                        mask(named, &[])
                    ),
                    look_at_it(),
                );
            }
            (Some(_), None, _) => {
                return refused(
                    "changed_meanwhile",
                    format!("attempt {number} of {key} is not resolved, so there is nothing to replace"),
                    look_at_it(),
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

/// How `--replace` names a verdict.
fn label(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Processed(id) => id.to_string(),
        other => other.as_str().replace('_', "-"),
    }
}

async fn read(place: &JournalPlace, key: &IntentKey) -> Result<(Journal, Intent), CommandError> {
    let journal = place.open(OpenFor::Changing).await?;
    let read = journal.find(key).await?.ok_or_else(|| show::no_such_key(key))?;
    Ok((journal, read))
}

/// Records what the person said, without a lookup.
async fn resolve_as_said(
    options: &ClientOptions,
    place: &JournalPlace,
    key: &IntentKey,
    said: Said,
    keys: ReadKeys,
) -> Result<Intent, CommandError> {
    let said = said.without(&keys.known)?;
    let (journal, read) = read(place, key).await?;
    let resolution = said.about(&read)?;
    let resolved = if needs_service(&read, &resolution.verdict) {
        let settings = Settings::with_keys(options, keys)
            .map_err(|error| error.reworded(|message| format!("{SERVICE_IS_LOST}: {message}")))?;
        settings.require_one_key()?;
        journal.resolve_of_service(&read, resolution, settings.endpoint.service()).await
    } else {
        // The other settings are not needed, and any of them may be missing.
        journal.resolve(&read, resolution).await
    };
    Ok(resolved.map_err(|error| failure(&error))?)
}

/// Looks up the transaction and records that the key was processed as it.
async fn look_up_and_resolve(
    options: ClientOptions,
    place: &JournalPlace,
    key: &IntentKey,
    said: Said,
) -> Result<(Intent, Option<TransactionRecord>), CommandError> {
    let mut interrupt = Interrupt::install().map_err(|error| cannot_start(&error))?;
    let prepared = Prepared::new(options, &mut interrupt, || Ok(())).await?;
    let Prepared { settings, client, call: () } = prepared;
    settings.require_one_key()?;
    let said = said.without(&settings.keys)?;
    let may_be_written = Cell::new(false);
    let resolving = async {
        let (journal, read) = read(place, key).await?;
        let resolution = said.about(&read)?;
        let client = JournaledClient::new(client.build(), journal);
        may_be_written.set(true);
        let resolved = client.look_up_and_resolve(&read, resolution).await;
        let (intent, record) = resolved.map_err(|error| failure_with_hints(&error, &settings))?;
        Ok((intent, Some(record)))
    };
    let resolved = interrupt.or_signal(resolving).await.unwrap_or_else(|signal| {
        Err(if may_be_written.get() {
            let mut interrupted =
                Abandoned::Signal(signal).harmless(&format!("; {key} may have been resolved or not"));
            interrupted.advice.done = Done::InDoubt;
            interrupted
        } else {
            Abandoned::Signal(signal).harmless("; it is safe to run it again")
        }
        .into())
    });
    resolved.map_err(|error: CommandError| error.without(&settings.keys))
}

const UNVERIFIED: &str =
    "if the service cannot look this id up although you are certain of it, record it with --unverified";

fn failure_with_hints(error: &ResolveError, settings: &Settings) -> Failure {
    match error.look_up_error() {
        Some(look_up) => {
            let failure = hints::failure(look_up, settings).for_purpose(Purpose::FindTransaction);
            let failure = failure.with_message(error.to_string());
            if failure.outcome == FailedOutcome::Rejected || look_up.kind() == ErrorKind::Invalid {
                failure.hint(format!("{NOT_FOUND_BY_ANOTHER_KEY}; {UNVERIFIED}"))
            } else {
                failure
            }
        }
        None => failure(error),
    }
}

fn failure(error: &ResolveError) -> Failure {
    let message = error.to_string();
    if let Some(error) = error.store_error() {
        return Failure::of_store(error).with_message(message);
    }
    if error.became_unknown() {
        return Failure::new(FailedOutcome::Unknown, "changed_meanwhile", message);
    }
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

#[cfg(test)]
mod tests {
    use payments_journal::StoreError;

    use super::*;

    #[test]
    fn resolution_that_may_have_been_written_says_so() {
        let failure = failure(&StoreError::in_doubt("the disk failed").into());
        assert_eq!(
            failure.message,
            "the disk failed; the resolution may have been written: look at the key before you resolve it again"
        );
    }
}
