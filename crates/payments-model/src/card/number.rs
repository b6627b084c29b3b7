use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

use crate::secret::SecretText;
use crate::violation::Rule;
use crate::{Brand, MaskedCard, ValidationError};

/// A full card number, as sent in a request.
///
/// It is set to zero on drop and has no `Display` and no serialization. `Debug` shows only the brand and the last four digits.
///
/// ```
/// use payments_model::CardNumber;
///
/// let number: CardNumber = "4242 4242-4242 4242".parse()?;
/// assert_eq!(number.last_four(), "4242");
/// assert_eq!(format!("{number:?}"), "CardNumber(visa ending 4242)");
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CardNumber(SecretText);

impl CardNumber {
    /// A card number as a person types it. Spaces and hyphens are removed.
    ///
    /// # Errors
    ///
    /// If the rest is not 12 to 19 digits, is all zeros, or fails the Luhn check. Numbers that begin with 62 need not pass
    /// the check. These rules are chosen by this SDK; the interface says "card number as digits".
    pub fn new(text: &str) -> Result<Self, ValidationError> {
        Self::check(text, Luhn::Required).map_err(|rule| ValidationError::one("CardNumber", rule))
    }

    /// A card number without the Luhn check, for the rare ranges that have no check digit.
    ///
    /// # Errors
    ///
    /// If the text without spaces and hyphens is not 12 to 19 digits, or is all zeros.
    pub fn without_luhn_check(text: &str) -> Result<Self, ValidationError> {
        Self::check(text, Luhn::Skipped).map_err(|rule| ValidationError::one("CardNumber", rule))
    }

    /// The last four digits, which may be shown.
    pub fn last_four(&self) -> &str {
        let digits = self.0.as_str();
        &digits[digits.len() - 4..]
    }

    /// The card network suggested by the first digits.
    pub fn brand(&self) -> Brand {
        Brand::of_digits(self.0.as_str())
    }

    /// The number with every digit except the last four replaced by `*`, as the service returns it.
    pub fn masked(&self) -> MaskedCard {
        MaskedCard::new(self.0.as_str())
    }

    /// All digits. The caller must not store or log them.
    pub fn expose_secret(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn check(text: &str, luhn: Luhn) -> Result<Self, Rule> {
        // Allocated once and never grown, so that no copy of the digits remains in memory.
        let mut digits = Zeroizing::new(String::with_capacity(MAX_DIGITS));
        for character in text.chars().filter(|character| !matches!(character, ' ' | '-')) {
            if !character.is_ascii_digit() || digits.len() == MAX_DIGITS {
                return Err("must be 12 to 19 digits");
            }
            digits.push(character);
        }
        if digits.len() < MIN_DIGITS {
            return Err("must be 12 to 19 digits");
        }
        if digits.bytes().all(|digit| digit == b'0') {
            return Err("must not be all zeros");
        }
        if luhn == Luhn::Required && !digits.starts_with("62") && !passes_luhn(&digits) {
            return Err("must be a valid card number: at least one digit is wrong (Luhn check)");
        }
        Ok(Self(SecretText::from(digits)))
    }
}

impl FromStr for CardNumber {
    type Err = ValidationError;

    fn from_str(text: &str) -> Result<Self, ValidationError> {
        Self::new(text)
    }
}

impl fmt::Debug for CardNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        write!(f, "CardNumber({} ending {})", self.brand(), self.last_four())
    }
}

/// Whether the check digit is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Luhn {
    #[default]
    Required,
    Skipped,
}

/// The Luhn check (ISO/IEC 7812-1) of ASCII digits: every second digit from the right is doubled, and 9 is subtracted from
/// results above 9. The sum must be a multiple of ten.
pub(crate) fn passes_luhn(digits: &str) -> bool {
    let values = digits.bytes().rev().enumerate().map(|(place, digit)| {
        let value = u32::from(digit - b'0');
        match (place % 2, value) {
            (0, value) => value,
            (_, value @ 0..=4) => value * 2,
            (_, value) => value * 2 - 9,
        }
    });
    values.sum::<u32>().is_multiple_of(10)
}

const MIN_DIGITS: usize = 12;
const MAX_DIGITS: usize = 19;
