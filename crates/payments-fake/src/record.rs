//! How the records that a look-up shows are made out of requests.

use payments_model::{
    AchTransaction, Amount, CardTransaction, CustomerRecord, Field, MaskedCard, TransactionId,
    TransactionRecord, TransactionTypeCode,
};

use crate::redaction::Redaction;
use crate::seeded_customer;

/// The record of a card payment; `card` is its number, which is masked before it is kept anywhere.
pub(crate) fn of_card(
    id: TransactionId,
    payment: &CardTransaction,
    card: MaskedCard,
    redaction: &Redaction<'_>,
) -> TransactionRecord {
    let mut record = with_billing(id, payment.amount(), payment.billing(), redaction);
    record.card_number = Field::Value(card);
    record
}

/// The record of an ACH payment. Nothing of the account is kept.
pub(crate) fn of_ach(
    id: TransactionId,
    payment: &AchTransaction,
    redaction: &Redaction<'_>,
) -> TransactionRecord {
    with_billing(id, payment.amount(), payment.billing(), redaction)
}

/// The record of a token payment: the payer is the token's owner.
pub(crate) fn of_token(id: TransactionId, base_amount: Amount, card: MaskedCard) -> TransactionRecord {
    let CustomerRecord {
        customer_name,
        email,
        phone_number,
        country_id,
        country_code,
        address,
        city,
        postal_code,
        ..
    } = seeded_customer::record();
    let mut record = TransactionRecord::new(id);
    record.base_amount = Field::Value(base_amount);
    record.card_number = Field::Value(card);
    record.billing_email = email;
    record.billing_customer_name = customer_name;
    record.billing_address = address;
    record.billing_city = city;
    record.billing_state = Field::Null;
    record.billing_postal_code = postal_code;
    record.billing_country = country_id;
    record.billing_country_code = country_code;
    record.billing_phone_number = phone_number;
    record
}

fn with_billing(
    id: TransactionId,
    base_amount: Amount,
    billing: &payments_model::Billing,
    redaction: &Redaction<'_>,
) -> TransactionRecord {
    let text = |text: &str| Field::Value(redaction.text(text).into_owned());
    let mut record = TransactionRecord::new(id);
    record.base_amount = Field::Value(base_amount);
    record.billing_email = text(billing.email().as_str());
    record.billing_customer_name = text(billing.customer_name());
    record.billing_address = text(billing.address().unwrap_or_default());
    record.billing_city = text(billing.city().unwrap_or_default());
    record.billing_state = billing.state().map_or(Field::Null, text);
    record.billing_postal_code = text(billing.postal_code());
    record.billing_country = Field::Value(country_number(billing.country()));
    record.billing_country_code = Field::Value(billing.country_code().as_str().to_owned());
    record.billing_phone_number = text(billing.phone_number());
    record
}

/// Completes a record with what the service decided.
pub(crate) fn decide(
    record: &mut TransactionRecord,
    amount: Amount,
    transaction_type: TransactionTypeCode,
    status: &str,
) {
    record.amount = Field::Value(amount);
    record.transaction_type = Field::Value(transaction_type);
    record.status = Field::Value(status.to_owned());
}

/// A country's number: the one that stands there, unless it is long enough for a card number, or else any number that is
/// always the same for the same text.
fn country_number(text: &str) -> i64 {
    // FNV-1a, because the standard library's hash may differ between its versions.
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    text.parse::<u32>()
        .map_or_else(|_| i64::from(text.bytes().fold(2_166_136_261, hash) % 999) + 1, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d35_any_country_text_has_a_number_that_stays() {
        assert_eq!(country_number("840"), 840);
        assert_eq!(country_number("US"), country_number("US"));
        for text in ["US", "us", "United States", "côte d’ivoire", " ", "-1", "4242424242424242"] {
            assert!((1..=999).contains(&country_number(text)), "{text}");
        }
    }
}
