//! A transaction as JSON: its record, then the other fields of its ledger entry. The state and a fixture file use this form.

use std::time::{SystemTime, UNIX_EPOCH};

use payments_core::OperationName;
use payments_model::{
    Amount, Field, MaskedCard, TokenId, TransactionId, TransactionRecord, TransactionTypeCode,
};
use serde::{Deserialize, Serialize};

use crate::document::{self, timestamp};
use crate::ledger::{EntryKind, EntryState, LedgerEntry, PaymentSource};
use crate::{StatusCodes, fixtures};

/// A transaction in a document that a person may have written. Only `TransactionId` and `Amount` are required.
#[expect(clippy::struct_field_names, reason = "the interface names them")]
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct TransactionDocument {
    #[serde(deserialize_with = "document::id")]
    transaction_id: TransactionId,
    #[serde(default, deserialize_with = "document::amount")]
    base_amount: Option<Amount>,
    #[serde(deserialize_with = "document::payable")]
    amount: Amount,
    #[serde(default, deserialize_with = "document::card")]
    card_number: Option<MaskedCard>,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    billing_email: String,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    billing_customer_name: String,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    billing_address: String,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    billing_city: String,
    #[serde(default, deserialize_with = "document::text")]
    billing_state: Option<String>,
    #[serde(default, deserialize_with = "document::code_or_empty")]
    billing_postal_code: String,
    #[serde(default, deserialize_with = "document::small_number")]
    billing_country: Option<i64>,
    #[serde(default, deserialize_with = "document::code_or_empty")]
    billing_country_code: String,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    billing_phone_number: String,
    #[serde(default = "sale", deserialize_with = "document::transaction_type")]
    transaction_type: TransactionTypeCode,
    #[serde(default, deserialize_with = "document::code")]
    status: Option<String>,
    #[serde(default, deserialize_with = "document::operation")]
    operation: Option<OperationName>,
    #[serde(default, deserialize_with = "document::text")]
    reference_no: Option<String>,
    #[serde(default, deserialize_with = "document::text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "document::optional_id")]
    token_id: Option<TokenId>,
    #[serde(default, deserialize_with = "document::flag")]
    voided: bool,
    #[serde(default, deserialize_with = "document::flag")]
    declined: bool,
    #[serde(default, deserialize_with = "document::text")]
    void_reason: Option<String>,
    #[serde(default = "epoch", deserialize_with = "document::time")]
    processed_at: SystemTime,
}

impl TransactionDocument {
    /// The entry. Omitted fields have the values that the fake would have written.
    pub(crate) fn into_entry(self) -> Result<LedgerEntry, &'static str> {
        let state = match (self.voided, self.declined) {
            (true, true) => return Err("Voided must be false for a declined transaction"),
            (true, false) => EntryState::Voided,
            (false, true) => EntryState::Declined,
            (false, false) => EntryState::Approved,
        };
        let StatusCodes { sale, authorised, voided, declined } = StatusCodes::default();
        let status = match state {
            EntryState::Voided => voided,
            EntryState::Declined => declined,
            EntryState::Approved if self.transaction_type == TransactionTypeCode::AUTH => authorised,
            EntryState::Approved => sale,
        };
        let operation = self.operation.unwrap_or(match self.token_id {
            Some(_) => OperationName::TokenTransaction,
            None => OperationName::Transaction,
        });
        let source = match (self.token_id, &self.card_number) {
            (Some(token), _) => PaymentSource::Token(token),
            (None, Some(card)) => PaymentSource::Card(card.clone()),
            (None, None) => PaymentSource::Account,
        };
        let mut record = TransactionRecord::new(self.transaction_id);
        record.base_amount = self.base_amount.unwrap_or(self.amount).into();
        record.amount = self.amount.into();
        record.card_number = self.card_number.map_or(Field::Absent, Field::Value);
        record.billing_email = self.billing_email.into();
        record.billing_customer_name = self.billing_customer_name.into();
        record.billing_address = self.billing_address.into();
        record.billing_city = self.billing_city.into();
        record.billing_state = self.billing_state.map_or(Field::Null, Field::Value);
        record.billing_postal_code = self.billing_postal_code.into();
        record.billing_country = self.billing_country.unwrap_or(fixtures::COUNTRY_ID).into();
        record.billing_country_code = self.billing_country_code.into();
        record.billing_phone_number = self.billing_phone_number.into();
        record.transaction_type = self.transaction_type.into();
        record.status = self.status.unwrap_or_else(|| status.into_owned()).into();
        Ok(LedgerEntry {
            operation,
            kind: EntryKind::of(operation, self.transaction_type),
            state,
            amount: self.amount,
            source,
            reference_no: self.reference_no,
            description: self.description,
            void_reason: self.void_reason,
            at: self.processed_at,
            record,
        })
    }
}

