//! A transaction as JSON: its record, then the other fields of its ledger entry. The store, the state and a fixture
//! file all use this form.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use payments_core::OperationName;
use payments_model::unversioned::as_number;
use payments_model::{Amount, MaskedCard, TokenId, TransactionId, TransactionRecord, TransactionTypeCode};
use serde::{Deserialize, Serialize, Serializer};

use crate::{EntryKind, EntryState, LedgerEntry, PaymentSource, StatusCodes, document, fixtures};

/// The members in the order in which they are written: first those of the record, which a lookup returns, then the others.
///
/// Reading is strict, as for a fixture file; only `TransactionId` and `Amount` are required.
#[expect(clippy::struct_field_names, reason = "the interface names them")]
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Transaction<'a> {
    #[serde(deserialize_with = "document::id")]
    pub(crate) transaction_id: TransactionId,
    #[serde(default, deserialize_with = "document::amount", serialize_with = "number")]
    pub(crate) base_amount: Option<Amount>,
    #[serde(deserialize_with = "document::payable", serialize_with = "number")]
    pub(crate) amount: Amount,
    /// Absent for a payment from a bank account.
    #[serde(default, deserialize_with = "document::card", skip_serializing_if = "Option::is_none")]
    pub(crate) card_number: Option<MaskedCard>,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    pub(crate) billing_email: Cow<'a, str>,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    pub(crate) billing_customer_name: Cow<'a, str>,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    pub(crate) billing_address: Cow<'a, str>,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    pub(crate) billing_city: Cow<'a, str>,
    #[serde(default, deserialize_with = "document::text")]
    pub(crate) billing_state: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "document::code_or_empty")]
    pub(crate) billing_postal_code: Cow<'a, str>,
    #[serde(default, deserialize_with = "document::small_number")]
    pub(crate) billing_country: Option<i64>,
    #[serde(default, deserialize_with = "document::code_or_empty")]
    pub(crate) billing_country_code: Cow<'a, str>,
    #[serde(default, deserialize_with = "document::text_or_empty")]
    pub(crate) billing_phone_number: Cow<'a, str>,
    #[serde(default = "sale", deserialize_with = "document::transaction_type")]
    pub(crate) transaction_type: TransactionTypeCode,
    #[serde(default, deserialize_with = "document::code")]
    pub(crate) status: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "document::operation")]
    pub(crate) operation: Option<OperationName>,
    #[serde(default, deserialize_with = "document::text")]
    pub(crate) reference_no: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "document::text")]
    pub(crate) description: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "document::optional_id")]
    pub(crate) token_id: Option<TokenId>,
    #[serde(default, deserialize_with = "document::flag")]
    pub(crate) voided: bool,
    #[serde(default, deserialize_with = "document::flag")]
    pub(crate) declined: bool,
    #[serde(default, deserialize_with = "document::text")]
    pub(crate) void_reason: Option<Cow<'a, str>>,
    #[serde(default = "epoch", deserialize_with = "document::time", serialize_with = "rfc3339")]
    pub(crate) processed_at: SystemTime,
}

impl Transaction<'_> {
    /// Fills in omitted fields with the values that the fake would have written.
    pub(crate) fn complete(mut self) -> Result<Self, &'static str> {
        if self.voided && self.declined {
            return Err("Voided must be false for a declined transaction");
        }
        let StatusCodes { sale, authorised, voided, declined } = StatusCodes::default();
        let code = match (self.state(), self.kind()) {
            (EntryState::Voided, _) => voided,
            (EntryState::Declined, _) => declined,
            (EntryState::Approved, _) if self.transaction_type == TransactionTypeCode::AUTH => authorised,
            (EntryState::Approved, _) => sale,
        };
        self.base_amount.get_or_insert(self.amount);
        self.billing_country.get_or_insert(fixtures::COUNTRY_ID);
        self.status.get_or_insert(code);
        self.operation = Some(self.operation());
        Ok(self)
    }

    pub(crate) fn state(&self) -> EntryState {
        match (self.voided, self.declined) {
            (true, _) => EntryState::Voided,
            (false, true) => EntryState::Declined,
            (false, false) => EntryState::Approved,
        }
    }

    pub(crate) fn kind(&self) -> EntryKind {
        match (self.operation(), self.transaction_type) {
            (OperationName::Void, _) => EntryKind::Void,
            (_, TransactionTypeCode::AUTH) => EntryKind::Authorisation,
            _ => EntryKind::Sale,
        }
    }

    fn operation(&self) -> OperationName {
        let of_source =
            || self.token_id.as_ref().map_or(OperationName::Transaction, |_| OperationName::TokenTransaction);
        self.operation.unwrap_or_else(of_source)
    }
}

/// One stored transaction. The record comes first and verbatim, so that a lookup copies it without decoding. It holds personal
/// data.
#[derive(Clone, PartialEq)]
pub(crate) struct TransactionDocument(Arc<str>);

impl TransactionDocument {
    pub(crate) fn of(transaction: &Transaction<'_>) -> Self {
        Self(serde_json::to_string(transaction).expect("strings, numbers and flags are JSON").into())
    }

