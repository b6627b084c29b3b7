use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use payments_core::model::Amount;

use crate::decimal::Decimal;
use crate::http_text::line;
use crate::json::is_number;

/// Two amounts, one per line. Each is compared with arithmetic on digits. Then the two are compared and added.
pub(crate) fn read_amount(data: &[u8]) {
    let (left, right) = line(data);
    let (Ok(left), Ok(right)) = (str::from_utf8(left), str::from_utf8(right)) else { return };
    if let (Some(left), Some(right)) = (check(left), check(right.trim_end_matches('\n'))) {
        check_pair(left, right);
    }
}

fn check(text: &str) -> Option<(Amount, Decimal)> {
    let amount: Option<Amount> = text.parse().ok();
    assert!(amount.is_none() || is_number(text), "{text:?} is not a number");
    let Some(value) = Decimal::read(text) else {
        // With an exponent that is too large for `Decimal`, only zero is an amount.
        assert!(amount.is_none_or(|amount| amount == Amount::from_cents(0)), "{text:?}");
        return None;
    };
    let is_moderate = value.significant_digits() <= 18 && (-46..=46).contains(&value.exponent());
    let Some(amount) = amount else {
        assert!(!is_moderate, "{text:?} can be kept exactly");
        return None;
    };
    let shown = amount.to_string();
    assert_eq!(Decimal::read(&shown).as_ref(), Some(&value), "{text:?} became {shown}");
    assert!(!shown.contains(['e', 'E']), "{shown}");
    assert_eq!(shown.parse::<Amount>().map(|again| again.to_string()).as_ref(), Ok(&shown));
    assert_eq!(amount.to_cents(), value.cents(), "{text:?}");
    assert_eq!(amount.is_positive(), value.is_positive(), "{text:?}");
    assert_eq!(i64::from(amount.decimal_places()), (-value.exponent()).max(0), "{text:?}");
    let is_plain = !text.contains(['e', 'E']) && text.len() <= 18 && value != zero();
    assert!(!is_plain || shown == text, "{text:?} is shown as {shown}");
    Some((amount, value))
}

fn check_pair((left, left_value): (Amount, Decimal), (right, right_value): (Amount, Decimal)) {
    let order = left_value.compare(&right_value).expect("the exponents of amounts are close enough");
    assert_eq!(left.cmp(&right), order, "{left} and {right}");
    assert_eq!(left == right, order.is_eq(), "{left} and {right}");
    assert!(left != right || hash(left) == hash(right), "{left} and {right}");
    let sum = left_value.plus(&right_value).expect("the exponents of amounts are close enough");
    match left.checked_add(right) {
        Some(found) => assert_eq!(Decimal::read(&found.to_string()).as_ref(), Some(&sum), "{left} + {right}"),
        None => assert!(sum.significant_digits() > 18, "{left} + {right} can be kept exactly"),
    }
}

fn hash(amount: Amount) -> u64 {
    let mut hasher = DefaultHasher::new();
    amount.hash(&mut hasher);
    hasher.finish()
}

fn zero() -> Decimal {
    Decimal::read("0").expect("a number")
}
