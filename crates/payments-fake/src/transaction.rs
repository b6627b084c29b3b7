//! A transaction as JSON: its record, then what the ledger knows beyond it. It is what the store keeps, what a change log
//! writes down, what the state shows and what a fixture file holds.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use payments_core::OperationName;
use payments_model::unversioned::as_number;
use payments_model::{Amount, MaskedCard, TokenId, TransactionId, TransactionTypeCode};
use serde::{Deserialize, Serialize, Serializer};

use crate::{EntryKind, EntryState, LedgerEntry, PaymentSource, StatusCodes, document, fixtures};

/// The members in the order in which they are written: first those of the record, of which a look-up shows no others.
///
/// Read, it is as strict as for a person's document: only `TransactionId` and `Amount` are required.
#[expect(clippy::struct_field_names, reason = "they are the interface's")]
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct Transaction<'a> {
    #[serde(deserialize_with = "document::id")]
    pub(crate) transaction_id: TransactionId,
    #[serde(default, deserialize_with = "document::amount", serialize_with = "number")]
    pub(crate) base_amount: Option<Amount>,
    #[serde(deserialize_with = "document::payable", serialize_with = "number")]
    pub(crate) amount: Amount,
    /// A payment from a bank account has none.
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
    /// Puts what the fake would have written in the place of what a person left out.
    pub(crate) fn complete(mut self) -> Result<Self, &'static str> {
        if self.voided && self.declined {
            return Err("Voided must be false for a transaction that was declined");
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

    /// Whether a void would undo it.
    pub(crate) fn is_charged(&self) -> bool {
        self.kind() != EntryKind::Void && self.state() == EntryState::Approved
    }

    fn operation(&self) -> OperationName {
        let of_source =
            || self.token_id.as_ref().map_or(OperationName::Transaction, |_| OperationName::TokenTransaction);
        self.operation.unwrap_or_else(of_source)
    }
}

/// One kept transaction. The record stands first and verbatim, so that a look-up copies it and decodes nothing. It holds
/// personal data.
#[derive(Clone, PartialEq)]
pub(crate) struct TransactionDocument {
    text: Arc<str>,
    /// Where the record ends, its closing brace not included.
    record_end: usize,
}

impl TransactionDocument {
    pub(crate) fn of(transaction: &Transaction<'_>) -> Self {
        let mut text = Vec::with_capacity(1024);
        serde_json::to_writer(&mut text, transaction).expect("texts, numbers and flags are JSON");
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        Self::bounded(text.into()).expect("an operation is written")
    }

    /// A document that was kept, if it can be read: no look-up may fail because of it.
    pub(crate) fn kept(text: Arc<str>) -> Option<Self> {
        let document = Self::bounded(text)?;
        document.decoded().map(|_| document)
    }

    fn bounded(text: Arc<str>) -> Option<Self> {
        let record_end = text.rfind(BOOKKEEPING).filter(|_| text.starts_with('{') && text.ends_with('}'))?;
        Some(Self { text, record_end })
    }

    /// What a look-up shows, as JSON.
    pub(crate) fn record(&self) -> String {
        [self.open_record(), "}"].concat()
    }

    /// The same without its closing brace.
    pub(crate) fn open_record(&self) -> &str {
        &self.text[..self.record_end]
    }

    pub(crate) fn read(&self) -> Transaction<'static> {
        document::read(&self.text).expect("what was written reads back")
    }

    pub(crate) fn entry(&self) -> LedgerEntry {
        self.decoded().expect("what was written reads back")
    }

    fn decoded(&self) -> Option<LedgerEntry> {
        let kept: Transaction<'_> = document::read(&self.text).ok()?;
        let (operation, kind, state) = (kept.operation(), kept.kind(), kept.state());
        Some(LedgerEntry {
            operation,
            kind,
            state,
            amount: kept.amount,
            source: match (kept.token_id, kept.card_number) {
                (Some(token), _) => PaymentSource::Token(token),
                (None, Some(card)) => PaymentSource::Card(card),
                (None, None) => PaymentSource::Account,
            },
            reference_no: kept.reference_no.map(Cow::into_owned),
            description: kept.description.map(Cow::into_owned),
            void_reason: kept.void_reason.map(Cow::into_owned),
            at: kept.processed_at,
            record: serde_json::from_str(&self.record()).ok()?,
        })
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether it is a payment with this token. The void of one names the token too, and is none.
    pub(crate) fn is_charge_of(&self, token: &str) -> bool {
        let bookkeeping = &self.text[self.record_end..];
        bookkeeping.starts_with(r#","Operation":"token-transaction","#)
            && bookkeeping.contains(&format!(r#","TokenId":"{token}","#))
    }
}

/// How the part after the record begins. No record has such a field, and within a text the quotation marks would be
/// escaped, so it stands in a document once.
const BOOKKEEPING: &str = ",\"Operation\":\"";

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
    fn a_transaction_is_the_same_after_it_was_a_document() {
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
            let kept = TransactionDocument::kept(Arc::clone(document.text())).unwrap();
            assert_eq!(kept.entry(), entry);
            assert_eq!(TransactionDocument::of(&kept.read().complete().unwrap()).text(), document.text());
            assert_eq!(kept.record(), entry.record.to_json());
            let is_charge = operation == TokenTransaction;
            assert_eq!((kept.is_charge_of("tok_1"), kept.is_charge_of("tok_2")), (is_charge, false));
            assert!(!kept.is_charge_of("tok") && !kept.is_charge_of("tok_11"));
        }
    }
}
