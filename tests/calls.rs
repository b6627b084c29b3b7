//! One valid call of each kind.

use std::time::Duration;

use payments_core::model::{CustomerId, TransactionId, TransactionType, Void};
use payments_core::{Client, Error, LookupError, OperationName, Outcome};

use crate::requests::{APPROVED, ach, card, sale, token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Card,
    Ach,
    Token,
    Void,
    Transaction,
    Customer,
}

impl Call {
    pub(crate) const ALL: [Self; 6] =
        [Self::Card, Self::Ach, Self::Token, Self::Void, Self::Transaction, Self::Customer];

    pub(crate) fn operation(self) -> OperationName {
        match self {
            Self::Card | Self::Ach => OperationName::Transaction,
            Self::Token => OperationName::TokenTransaction,
            Self::Void => OperationName::Void,
            Self::Transaction => OperationName::GetTransaction,
            Self::Customer => OperationName::GetCustomer,
        }
    }

    /// Creates the authorisation that a void or a lookup needs. For the other calls, returns an unknown id.
    pub(crate) async fn prepare(self, client: &Client) -> TransactionId {
        match self {
            Self::Void | Self::Transaction => {
                let authorised = client.process_card(&card(APPROVED, TransactionType::Auth, 5_00)).await;
                authorised.unwrap().transaction_id.clone()
            }
            Self::Card | Self::Ach | Self::Token | Self::Customer => unknown_id(),
        }
    }

    pub(crate) async fn make(self, client: &Client, target: &TransactionId) -> Result<(), Failed> {
        match self {
            Self::Card => client.process_card(&sale(10_50)).await.map(drop)?,
            Self::Ach => client.process_ach(&ach(10_50)).await.map(drop)?,
            Self::Token => client.process_token(&token("tok_approved", 10_50)).await.map(drop)?,
            Self::Void => client.void(&Void::new(target.clone())).await.map(drop)?,
            Self::Transaction => client.transaction(target).await.map(drop)?,
            Self::Customer => client.customer(&"cus_1".parse::<CustomerId>().unwrap()).await.map(drop)?,
        }
        Ok(())
    }
}

/// How a payment, void or lookup failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// For a lookup too, as in the command's JSON document.
    pub(crate) outcome: Outcome,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) text: String,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { outcome: error.outcome(), retry_after: error.retry_after(), text: error.to_string() }
    }
}

impl From<LookupError> for Failed {
    fn from(error: LookupError) -> Self {
        let is_rejected = error.failed_call().refused_by().is_some();
        let outcome = if is_rejected { Outcome::Rejected } else { Outcome::NotProcessed };
        Self { outcome, retry_after: error.retry_after(), text: error.to_string() }
    }
}

/// The id of a transaction that does not exist.
pub(crate) fn unknown_id() -> TransactionId {
    "txn_unknown".parse().unwrap()
}
