//! Checks the fields of a request and collects the violations.

#![expect(clippy::option_option, reason = "a field is invalid, missing or present")]

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use super::document::RequestMembers;
use super::encode::Encoded;
use super::given::{FieldValue, FromFieldValue, Text, Written};
use super::{FieldName, UnknownFields};
use crate::card::Luhn;
use crate::json::Member;
use crate::secret::SecretText;
use crate::violation::Rule;
use crate::{Amount, CardNumber, ValidationError, Violation};

/// The fields of a request before validation.
#[allow(unnameable_types, reason = "used only by the sealed supertrait of `Input`")]
pub struct Fields<'a> {
    /// Indexed by the position of the name in [`FieldName::ALL`].
    values: [Option<FieldValue<'a>>; FieldName::ALL.len()],
    /// The account fields that were passed to a builder: the caller's names, and values as JSON.
    account: Vec<(String, SecretText)>,
    /// The source of the fields, unless it is a builder.
    document: Option<&'a RequestMembers<'a>>,
}

impl<'a> Fields<'a> {
    /// Sets the field, replacing an earlier value.
    pub(crate) fn set(&mut self, name: FieldName, value: FieldValue<'a>) {
        self.values[name as usize] = Some(value);
    }

    pub(crate) fn add_account_field(&mut self, name: String, json: SecretText) {
        self.account.push((name, json));
    }

    /// Accepts the card number without the Luhn check. A number that is invalid for another reason is rejected later.
    pub(crate) fn accept_card_number_without_luhn(&mut self) {
        if let Some(FieldValue::Text(text)) = &self.values[FieldName::CardNumber as usize]
            && let Ok(number) = CardNumber::check(text, Luhn::Skipped)
        {
            self.set(FieldName::CardNumber, FieldValue::CardNumber(number));
        }
    }

    pub(crate) fn set_text(&mut self, name: FieldName, text: impl Into<Cow<'a, str>>) {
        self.set(name, FieldValue::Text(text.into().into()));
    }
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self { values: [const { None }; _], account: Vec::new(), document: None }
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fields").finish_non_exhaustive()
    }
}

impl<'a> From<&'a RequestMembers<'a>> for Fields<'a> {
    fn from(members: &'a RequestMembers<'a>) -> Self {
        let mut fields = Self { document: Some(members), ..Self::default() };
        for (name, json) in members.as_slice() {
            if let Some(name) = FieldName::find(name) {
                let is_repeated = fields.values[name as usize].is_some();
                fields.set(name, if is_repeated { FieldValue::Repeated } else { FieldValue::Json(*json) });
            }
        }
        fields
    }
}

/// Checks the fields one by one, in the order of the interface's table, and collects the violations.
pub(crate) struct Check<'a> {
    fields: Fields<'a>,
    violations: Vec<Violation>,
}

impl<'a> Check<'a> {
    pub(crate) const fn new(fields: Fields<'a>) -> Self {
        Self { fields, violations: Vec::new() }
    }

