use crate::ValidationError;
use crate::ids::{check_path_segment, identifier};

/// The service's identifier of a customer.
///
/// The interface says no more than that it is text. [`new`](Self::new) takes what can safely become part of a
/// URL path, a rule chosen by this SDK; an identifier read out of an answer may be any text that is not
/// blank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomerId(String);

identifier!(CustomerId);

impl CustomerId {
    /// An identifier that is safe in a URL path.
    ///
    /// # Errors
    ///
    /// If the text is empty, is `.` or `..`, is longer than 256 bytes, or has a character other than ASCII
    /// letters, digits and `- . _ ~ : @ + = ,`.
    pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
        let id = Self(text.into());
        id.path_segment()?;
        Ok(id)
    }

    /// An identifier as the service gave it: any text that is not blank, `None` for one that is.
    pub fn from_answer(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        if text.trim().is_empty() { None } else { Some(Self(text)) }
    }

    /// The identifier as one segment of a URL path, which needs no escaping.
    ///
    /// # Errors
    ///
    /// If the identifier came out of an answer and does not keep the rule of [`new`](Self::new). Such a
    /// customer cannot be looked up by this SDK; nothing was sent.
    pub fn path_segment(&self) -> Result<&str, ValidationError> {
        check_path_segment(&self.0).map_err(|rule| ValidationError::one("CustomerId", rule))?;
        Ok(&self.0)
    }
}
