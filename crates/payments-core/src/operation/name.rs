use std::fmt;

use serde::{Deserialize, Serialize};

/// Which of the service's operations a request belongs to: a label for logs, metrics and faults.
///
/// It is serialized as its [name](Self::as_str).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OperationName {
    /// `POST /transaction`: a card or ACH payment.
    Transaction,
    /// `POST /token-transaction`: a payment with a stored token.
    TokenTransaction,
    /// `POST /void`: the void of an authorized transaction.
    Void,
    /// `GET /transaction/{id}`: the lookup of one transaction.
    GetTransaction,
    /// `GET /customer/{id}`: the lookup of one customer.
    GetCustomer,
}

impl OperationName {
    /// Every operation, in the order of the interface.
    pub const ALL: &'static [Self] =
        &[Self::Transaction, Self::TokenTransaction, Self::Void, Self::GetTransaction, Self::GetCustomer];

    /// The operation with this [name](Self::as_str).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.as_str() == name)
    }

    /// The operation's name in lower case with hyphens, such as `token-transaction`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::TokenTransaction => "token-transaction",
            Self::Void => "void",
            Self::GetTransaction => "get-transaction",
            Self::GetCustomer => "get-customer",
        }
    }

    /// The HTTP method of its request: `GET` or `POST`.
    pub const fn method(self) -> &'static str {
        if self.moves_money() { "POST" } else { "GET" }
    }

    /// The path of its request below the base URL, with `{id}` in place of an id: `/transaction/{id}`.
    pub const fn path_template(self) -> &'static str {
        match self {
            Self::Transaction => "/transaction",
            Self::TokenTransaction => "/token-transaction",
            Self::Void => "/void",
            Self::GetTransaction => "/transaction/{id}",
            Self::GetCustomer => "/customer/{id}",
        }
    }

    /// What to search the service's records by after an unknown outcome without a transaction id: a phrase such as
    /// `amount, last four digits, payer's name and time`. `reference` is that of the request.
    ///
    /// The interface has no search, so a person searches the service's own reports. A card or ACH payment has no field for a
    /// reference of the caller (the interface, Card transaction request body).
    pub const fn search_by(self, reference: Option<&str>) -> &'static str {
        match (self, reference) {
            (Self::Transaction, _) => "amount, last four digits, payer's name and time",
            (Self::TokenTransaction, Some(_)) => "its reference, or by token, amount and time",
            (Self::TokenTransaction, None) => "token, amount and time",
            (Self::Void | Self::GetTransaction | Self::GetCustomer, _) => "its transaction id",
        }
    }

    /// Whether the operation can move money or undo a payment: true for the three POST operations.
    ///
    /// A failed call of such an operation may be [`Outcome::Unknown`](crate::Outcome::Unknown). This SDK never sends it
    /// again.
    pub const fn moves_money(self) -> bool {
        match self {
            Self::Transaction | Self::TokenTransaction | Self::Void => true,
            Self::GetTransaction | Self::GetCustomer => false,
        }
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
