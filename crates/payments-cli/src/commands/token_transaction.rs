//! `payments token-transaction create`.

use payments_core::{Client, Error};
use payments_model::{Amount, TokenTransaction};

use crate::args::RequestFile;
use crate::call::Call;
use crate::failure::Failure;
use crate::input;
use crate::processed::Processed;
use crate::purpose::Purpose;

/// The token payment that the file asks for.
pub(super) fn payment(request: &RequestFile) -> Result<TokenTransaction, Failure> {
    input::request(&request.file, TokenTransaction::from_json)
}

impl Call for TokenTransaction {
    const PURPOSE: Purpose = Purpose::MoveMoney;

    fn amount(&self) -> Option<Amount> {
        Some(self.amount())
    }

    fn reference(&self) -> Option<&str> {
        self.reference_no()
    }

    async fn send(&self, client: &Client) -> Result<Processed, Error> {
        let success = client.process_token(self).await?;
        Ok(Processed::moved(&success, success.data(), &success.transaction_id))
    }
}
