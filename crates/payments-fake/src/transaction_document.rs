//! A transaction as JSON: its record, then what the ledger knows beyond it. It is what the store keeps, what a change log
//! writes down, what the state shows and what a fixture file holds.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use payments_core::OperationName;
use payments_model::{Field, OtherFields, TransactionId, TransactionRecord, TransactionTypeCode, mask};

use crate::choices::StatusCodes;
use crate::document_reader::DocumentReader;
use crate::{EntryKind, EntryState, LedgerEntry, PaymentSource, seeded_customer, timestamp};

/// One kept transaction. The record stands first and verbatim, so that a look-up copies it and decodes nothing.
#[derive(Clone)]
pub(crate) struct TransactionDocument {
    text: Arc<str>,
    /// Where the record ends, its closing brace not included.
    record_end: usize,
}

impl TransactionDocument {
    pub(crate) fn of(entry: &LedgerEntry) -> Self {
        let LedgerEntry {
            operation,
            kind: _, // follows from the operation and the type
            state,
            amount: _, // stands in the record
            source,
            reference_no,
            description,
            void_reason,
            at,
            record,
        } = entry;
        let mut text = record.to_json().into_bytes();
        let brace = text.pop();
        debug_assert_eq!(brace, Some(b'}'), "a record is a JSON object");
        let record_end = text.len();
        let token = match source {
            PaymentSource::Token(token) => Some(token.as_str()),
            PaymentSource::Card(_) | PaymentSource::Account => None,
        };
        text.extend_from_slice(BOOKKEEPING.as_bytes());
        let written = write!(text, "{operation}\"");
        debug_assert!(written.is_ok(), "a vector takes everything");
        push_text(&mut text, "ReferenceNo", reference_no.as_deref());
        push_text(&mut text, "Description", description.as_deref());
        push_text(&mut text, "TokenId", token);
        push_flag(&mut text, "Voided", *state == EntryState::Voided);
        push_flag(&mut text, "Declined", *state == EntryState::Declined);
        push_text(&mut text, "VoidReason", void_reason.as_deref());
        push_text(&mut text, "ProcessedAt", Some(&timestamp::format(*at)));
        text.push(b'}');
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        Self { text: text.into(), record_end }
    }

    /// A document that was kept, without decoding it.
    pub(crate) fn kept(text: Arc<str>) -> Option<Self> {
        let record_end = text.find(BOOKKEEPING).filter(|_| text.starts_with('{') && text.ends_with('}'))?;
        Some(Self { text, record_end })
    }

    /// What a look-up shows, as JSON.
    pub(crate) fn record(&self) -> String {
        [&self.text[..self.record_end], "}"].concat()
    }

    pub(crate) fn entry(&self) -> LedgerEntry {
        read(&self.text).expect("what was written reads back")
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether it is a payment with this token. The void of one names the token too, and is none.
    pub(crate) fn is_charge_of(&self, token: &str) -> bool {
        const NAME: &str = ",\"TokenId\":\"";
        let bookkeeping = &self.text[self.record_end + BOOKKEEPING.len()..];
        if !bookkeeping.starts_with(OperationName::TokenTransaction.as_str()) {
            return false;
        }
        let after = bookkeeping.find(NAME).map(|at| &bookkeeping[at + NAME.len()..]);
        after.and_then(|rest| rest.strip_prefix(token)).is_some_and(|rest| rest.starts_with('"'))
    }
}

/// It holds personal data: only its size is shown.
impl fmt::Debug for TransactionDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, record_end: _ } = self;
        write!(f, "TransactionDocument({} bytes)", text.len())
    }
}

/// How the part after the record begins. No record has such a field, and within a text the quotation marks would be
/// escaped, so it stands in a document once.
const BOOKKEEPING: &str = ",\"Operation\":\"";

fn push_text(out: &mut Vec<u8>, name: &str, value: Option<&str>) {
    push_name(out, name);
    serde_json::to_writer(out, &value).expect("a text is JSON and a vector takes everything");
}

