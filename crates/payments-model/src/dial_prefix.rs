use std::fmt;
use std::str::FromStr;

use crate::ValidationError;
use crate::check::Rule;

/// A telephone dialling prefix such as `+1` or `+351`: a plus sign and one to four digits, the first not 0.
///
/// The interface calls the field `BillingCountryCode`, which invites sending `US`; that is refused here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DialPrefix(String);

impl DialPrefix {
    /// Takes the prefix as it is.
    ///
    /// # Errors
    ///
    /// If it does not have the shape described above.
    pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
        Self::check(text.into()).map_err(|rule| ValidationError::one("BillingCountryCode", rule))
    }

    /// The prefix with its plus sign.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn check(text: String) -> Result<Self, Rule> {
        let is_prefix = text.strip_prefix('+').is_some_and(|digits| {
            (1..=4).contains(&digits.len())
                && digits.bytes().all(|byte| byte.is_ascii_digit())
                && !digits.starts_with('0')
        });
        if is_prefix {
            Ok(Self(text))
        } else {
            Err("must be a dialling prefix such as +1, not a country code such as US")
        }
    }
}

impl FromStr for DialPrefix {
    type Err = ValidationError;

    fn from_str(text: &str) -> Result<Self, ValidationError> {
        Self::new(text)
    }
}

impl fmt::Display for DialPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
