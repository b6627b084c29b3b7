//! One intent of the journal as the JSON object that every command shows of it.

use payments_journal::Intent;
use payments_model::TransactionId;
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::intent_row::IntentRow;
use crate::timestamp::timestamp;

/// The nine members that always stand there, and the further ones that are known.
pub(crate) struct IntentObject<'a>(pub(crate) &'a Intent);

impl Serialize for IntentObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        self.serialize_into(&mut object)?;
        object.end()
    }
}

impl IntentObject<'_> {
    /// Its members in an object that has more.
    pub(crate) fn serialize_into<M: SerializeMap>(&self, object: &mut M) -> Result<(), M::Error> {
        let Self(intent) = self;
        let row = IntentRow::from(*intent);
        object.serialize_entry("key", &row.key)?;
        object.serialize_entry("state", &row.state)?;
        object.serialize_entry("operation", &row.operation)?;
        // The number as it was written: no amount passes through a binary number.
        let amount = row.amount.map(RawValue::from_string).transpose().map_err(M::Error::custom)?;
        object.serialize_entry("amount", &amount)?;
        object.serialize_entry("transaction_id", &intent.transaction_id().map(TransactionId::as_str))?;
        object.serialize_entry("reference", &row.reference)?;
        object.serialize_entry("created_at", &timestamp(intent.created_at))?;
        object.serialize_entry("begun_at", &timestamp(intent.begun_at))?;
        object.serialize_entry("changed_at", &timestamp(intent.changed_at))?;
        object.serialize_entry("attempts", &row.attempts)?;
        object.serialize_entry("subject", &row.subject_kind)?;
        let (kind, status) = (row.kind, row.http_status);
        for (name, text) in [
            (name_of_subject(&row.subject_kind), row.subject),
            ("transaction_type", row.transaction_type),
            ("kind", kind),
            ("reason", row.reason),
            ("resolved_as", row.verdict),
            ("resolved_by", row.resolved_by),
            ("note", row.note),
        ] {
            if let Some(text) = text {
                object.serialize_entry(name, &text)?;
            }
        }
        if let Some(is_active) = row.convenience_fee {
            object.serialize_entry("convenience_fee", &is_active)?;
        }
        if let Some(status) = status {
            object.serialize_entry("http_status", &status)?;
        }
        Ok(())
    }
}

/// What the subject is called, by its kind.
pub(crate) fn name_of_subject(kind: &str) -> &'static str {
    match kind {
        "card" => "card_ending",
        "token" => "token_id",
        "transaction" => "voids",
        _ => "subject_id",
    }
}