    /// The record that a lookup returns, as JSON.
    pub(crate) fn record(&self) -> String {
        [self.open_record(), "}"].concat()
    }

    /// The same without its closing brace.
    pub(crate) fn open_record(&self) -> &str {
        self.split().0
    }

    /// The record without its closing brace, and the rest.
    fn split(&self) -> (&str, &str) {
        self.0.split_at(self.0.rfind(LEDGER_FIELDS).unwrap_or_default())
    }

    pub(crate) fn read(&self) -> Transaction<'static> {
        document::read(&self.0).expect("a written document can be read")
    }

    pub(crate) fn entry(&self) -> LedgerEntry {
        self.decoded().expect("a written document can be read")
    }

    fn decoded(&self) -> Option<LedgerEntry> {
        let stored: Transaction<'_> = document::read(&self.0).ok()?;
        let (operation, kind, state) = (stored.operation(), stored.kind(), stored.state());
        Some(LedgerEntry {
            operation,
            kind,
            state,
            amount: stored.amount,
            source: match (stored.token_id, stored.card_number) {
                (Some(token), _) => PaymentSource::Token(token),
                (None, Some(card)) => PaymentSource::Card(card),
                (None, None) => PaymentSource::Account,
            },
            reference_no: stored.reference_no.map(Cow::into_owned),
            description: stored.description.map(Cow::into_owned),
            void_reason: stored.void_reason.map(Cow::into_owned),
            at: stored.processed_at,
            record: TransactionRecord::from_json(self.record().as_bytes()).ok()?,
        })
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.0
    }

    /// Whether it is a payment with this token. The void of such a payment has the token too, but does not count.
    pub(crate) fn is_charge_of(&self, token: &str) -> bool {
        let (_, ledger_fields) = self.split();
        ledger_fields.starts_with(r#","Operation":"token-transaction","#)
            && ledger_fields.contains(&format!(r#","TokenId":"{token}","#))
    }
}

/// The beginning of the part after the record. It occurs once in a document: no record has such a field, and in a string
/// the quotation marks would be escaped.
const LEDGER_FIELDS: &str = ",\"Operation\":\"";

const fn sale() -> TransactionTypeCode {
    TransactionTypeCode::SALE
}

const fn epoch() -> SystemTime {
    UNIX_EPOCH
}

fn number<S: Serializer>(
    amount: &(impl Copy + Into<Option<Amount>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match (*amount).into() {
        Some(amount) => as_number(&amount, serializer),
        None => serializer.serialize_none(),
    }
}

fn rfc3339<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&document::timestamp(*at))
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
        for (operation, transaction_type, [voided, declined], token, card) in [
            (Card, sale, [false, false], None, card),
            (Card, auth, [true, false], None, card),
            (Card, sale, [false, true], None, None),
            (TokenTransaction, sale, [false, false], token, card),
            (TokenTransaction, auth, [true, false], token, card),
            (Void, auth, [false, false], token, card),
            (Void, sale, [false, false], None, None),
        ] {
            let transaction = Transaction {
                transaction_id: "txn_1".parse().unwrap(),
                base_amount: Some(Amount::from_cents(10_50)),
                amount: Amount::from_cents(12_45),
                card_number: card.map(MaskedCard::new),
                billing_email: Cow::default(),
                billing_customer_name: r#"x","Operation":"void","TokenId":"tok_2"#.into(),
                billing_address: Cow::default(),
                billing_city: Cow::default(),
                billing_state: None,
                billing_postal_code: Cow::default(),
                billing_country: Some(7),
                billing_country_code: Cow::default(),
                billing_phone_number: Cow::default(),
                transaction_type,
                status: Some("77".into()),
                operation: Some(operation),
                reference_no: Some("order-7 \"\\\n".into()),
                description: Some(Cow::default()),
                token_id: token.map(|token| token.parse().unwrap()),
                voided,
                declined,
                void_reason: voided.then_some("changed their mind".into()),
                processed_at: UNIX_EPOCH + Duration::new(1_900_000_000, 123_456_789),
            };
            let document = TransactionDocument::of(&transaction);
            let entry = document.entry();
            assert_eq!((entry.operation, entry.amount), (operation, Amount::from_cents(12_45)));
            assert_eq!(entry.state == EntryState::Voided, voided);
            assert_eq!(entry.at, transaction.processed_at);
            assert_eq!(entry.reference_no.as_deref(), Some("order-7 \"\\\n"));
            let stored = TransactionDocument(Arc::clone(document.text()));
            assert_eq!(stored.entry(), entry);
            assert_eq!(TransactionDocument::of(&stored.read().complete().unwrap()).text(), document.text());
            assert_eq!(stored.record(), entry.record.to_json());
            let is_charge = operation == TokenTransaction;
            assert_eq!((stored.is_charge_of("tok_1"), stored.is_charge_of("tok_2")), (is_charge, false));
            assert!(!stored.is_charge_of("tok") && !stored.is_charge_of("tok_11"));
        }
    }
}
