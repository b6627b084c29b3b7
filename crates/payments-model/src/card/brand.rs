use std::fmt;

/// The card network suggested by the first digits of a number.
///
/// It is only a hint, for display. The ranges change over time, and the service decides.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Brand {
    /// Visa: begins with 4.
    Visa,
    /// Mastercard: 51 to 55 and 2221 to 2720.
    Mastercard,
    /// American Express: 34 and 37. Its security code has four digits.
    AmericanExpress,
    /// Discover: 6011, 644 to 649 and 65.
    Discover,
    /// Diners Club: 300 to 305, 36, 38 and 39.
    DinersClub,
    /// JCB: 3528 to 3589.
    Jcb,
    /// `UnionPay`: 62. Not all of its numbers carry a check digit.
    UnionPay,
    /// None of the above.
    Unknown,
}

impl Brand {
    /// The brand of a number of digits only.
    pub(crate) fn of_digits(digits: &str) -> Self {
        let prefix =
            |length: usize| digits.get(..length).and_then(|text| text.parse::<u16>().ok()).unwrap_or(0);
        match (prefix(1), prefix(2), prefix(3), prefix(4)) {
            (4, ..) => Self::Visa,
            (_, 51..=55, ..) | (.., 2221..=2720) => Self::Mastercard,
            (_, 34 | 37, ..) => Self::AmericanExpress,
            (_, 65, ..) | (_, _, 644..=649, _) | (.., 6011) => Self::Discover,
            (_, 36 | 38 | 39, ..) | (_, _, 300..=305, _) => Self::DinersClub,
            (.., 3528..=3589) => Self::Jcb,
            (_, 62, ..) => Self::UnionPay,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Brand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Visa => "visa",
            Self::Mastercard => "mastercard",
            Self::AmericanExpress => "american express",
            Self::Discover => "discover",
            Self::DinersClub => "diners club",
            Self::Jcb => "jcb",
            Self::UnionPay => "unionpay",
            Self::Unknown => "card",
        })
    }
}