fn push_flag(out: &mut Vec<u8>, name: &str, value: bool) {
    push_name(out, name);
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// The entry that a document holds, or everything that is wrong with it. Only `TransactionId` and `Amount` are required:
/// a person may have written it.
pub(crate) fn read(json: &str) -> Result<LedgerEntry, Vec<String>> {
    let mut reader = DocumentReader::new(json)?;
    let token = reader.parsed("TokenId", "must be the id of a token, or null");
    let operation = read_operation(&mut reader, token.is_some());
    let reference_no = reader.text("ReferenceNo");
    let description = reader.text("Description");
    let state = match (reader.flag("Voided"), reader.flag("Declined")) {
        (false, false) => EntryState::Approved,
        (true, false) => EntryState::Voided,
        (false, true) => EntryState::Declined,
        (true, true) => {
            reader.problem("Voided", "must be false for a transaction that was declined");
            EntryState::Declined
        }
    };
    let void_reason = reader.text("VoidReason");
    let at = reader.text("ProcessedAt").map_or(Some(UNIX_EPOCH), |text| timestamp::parse(&text));
    if at.is_none() {
        reader.problem("ProcessedAt", "must be a time in UTC such as 2030-01-31T12:00:00Z");
    }
    let record = read_record(&mut reader, json, state);
    reader.finish()?;

    let at = at.expect("a time that cannot be read is a problem");
    let kind = match (operation, record.transaction_type.value()) {
        (OperationName::Void, _) => EntryKind::Void,
        (_, Some(&TransactionTypeCode::AUTH)) => EntryKind::Authorisation,
        _ => EntryKind::Sale,
    };
    let source = match (token, record.card_number.value()) {
        (Some(token), _) => PaymentSource::Token(token),
        (None, Some(card)) => PaymentSource::Card(card.clone()),
        (None, None) => PaymentSource::Account,
    };
    let amount = record.amount.value().copied().expect("a record without an amount is a problem");
    Ok(LedgerEntry {
        operation,
        kind,
        state,
        amount,
        source,
        reference_no,
        description,
        void_reason,
        at,
        record,
    })
}

fn read_operation(reader: &mut DocumentReader<'_>, is_of_token: bool) -> OperationName {
    let Some(name) = reader.text("Operation") else {
        return if is_of_token { OperationName::TokenTransaction } else { OperationName::Transaction };
    };
    OperationName::from_name(&name).filter(|operation| operation.moves_money()).unwrap_or_else(|| {
        reader.problem("Operation", "must be transaction, token-transaction or void");
        OperationName::Transaction
    })
}

/// The record, completed by what every record of this fake has, and strictly: the model forgives what a service may send,
/// not what a person mistypes.
fn read_record(reader: &mut DocumentReader<'_>, json: &str, state: EntryState) -> TransactionRecord {
    const ID: &str = "must be an id as a text, and able to stand in a path";
    reader.required::<TransactionId>("TransactionId", ID);
    let mut record = serde_json::from_str::<TransactionRecord>(json).unwrap_or_else(|_| {
        // It has no id. The rest is read all the same, so that everything wrong with it is told at once.
        let with_an_id = reader.rest_with("TransactionId", "unknown");
        serde_json::from_str(&with_an_id).expect("a JSON object with an id is a record")
    });
    reader.must_be_readable("BaseAmount", &record.base_amount, AMOUNT);
    reader.must_be_readable("Amount", &record.amount, AMOUNT);
    reader.must_be_readable("CardNumber", &record.card_number, TEXT);
    reader.must_be_readable("BillingEmail", &record.billing_email, TEXT);
    reader.must_be_readable("BillingCustomerName", &record.billing_customer_name, TEXT);
    reader.must_be_readable("BillingAddress", &record.billing_address, TEXT);
    reader.must_be_readable("BillingCity", &record.billing_city, TEXT);
    reader.must_be_readable("BillingState", &record.billing_state, TEXT);
    reader.must_be_readable("BillingPostalCode", &record.billing_postal_code, TEXT);
    reader.must_be_small("BillingCountry", &record.billing_country);
    reader.must_be_readable("BillingCountryCode", &record.billing_country_code, TEXT);
    reader.must_be_readable("BillingPhoneNumber", &record.billing_phone_number, TEXT);
    reader.must_be_readable("TransactionType", &record.transaction_type, TYPE);
    let known_types = [TransactionTypeCode::SALE, TransactionTypeCode::AUTH];
    if record.transaction_type.value().is_some_and(|code| !known_types.contains(code)) {
        reader.problem("TransactionType", TYPE);
    }
    reader.must_be_readable("Status", &record.status, TEXT);
    match &record.amount {
        Field::Absent | Field::Null => reader.problem("Amount", "must be there"),
        Field::Value(amount) if !amount.is_positive() => reader.problem("Amount", "must be above zero"),
        Field::Value(_) | Field::Unreadable(_) => {}
    }
    complete(&mut record, state);
    record
}

const AMOUNT: &str = "must be a number with at most 18 digits";
const TEXT: &str = "must be a text";
const TYPE: &str = "must be 1 for a sale or 2 for an authorisation";

fn complete(record: &mut TransactionRecord, state: EntryState) {
    let TransactionRecord {
        transaction_id: _,
        base_amount,
        amount,
        // A payment from a bank account has none.
        card_number: _,
        billing_email,
        billing_customer_name,
        billing_address,
        billing_city,
        billing_state,
        billing_postal_code,
        billing_country,
        billing_country_code,
        billing_phone_number,
        transaction_type,
        status,
        other,
        ..
    } = record;
    // The bookkeeping, which the model cannot know.
    *other = OtherFields::default();
    if base_amount.value().is_none() {
        base_amount.clone_from(amount);
    }
    for text in [
        billing_email,
        billing_customer_name,
        billing_address,
        billing_city,
        billing_postal_code,
        billing_country_code,
        billing_phone_number,
    ] {
        *text = Field::Value(text.value().map_or_else(String::new, |text| mask(text, &[]).into_owned()));
    }
    *billing_state =
        billing_state.value().map_or(Field::Null, |text| Field::Value(mask(text, &[]).into_owned()));
    if billing_country.value().is_none() {
        *billing_country = Field::Value(seeded_customer::COUNTRY_ID);
    }
    if transaction_type.value().is_none() {
        *transaction_type = Field::Value(TransactionTypeCode::SALE);
    }
    let StatusCodes { sale, authorised, voided, declined } = StatusCodes::default();
    let code = match state {
        EntryState::Voided => voided,
        EntryState::Declined => declined,
        EntryState::Approved if transaction_type.value() == Some(&TransactionTypeCode::AUTH) => authorised,
        EntryState::Approved => sale,
    };
    *status =
        Field::Value(status.value().map_or_else(|| code.into_owned(), |text| mask(text, &[]).into_owned()));
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use payments_model::{Amount, MaskedCard};

    use super::*;
    use crate::record;

    fn entry(
        operation: OperationName,
        kind: EntryKind,
        state: EntryState,
        source: PaymentSource,
    ) -> LedgerEntry {
        let id: TransactionId = "txn_1".parse().unwrap();
        let amount = Amount::from_cents(12_45);
        let mut record = record::of_token(id, Amount::from_cents(10_50), MaskedCard::new("4242424242424242"));
        if source == PaymentSource::Account {
            record.card_number = Field::Absent;
        }
        let code = if kind == EntryKind::Authorisation {
            TransactionTypeCode::AUTH
        } else {
            TransactionTypeCode::SALE
        };
        record::decide(&mut record, amount, code, "77");
        record.billing_customer_name = Field::Value(r#"x","Operation":"void","TokenId":"tok_2"#.to_owned());
        LedgerEntry {
            operation,
            kind,
            state,
            amount,
            source,
            reference_no: Some("order-7 \"\\\n".to_owned()),
            description: Some(String::new()),
            void_reason: (state == EntryState::Voided).then(|| "changed their mind".to_owned()),
            at: SystemTime::UNIX_EPOCH + Duration::new(1_900_000_000, 123_456_789),
            record,
        }
    }

    #[test]
    fn an_entry_is_the_same_after_it_was_a_document() {
        use EntryState::{Approved, Declined, Voided};
        let token = || PaymentSource::Token("tok_1".parse().unwrap());
        let card = || PaymentSource::Card(MaskedCard::new("4242424242424242"));
        for (operation, kind, state, source) in [
            (OperationName::Transaction, EntryKind::Sale, Approved, card()),
            (OperationName::Transaction, EntryKind::Authorisation, Voided, card()),
            (OperationName::Transaction, EntryKind::Sale, Declined, PaymentSource::Account),
            (OperationName::TokenTransaction, EntryKind::Sale, Approved, token()),
            (OperationName::TokenTransaction, EntryKind::Authorisation, Voided, token()),
            (OperationName::Void, EntryKind::Void, Approved, token()),
            (OperationName::Void, EntryKind::Void, Approved, PaymentSource::Account),
        ] {
            let entry = entry(operation, kind, state, source);
            let document = TransactionDocument::of(&entry);
            assert_eq!(document.entry(), entry);
            let kept = TransactionDocument::kept(Arc::clone(document.text())).unwrap();
            assert_eq!(kept.entry(), entry);
            assert_eq!(kept.record(), entry.record.to_json());
            let is_charge = operation == OperationName::TokenTransaction;
            assert_eq!((kept.is_charge_of("tok_1"), kept.is_charge_of("tok_2")), (is_charge, false));
            assert!(!kept.is_charge_of("tok") && !kept.is_charge_of("tok_11"));
        }
    }
}
