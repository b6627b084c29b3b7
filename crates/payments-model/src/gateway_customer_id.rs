use crate::ValidationError;
use crate::check::Rule;
use crate::ids::identifier;

/// The identifier of the customer that owns a stored token.
///
/// The interface shows neither how one is made nor what it looks like, so any text that is not blank is taken
/// and sent verbatim. It is not a [`CustomerId`](crate::CustomerId), and neither is made from the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GatewayCustomerId(String);

identifier!(GatewayCustomerId);

impl GatewayCustomerId {
    /// Takes the identifier as it is.
    ///
    /// # Errors
    ///
    /// If the text is blank.
    pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
        Self::check(text.into()).map_err(|rule| ValidationError::one("GatewayCustomerId", rule))
    }

    pub(crate) fn check(text: String) -> Result<Self, Rule> {
        if text.trim().is_empty() { Err("must not be blank") } else { Ok(Self(text)) }
    }
}
