use std::fmt;

use payments_model::TransactionId;

/// What a person does about a payment or a void of unknown outcome, to find out whether the money moved.
///
/// [`Error::next_step`](crate::Error::next_step) returns the one of a failed call. `Display` is the end of the error's message, such as
/// `look up transaction txn_1`. The id is escaped there, so that a server cannot add a line to a log.
///
/// Complete: the interface has a lookup by id, and neither a search nor a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "callers must be able to match on both without a wildcard")]
pub enum NextStep {
    /// Look up this transaction: the one to be voided after a void, otherwise the one that the response names.
    LookUp(TransactionId),
    /// No id is known that a lookup accepts. Search the service's own records.
    Reconcile {
        /// What to search by: see [`OperationName::search_by`](crate::OperationName::search_by).
        by: &'static str,
        /// The transaction, if its id is known but no lookup accepts it.
        transaction_id: Option<TransactionId>,
    },
}

impl NextStep {
    /// The step if this transaction is known, or else by what to search.
    pub fn new(known: Option<&TransactionId>, by: &'static str) -> Self {
        match known {
            Some(id) if id.path_segment().is_ok() => Self::LookUp(id.clone()),
            _ => Self::Reconcile { by, transaction_id: known.cloned() },
        }
    }

    /// The transaction, if one is known.
    pub const fn transaction_id(&self) -> Option<&TransactionId> {
        match self {
            Self::LookUp(id) => Some(id),
            Self::Reconcile { transaction_id, .. } => transaction_id.as_ref(),
        }
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookUp(id) => write!(f, "look up transaction {}", id.as_str().escape_debug()),
            Self::Reconcile { transaction_id: Some(id), .. } => {
                write!(f, "reconcile transaction {} with the service", id.as_str().escape_debug())
            }
            Self::Reconcile { by, transaction_id: None } => {
                write!(f, "reconcile it with the service by {by}")
            }
        }
    }
}
