use crate::ids::path_identifier;

/// The service's identifier of a customer.
///
/// The interface says no more than that it is text. [`new`](Self::new) takes what can safely become part of a
/// URL path, a rule chosen by this SDK; an identifier read out of an answer may be any text but the empty one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomerId(String);

path_identifier!(CustomerId);
