use crate::ValidationError;
use crate::check::Rule;
use crate::ids::identifier;

/// The service's identifier of a stored payment token.
///
/// The interface shows neither how one is made nor what it looks like, so any text that is not blank is taken
/// and sent verbatim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(String);

identifier!(TokenId);

impl TokenId {
    /// Takes the identifier as it is.
    ///
    /// # Errors
    ///
    /// If the text is blank.
    pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
        Self::check(text.into()).map_err(|rule| ValidationError::one("TokenId", rule))
    }

    pub(crate) fn check(text: String) -> Result<Self, Rule> {
        if text.trim().is_empty() { Err("must not be blank") } else { Ok(Self(text)) }
    }
}
