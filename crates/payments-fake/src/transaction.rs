//! A transaction as JSON: its record, then the other fields of its ledger entry. The state and a fixture file use this form.

use std::time::UNIX_EPOCH;

use payments_core::OperationName;
use payments_model::{Field, TokenId, TransactionRecord, TransactionTypeCode};
use serde::{Deserialize, Serialize};

use crate::StatusCodes;
use crate::document::{
    Card, Code, IdOfToken, IdOfTransaction, Number, Payment, Price, SmallNumber, Text, Time, TypeCode,
    timestamp,
};
use crate::ledger::{EntryKind, EntryState, LedgerEntry, PaymentSource};

/// A transaction in a document that a person may have written. Only `TransactionId` and `Amount` are required.
#[allow(clippy::struct_field_names, reason = "the interface names them")]
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct TransactionDocument {
    transaction_id: IdOfTransaction,
    base_amount: Option<Number>,
    amount: Price,
    card_number: Option<Card>,
    billing_email: Option<Text>,
    billing_customer_name: Option<Text>,
    billing_address: Option<Text>,
    billing_city: Option<Text>,
    billing_state: Option<Text>,
    billing_postal_code: Option<Code>,
    billing_country: Option<SmallNumber>,
    billing_country_code: Option<Code>,
    billing_phone_number: Option<Text>,
    transaction_type: Option<TypeCode>,
    status: Option<Code>,
    operation: Option<Payment>,
    reference_no: Option<Text>,
    description: Option<Text>,
    token_id: Option<IdOfToken>,
    #[serde(default)]
    voided: bool,
    #[serde(default)]
    declined: bool,
    void_reason: Option<Text>,
    processed_at: Option<Time>,
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
        let Price(amount) = self.amount;
        let transaction_type = self
            .transaction_type
            .map_or(TransactionTypeCode::SALE, |TypeCode(transaction_type)| transaction_type);
        if self.voided && transaction_type != TransactionTypeCode::AUTH {
            return Err("Voided must be false for a sale: only an authorization can be voided");
        }
        let status = || StatusCodes::default().of(state, transaction_type);
        let operation = match (self.operation, &self.token_id) {
            (Some(Payment(operation)), _) => operation,
            (None, Some(_)) => OperationName::TokenTransaction,
            (None, None) => OperationName::Transaction,
        };
        let source = match (self.token_id, &self.card_number) {
            (Some(IdOfToken(token)), _) => PaymentSource::Token(token),
            (None, Some(Card(card))) => PaymentSource::Card(card.clone()),
            (None, None) => PaymentSource::Account,
        };
        let text = |text: Option<Text>| text.map(|Text(text)| text);
        let mut record = TransactionRecord::new(self.transaction_id.0);
        record.base_amount = self.base_amount.map_or(amount, |Number(amount)| amount).into();
        record.amount = amount.into();
        record.card_number = self.card_number.map_or(Field::Absent, |Card(card)| card.into());
        record.billing_email = self.billing_email.unwrap_or_default().0.into();
        record.billing_customer_name = self.billing_customer_name.unwrap_or_default().0.into();
        record.billing_address = self.billing_address.unwrap_or_default().0.into();
        record.billing_city = self.billing_city.unwrap_or_default().0.into();
        record.billing_state = text(self.billing_state).map_or(Field::Null, Field::Value);
        record.billing_postal_code = self.billing_postal_code.unwrap_or_default().0.into();
        let country = self.billing_country.map_or(COUNTRY_ID, |SmallNumber(country)| country.into());
        record.billing_country = country.into();
        record.billing_country_code = self.billing_country_code.unwrap_or_default().0.into();
        record.billing_phone_number = self.billing_phone_number.unwrap_or_default().0.into();
        record.transaction_type = transaction_type.into();
        record.status = self.status.map_or_else(status, |Code(status)| status).into();
        Ok(LedgerEntry {
            operation,
            kind: EntryKind::of(operation, transaction_type),
            state,
            amount,
            source,
            reference_no: text(self.reference_no),
            description: text(self.description),
            void_reason: text(self.void_reason),
            at: self.processed_at.map_or(UNIX_EPOCH, |Time(at)| at),
            record,
        })
    }
}

/// The number of the seeded customer's country. It has no meaning beyond this fake.
pub(crate) const COUNTRY_ID: i64 = 1;

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
    use serde_json::{Value, json};

    use super::*;
    use crate::document;

    #[test]
    fn a_transaction_survives_the_round_trip_through_its_document() {
        let (token, card) = (json!("tok_1"), json!("************4242"));
        for (operation, transaction_type, state, token, card) in [
            ("transaction", 1, "", None, Some(&card)),
            ("transaction", 2, "Voided", None, Some(&card)),
            ("transaction", 1, "Declined", None, None),
            ("token-transaction", 1, "", Some(&token), Some(&card)),
            ("token-transaction", 2, "Voided", Some(&token), Some(&card)),
            ("void", 2, "", Some(&token), Some(&card)),
            ("void", 1, "", None, None),
        ] {
            let mut document = json!({
                "TransactionId": "txn_1", "BaseAmount": 10.5, "Amount": 12.45, "BillingEmail": "ada@example.com",
                "BillingCustomerName": r#"x","Operation":"void","TokenId":"tok_2"#, "BillingAddress": "1 Street",
                "BillingCity": "London", "BillingState": null, "BillingPostalCode": "SW1A 1AA", "BillingCountry": 7,
                "BillingCountryCode": "+44", "BillingPhoneNumber": "020 7946 0000", "TransactionType": transaction_type,
                "Status": "77", "Operation": operation, "ReferenceNo": "order-7 \"\\\n", "Description": "",
                "TokenId": token, "Voided": state == "Voided", "Declined": state == "Declined", "VoidReason": "wrong",
                "ProcessedAt": "2030-03-17T17:46:40.123456789Z",
            });
            document
                .as_object_mut()
                .unwrap()
                .extend(card.map(|card| ("CardNumber".to_owned(), card.clone())));
            let read =
                |json: &str| document::read::<TransactionDocument>(json).unwrap().into_entry().unwrap();
            let entry = read(&document.to_string());
            let written = document::to_json(&WrittenTransaction::from(&entry));
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), document);
            assert_eq!(read(&written), entry, "{written}");
            // The document begins with the record, as a lookup returns it.
            assert!(written.starts_with(entry.record.to_json().trim_end_matches('}')), "{written}");
        }
    }
}
