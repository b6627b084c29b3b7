//! `payments void`.

use payments_core::{Client, Error};
use payments_model::{TransactionId, Void};

use crate::args::VoidArguments;
use crate::call::Call;
use crate::failure::Failure;
use crate::processed::Processed;
use crate::purpose::Purpose;

/// The void of one authorisation.
pub(super) fn void(arguments: VoidArguments) -> Result<Void, Failure> {
    let mut void = Void::new(TransactionId::new(arguments.id)?);
    if let Some(reason) = arguments.reason {
        void = void.reason(reason);
    }
    // The size of the whole is checked where a document is read, and a reason can be of any length.
    Ok(Void::from_json(void.encode().as_ref())?)
}

impl Call for Void {
    const PURPOSE: Purpose = Purpose::MoveMoney;

    fn transaction(&self) -> Option<&TransactionId> {
        Some(self.transaction_id())
    }

    async fn send(&self, client: &Client) -> Result<Processed, Error> {
        let success = client.void(self).await?;
        // The answer's own id, which need not be the voided one; that one the caller knows.
        let receipt = &success.receipt;
        Ok(Processed::moved(&success, receipt, &receipt.transaction_id))
    }
}
