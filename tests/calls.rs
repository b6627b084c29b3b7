//! One valid call of each kind.

use payments_core::model::{CustomerId, TransactionId, TransactionType, Void};
use payments_core::{Client, Error, OperationName};

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

    pub(crate) async fn make(self, client: &Client, target: &TransactionId) -> Result<(), Error> {
        match self {
            Self::Card => client.process_card(&sale(10_50)).await.map(drop),
            Self::Ach => client.process_ach(&ach(10_50)).await.map(drop),
            Self::Token => client.process_token(&token("tok_approved", 10_50)).await.map(drop),
            Self::Void => client.void(&Void::new(target.clone())).await.map(drop),
            Self::Transaction => client.transaction(target).await.map(drop),
            Self::Customer => client.customer(&"cus_1".parse::<CustomerId>().unwrap()).await.map(drop),
        }
    }
}

/// The id of no transaction.
pub(crate) fn nobodys() -> TransactionId {
    "txn_of_nobody".parse().unwrap()
}
