//! What a person found out about a key, and the intent after it was recorded: what `resolve KEY` and `resolve --from` share.

use std::time::{Duration, SystemTime};

use payments_journal::{HistoryEvent, Intent, Resolution, Subject, Verdict};
use payments_model::{TransactionId, TransactionRecord, ValidationError};
use serde::Serialize;

use super::show;
use crate::failure::Failure;
use crate::intent::IntentObject;
use crate::report::{Effect, Processed, text};
use crate::settings::{PrintedCommands, login_name};
use crate::style::{Style, for_terminal};

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
        let id = |text: &str| match intent.and_then(|intent| held(intent, text)) {
            Some(id) => Ok(id.clone()),
            None => TransactionId::new(text),
        };
        let id = self.id().map(id).transpose()?;
        Ok(match (self, id) {
            (Self::Processed(_), Some(id)) => Verdict::Processed(id),
            (Self::Rejected(_), id) => Verdict::Rejected(id),
            _ => Verdict::NotProcessed,
        })
    }
}

/// The id of this intent, of one of its resolutions or of what it voids that is written as this text.
pub(super) fn held<'a>(intent: &'a Intent, text: &str) -> Option<&'a TransactionId> {
    let voided = match &intent.request.subject {
        Subject::Transaction(id) => Some(id),
        _ => None,
    };
    let said = intent.resolutions().filter_map(|said| said.resolution.verdict.transaction_id());
    let mut ids = intent.transaction_id().into_iter().chain(voided).chain(said);
    ids.find(|id| is_written_as(id, text))
}

/// Whether a text is this id, as the service returned it or as this command shows it.
pub(super) fn is_written_as(id: &TransactionId, text: &str) -> bool {
    id.as_str() == text || for_terminal(id.as_str()) == text
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

/// Whether nobody would get an answer from the resolved intent, because the journal has lost which service it belongs to.
pub(super) fn needs_service(intent: &Intent, verdict: &Verdict) -> bool {
    intent.service.is_none() && *verdict != Verdict::NotProcessed
}

pub(super) const SERVICE_IS_LOST: &str =
    "the entry of this key was lost, so the journal does not know its service: name it, as for a call";

/// What else a lookup may mean that finds nothing.
pub(super) const NOT_FOUND_BY_ANOTHER_KEY: &str =
    "another merchant's API key does not find it: check the API key, the merchant and the base URL";

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

/// A resolved intent, and the record of the transaction that it was resolved as. Only a person can compare them, so both are
/// shown: the members of the intent, and `record` as `transaction get` shows it.
#[derive(Serialize)]
pub(super) struct ResolvedIntent<'a> {
    #[serde(flatten)]
    intent: IntentObject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a TransactionRecord>,
}

impl<'a> ResolvedIntent<'a> {
    pub(super) const fn new(intent: &'a Intent, record: Option<&'a TransactionRecord>) -> Self {
        Self { intent: IntentObject(intent), record }
    }

    pub(super) fn text(&self, style: Style, commands: &PrintedCommands) -> String {
        let Self { intent: IntentObject(intent), record } = self;
        let Some(record) = record else { return show::lines(intent, style, commands) };
        let advice = format!(
            "compare them, and its time and reference in the service's records: if this is not the payment of {}, resolve the key again \
             with --replace\n",
            intent.key
        );
        let record = Processed::of_record(record, Effect::FoundTransaction(record.transaction_id.clone()));
        let record = text::processed(&record, style);
        format!("{}\n{record}\n{advice}", show::lines(intent, style, commands))
    }
}

/// The person who does it: the named one, or the login name.
pub(super) fn person(by: Option<String>) -> Result<String, Failure> {
    by.or_else(login_name)
        .ok_or_else(|| Failure::usage("the login name is not known; nothing was changed: give --by NAME"))
}

#[cfg(test)]
mod tests {
    use payments_journal::internals::Change;
    use payments_journal::{IntentKey, OwnerId};

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
