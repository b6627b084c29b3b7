//! `payments journal retry`.

use payments_journal::{Intent, IntentState, Journal, ResolveError, StateName, StoreError};
use payments_model::unversioned::is_blank;
use serde::Serialize;

use super::show::no_such_key;
use super::{CommandError, code_of, resolution};
use crate::args::ClientOptions;
use crate::args::journal::RetryArguments;
use crate::failure::{Done, Failure};
use crate::intent::{IntentSum, state};
use crate::output::Output;
use crate::report::ExitCode;
use crate::settings::{JournalPlace, KnownKeys, OpenFor, named_service};

/// Reopens the intents of the service that were rejected with these statuses, or the one with this key. Sends nothing.
pub(super) async fn run(
    options: &ClientOptions,
    place: &JournalPlace,
    output: &Output,
    asked: &RetryArguments,
) -> Result<ExitCode, CommandError> {
    let RetryArguments { statuses, key, note, by } = asked;
    let keys = KnownKeys::in_environment();
    let by = keys.mask(&resolution::person(by.clone())?);
    let note = note.as_ref().filter(|text| !is_blank(text)).map(|note| keys.mask(note));
    let note = note.as_deref();
    let service = if key.is_none() { named_service(options)? } else { None };
    let journal = place.open(OpenFor::Changing).await?;
    let mut retried = Retried::default();
    if let Some(key) = key {
        let found = journal.find(key).await?.ok_or_else(|| no_such_key(key))?;
        let status = match &found.state {
            IntentState::Rejected(failure) | IntentState::NotProcessed(failure) => failure.http_status,
            _ => None,
        };
        let is_asked_for = statuses.is_empty() || status.is_some_and(|status| statuses.contains(&status));
        let is_changed = is_asked_for && retried.add(&found, journal.reopen_by_name(key, &by, note).await)?;
        if !is_changed {
            let state = state(&found);
            let such = if statuses.is_empty() { "" } else { " with one of these statuses" };
            let why = format!(
                "{key} is {state}, not rejected{such}; nothing was changed: look at it with `{}`",
                output.commands.about_key("show", key, "")
            );
            return Err(Failure::invalid("not_rejected_so", why).into());
        }
    } else {
        reopen_all(&journal, statuses, service.as_deref(), (&by, note), &mut retried).await?;
    }
    let next = "nothing was sent: the next call or run with these keys sends them";
    let Retried { reopened, unknown, of_another_service } = &retried;
    let written = super::write("reopened", output, &retried, |_| {
        let mut text = format!("reopened {}, {} in total; {next}\n", reopened.intents(), reopened.sum());
        if let Some(unknown) = unknown {
            text += &unknown.shown();
            text += " became unknown and not reopened: the journal has lost later entries, so they may have been charged; resolve \
                     them first\n";
        }
        if let Some(left) = of_another_service {
            text.extend([format!("left alone, of another service: {}\n", left.shown())]);
        }
        text
    });
    Ok(code_of(&written, ExitCode::of_keys(unknown.is_some(), false)))
}

#[derive(Default, Serialize)]
struct Retried {
    reopened: IntentSum,
    /// Those that may have been sent again in a time whose entries the journal has lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<IntentSum>,
    /// Left alone: a person who has repaired one service has not repaired another.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_another_service: Option<IntentSum>,
}

impl Retried {
    /// Returns whether the key of this intent was changed.
    fn add(&mut self, read: &Intent, retried: Result<Intent, ResolveError>) -> Result<bool, StoreError> {
        match retried {
            Ok(intent) => self.reopened.add(&intent),
            Err(error) if error.became_unknown() => self.unknown.get_or_insert_default().add(read),
            Err(error) if error.is_not_rejected() || error.is_no_such_intent() => return Ok(false),
            Err(error) => {
                let store = error.store_error().cloned();
                return Err(store.unwrap_or_else(|| StoreError::refused(error.why())));
            }
        }
        Ok(true)
    }
}

/// One that is refused, such as a key that has as many notes as the journal keeps, does not keep the others from it.
async fn reopen_all(
    journal: &Journal,
    statuses: &[u16],
    service: Option<&str>,
    (by, note): (&str, Option<&str>),
    retried: &mut Retried,
) -> Result<(), Failure> {
    let mut refused = IntentSum::default();
    let mut first = None;
    let ended = async {
        let mut pages = journal.pages(&[StateName::Rejected]);
        while let Some(intents) = pages.next().await? {
            for intent in &intents {
                let IntentState::Rejected(failure) = &intent.state else { continue };
                if !failure.http_status.is_some_and(|status| statuses.contains(&status)) {
                    continue;
                }
                if service.is_some_and(|service| !intent.is_of(service)) {
                    retried.of_another_service.get_or_insert_default().add(intent);
                    continue;
                }
                let reopened = journal.reopen(&intent.key, statuses, by, note).await;
                match retried.add(intent, reopened) {
                    Err(error) if error.is_refused() => {
                        refused.add(intent);
                        first.get_or_insert(error);
                    }
                    retried => drop(retried?),
                }
            }
        }
        Ok::<_, StoreError>(())
    };
    let ((Err(error), _) | (Ok(()), Some(error))) = (ended.await, first) else { return Ok(()) };
    let mut failure = Failure::of_store(&error);
    // They stay reopened, and running it again reopens the rest.
    let (reopened, unknown) = (&retried.reopened, retried.unknown.as_ref());
    if reopened.count == 0 && unknown.is_none() {
        return Err(failure);
    }
    if failure.advice.done == Done::Nothing {
        failure.advice.done = Done::Partly;
    }
    let were = |sum: &IntentSum| format!("{} {}", sum.intents(), if sum.count == 1 { "was" } else { "were" });
    let became = unknown.map(|sum| format!(", {} became unknown", sum.intents())).unwrap_or_default();
    let end = match refused.count {
        0 => " before this failure".to_owned(),
        _ => format!("; {} not", were(&refused)),
    };
    let done = format!("{} reopened{became}{end}", were(reopened));
    // That nothing was changed is true of that key only.
    Err(failure.with_message(format!("{done}: {}", error.why())))
}
