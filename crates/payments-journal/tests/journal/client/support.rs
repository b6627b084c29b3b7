use std::time::SystemTime;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionReceipt};
use payments_fake::FakeGateway;
use payments_journal::internals::{Begin, Change, IntentStore as _, NewAttempt};
use payments_journal::{AttemptId, Error, IntentKey, Journaled, MemoryStore};

pub(crate) const TEN_FIFTY: Amount = Amount::from_cents(10_50);

pub(crate) fn key() -> IntentKey {
    IntentKey::new("invoice-17").unwrap()
}

pub(crate) fn payment_of(amount: Amount) -> TokenTransaction {
    TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap()
}

pub(crate) fn paid_with(token: &str) -> TokenTransaction {
    TokenTransaction::builder(token, TEN_FIFTY, ConvenienceFee::Inactive).build().unwrap()
}

pub(crate) type Result = std::result::Result<Journaled<TransactionReceipt>, Error>;

/// The begin of the payment that [`World::pay`] makes, by another process.
pub(crate) fn begin_for(other: &MemoryStore) -> Change {
    let (request, owner) = ((&payment_of(TEN_FIFTY)).into(), other.owner().clone());
    Change::begin(
        key(),
        NewAttempt {
            begin: Begin::First,
            service: FakeGateway::BASE_URL.to_owned(),
            request,
            attempt_id: AttemptId::new(),
            owner,
        },
        SystemTime::now(),
    )
}
