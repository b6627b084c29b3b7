//! The service's operations as calls of this command.

use bytes::Bytes;
use http::Request;
use payments_core::{
    Client, Endpoint, Error, Facts, GetCustomer, GetTransaction, LookupError, Operation, Success, VoidReceipt,
};
use payments_journal::IntentRequest;
use payments_model::{
    CustomerId, TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord, TransactionRequest,
    Void,
};

use crate::call::Call;
use crate::call::journaled::{Attempt, Charge};
use crate::failure::{Failure, Purpose};
use crate::report::{Effect, Processed};
use crate::rows::card_like_ids::{self, NOT_CARDS, is_like_a_card};

/// Builds a void.
pub(super) fn void(id: String, reason: Option<String>, may_be_like_a_card: bool) -> Result<Void, Failure> {
    if !may_be_like_a_card && is_like_a_card(&id) {
        let rule = card_like_ids::rule("TransactionId");
        return Err(Failure::usage(format!("the id {rule}; nothing was sent; {NOT_CARDS}")));
    }
    let void = Void::new(TransactionId::new(id)?);
    Ok(match reason {
        Some(reason) => void.with_reason(reason)?,
        None => void,
    })
}

/// A call for what moves money. The document of a payment may be one of two operations: each form is given as the pattern that binds
/// its operation. The function describes the response.
macro_rules! charges {
    ($($charge:ty: $operation:ident in [$($form:pat),+] => $moved:ident;)*) => {$(
        impl Call for $charge {
            type Error = Error;

            const PURPOSE: Purpose = Purpose::MoveMoney;

            fn facts(&self) -> Option<Facts<'_>> {
                Some(match self { $($form => Operation::facts($operation)),+ })
            }

            fn id(&self) -> Option<&str> {
                Call::facts(self)?.transaction_id.map(TransactionId::as_str)
            }

            fn http_request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
                match self { $($form => Operation::request($operation, endpoint)),+ }
            }

            async fn send(&self, client: &Client) -> Result<Processed, Error> {
                Ok(match self { $($form => $moved(&client.call($operation).await?)),+ })
            }
        }

        impl Charge for $charge {
            fn request(&self) -> IntentRequest {
                match self { $($form => $operation.into()),+ }
            }

            async fn send_with(&self, attempt: &Attempt<'_>) -> Result<Processed, payments_journal::Error> {
                match self { $($form => attempt.send($operation, $moved).await),+ }
            }
        }
    )*};
}

charges! {
    TransactionRequest: payment in [Self::Card(payment), Self::Ach(payment)] => of_record;
    TokenTransaction: payment in [payment] => of_receipt;
    Void: void in [void] => of_void;
}

impl Call for TransactionId {
    type Error = LookupError;

    const PURPOSE: Purpose = Purpose::FindTransaction;

    fn id(&self) -> Option<&str> {
        Some(self.as_str())
    }

    fn http_request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, LookupError> {
        GetTransaction::new(self.clone()).request(endpoint)
    }

    async fn send(&self, client: &Client) -> Result<Processed, LookupError> {
        let success = client.transaction(self).await?;
        let found = success.transaction_id.clone();
        Ok(Processed::of(&success, success.data(), Effect::FoundTransaction(found)))
    }
}

impl Call for CustomerId {
    type Error = LookupError;

    const PURPOSE: Purpose = Purpose::FindCustomer;

    fn id(&self) -> Option<&str> {
        Some(self.as_str())
    }

    fn http_request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, LookupError> {
        GetCustomer::new(self.clone()).request(endpoint)
    }

    async fn send(&self, client: &Client) -> Result<Processed, LookupError> {
        let success = client.customer(self).await?;
        let found = success.customer_id.value().cloned();
        Ok(Processed::of(&success, success.data(), Effect::FoundCustomer(found)))
    }
}

fn of_record(success: &Success<TransactionRecord>) -> Processed {
    Processed::moved(success, success.data(), &success.transaction_id)
}

pub(super) fn of_receipt(success: &Success<TransactionReceipt>) -> Processed {
    Processed::moved(success, success.data(), &success.transaction_id)
}

/// Uses the response's own id, which may differ from the voided one, which the caller already knows.
fn of_void(success: &Success<VoidReceipt>) -> Processed {
    let receipt: &TransactionReceipt = success.data();
    Processed::moved(success, receipt, &receipt.transaction_id)
}
