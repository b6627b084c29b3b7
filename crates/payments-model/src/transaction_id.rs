use crate::ids::path_identifier;

/// The service's identifier of a transaction.
///
/// The interface says no more than that it is text. [`new`](Self::new) takes what can safely become part of a
/// URL path, a rule chosen by this SDK; an identifier read out of an answer may be any text but the empty one,
/// because a payment that went through must not become an error over the shape of its identifier.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(String);

path_identifier!(TransactionId);