    /// The validated value of a required field. `None` after a violation.
    pub(crate) fn required<G: FromFieldValue<'a>, T>(
        &mut self,
        name: FieldName,
        check: impl FnOnce(G) -> Result<T, Rule>,
    ) -> Option<T> {
        let value = self.optional(name, check)?;
        if value.is_none() {
            self.add_violation(Violation::new(name.as_str(), "is required"));
        }
        value
    }

    /// The validated value of an optional field. The outer `None` means a violation.
    pub(crate) fn optional<G: FromFieldValue<'a>, T>(
        &mut self,
        name: FieldName,
        check: impl FnOnce(G) -> Result<T, Rule>,
    ) -> Option<Option<T>> {
        let Some(value) = self.fields.values[name as usize].take() else {
            return Some(None);
        };
        let checked = match value {
            FieldValue::Repeated => Err(REPEATED),
            value => G::from_value(value).and_then(check),
        };
        checked.map(Some).map_err(|rule| self.add_violation(Violation::new(name.as_str(), rule))).ok()
    }

    /// An optional text that may have any value.
    pub(crate) fn text(&mut self, name: FieldName) -> Option<Option<String>> {
        self.optional(name, |text: Text<'_>| Ok(text.into_string()))
    }

    pub(crate) fn add_violation(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// Every field that the interface does not define, as JSON.
    pub(crate) fn take_account_fields(&mut self) -> Vec<(String, SecretText)> {
        let mut fields = std::mem::take(&mut self.fields.account);
        fields.extend(self.unknown().map(|(name, json)| (name.to_string(), SecretText::new(json.as_str()))));
        fields
    }

    /// Checks the unknown members of a document, for a request without account fields.
    pub(crate) fn check_unknown(&mut self, unknown: UnknownFields) {
        if unknown == UnknownFields::Refused {
            let violation = |(name, _): &Member<'_>| match FieldName::find(name.trim()) {
                Some(_) if name.trim() != name => {
                    Violation::of_named(name, "has white space around the name of a field: remove it")
                }
                _ => Violation::of_named(
                    name,
                    "is not a field of this request: fix the name or remove the field",
                ),
            };
            let violations: Vec<_> = self.unknown().map(violation).collect();
            self.violations.extend(violations);
        }
    }

    /// The members of the document that this request does not have.
    fn unknown(&self) -> impl Iterator<Item = &Member<'a>> {
        let Fields { values, document, .. } = &self.fields;
        let members = document.map(RequestMembers::as_slice).unwrap_or_default();
        members
            .iter()
            .filter(|(name, _)| FieldName::find(name).is_none_or(|name| values[name as usize].is_some()))
    }

    /// The request, if there are no violations and it is not too large.
    pub(crate) fn finish<W: Serialize>(mut self, request: Option<W>) -> Result<Encoded<W>, ValidationError> {
        match request {
            Some(wire) if self.violations.is_empty() => {
                let encoded = Encoded::new(wire);
                // A request from a small document need not be measured. It can be longer than the document only by an amount
                // that had an exponent and an IP address that was abbreviated.
                let is_small =
                    |document: &RequestMembers<'_>| document.text().len() <= MAX_BODY_BYTES - MAX_GROWTH;
                if self.fields.document.is_some_and(is_small) || encoded.bytes().len() <= MAX_BODY_BYTES {
                    return Ok(encoded);
                }
                self.add_violation(Violation::new("body", "must be at most 65536 bytes of JSON"));
            }
            _ => {}
        }
        Err(ValidationError::new(self.violations))
    }
}

/// Evaluates every field in order, so that all violations are found. Builds the struct if there are none.
macro_rules! checked {
    ($request:ident { $($field:ident: $checked:expr,)* }) => {{
        $(let $field = $checked;)*
        (|| Some($request { $($field: $field?,)* }))()
    }};
}
pub(crate) use checked;

pub(crate) const REPEATED: Rule = "must appear only once";

/// A limit chosen by this SDK. The interface documents none.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// An upper bound for how much longer a request can be than its document.
const MAX_GROWTH: usize = 4 * 1024;

/// The rule for required texts.
pub(crate) fn not_blank(text: Text<'_>) -> Result<String, Rule> {
    crate::id::check_not_blank(&text)?;
    Ok(text.into_string())
}

/// A required text that may be empty, but not only white space.
pub(crate) fn empty_or_not_blank(text: Text<'_>) -> Result<String, Rule> {
    if text.is_empty() { Ok(String::new()) } else { not_blank(text) }
}

/// The rule for the amount of a request. `1.000` is refused although its value needs no decimals: in half the world it is a
/// thousand.
pub(crate) fn payable(Written { amount, decimals }: Written) -> Result<Amount, Rule> {
    if !amount.is_positive() {
        Err("must be above zero")
    } else if amount.decimal_places() > 2 {
        Err("must have at most two decimal places")
    } else if decimals > 2 {
        Err("must be written with at most two decimal places, because 1.000 is a thousand in many countries")
    } else {
        Ok(amount)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "every check of a text takes a `Text`")]
pub(crate) fn ip_address(text: Text<'_>) -> Result<IpAddr, Rule> {
    text.parse().map_err(|_| "must be an IPv4 or IPv6 address")
}
