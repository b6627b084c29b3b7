//! Why a value or a request is invalid: the field and the rule, never the value.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

/// A rule, worded to follow a field name: `must be 3 or 4 digits`.
pub(crate) type Rule = &'static str;

/// A value or request is invalid. The error lists **every** violation.
///
/// Nothing was sent, so no money can have moved. Fix the fields, then make the same call again. The error contains field
/// names and rules but never a value, so it is safe to print and to log.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", Summary(violations))]
pub struct ValidationError {
    violations: Vec<Violation>,
}

impl ValidationError {
    pub(crate) fn one(field: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self { violations: vec![Violation::new(field, rule)] }
    }

    pub(crate) const fn new(violations: Vec<Violation>) -> Self {
        Self { violations }
    }

    /// The violations. Never empty. The interface's fields come first, in the order of its tables, then unknown fields.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

struct Summary<'a>(&'a [Violation]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("1 field is invalid")?,
            count => write!(f, "{count} fields are invalid")?,
        }
        for (index, violation) in self.0.iter().enumerate() {
            write!(f, "{} {violation}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

/// One rule that one field breaks.
///
/// It has the field's name in the interface, such as `BillingEmail`, or `body` for the whole document, and the rule. It never
/// contains the value, so it is safe to print and to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    field: Cow<'static, str>,
    rule: Cow<'static, str>,
}

impl Violation {
    pub(crate) fn new(field: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self { field: Cow::Borrowed(field), rule: rule.into() }
    }

    /// For a field that the caller named. The name itself may be a secret, if names and values were swapped.
    pub(crate) fn of_named(field: &str, rule: Rule) -> Self {
        Self { field: Cow::Owned(printable_field_name(field).into_owned()), rule: Cow::Borrowed(rule) }
    }

    /// The field's name in the interface, or `body`. A name that does not look like one is in quotation marks. If it has as
    /// many digits as an account number or a card number, none is shown.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The rule, worded to follow the field name: `must be 3 or 4 digits`.
    pub fn rule(&self) -> &str {
        &self.rule
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.rule)
    }
}

/// The name for a message: unchanged if it looks like a field name, otherwise in quotation marks with invisible characters
/// escaped. A name of more than 40 characters is cut. If it has as many digits as an account number or a card number, none is
/// shown.
///
/// Use it for field names from input: a caller who swaps names and values puts a secret in a name.
pub fn printable_field_name(name: &str) -> Cow<'_, str> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let digits = name.chars().filter(|character| character.is_numeric()).count();
    if is_plain && (1..=LONGEST_NAME).contains(&name.len()) && digits < FEWEST_SECRET_DIGITS {
        return Cow::Borrowed(name);
    }
    let masked = if digits < FEWEST_SECRET_DIGITS {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(name.replace(char::is_numeric, "*"))
    };
    let mut shown: String = masked.chars().take(LONGEST_NAME).collect();
    if shown.len() < masked.len() {
        shown.push('…');
    }
    Cow::Owned(format!("{shown:?}"))
}

const LONGEST_NAME: usize = 40;

/// Some account numbers are as short as this.
const FEWEST_SECRET_DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use super::{Violation, printable_field_name};

    #[test]
    fn name_is_shown_as_written_unless_it_may_be_a_card_number() {
        for name in ["a", "Billing_Email-2.x", "x1234567", &"a".repeat(40)] {
            assert_eq!(printable_field_name(name), name);
        }
        for (name, shown) in [
            ("", r#""""#),
            (" TokenId", r#"" TokenId""#),
            ("Token Id\u{a0}", r#""Token Id\u{a0}""#),
            ("\u{feff}Key", r#""\u{feff}Key""#),
            ("Größe", r#""Größe""#),
            ("a\n\"", r#""a\n\"""#),
            ("x12345678", r#""x********""#),
            ("1-2-3-4-5-6-7-8", r#""*-*-*-*-*-*-*-*""#),
            ("4242 4242 4242 4242", r#""**** **** **** ****""#),
            ("٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢", r#""****************""#),
            (&"ä".repeat(40), &format!("\"{}\"", "ä".repeat(40))),
            (&"ä".repeat(41), &format!("\"{}…\"", "ä".repeat(40))),
            (&"a".repeat(41), &format!("\"{}…\"", "a".repeat(40))),
            (&format!("{}4242424242424242", "x".repeat(30)), &format!("\"{}**********…\"", "x".repeat(30))),
        ] {
            assert_eq!(printable_field_name(name), shown, "{name}");
        }
    }

    #[test]
    fn violation_displays_field_and_rule() {
        let violation = Violation::new("Cvv", "must be 3 or 4 digits");
        assert_eq!(violation.to_string(), "Cvv: must be 3 or 4 digits");
        assert_eq!((violation.field(), violation.rule()), ("Cvv", "must be 3 or 4 digits"));
    }
}
