//! What else is printed on a card: the security code and the expiry.

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

use crate::secret::{Redacted, SecretText};
use crate::violation::Rule;
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
/// The interface says "four digits" and no more; month before year is inferred by this SDK from what is usual
/// on cards. It is set to zero on drop, has no `Display` and no serialization, and `Debug` shows nothing of
/// it.
///
/// A date in the past is a valid `Expiry`: reading one involves no clock. Ask
/// [`is_expired_on`](Self::is_expired_on).
#[derive(Clone, PartialEq, Eq)]
pub struct Expiry(SecretText);

impl Expiry {
    /// The month 1 to 12 of a year 2000 to 2099.
    ///
    /// # Errors
    ///
    /// If either is out of range; a two-digit year is.
    pub fn new(month: u8, year: u16) -> Result<Self, ValidationError> {
        if !(1..=12).contains(&month) || !(2000..=2099).contains(&year) {
            return Err(ValidationError::one("ExpiryDate", "must be a month 1 to 12 of a year 2000 to 2099"));
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

    /// Whether the card has expired in the given month: a card is good until the end of its own.
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

    /// Reads `MMYY` or `MM/YY`.
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

const EXPIRY_RULE: Rule = "must be MMYY or MM/YY with a month 01 to 12";
