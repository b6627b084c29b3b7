//! `payments void`.

use payments_core::{Client, Error, Operation, Success, VoidReceipt};
use payments_journal::{IntentKey, JournaledClient};
use payments_model::{TransactionId, Void};

use crate::call::Call;
use crate::failure::Failure;
use crate::journaled_call::Charge;
use crate::processed::Processed;
use crate::purpose::Purpose;

/// The void of one authorisation.
pub(super) fn void(id: String, reason: Option<String>) -> Result<Void, Failure> {
    let mut void = Void::new(TransactionId::new(id)?);
    if let Some(reason) = reason {
        void = void.reason(reason);
    }
    // The size of the whole is checked where a document is read, and a reason can be of any length.
    Ok(Void::from_json(void.encode().as_ref())?)
}

impl Call for Void {
    type Error = Error;

    const PURPOSE: Purpose = Purpose::MoveMoney;

    fn transaction(&self) -> Option<&TransactionId> {
        Some(self.transaction_id())
    }

    fn search_by(&self) -> &'static str {
        Operation::search_by(self)
    }

    async fn send(&self, client: &Client) -> Result<Processed, Error> {
        Ok(moved(&client.void(self).await?))
    }
}

impl Charge for Void {
    async fn send_once(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
    ) -> Result<Processed, payments_journal::Error> {
        Ok(Processed::journaled(client.void(key, self).await?, key, moved))
    }

    async fn send_after_rejection(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
    ) -> Result<Processed, payments_journal::Error> {
        Ok(Processed::journaled(client.after_rejection(key).void(self).await?, key, moved))
    }
}

/// With the answer's own id, which need not be the voided one; that one the caller knows.
fn moved(success: &Success<VoidReceipt>) -> Processed {
    let receipt = &success.receipt;
    Processed::moved(success, receipt.to_json(), &receipt.transaction_id)
}
