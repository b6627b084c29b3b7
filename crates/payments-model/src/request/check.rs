//! The one place where violations gather.

#![expect(clippy::option_option, reason = "a field is refused, missing or there")]

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use super::document::RequestMembers;
use super::encode::Encoded;
use super::given::{FromGiven, Given, Text};
use super::{FieldName, UnknownFields};
use crate::card::Luhn;
use crate::json::Member;
use crate::secret::SecretText;
use crate::violation::Rule;
use crate::{Amount, CardNumber, ValidationError, Violation};

/// The fields of a request before they are checked.
#[allow(unnameable_types, reason = "only the sealed half of `Input` has it")]
pub struct Fields<'a> {
    /// By the place of the name in [`FieldName::ALL`].
    given: [Option<Given<'a>>; FieldName::ALL.len()],
    /// What a builder was given under names of the caller's own, as JSON.
    account: Vec<(String, SecretText)>,
    /// What they are read out of, unless it is a builder.
    document: Option<&'a RequestMembers<'a>>,
}

impl<'a> Fields<'a> {
    /// Replaces what was given before.
    pub(crate) fn set(&mut self, name: FieldName, given: Given<'a>) {
        self.given[name as usize] = Some(given);
    }

    pub(crate) fn add_account_field(&mut self, name: String, json: SecretText) {
        self.account.push((name, json));
    }

    /// One that is not 12 to 19 digits stays as it is and is refused later.
    pub(crate) fn accept_card_number_without_luhn(&mut self) {
        if let Some(Given::Text(text)) = &self.given[FieldName::CardNumber as usize]
            && let Ok(number) = CardNumber::check(text, Luhn::Skipped)
        {
            self.set(FieldName::CardNumber, Given::CardNumber(number));
        }
    }

    pub(crate) fn set_text(&mut self, name: FieldName, text: impl Into<Cow<'a, str>>) {
        self.set(name, Given::Text(text.into().into()));
    }
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self { given: [const { None }; _], account: Vec::new(), document: None }
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
                let is_repeated = fields.given[name as usize].is_some();
                fields.set(name, if is_repeated { Given::Repeated } else { Given::Json(*json) });
            }
        }
        fields
    }
}

/// Takes the fields one after the other, in the order of the interface's table, and gathers the violations.
pub(crate) struct Check<'a> {
    fields: Fields<'a>,
    violations: Vec<Violation>,
}

impl<'a> Check<'a> {
    pub(crate) const fn new(fields: Fields<'a>) -> Self {
        Self { fields, violations: Vec::new() }
    }

    /// The checked value of a field that must be there; `None` after a violation.
    pub(crate) fn required<G: FromGiven<'a>, T>(
        &mut self,
        name: FieldName,
        check: impl FnOnce(G) -> Result<T, Rule>,
    ) -> Option<T> {
        let value = self.optional(name, check)?;
        if value.is_none() {
            self.refuse(Violation::new(name.as_str(), "is required"));
        }
        value
    }

    /// The checked value of a field that may be missing; the outer `None` after a violation.
    pub(crate) fn optional<G: FromGiven<'a>, T>(
        &mut self,
        name: FieldName,
        check: impl FnOnce(G) -> Result<T, Rule>,
    ) -> Option<Option<T>> {
        let Some(given) = self.fields.given[name as usize].take() else {
            return Some(None);
        };
        let checked = match given {
            Given::Repeated => Err(REPEATED),
            given => G::from_given(given).and_then(check),
        };
        checked.map(Some).map_err(|rule| self.refuse(Violation::new(name.as_str(), rule))).ok()
    }

    /// An optional text without a rule of its own.
    pub(crate) fn text(&mut self, name: FieldName) -> Option<Option<String>> {
        self.optional(name, |text: Text<'_>| Ok(text.into_string()))
    }

    pub(crate) fn refuse(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// Every field that the interface does not have, as JSON.
    pub(crate) fn take_account_fields(&mut self) -> Vec<(String, SecretText)> {
        let mut fields = std::mem::take(&mut self.fields.account);
        fields.extend(self.rest().map(|(name, json)| (name.to_string(), SecretText::new(json.as_str()))));
        fields
    }

    /// Deals with the members of a document that the interface does not have, where they are no account's.
    pub(crate) fn refuse_rest(&mut self, unknown: UnknownFields) {
        if unknown == UnknownFields::Refused {
            let refused =
                |(name, _): &Member<'_>| Violation::of_named(name, "is not a field of this request");
            let refused: Vec<_> = self.rest().map(refused).collect();
            self.violations.extend(refused);
        }
    }

    /// The members of a document that were not asked for.
    fn rest(&self) -> impl Iterator<Item = &Member<'a>> {
        let Fields { given, document, .. } = &self.fields;
        let members = document.map(RequestMembers::as_slice).unwrap_or_default();
        members
            .iter()
            .filter(|(name, _)| FieldName::find(name).is_none_or(|name| given[name as usize].is_some()))
    }

    /// The request, if nothing was found wrong with it and it is not too large.
    pub(crate) fn finish<W: Serialize>(mut self, request: Option<W>) -> Result<Encoded<W>, ValidationError> {
        match request {
            Some(wire) if self.violations.is_empty() => {
                let encoded = Encoded::new(wire);
                // Read out of a document, it is written no longer than that, but for an exponent and an abbreviated address.
                let is_small =
                    |document: &RequestMembers<'_>| document.text().len() <= MAX_BODY_BYTES - MOST_GROWTH;
                if self.fields.document.is_some_and(is_small) || encoded.bytes().len() <= MAX_BODY_BYTES {
                    return Ok(encoded);
                }
                self.refuse(Violation::new("body", "must be at most 65536 bytes of JSON"));
            }
            _ => {}
        }
        Err(ValidationError::new(self.violations))
    }
}

/// Evaluates every field in order, so that all violations are found, and makes the struct if there are none.
macro_rules! checked {
    ($request:ident { $($field:ident: $checked:expr,)* }) => {{
        $(let $field = $checked;)*
        (|| Some($request { $($field: $field?,)* }))()
    }};
}
pub(crate) use checked;

pub(crate) const REPEATED: Rule = "appears more than once";

/// A sanity cap chosen by this SDK; the interface shows no bounds.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Much more than a request can be longer than the document that it was read out of.
const MOST_GROWTH: usize = 4 * 1024;

/// The rule for texts that must not be blank.
pub(crate) fn not_blank(text: Text<'_>) -> Result<String, Rule> {
    crate::id::check_not_blank(&text)?;
    Ok(text.into_string())
}

/// The rule for every amount that is sent.
pub(crate) fn payable(amount: Amount) -> Result<Amount, Rule> {
    if !amount.is_positive() {
        Err("must be above zero")
    } else if amount.decimal_places() > 2 {
        Err("must have at most two decimals")
    } else {
        Ok(amount)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "every rule of a text takes it")]
pub(crate) fn ip_address(text: Text<'_>) -> Result<IpAddr, Rule> {
    text.parse().map_err(|_| "must be an IPv4 or IPv6 address")
}
