//! The security code and the expiry printed on a card.

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

use crate::secret::{Redacted, SecretText};
use crate::violation::Rule;
use crate::{Brand, ValidationError};

/// The security code printed on a card: three digits, or four on American Express.
///
/// It is text, not a number, because leading zeros count. It is set to zero on drop and has no `Display` and no
/// serialization. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Cvv(SecretText);

impl Cvv {
    /// A security code of three or four digits. Building the request checks the length that the card needs.
    ///
    /// # Errors
    ///
    /// If the text is not three or four ASCII digits.
    pub fn new(text: &str) -> Result<Self, ValidationError> {
        Self::check(text).map_err(|rule| ValidationError::one("Cvv", rule))
    }

    /// The digits. The caller must not store them, not even encrypted.
    pub fn expose_secret(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn check(text: &str) -> Result<Self, Rule> {
        if (3..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
            Ok(Self(SecretText::new(text)))
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

/// The month in which a card expires, sent as the four digits `MMYY`.
///
/// The interface says only "four digits". This SDK puts the month before the year, as cards do. It is set to zero on drop and
/// has no `Display` and no serialization. `Debug` does not show it.
///
/// A date in the past is a valid `Expiry`, because parsing uses no clock. See [`is_expired_on`](Self::is_expired_on).
#[derive(Clone, PartialEq, Eq)]
pub struct Expiry(SecretText);

impl Expiry {
    /// A month from 1 to 12 and a year from 2000 to 2099.
    ///
    /// # Errors
    ///
    /// If either is out of range. A two-digit year is.
    pub fn new(month: u8, year: u16) -> Result<Self, ValidationError> {
        if !(1..=12).contains(&month) || !(2000..=2099).contains(&year) {
            let rule = "must have a month from 1 to 12 and a year from 2000 to 2099";
            return Err(ValidationError::one("ExpiryDate", rule));
        }
        Ok(Self(SecretText::new(format!("{month:02}{:02}", year % 100))))
    }

    /// The month, 1 to 12.
    pub fn month(&self) -> u8 {
        let (tens, ones) = self.digits(0);
        tens * 10 + ones
    }

    /// The year, 2000 to 2099.
    pub fn year(&self) -> u16 {
        let (tens, ones) = self.digits(2);
        2000 + u16::from(tens) * 10 + u16::from(ones)
    }

    /// Whether the card has expired in this month. A card is valid until the end of its expiry month.
    pub fn is_expired_on(&self, year: u16, month: u8) -> bool {
        (self.year(), self.month()) < (year, month)
    }

    /// The four digits that are sent, `MMYY`.
    pub fn expose_secret(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn check(text: &str) -> Result<Self, Rule> {
        let digits = match text.as_bytes() {
            [a, b, b'/', c, d] | [a, b, c, d] => [*a, *b, *c, *d],
            _ => return Err(EXPIRY_RULE),
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(EXPIRY_RULE);
        }
        let expiry = Self(SecretText::from(Zeroizing::new(digits.map(char::from).iter().collect())));
        if (1..=12).contains(&expiry.month()) { Ok(expiry) } else { Err(EXPIRY_RULE) }
    }

    fn digits(&self, from: usize) -> (u8, u8) {
        match self.0.as_str().as_bytes().get(from..) {
            Some([tens, ones, ..]) => (tens - b'0', ones - b'0'),
            _ => (0, 0),
        }
    }
}

impl FromStr for Expiry {
    type Err = ValidationError;

    /// Parses `MMYY` or `MM/YY`.
    fn from_str(text: &str) -> Result<Self, ValidationError> {
        Self::check(text).map_err(|rule| ValidationError::one("ExpiryDate", rule))
    }
}

impl fmt::Debug for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.debug_tuple("Expiry").field(&Redacted).finish()
    }
}

const EXPIRY_RULE: Rule = "must be MMYY or MM/YY, with a month from 01 to 12";
