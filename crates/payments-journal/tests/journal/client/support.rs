use std::time::SystemTime;

use http::StatusCode;
use payments_core::OperationName;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionReceipt};
use payments_fake::{FakeGateway, Fault};
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
            begin: Begin::Plain,
            service: FakeGateway::BASE_URL.to_owned(),
            request,
            attempt_id: AttemptId::new(),
            owner,
        },
        SystemTime::now(),
    )
}

const PAYMENT: OperationName = OperationName::TokenTransaction;

/// The payment is made, and its response lost.
pub(crate) fn response_lost() -> Fault {
    Fault::response_lost(PAYMENT)
}

/// The payment is lost on its way.
pub(crate) fn request_lost() -> Fault {
    Fault::request_lost(PAYMENT)
}

/// No connection is made.
pub(crate) fn unreached() -> Fault {
    Fault::on(PAYMENT).before_commit().refuse()
}

/// The service answers the payment with this status.
pub(crate) fn answered(status: u16) -> Fault {
    Fault::on(PAYMENT).before_commit().status(StatusCode::from_u16(status).unwrap())
}
