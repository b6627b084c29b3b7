//! `payments customer get`.

use payments_core::{Client, LookupError};
use payments_model::CustomerId;

use crate::args::CustomerToFind;
use crate::call::Call;
use crate::failure::Failure;
use crate::processed::Processed;
use crate::purpose::Purpose;

/// The look-up of one customer.
pub(super) fn look_up(asked: &CustomerToFind) -> Result<CustomerId, Failure> {
    Ok(CustomerId::new(asked.id.as_str())?)
}

impl Call for CustomerId {
    type Error = LookupError;

    const PURPOSE: Purpose = Purpose::FindCustomer;

    async fn send(&self, client: &Client) -> Result<Processed, LookupError> {
        Ok(Processed::found_customer(&client.customer(self).await?))
    }
}
