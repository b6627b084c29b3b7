use std::cmp::Ordering;

use crate::json::is_number;

/// A decimal number of any length, compared and added digit by digit.
///
/// Each value has one form: no leading or trailing zeros. Zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    /// The most significant digit first.
    digits: Vec<u8>,
    /// The power of ten of the last digit.
    exponent: i64,
}

impl Decimal {
    /// The value of a number in JSON syntax. `None` for any other text, and for an exponent beyond ±10^15.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if !is_number(text) {
            return None;
        }
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i64 =
            exponent.parse().ok().filter(|size: &i64| size.unsigned_abs() <= 1_000_000_000_000_000)?;
        let digits = integer.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
        let fraction_length = i64::try_from(fraction.len()).ok()?;
        Some(Self::new(unsigned.len() < text.len(), digits, exponent - fraction_length))
    }

    fn new(is_negative: bool, mut digits: Vec<u8>, mut exponent: i64) -> Self {
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..leading);
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        let is_zero = digits.is_empty();
        Self { is_negative: is_negative && !is_zero, digits, exponent: if is_zero { 0 } else { exponent } }
    }

    /// The number of digits without leading and trailing zeros.
    pub(crate) fn significant_digits(&self) -> usize {
        self.digits.len()
    }

    /// The power of ten of the last digit.
    pub(crate) fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Whether the value is above zero.
    pub(crate) fn is_positive(&self) -> bool {
        !self.is_negative && !self.digits.is_empty()
    }

    /// The value in hundredths, if it is a whole number and fits.
    pub(crate) fn cents(&self) -> Option<i64> {
        let zeros = usize::try_from(self.exponent + 2).ok()?;
        if !self.digits.is_empty() && self.digits.len() + zeros > 20 {
            return None;
        }
        let digits = self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros.min(20)));
        let size = digits.fold(0_i128, |size, digit| size * 10 + i128::from(digit));
        i64::try_from(if self.is_negative { -size } else { size }).ok()
    }

    /// The exact sum. `None` if the exponents are too far apart to write out the digits.
    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        let (left, right, exponent) = aligned(self, other)?;
        if self.is_negative == other.is_negative {
            return Some(Self::new(self.is_negative, sum(&left, &right), exponent));
        }
        Some(match left.cmp(&right) {
            Ordering::Less => Self::new(other.is_negative, difference(&right, &left), exponent),
            Ordering::Equal | Ordering::Greater => {
                Self::new(self.is_negative, difference(&left, &right), exponent)
            }
        })
    }

    /// Compares the values. `None` if the exponents are too far apart to write out the digits.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        let (left, right, _) = aligned(self, other)?;
        Some(match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => left.cmp(&right),
            (true, true) => right.cmp(&left),
        })
    }
}

/// The digits of both with the same exponent and the same length, and that exponent.
fn aligned(left: &Decimal, right: &Decimal) -> Option<(Vec<u8>, Vec<u8>, i64)> {
    let exponent = match (left.digits.is_empty(), right.digits.is_empty()) {
        (true, _) => right.exponent,
        (_, true) => left.exponent,
        (false, false) => left.exponent.min(right.exponent),
    };
    let at_scale = |value: &Decimal| {
        let zeros = if value.digits.is_empty() { 0 } else { value.exponent - exponent };
        let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros <= 1_000)?;
        let mut digits = value.digits.clone();
        digits.resize(digits.len() + zeros, 0);
        Some(digits)
    };
    let (left, right) = (at_scale(left)?, at_scale(right)?);
    let length = left.len().max(right.len());
    let padded = |digits: Vec<u8>| [vec![0; length - digits.len()], digits].concat();
    Some((padded(left), padded(right), exponent))
}

fn sum(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut digits: Vec<u8> = Vec::with_capacity(left.len() + 1);
    for (left, right) in left.iter().zip(right).rev() {
        let digit = left + right + carry;
        digits.push(digit % 10);
        carry = digit / 10;
    }
    digits.push(carry);
    digits.reverse();
    digits
}

/// `left` must not be smaller than `right`.
fn difference(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut borrowed = 0;
    let mut digits: Vec<u8> = Vec::with_capacity(left.len());
    for (left, right) in left.iter().zip(right).rev() {
        let subtrahend = right + borrowed;
        borrowed = u8::from(*left < subtrahend);
        digits.push(left + 10 * borrowed - subtrahend);
    }
    digits.reverse();
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::read(text).unwrap()
    }

    #[test]
    fn equal_values_have_one_form() {
        assert_eq!(decimal("1.50e2"), decimal("150"));
        assert_eq!(decimal("-0.00"), decimal("0e9"));
        assert_ne!(decimal("-1"), decimal("1"));
        assert_eq!(decimal("0.070").exponent(), -2);
        assert_eq!(decimal("100200").significant_digits(), 4);
        assert_eq!(Decimal::read("01"), None);
    }

    #[test]
    fn sums_comparisons_and_cents_are_exact() {
        for (left, right, sum) in [
            ("999.9", "0.1", "1000"),
            ("-5", "3.25", "-1.75"),
            ("7", "-7", "0"),
            ("1e18", "1e-18", "1000000000000000000.000000000000000001"),
        ] {
            assert_eq!(decimal(left).plus(&decimal(right)), Some(decimal(sum)), "{left} {right}");
        }
        assert_eq!(decimal("-2").compare(&decimal("-10")), Some(Ordering::Greater));
        assert_eq!(decimal("0").compare(&decimal("1e-9")), Some(Ordering::Less));
        assert_eq!(decimal("19.99").cents(), Some(19_99));
        assert_eq!(decimal("-0.1").cents(), Some(-10));
        assert_eq!(decimal("0.001").cents(), None);
        assert_eq!(decimal("92233720368547758.07").cents(), Some(i64::MAX));
        assert_eq!(decimal("92233720368547758.08").cents(), None);
    }
}
