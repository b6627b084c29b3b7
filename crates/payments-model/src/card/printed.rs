//! The security code and the expiry printed on a card.

use std::str::FromStr;

use zeroize::Zeroizing;

use crate::ValidationError;
use crate::secret::{SecretText, redacted_debug};
use crate::violation::Rule;

/// The security code printed on a card: three or four digits. The interface does not say which card has how many, so either
/// length is accepted for every card.
///
/// It is text, not a number, because leading zeros count. It is set to zero on drop and has no `Display` and no
/// serialization. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Cvv(SecretText);

impl Cvv {
    /// A security code of three or four digits.
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
}

impl FromStr for Cvv {
    type Err = ValidationError;

    fn from_str(text: &str) -> Result<Self, ValidationError> {
        Self::new(text)
    }
}

/// The month in which a card expires, sent as the four digits `MMYY`.
///
/// The interface says only "four digits". This SDK puts the month before the year, as cards do. It is set to zero on drop and
/// has no `Display` and no serialization. `Debug` does not show it.
///
/// A date in the past is a valid `Expiry`, because parsing uses no clock. See [`has_expired_in`](Self::has_expired_in).
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
        self.two_digits(0)
    }

    /// The year, 2000 to 2099.
    pub fn year(&self) -> u16 {
        2000 + u16::from(self.two_digits(2))
    }

    /// Whether the card has expired in this month. A card is valid until the end of its expiry month.
    pub fn has_expired_in(&self, month: u8, year: u16) -> bool {
        (self.year(), self.month()) < (year, month)
    }

    /// The four digits that are sent, `MMYY`.
    pub fn expose_secret(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn check(text: &str) -> Result<Self, Rule> {
        let (month, year) = match text.split_once('/') {
            Some((month, year)) => (month.trim_end(), year.trim_start()),
            None => text.split_at_checked(2).filter(|(_, year)| year.len() == 2).ok_or(EXPIRY_RULE)?,
        };
        let year = match year.len() {
            4 => year.strip_prefix("20").ok_or(EXPIRY_RULE)?,
            _ => year,
        };
        // Allocated once and never grown, so that no copy of the digits remains in memory.
        let mut digits = Zeroizing::new(String::with_capacity(4));
        digits.push_str(if month.len() == 1 { "0" } else { "" });
        let is_short = |part: &str| (1..=2).contains(&part.len());
        if !is_short(month) || year.len() != 2 {
            return Err(EXPIRY_RULE);
        }
        digits.push_str(month);
        digits.push_str(year);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(EXPIRY_RULE);
        }
        let expiry = Self(SecretText::from(digits));
        if (1..=12).contains(&expiry.month()) { Ok(expiry) } else { Err(EXPIRY_RULE) }
    }

    fn two_digits(&self, from: usize) -> u8 {
        self.0.as_str()[from..from + 2].parse().expect("an expiry is four digits")
    }
}

impl FromStr for Expiry {
    type Err = ValidationError;

    /// Parses `MMYY`, `MM/YY` or `MM/YYYY`. With a slash, the month may have one digit, and spaces may stand around the slash.
    fn from_str(text: &str) -> Result<Self, ValidationError> {
        Self::check(text).map_err(|rule| ValidationError::one("ExpiryDate", rule))
    }
}

redacted_debug!(Cvv, Expiry);

const EXPIRY_RULE: Rule = "must be MMYY, M/YY, MM/YY or MM/YYYY, with a month from 01 to 12";
