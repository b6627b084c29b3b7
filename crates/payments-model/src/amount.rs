use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::Sum;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::violation::Rule;

/// An exact decimal amount of money, in the currency of the merchant account.
///
/// The interface names no currency, so neither does this type: `10.50` may be dollars or euros. Compare or add two amounts
/// only if you know that they have the same currency.
///
/// The value is a whole number times a power of ten, never a binary fraction. Nothing is ever rounded: a number that cannot
/// be kept exactly is an error. Every number of up to 18 digits can be kept.
///
/// `Eq`, `Ord` and `Hash` compare the value, so `45` equals `45.00`. `Display` keeps the decimal places that were read
/// (`45.00` stays `45.00`) and never writes an exponent (`1e2` becomes `100`).
///
/// # Examples
///
/// ```
/// use payments_model::Amount;
///
/// let price: Amount = "19.99".parse()?;
/// assert_eq!(price, Amount::from_cents(19_99));
/// assert_eq!(price.to_cents(), Some(1999));
/// assert_eq!("45.00".parse::<Amount>()?.to_string(), "45.00");
/// # Ok::<(), payments_model::AmountError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Amount {
    coefficient: i64,
    exponent: i8,
}

impl Amount {
    /// Nothing: `0`.
    pub const ZERO: Self = Self { coefficient: 0, exponent: 0 };

    /// An amount in hundredths: `from_cents(10_50)` is `10.50`.
    pub const fn from_cents(cents: i64) -> Self {
        Self { coefficient: cents, exponent: -2 }
    }

    /// Whether the amount is above zero. Every amount in a request must be, and must be written with at most two decimal places:
    /// `1.000` is a thousand in many countries.
    pub const fn is_positive(self) -> bool {
        self.coefficient > 0
    }

    /// The number of decimal places that the value needs: 0 for `45.00`, 1 for `45.10`, 3 for `0.125`.
    pub fn decimal_places(self) -> u32 {
        let (_, exponent) = self.minimal();
        u32::from(exponent.min(0).unsigned_abs())
    }

    /// The number of decimal places that `Display` writes: 2 for `45.00`, 3 for `45.000`. For the other crates of this project
    /// only: it may change in any version.
    #[doc(hidden)]
    pub fn written_decimals(self) -> usize {
        usize::from(self.exponent.min(0).unsigned_abs())
    }

    /// The amount in hundredths, or `None` if that is not a whole number or does not fit.
    pub fn to_cents(self) -> Option<i64> {
        self.at(-2)?.try_into().ok()
    }

    /// The exact sum, or `None` if it cannot be kept exactly. The sum has the larger number of decimal places: `1` plus
    /// `2.50` is `3.50`.
    ///
    /// Use it with `try_fold` to add amounts that others wrote:
    ///
    /// ```
    /// use payments_model::Amount;
    ///
    /// let amounts = [Amount::from_cents(10_50), Amount::from_cents(4_50)];
    /// let total = amounts.into_iter().try_fold(Amount::ZERO, Amount::checked_add);
    /// assert_eq!(total, Some(Amount::from_cents(15_00)));
    /// ```
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.combine(other, i128::checked_add)
    }

    /// The exact difference, or `None` if it cannot be kept exactly. It may be below zero. Decimal places are as for
    /// [`checked_add`](Self::checked_add).
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.combine(other, i128::checked_sub)
    }

    fn combine(self, other: Self, operation: fn(i128, i128) -> Option<i128>) -> Option<Self> {
        let exponent = match (self.coefficient == 0, other.coefficient == 0) {
            // Adding zero changes nothing.
            (true, false) => other.exponent,
            (false, true) => self.exponent,
            _ => self.exponent.min(other.exponent),
        };
        // Where one of them does not fit, the result has too many digits to be kept.
        Self::fit(operation(self.at(exponent)?, other.at(exponent)?)?, exponent.into())
    }

    /// The value as a multiple of 10^`exponent`, or `None` if it is not a whole one or does not fit.
    fn at(self, exponent: i8) -> Option<i128> {
        scaled(self.coefficient.into(), i64::from(self.exponent) - i64::from(exponent))
    }

    /// The coefficient without trailing zeros, and its exponent. Zero is `(0, 0)`.
    const fn minimal(self) -> (i64, i8) {
        let (mut coefficient, mut exponent) = (self.coefficient, self.exponent);
        if coefficient == 0 {
            return (0, 0);
        }
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent += 1;
        }
        (coefficient, exponent)
    }

    /// `coefficient` × 10^`exponent`, with this exponent if possible. `None` if the value cannot be kept exactly.
    fn fit(mut coefficient: i128, mut exponent: i64) -> Option<Self> {
        if coefficient == 0 {
            exponent = exponent.clamp(-MAX_EXPONENT, 0);
        }
        let nearest = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
        (coefficient, exponent) = (scaled(coefficient, exponent - nearest)?, nearest);
        while i64::try_from(coefficient).is_err() {
            (coefficient, exponent) = (scaled(coefficient, -1)?, exponent + 1);
        }
        if exponent > MAX_EXPONENT {
            return None;
        }
        Some(Self { coefficient: coefficient.try_into().ok()?, exponent: exponent.try_into().ok()? })
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Parses a number in JSON syntax: no leading `+`, no leading zeros. An exponent is allowed.
    ///
    /// # Errors
    ///
    /// If the text is not such a number, or if the number cannot be kept exactly.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, read_exponent(exponent).ok_or(AmountError::NOT_A_NUMBER)?)
            }
            None => (unsigned, 0),
        };
        let (integer, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return Err(AmountError::NOT_A_NUMBER),
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let digits = integer.bytes().chain(fraction.bytes());
        let has_leading_zero = integer.len() > 1 && integer.starts_with('0');
        if integer.is_empty() || has_leading_zero || !digits.clone().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::NOT_A_NUMBER);
        }
        let number = |dropped_zeros| {
            let mut kept = digits.clone().take(integer.len() + fraction.len() - dropped_zeros);
            let size = kept.try_fold(0_i128, |size, digit| {
                size.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
            })?;
            let places = i64::try_from(fraction.len()).ok()? - i64::try_from(dropped_zeros).ok()?;
            Self::fit(if unsigned.len() < text.len() { -size } else { size }, exponent - places)
        };
        let zeros = || digits.clone().rev().take_while(|digit| *digit == b'0').count();
        number(0).or_else(|| number(zeros())).ok_or(AmountError::NOT_EXACT)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.coefficient.unsigned_abs().to_string();
        let places = self.written_decimals();
        if places > 0 {
            if text.len() <= places {
                text.insert_str(0, &"0".repeat(places + 1 - text.len()));
            }
            text.insert(text.len() - places, '.');
        } else if self.coefficient != 0 {
            text.push_str(&"0".repeat(usize::from(self.exponent.unsigned_abs())));
        }
        f.pad_integral(self.coefficient >= 0, "", &text)
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Amount({self})")
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.minimal() == other.minimal()
    }
}

