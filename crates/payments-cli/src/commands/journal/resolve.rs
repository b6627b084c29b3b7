//! `payments journal resolve`.

use std::env;
use std::time::Duration;

use payments_journal::{Intent, IntentKey, JournaledClient, Resolution, ResolveError};
use payments_model::TransactionId;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::CommandError;
use super::{resolve_file, show};
use crate::args::ClientOptions;
use crate::args::journal::{ResolutionOptions, ResolveArguments};
use crate::call::{self, Prepared};
use crate::failure::{Failure, Purpose};
use crate::intent_object::IntentObject;
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;
use crate::report::Processed;
use crate::settings::Settings;
use crate::style::Style;
use crate::text;

/// Records what a person found out. A transaction is looked up first.
pub(super) async fn run(
    options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    asked: ResolveArguments,
) -> Result<(), CommandError> {
    let ResolveArguments { key, resolution, note, by } = asked;
    let ResolutionOptions { processed, not_processed: _, from } = resolution;
    if options.dry_run {
        let message = "this command takes no --dry-run; nothing was changed: to see the intent, run payments journal show";
        return Err(Failure::invalid("usage", message).into());
    }
    let by = by.or_else(login_name).filter(|name| !name.trim().is_empty()).ok_or_else(|| {
        Failure::invalid("usage", "the login name is not known; nothing was changed: give --by NAME")
    })?;
    if let Some(path) = from {
        return resolve_file::run(options, place, output, &path, &by).await;
    }
    let key = key.expect("a key is required without a file");
    let note = note.filter(|text| !text.trim().is_empty());
    match (processed, note) {
        (Some(id), note) => {
            resolve_processed(options, place, output, (&key, id), (&by, note.as_deref())).await?.write(output)
        }
        (None, Some(note)) => {
            // The settings are not needed, but if an API key is set, the note may contain it.
            let settings = Settings::resolve(&options).ok();
            let [by, note] = [by, note].map(|text| without_key(settings.as_ref(), &text));
            let journal = place.open_existing().await?;
            let resolved = journal.resolve(&key, Resolution::not_processed(by).note(note)).await;
            let intent = resolved.map_err(|error| failure(&error))?;
            if is_too_early(&intent) {
                output.warn(&[format!("it {TOO_EARLY} before the key is sent again")]);
            }
            show::write(&intent, RESOLVED, output)
        }
        (None, None) => {
            let message = "--note is empty; nothing was changed: say how you know that it was not processed";
            Err(Failure::invalid("usage", message).into())
        }
    }
}

/// Masks a text for the journal. Without settings no API key is known.
pub(super) fn without_key(settings: Option<&Settings>, text: &str) -> String {
    settings.map_or_else(|| text.to_owned(), |settings| settings.without_key(text))
}

/// What was done, for the message that the result could not be written to stdout.
pub(super) const RESOLVED: &str = "resolved";

/// How long a request can be on its way is not published. Every report of the service covers a day.
pub(super) fn is_too_early(intent: &Intent) -> bool {
    const SOON: Duration = Duration::from_hours(24);

    intent.begun_at.elapsed().is_ok_and(|elapsed| elapsed < SOON)
}

/// The warning about such an intent.
pub(super) const TOO_EARLY: &str =
    "was sent less than 24 hours ago, and a request that is delayed on its way may still be processed: wait";

/// Looks up the transaction and records that the key was processed as it.
async fn resolve_processed(
    options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    (key, id): (&IntentKey, String),
    (by, note): (&str, Option<&str>),
) -> Result<ResolvedIntent, Failure> {
    let read = move || Ok(TransactionId::new(id)?);
    let prepared = Prepared::new(options, output, read).await?;
    let Prepared { settings, client, call: id, mut interrupt } = prepared;
    let (by, note) = (settings.without_key(by), note.map(|note| settings.without_key(note)));
    let resolving = async {
        let client = JournaledClient::new(client.build(), place.open_existing().await?);
        match client.resolve_processed(key, &id, &by, note.as_deref()).await {
            Ok((intent, record)) => {
                Ok(ResolvedIntent { intent, record: Some(Processed::found_record(&record)) })
            }
            Err(error) => Err(failure_with_hints(&error, &settings)),
        }
    };
    tokio::select! {
        biased;
        resolved = resolving => resolved,
        signal = interrupt.arrived() => Err(call::interrupted(signal, "; it is safe to run it again")),
    }
}

/// A resolved intent, and the record of the transaction that it was resolved as. Only a person can compare them, so both are
/// shown.
pub(super) struct ResolvedIntent {
    pub(super) intent: Intent,
    pub(super) record: Option<Processed>,
}

impl ResolvedIntent {
    fn write(&self, output: Output) -> Result<(), CommandError> {
        if !output.is_text() {
            return super::print_json(RESOLVED, self);
        }
        let key = &self.intent.key;
        let lines = self.lines(output.style());
        let advice = format!(
            "compare them, and its time and reference in the service's records: if this is not the payment of {key}, resolve the key again\n"
        );
        super::print(RESOLVED, &(lines + &advice))
    }

    /// Ends with an empty line.
    pub(super) fn lines(&self, style: Style) -> String {
        let Self { intent, record } = self;
        let record = record.as_ref().map(|record| format!("\n{}", text::processed(record, style)));
        format!("{}{}\n", show::lines(intent, style), record.unwrap_or_default())
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
            record: Option<&'a RawValue>,
        }

        let record = self.record.as_ref().map(|record| &*record.data);
        Document { intent: IntentObject(&self.intent), record }.serialize(serializer)
    }
}

fn failure_with_hints(error: &ResolveError, settings: &Settings) -> Failure {
    match error.look_up_error() {
        Some(look_up) => {
            let failure = call::failure_of(look_up, settings).for_purpose(Purpose::FindTransaction);
            Failure { message: error.to_string(), ..failure }
        }
        None => failure(error),
    }
}

fn failure(error: &ResolveError) -> Failure {
    if let Some(error) = error.store_error() {
        return store_failure(error);
    }
    let kind = if error.is_no_such_intent() {
        "no_such_key"
    } else if error.is_contradicted() {
        "contradicted"
    } else {
        "not_unknown"
    };
    Failure::invalid(kind, error.to_string())
}

/// The login name, from the environment.
fn login_name() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|name| !name.is_empty()))
}
