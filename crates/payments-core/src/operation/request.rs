use std::borrow::Cow;

use payments_model::{AchTransaction, CardTransaction, SecretBytes, TokenTransaction, ValidationError, Void};

use super::facts::Facts;
use super::lookups::{GetCustomer, GetTransaction};
use super::name::OperationName;
use crate::response::Secrets;

/// The request of any operation. Whatever differs between the operations is decided here.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Card(&'a CardTransaction),
    Ach(&'a AchTransaction),
    Token(&'a TokenTransaction),
    Void(&'a Void),
    GetTransaction(&'a GetTransaction),
    GetCustomer(&'a GetCustomer),
}

impl<'a> Request<'a> {
    pub(super) fn facts(self) -> Facts<'a> {
        match self {
            // The interface has one URL and one response for a card and for an account.
            Self::Card(payment) => Facts {
                amount: Some(payment.amount()),
                transaction_type: Some(payment.transaction_type()),
                convenience_fee: Some(payment.convenience_fee()),
                last_four: Some(payment.card_number().last_four()),
                ..Facts::new(OperationName::Transaction)
            },
            Self::Ach(payment) => Facts {
                amount: Some(payment.amount()),
                transaction_type: Some(payment.transaction_type()),
                convenience_fee: Some(payment.convenience_fee()),
                ..Facts::new(OperationName::Transaction)
            },
            Self::Token(payment) => Facts {
                amount: Some(payment.amount()),
                convenience_fee: Some(payment.convenience_fee()),
                token_id: Some(payment.token_id()),
                reference: payment.reference_no(),
                ..Facts::new(OperationName::TokenTransaction)
            },
            Self::Void(void) => {
                Facts { transaction_id: Some(void.transaction_id()), ..Facts::new(OperationName::Void) }
            }
            Self::GetTransaction(GetTransaction { id }) => {
                Facts { transaction_id: Some(id), ..Facts::new(OperationName::GetTransaction) }
            }
            Self::GetCustomer(_) => Facts::new(OperationName::GetCustomer),
        }
    }

    /// The body of a `POST`.
    pub(super) fn body(self) -> Option<SecretBytes> {
        match self {
            Self::Card(payment) => Some(payment.to_json()),
            Self::Ach(payment) => Some(payment.to_json()),
            Self::Token(payment) => Some(payment.to_json()),
            Self::Void(void) => Some(void.to_json()),
            Self::GetTransaction(_) | Self::GetCustomer(_) => None,
        }
    }

    /// The id in the path of a lookup, percent-encoded.
    pub(super) fn path_id(self) -> Result<Cow<'a, str>, ValidationError> {
        match self {
            Self::GetTransaction(GetTransaction { id }) => id.path_segment(),
            Self::GetCustomer(GetCustomer { id }) => id.path_segment(),
            _ => Ok(Cow::Borrowed("")),
        }
    }

    /// The secrets of a call with these keys.
    pub(super) fn secrets(self, api_keys: impl Iterator<Item = &'a str>) -> Secrets<'a> {
        match self {
            Self::Card(payment) => {
                let others = [payment.cvv().expose_secret(), payment.expiry().expose_secret()];
                Secrets::new(api_keys, Some(payment.card_number()), &others, None)
            }
            Self::Ach(payment) => Secrets::new(api_keys, None, &payment.secrets(), None)
                .with_account_names(payment.account_field_names().collect()),
            Self::Token(payment) => Secrets::new(api_keys, None, &[], Some(payment.token_id())),
            _ => Secrets::new(api_keys, None, &[], None),
        }
    }
}