impl Eq for Amount {}

impl Hash for Amount {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.minimal().hash(state);
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        let exponent = self.exponent.min(other.exponent);
        match (self.at(exponent), other.at(exponent)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // One of them needs no scaling, and is small beside the one that does not fit.
            (None, _) => self.coefficient.cmp(&0),
            (_, None) => 0.cmp(&other.coefficient),
        }
    }
}

/// Adds exactly. To add amounts that others wrote, see [`checked_add`](Amount::checked_add).
///
/// # Panics
///
/// If the sum cannot be kept exactly, which needs about 10^17 in amounts with cents.
impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(mut amounts: I) -> Self {
        amounts.try_fold(Self::ZERO, Self::checked_add).expect("the sum is too large to be kept exactly")
    }
}

/// Same as the sum of values.
impl<'a> Sum<&'a Self> for Amount {
    fn sum<I: Iterator<Item = &'a Self>>(amounts: I) -> Self {
        amounts.copied().sum()
    }
}

/// Serializes as a string, such as `"10.50"`, because a string keeps every digit in every format.
///
/// In the interface's JSON an amount is a number: [`TransactionRecord::to_json`](crate::TransactionRecord::to_json) writes
/// one.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Accepts the string that `Serialize` writes, from every format. A number is an error, because most formats read one as a
/// binary fraction and lose its digits.
impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a decimal amount as a string, such as \"10.50\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(AmountVisitor)
    }
}

/// The amount as a JSON number, as in the interface. Only `serde_json` can serialize it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number(pub(crate) Amount);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// The same, for `serialize_with`.
///
/// # Errors
///
/// If the serializer fails.
pub fn as_number<S: Serializer>(amount: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*amount).serialize(serializer)
}

/// Why a text is not an [`Amount`]: it is not a number, or the number cannot be kept exactly.
///
/// Nothing was rounded. The error does not contain the text.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct AmountError(Rule);

impl AmountError {
    const NOT_A_NUMBER: Self = Self("must be a number such as 10.50");
    const NOT_EXACT: Self = Self("must have at most 18 significant digits, and no extreme exponent");

    pub(crate) const fn rule(self) -> Rule {
        self.0
    }
}

/// `coefficient` × 10^`places`, or `None` if that is not a whole number or does not fit.
fn scaled(coefficient: i128, places: i64) -> Option<i128> {
    if coefficient == 0 {
        return Some(0);
    }
    let power = 10_i128.checked_pow(places.unsigned_abs().try_into().ok()?)?;
    if places >= 0 {
        coefficient.checked_mul(power)
    } else {
        (coefficient % power == 0).then_some(coefficient / power)
    }
}

/// An exponent that does not fit is as good as a very large one.
fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let huge = if text.starts_with('-') { -HUGE } else { HUGE };
    Some(text.parse().map_or(huge, |exponent: i64| exponent.clamp(-HUGE, HUGE)))
}

/// Larger than any amount of money needs, and small enough that printing is cheap.
const MAX_EXPONENT: i64 = 64;

/// Longer than any text, so no number of decimal places can bring such an exponent back into range.
const HUGE: i64 = 1_000_000_000_000_000;
