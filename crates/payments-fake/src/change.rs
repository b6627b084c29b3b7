use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use payments_model::{CustomerId, TokenId, TransactionId};

/// One change of what a tenant holds, small enough to be written down and enough to be replayed.
///
/// The documents are JSON, and the same as in [`Tenant::state_json`](crate::Tenant::state_json). They hold masked cards and
/// personal data, never a card number.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A transaction is new, or takes the place of the one with the same id, as after a void.
    Transaction {
        /// The id it is looked up by.
        id: TransactionId,
        /// Its record and what the ledger knows beyond it.
        document: Arc<str>,
    },
    /// A token is new, or takes the place of the one with the same id.
    Token {
        /// The id it is charged by.
        id: TokenId,
        /// The token.
        document: Arc<str>,
    },
    /// A customer is new, or takes the place of the one with the same id.
    Customer {
        /// The id it is looked up by.
        id: CustomerId,
        /// The record.
        document: Arc<str>,
    },
    /// Everything is gone.
    Cleared,
}

/// The documents hold personal data: only ids are shown.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transaction { id, document: _ } => write!(f, "Transaction({id})"),
            Self::Token { id, document: _ } => write!(f, "Token({id})"),
            Self::Customer { id, document: _ } => write!(f, "Customer({id})"),
            Self::Cleared => f.write_str("Cleared"),
        }
    }
}

/// What writes the changes of a gateway down, so that they outlive it.
///
/// Changes come in groups, each of which is one deed: a payment with the token that it makes, a void with its own entry, all
/// that a load adds, a reset of every tenant. A group must become durable as a whole or not at all, or the next start would
/// know half of a deed.
///
/// [`Responder::respond`](crate::Responder::respond) hands out no reply before everything that the reply can speak of is
/// [flushed](Self::flushed), so that an answered payment is a kept one.
pub trait ChangeLog: Send + Sync + 'static {
    /// Takes the changes of one group, at least one, each with its tenant's place in the builder's order of keys.
    ///
    /// Called in the order in which the changes took effect and under the gateway's lock: it must not block, and must not
    /// call the gateway.
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>);

    /// Ready when everything that was appended before this call is durable.
    fn flushed(&self) -> Flushed;
}

/// See [`ChangeLog::flushed`].
pub type Flushed = Pin<Box<dyn Future<Output = Result<(), NotDurable>> + Send>>;

/// Changes could not be made durable. Whoever waits for them must not be told that they took place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDurable;

impl NotDurable {
    /// Says no more than that; the log tells elsewhere why.
    pub const fn new() -> Self {
        Self
    }
}

impl fmt::Display for NotDurable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the change could not be made durable")
    }
}

impl std::error::Error for NotDurable {}
