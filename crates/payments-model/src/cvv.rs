use std::fmt;
use std::str::FromStr;

use crate::check::Rule;
use crate::redact::Redacted;
use crate::secret::SecretText;
use crate::{Brand, ValidationError};

/// The security code printed on a card: three digits, four on American Express.
///
/// Text, not a number: a leading zero counts. It is set to zero on drop, has no `Display` and no
/// serialization, and `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Cvv(SecretText);

impl Cvv {
    /// A security code of three or four digits. Which of the two is right depends on the card and is checked
    /// when the request is built.
    ///
    /// # Errors
    ///
    /// If the text is anything but three or four ASCII digits.
    pub fn new(text: &str) -> Result<Self, ValidationError> {
        Self::check(text).map_err(|rule| ValidationError::one("Cvv", rule))
    }

    /// The digits. Whoever calls this must not store them, not even encrypted.
    pub fn expose_secret(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn check(text: &str) -> Result<Self, Rule> {
        if (3..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
            Ok(Self(SecretText::new(text.to_owned())))
        } else {
            Err("must be 3 or 4 digits")
        }
    }

    pub(crate) fn check_for(&self, brand: Brand) -> Result<(), Rule> {
        match (brand, self.0.as_str().len()) {
            (Brand::AmericanExpress, 4) => Ok(()),
            (Brand::AmericanExpress, _) => Err("must be 4 digits for an American Express card"),
            (_, 3) => Ok(()),
            _ => Err("must be 3 digits for this card"),
        }
    }
}

impl FromStr for Cvv {
    type Err = ValidationError;

    fn from_str(text: &str) -> Result<Self, ValidationError> {
        Self::new(text)
    }
}

impl fmt::Debug for Cvv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.debug_tuple("Cvv").field(&Redacted).finish()
    }
}