const fn sale() -> TransactionTypeCode {
    TransactionTypeCode::SALE
}

const fn epoch() -> SystemTime {
    UNIX_EPOCH
}

/// Writes what [`TransactionDocument`] reads.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WrittenTransaction<'a> {
    #[serde(flatten)]
    record: &'a TransactionRecord,
    operation: &'a str,
    reference_no: Option<&'a str>,
    description: Option<&'a str>,
    token_id: Option<&'a TokenId>,
    voided: bool,
    declined: bool,
    void_reason: Option<&'a str>,
    processed_at: String,
}

impl<'a> From<&'a LedgerEntry> for WrittenTransaction<'a> {
    fn from(entry: &'a LedgerEntry) -> Self {
        Self {
            record: &entry.record,
            operation: entry.operation.as_str(),
            reference_no: entry.reference_no.as_deref(),
            description: entry.description.as_deref(),
            token_id: match &entry.source {
                PaymentSource::Token(token) => Some(token),
                PaymentSource::Card(_) | PaymentSource::Account => None,
            },
            voided: entry.state == EntryState::Voided,
            declined: entry.state == EntryState::Declined,
            void_reason: entry.void_reason.as_deref(),
            processed_at: timestamp(entry.at).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_transaction_survives_the_round_trip_through_its_document() {
        use OperationName::{TokenTransaction, Transaction as Card, Void};
        let (token, card) = (Some("tok_1"), Some("4242424242424242"));
        let (sale, auth) = (TransactionTypeCode::SALE, TransactionTypeCode::AUTH);
        let (approved, voided, declined) = (EntryState::Approved, EntryState::Voided, EntryState::Declined);
        for (operation, transaction_type, state, token, card) in [
            (Card, sale, approved, None, card),
            (Card, auth, voided, None, card),
            (Card, sale, declined, None, None),
            (TokenTransaction, sale, approved, token, card),
            (TokenTransaction, auth, voided, token, card),
            (Void, auth, approved, token, card),
            (Void, sale, approved, None, None),
        ] {
            let mut record = TransactionRecord::new("txn_1".parse().unwrap());
            record.base_amount = Amount::from_cents(10_50).into();
            record.amount = Amount::from_cents(12_45).into();
            let card = card.map(MaskedCard::new);
            record.card_number = card.clone().map_or(Field::Absent, Field::Value);
            record.billing_customer_name = r#"x","Operation":"void","TokenId":"tok_2"#.to_owned().into();
            record.billing_state = Field::Null;
            record.billing_country = 7.into();
            record.transaction_type = transaction_type.into();
            record.status = "77".to_owned().into();
            for text in [
                &mut record.billing_email,
                &mut record.billing_address,
                &mut record.billing_city,
                &mut record.billing_postal_code,
                &mut record.billing_country_code,
                &mut record.billing_phone_number,
            ] {
                *text = String::new().into();
            }
            let entry = LedgerEntry {
                operation,
                kind: EntryKind::of(operation, transaction_type),
                state,
                amount: Amount::from_cents(12_45),
                source: match (token, card) {
                    (Some(token), _) => PaymentSource::Token(token.parse().unwrap()),
                    (None, Some(card)) => PaymentSource::Card(card),
                    (None, None) => PaymentSource::Account,
                },
                reference_no: Some("order-7 \"\\\n".to_owned()),
                description: Some(String::new()),
                void_reason: (state == voided).then(|| "changed their mind".to_owned()),
                at: UNIX_EPOCH + Duration::new(1_900_000_000, 123_456_789),
                record,
            };
            let written = document::to_json(&WrittenTransaction::from(&entry));
            let read: TransactionDocument = document::read(&written).unwrap();
            assert_eq!(read.into_entry().as_ref(), Ok(&entry), "{written}");
            // The document begins with the record, as a lookup returns it.
            assert!(written.starts_with(entry.record.to_json().trim_end_matches('}')), "{written}");
        }
    }
}
