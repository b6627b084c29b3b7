//! `payments transaction create` and `payments transaction get`.

use payments_core::{Client, Error, LookupError, Operation as _, Success};
use payments_journal::{IntentKey, JournaledClient};
use payments_model::{Amount, TransactionId, TransactionRecord, TransactionRequest};

use crate::args::{RequestFile, TransactionToFind};
use crate::call::Call;
use crate::failure::Failure;
use crate::input;
use crate::journaled_call::Charge;
use crate::processed::Processed;
use crate::purpose::Purpose;

/// The card or ACH payment that the file asks for.
pub(super) fn payment(request: &RequestFile) -> Result<TransactionRequest, Failure> {
    input::request(&request.file, TransactionRequest::from_json)
}

/// The look-up of one transaction.
pub(super) fn look_up(asked: &TransactionToFind) -> Result<TransactionId, Failure> {
    Ok(TransactionId::new(asked.id.as_str())?)
}

impl Call for TransactionRequest {
    type Error = Error;

    const PURPOSE: Purpose = Purpose::MoveMoney;

    fn amount(&self) -> Option<Amount> {
        Some(match self {
            Self::Card(payment) => payment.amount(),
            Self::Ach(payment) => payment.amount(),
        })
    }

    fn search_by(&self) -> &'static str {
        match self {
            Self::Card(payment) => payment.search_by(),
            Self::Ach(payment) => payment.search_by(),
        }
    }

    async fn send(&self, client: &Client) -> Result<Processed, Error> {
        let success = match self {
            Self::Card(payment) => client.process_card(payment).await,
            Self::Ach(payment) => client.process_ach(payment).await,
        }?;
        Ok(moved(&success))
    }
}

impl Charge for TransactionRequest {
    async fn send_once(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
    ) -> Result<Processed, payments_journal::Error> {
        let journaled = match self {
            Self::Card(payment) => client.process_card(key, payment).await,
            Self::Ach(payment) => client.process_ach(key, payment).await,
        }?;
        Ok(Processed::journaled(journaled, key, moved))
    }

    async fn send_after_rejection(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
    ) -> Result<Processed, payments_journal::Error> {
        let attempt = client.after_rejection(key);
        let journaled = match self {
            Self::Card(payment) => attempt.process_card(payment).await,
            Self::Ach(payment) => attempt.process_ach(payment).await,
        }?;
        Ok(Processed::journaled(journaled, key, moved))
    }
}

fn moved(success: &Success<TransactionRecord>) -> Processed {
    Processed::moved(success, success.to_json(), &success.transaction_id)
}

impl Call for TransactionId {
    type Error = LookupError;

    const PURPOSE: Purpose = Purpose::FindTransaction;

    async fn send(&self, client: &Client) -> Result<Processed, LookupError> {
        Ok(Processed::found_transaction(&client.transaction(self).await?, self))
    }
}
