//! `payments token-transaction create`.

use payments_core::{Client, Error, Operation, Success};
use payments_journal::{IntentKey, JournaledClient};
use payments_model::{Amount, TokenTransaction, TransactionReceipt};

use crate::args::RequestFile;
use crate::call::Call;
use crate::failure::Failure;
use crate::input;
use crate::journaled_call::Charge;
use crate::processed::Processed;
use crate::purpose::Purpose;

/// The token payment that the file asks for.
pub(super) fn payment(request: &RequestFile) -> Result<TokenTransaction, Failure> {
    input::request(&request.file, TokenTransaction::from_json)
}

impl Call for TokenTransaction {
    type Error = Error;

    const PURPOSE: Purpose = Purpose::MoveMoney;

    fn amount(&self) -> Option<Amount> {
        Some(self.amount())
    }

    fn reference(&self) -> Option<&str> {
        self.reference_no()
    }

    fn search_by(&self) -> &'static str {
        Operation::search_by(self)
    }

    async fn send(&self, client: &Client) -> Result<Processed, Error> {
        Ok(moved(&client.process_token(self).await?))
    }
}

impl Charge for TokenTransaction {
    async fn send_once(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
    ) -> Result<Processed, payments_journal::Error> {
        Ok(Processed::journaled(client.process_token(key, self).await?, key, moved))
    }

    async fn send_after_rejection(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
    ) -> Result<Processed, payments_journal::Error> {
        Ok(Processed::journaled(client.after_rejection(key).process_token(self).await?, key, moved))
    }
}

fn moved(success: &Success<TransactionReceipt>) -> Processed {
    Processed::moved(success, success.to_json(), &success.transaction_id)
}
