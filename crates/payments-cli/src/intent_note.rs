//! What a journal has to say of a call that it let through or kept from being sent.

use payments_journal::IntentKey;
use serde::ser::SerializeMap;

/// What stands beside the outcome of a call with a key.
#[derive(Clone, Debug)]
pub(crate) struct IntentNote {
    /// Unless it holds a secret.
    pub(crate) key: Option<IntentKey>,
    /// The outcome is that of an earlier call: nothing was sent now.
    pub(crate) is_recorded: bool,
    /// Why the outcome could not be written to the journal, if so.
    pub(crate) not_recorded: Option<String>,
    /// Another intent that is processed as the same transaction.
    pub(crate) same_transaction_as: Option<IntentKey>,
}

impl IntentNote {
    /// The members that a document of such a call has more than one without a journal.
    pub(crate) fn serialize_into<M: SerializeMap>(&self, document: &mut M) -> Result<(), M::Error> {
        let Self { key, is_recorded, not_recorded, same_transaction_as } = self;
        if let Some(key) = key {
            document.serialize_entry("key", key.as_str())?;
        }
        if *is_recorded {
            document.serialize_entry("recorded", &true)?;
        }
        if let Some(why) = not_recorded {
            document.serialize_entry("journal", &format!("the outcome could not be written down: {why}"))?;
        }
        if let Some(other) = same_transaction_as {
            document.serialize_entry("same_transaction_as", other.as_str())?;
        }
        Ok(())
    }

    /// The same for people.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let Self { key, is_recorded, not_recorded, same_transaction_as } = self;
        let mut rows: Vec<_> = key.iter().map(|key| ("key", key.as_str().to_owned())).collect();
        if *is_recorded {
            rows.push(("recorded", "by an earlier call; nothing was sent now".to_owned()));
        }
        rows.extend(not_recorded.iter().map(|why| ("NOT WRITTEN", why.clone())));
        rows.extend(same_transaction_as.iter().map(|other| ("SAME AS", other.to_string())));
        rows
    }
}
