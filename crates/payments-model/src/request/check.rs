//! The one place where violations gather.

#![expect(clippy::option_option, reason = "a field is refused, missing or there")]

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use super::UnknownFields;
use super::document::RequestMembers;
use super::encode::Encoded;
use super::given::{FromGiven, Given, Text};
use crate::card::Luhn;
use crate::secret::SecretText;
use crate::violation::Rule;
use crate::{Amount, CardNumber, ValidationError, Violation};

/// The fields of a request before they are checked, under the interface's names.
#[derive(Default)]
#[expect(unnameable_types, reason = "only the sealed half of `Input` has it")]
pub struct Fields<'a> {
    given: Vec<(Cow<'a, str>, Given<'a>)>,
    /// What a builder was given under names of the caller's own, as JSON.
    account: Vec<(String, SecretText)>,
}

impl<'a> Fields<'a> {
    /// Replaces what was given before.
    pub(crate) fn set(&mut self, name: &'static str, given: Given<'a>) {
        self.given.retain(|(own, _)| own != name);
        self.given.push((Cow::Borrowed(name), given));
    }

    pub(crate) fn add_account_field(&mut self, name: String, json: SecretText) {
        self.account.push((name, json));
    }

    /// One that is not 12 to 19 digits stays as it is and is refused later.
    pub(crate) fn accept_card_number_without_luhn(&mut self) {
        for (_, given) in self.given.iter_mut().filter(|(name, _)| name == "CardNumber") {
            if let Given::Text(text) = given
                && let Ok(number) = CardNumber::check(text, Luhn::Skipped)
            {
                *given = Given::CardNumber(number);
            }
        }
    }

    pub(crate) fn set_text(&mut self, name: &'static str, text: impl Into<Cow<'a, str>>) {
        self.set(name, Given::Text(text.into().into()));
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fields").finish_non_exhaustive()
    }
}

impl<'a> From<&RequestMembers<'a>> for Fields<'a> {
    fn from(members: &RequestMembers<'a>) -> Self {
        let given = members.as_slice().iter().map(|(name, json)| (name.clone(), Given::Json(*json)));
        Self { given: given.collect(), account: Vec::new() }
    }
}

/// Takes the fields one after the other, in the order of the interface's table, and gathers the violations.
pub(crate) struct Check<'a> {
    fields: Fields<'a>,
    asked: Vec<&'static str>,
    violations: Vec<Violation>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(fields: Fields<'a>) -> Self {
        Self { fields, asked: Vec::new(), violations: Vec::new() }
    }

    /// The checked value of a field that must be there; `None` after a violation.
    pub(crate) fn required<G: FromGiven<'a>, T>(
        &mut self,
        name: &'static str,
        check: impl FnOnce(G) -> Result<T, Rule>,
    ) -> Option<T> {
        let value = self.optional(name, check)?;
        if value.is_none() {
            self.refuse(Violation::new(name, "is required"));
        }
        value
    }

    /// The checked value of a field that may be missing; the outer `None` after a violation.
    pub(crate) fn optional<G: FromGiven<'a>, T>(
        &mut self,
        name: &'static str,
        check: impl FnOnce(G) -> Result<T, Rule>,
    ) -> Option<Option<T>> {
        self.asked.push(name);
        let mut found = self.fields.given.extract_if(.., |(own, _)| own == name).map(|(_, given)| given);
        let given = found.next();
        let is_repeated = found.next().is_some();
        drop(found);
        let Some(given) = given else {
            return Some(None);
        };
        let checked = if is_repeated { Err(REPEATED) } else { G::from_given(given).and_then(check) };
        checked.map(Some).map_err(|rule| self.refuse(Violation::new(name, rule))).ok()
    }

    /// An optional text without a rule of its own.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<Option<String>> {
        self.optional(name, |text: Text<'_>| Ok(text.into_string()))
    }

    pub(crate) fn refuse(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// The names of the interface that were asked for so far.
    pub(crate) fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    /// Every field that the interface does not have, as JSON.
    pub(crate) fn take_account_fields(&mut self) -> Vec<(String, SecretText)> {
        let mut fields = std::mem::take(&mut self.fields.account);
        for (name, given) in self.fields.given.drain(..) {
            if let Given::Json(json) = given {
                fields.push((name.into_owned(), SecretText::new(json.as_str())));
            }
        }
        fields
    }

    /// Deals with the members of a document that the interface does not have, where they are no account's.
    pub(crate) fn refuse_rest(&mut self, unknown: UnknownFields) {
        if unknown == UnknownFields::Refused {
            let rest = self.fields.given.drain(..);
            let refused = rest.map(|(name, _)| Violation::of_named(&name, "is not a field of this request"));
            self.violations.extend(refused);
        }
    }

    /// The request, if nothing was found wrong with it and it is not too large.
    pub(crate) fn finish<W: Serialize>(mut self, request: Option<W>) -> Result<Encoded<W>, ValidationError> {
        match request {
            Some(wire) if self.violations.is_empty() => {
                let encoded = Encoded::new(wire);
                if encoded.len() <= MAX_BODY_BYTES {
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
