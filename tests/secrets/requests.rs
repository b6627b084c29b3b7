//! Requests that are full of canaries.

use payments_canary::Canaries;
use payments_core::model::{
    AchTransaction, AchTransactionBuilder, Amount, Card, CardTransaction, CardTransactionBuilder,
    ConvenienceFee, TransactionType,
};
use payments_core::{ApiKey, Endpoint};

use crate::requests::payer;

pub(super) fn card(canaries: &Canaries) -> Card<'_> {
    Card { number: canaries.card(), cvv: canaries.cvv(), expiry: canaries.expiry() }
}

pub(super) fn card_builder(canaries: &Canaries) -> CardTransactionBuilder<'_> {
    let (amount, fee) = (Amount::from_cents(1_00), ConvenienceFee::Active);
    CardTransaction::builder(amount, TransactionType::Auth, fee, card(canaries), payer())
        .payment_tokenization(true)
}

pub(super) fn card_payment(canaries: &Canaries) -> CardTransaction {
    card_builder(canaries).build().unwrap()
}

pub(super) fn ach_builder(canaries: &Canaries) -> AchTransactionBuilder<'static> {
    let (amount, fee) = (Amount::from_cents(1_00), ConvenienceFee::Active);
    AchTransaction::builder(amount, TransactionType::Sale, fee, payer())
        .account_field("AccountNumber", canaries.account())
        .account_field("Whatever", canaries.account())
}

pub(super) fn ach_payment(canaries: &Canaries) -> AchTransaction {
    ach_builder(canaries).build().unwrap()
}

pub(super) fn key(canaries: &Canaries) -> ApiKey {
    ApiKey::new(canaries.key()).unwrap()
}

pub(super) fn endpoint(canaries: &Canaries) -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", key(canaries)).unwrap()
}
