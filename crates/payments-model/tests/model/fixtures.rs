//! Valid requests that the tests change.

use payments_model::{
    AchTransaction, AchTransactionBuilder, Amount, Card, CardTransaction, CardTransactionBuilder,
    ConvenienceFee, Payer, TransactionType, ValidationError,
};
use serde_json::{Value, json};

pub(crate) const CARD: Card<'static> = Card { number: "4242424242424242", cvv: "123", expiry: "1230" };

pub(crate) const PAYER: Payer<'static> = Payer {
    customer_name: "A. Payer",
    email: "payer@example.com",
    country_code: "+1",
    phone_number: "555-0100",
    country: "US",
    postal_code: "94105",
    ip_address: "203.0.113.7",
};

pub(crate) fn sale<'a>(card: Card<'a>, payer: Payer<'a>) -> CardTransactionBuilder<'a> {
    let amount = Amount::from_cents(10_50);
    CardTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, card, payer)
}

pub(crate) fn ach() -> AchTransactionBuilder<'static> {
    AchTransaction::builder(Amount::from_cents(10_50), TransactionType::Sale, ConvenienceFee::Active, PAYER)
}

/// A card transaction as a document, with only the required fields.
pub(crate) fn card_document() -> Value {
    json!({
        "Amount": 10,
        "BillingCountry": "US",
        "BillingCountryCode": "+1",
        "BillingCustomerName": "A. Payer",
        "BillingEmail": "payer@example.com",
        "BillingPhoneNumber": "555-0100",
        "BillingPostalCode": "94105",
        "CardNumber": "4242424242424242",
        "Cvv": "123",
        "ExpiryDate": "1230",
        "SuggestedMode": "Card",
        "ConvenienceFeeActive": false,
        "IpAddress": "203.0.113.7",
    })
}

/// The document with one member replaced or added.
pub(crate) fn with(mut document: Value, name: &str, value: Value) -> Vec<u8> {
    document[name] = value;
    document.to_string().into_bytes()
}

/// The document with one more member, even if the name repeats.
pub(crate) fn with_repeated(document: &Value, member: &str) -> Vec<u8> {
    format!("{{{member},{}", &document.to_string()[1..]).into_bytes()
}

/// The violations as `field: rule`.
pub(crate) fn violations<T>(result: Result<T, ValidationError>) -> Vec<String> {
    match result {
        Ok(_) => Vec::new(),
        Err(error) => error.violations().iter().map(ToString::to_string).collect(),
    }
}

/// The fields that have violations.
pub(crate) fn fields<T>(result: Result<T, ValidationError>) -> Vec<String> {
    match result {
        Ok(_) => Vec::new(),
        Err(error) => error.violations().iter().map(|violation| violation.field().to_owned()).collect(),
    }
}
