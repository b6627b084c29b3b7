use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::json::AnyJson;
use crate::violation::Rule;

/// An exact decimal amount of money, in the currency of the merchant account.
///
/// The interface names no currency, so neither does this type: `10.50` may be dollars or euros. Compare or add two amounts
/// only if you know that they have the same currency.
///
/// The value is a whole number times a power of ten, never a binary fraction. Nothing is ever rounded: a number that cannot
/// be kept exactly is an error. Every number of up to 18 significant digits can be kept.
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

    /// The number of decimal places that `Display` writes: 2 for `45.00`, 3 for `45.000`.
    pub(crate) fn written_decimals(self) -> usize {
        usize::from(self.exponent.min(0).unsigned_abs())
    }

    /// The amount in hundredths, or `None` if that is not a whole number or does not fit.
    pub fn to_cents(self) -> Option<i64> {
        let (coefficient, exponent) = self.minimal();
        let shift = u32::try_from(i32::from(exponent) + 2).ok()?;
        10_i64.checked_pow(shift)?.checked_mul(coefficient)
    }

    /// The exact sum, or `None` if it cannot be kept exactly. The sum has the larger number of decimal places: `1` plus
    /// `2.50` is `3.50`.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.coefficient == 0 && other.coefficient == 0 {
            return Some(Self { coefficient: 0, exponent: self.exponent.min(other.exponent) });
        }
        let sum = add((self.coefficient, self.exponent), (other.coefficient, other.exponent));
        // With trailing zeros, the sum may not fit at the common scale. Without them it may.
        sum.or_else(|| add(self.minimal(), other.minimal()))
    }

    /// The coefficient without trailing zeros, and its exponent. Zero is `(0, 0)`.
    fn minimal(self) -> (i64, i8) {
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
        if let Ok(excess) = u32::try_from(exponent - MAX_EXPONENT) {
            coefficient = coefficient.checked_mul(10_i128.checked_pow(excess)?)?;
            exponent = MAX_EXPONENT;
        }
        while exponent < -MAX_EXPONENT || i64::try_from(coefficient).is_err() {
            if coefficient % 10 != 0 {
                return None;
            }
            coefficient /= 10;
            exponent += 1;
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
        let number = JsonNumber::split(text).ok_or(AmountError(Problem::NotANumber))?;
        number.value().ok_or(AmountError(Problem::NotExact))
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
        let (left, right) = (self.minimal(), other.minimal());
        left.0.signum().cmp(&right.0.signum()).then_with(|| {
            let by_size = compare_sizes(left, right);
            if left.0.is_negative() { by_size.reverse() } else { by_size }
        })
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

/// Accepts a string, a whole number, or a number whose digits are available. `serde_json` provides the digits unless serde
/// buffers the value first, as it does for `flatten` and untagged enums. A floating-point number is an error, because its
/// original digits are lost.
impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = AnyJson::deserialize(deserializer)?;
        json.as_json().amount().ok_or_else(|| {
            D::Error::custom("expected a decimal amount: a string, a whole number, or a number in JSON text")
        })
    }
}

/// Serializes the amount as a JSON number, as in the interface. Works only with `serde_json`.
///
/// # Errors
///
/// If the serializer fails.
pub fn as_number<S: Serializer>(amount: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(amount.to_string()).map_err(S::Error::custom)?.serialize(serializer)
}

/// Why a text is not an [`Amount`]: it is not a number, or the number cannot be kept exactly.
///
/// Nothing was rounded. The error does not contain the text.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{}", self.rule())]
pub struct AmountError(Problem);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    NotANumber,
    NotExact,
}

impl AmountError {
    pub(crate) const fn rule(self) -> Rule {
        match self.0 {
            Problem::NotANumber => "must be a number such as 10.50",
            Problem::NotExact => "must have at most 18 significant digits, and no extreme exponent",
        }
    }
}

/// The parts of a JSON number. `integer` and `fraction` contain only digits.
struct JsonNumber<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> JsonNumber<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (integer, rest) = split_digits(unsigned);
        let (fraction, rest) = match rest.strip_prefix('.').map(split_digits) {
            Some(("", _)) => return None,
            Some(parts) => parts,
            None => ("", rest),
        };
        let exponent = match rest.strip_prefix(['e', 'E']) {
            Some(exponent) => read_exponent(exponent)?,
            None if rest.is_empty() => 0,
            None => return None,
        };
        if integer.is_empty() || (integer.len() > 1 && integer.starts_with('0')) {
            return None;
        }
        Some(Self { negative: unsigned.len() < text.len(), integer, fraction, exponent })
    }

    fn value(&self) -> Option<Amount> {
        let mut coefficient = 0_i128;
        let mut dropped_zeros = 0_i64;
        for digit in self.integer.bytes().chain(self.fraction.bytes()).map(|byte| byte - b'0') {
            if dropped_zeros == 0 && coefficient < ROOM_FOR_ONE_MORE_DIGIT {
                coefficient = coefficient * 10 + i128::from(digit);
            } else if digit == 0 {
                dropped_zeros += 1;
            } else {
                return None;
            }
        }
        let fraction_digits = i64::try_from(self.fraction.len()).ok()?;
        let signed = if self.negative { -coefficient } else { coefficient };
        Amount::fit(signed, self.exponent - fraction_digits + dropped_zeros)
    }
}

/// Splits the text after its leading digits.
fn split_digits(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(digits)
}

fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !split_digits(digits).1.is_empty() {
        return None;
    }
    let size = digits.bytes().fold(0, |size: i64, digit| (size * 10 + i64::from(digit - b'0')).min(HUGE));
    Some(if negative { -size } else { size })
}

fn add(left: (i64, i8), right: (i64, i8)) -> Option<Amount> {
    let exponent = match (left, right) {
        ((0, _), (_, exponent)) | ((_, exponent), (0, _)) => exponent,
        _ => left.1.min(right.1),
    };
    let at_common_scale = |(coefficient, scale): (i64, i8)| {
        if coefficient == 0 {
            return Some(0);
        }
        let shift = u32::try_from(i32::from(scale) - i32::from(exponent)).ok()?;
        10_i128.checked_pow(shift)?.checked_mul(i128::from(coefficient))
    };
    let sum = at_common_scale(left)?.checked_add(at_common_scale(right)?)?;
    Amount::fit(sum, i64::from(exponent))
}

/// Compares the absolute values of two minimal forms.
fn compare_sizes(left: (i64, i8), right: (i64, i8)) -> Ordering {
    let top_digit = |(coefficient, exponent): (i64, i8)| {
        let digits = coefficient.unsigned_abs().checked_ilog10().unwrap_or(0);
        i64::from(digits) + i64::from(exponent)
    };
    top_digit(left).cmp(&top_digit(right)).then_with(|| {
        // Both have the same order of magnitude, so the exponents differ by at most 18 and the products fit.
        let lowest = left.1.min(right.1);
        let scaled = |(coefficient, exponent): (i64, i8)| {
            u128::from(coefficient.unsigned_abs()) * 10_u128.pow(u32::from(exponent.abs_diff(lowest)))
        };
        scaled(left).cmp(&scaled(right))
    })
}

/// Larger than any amount of money needs, and small enough that printing is cheap.
const MAX_EXPONENT: i64 = 64;

/// Longer than any text, so no number of decimal places can bring such an exponent back into range.
const HUGE: i64 = 1_000_000_000_000_000;

/// Twice the digits of an `i64`, so parsing gives up only on numbers that cannot fit.
const ROOM_FOR_ONE_MORE_DIGIT: i128 = 10_i128.pow(37);
