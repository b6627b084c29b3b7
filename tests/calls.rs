//! One valid call of each kind.

use std::fmt;

use payments_core::model::{CustomerId, TransactionId, TransactionType, Void};
use payments_core::{Client, Error, LookupError, OperationName, Outcome, RetryAfter};

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

    /// A transaction for the calls that are about one: an authorisation, or an id where nobody would know it anyway.
    pub(crate) async fn prepare(self, client: &Client) -> TransactionId {
        match self {
            Self::Void | Self::Transaction => {
                let authorised = client.process_card(&card(APPROVED, TransactionType::Auth, 5_00)).await;
                authorised.unwrap().transaction_id.clone()
            }
            Self::Card | Self::Ach | Self::Token | Self::Customer => nobodys(),
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

/// How a call of either kind failed.
#[derive(Debug)]
pub(crate) enum Failed {
    ToMoveMoney(Error),
    ToLookUp(LookupError),
}

impl Failed {
    /// The outcome, as the command's document has it of a lookup too.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::ToMoveMoney(error) => error.outcome(),
            Self::ToLookUp(error) if error.is_rejected() => Outcome::Rejected,
            Self::ToLookUp(_) => Outcome::NotProcessed,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::ToMoveMoney(error) => error.retry_after(),
            Self::ToLookUp(error) => error.retry_after(),
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::ToMoveMoney(error) => error.code(),
            Self::ToLookUp(error) => error.code(),
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::ToMoveMoney(error)
    }
}

impl From<LookupError> for Failed {
    fn from(error: LookupError) -> Self {
        Self::ToLookUp(error)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToMoveMoney(error) => error.fmt(f),
            Self::ToLookUp(error) => error.fmt(f),
        }
    }
}

/// The id of no transaction.
pub(crate) fn nobodys() -> TransactionId {
    "txn_of_nobody".parse().unwrap()
}
