//! Valid requests for the tests.

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, Payer, TokenTransaction, TransactionType,
};

/// A card number that the fake approves.
pub(crate) const APPROVED: &str = "4242424242424242";

pub(crate) fn payer() -> Payer<'static> {
    Payer {
        customer_name: "Ada Lovelace",
        email: "ada@example.com",
        country_code: "+1",
        phone_number: "415-555-0100",
        country: "US",
        postal_code: "94107",
        ip_address: "203.0.113.7",
    }
}

pub(crate) fn card(number: &str, transaction_type: TransactionType, cents: i64) -> CardTransaction {
    payment(number, transaction_type, cents, payer())
}

pub(crate) fn sale(cents: i64) -> CardTransaction {
    card(APPROVED, TransactionType::Sale, cents)
}

pub(crate) fn sale_to(payer: Payer<'_>) -> CardTransaction {
    payment(APPROVED, TransactionType::Sale, 1_00, payer)
}

fn payment(number: &str, transaction_type: TransactionType, cents: i64, payer: Payer<'_>) -> CardTransaction {
    let card = Card { number, cvv: "123", expiry: "12/30" };
    CardTransaction::builder(
        Amount::from_cents(cents),
        transaction_type,
        ConvenienceFee::Inactive,
        card,
        payer,
    )
    .billing_city("San Francisco")
    .build()
    .unwrap()
}

pub(crate) fn ach(cents: i64) -> AchTransaction {
    AchTransaction::builder(
        Amount::from_cents(cents),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        payer(),
    )
    .account_field("RoutingNumber", "021000021")
    .account_field("AccountNumber", "000123456789")
    .build()
    .unwrap()
}

pub(crate) fn token(token: &str, cents: i64) -> TokenTransaction {
    TokenTransaction::builder(token, Amount::from_cents(cents), ConvenienceFee::Inactive)
        .reference_no("invoice 17")
        .build()
        .unwrap()
}
