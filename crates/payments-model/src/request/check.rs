//! Checks the fields of a draft and collects the violations.

use std::borrow::Cow;

use super::draft::Given;
use crate::json::Member;
use crate::violation::Rule;
use crate::{Amount, ValidationError, Violation};

/// The violations found so far. The fields are checked in the order of the interface's table.
#[derive(Default)]
pub(super) struct Check(Vec<Violation>);

impl Check {
    /// The validated value of a required field. `None` after a violation.
    pub(super) fn required<T, V>(
        &mut self,
        given: Given<T>,
        check: impl FnOnce(T) -> Result<V, Rule>,
    ) -> Option<V> {
        if given.value.is_none() {
            self.0.push(Violation::new(given.name, "is required"));
        }
        self.optional(given, check)
    }

    /// The validated value of an optional field. `None` if it is absent, and after a violation.
    pub(super) fn optional<T, V>(
        &mut self,
        Given { name, value }: Given<T>,
        check: impl FnOnce(T) -> Result<V, Rule>,
    ) -> Option<V> {
        value?.and_then(check).map_err(|rule| self.0.push(Violation::new(name, rule))).ok()
    }

    /// An optional text that may have any value.
    pub(super) fn text(&mut self, given: Given<Cow<'_, str>>) -> Option<String> {
        self.optional(given, |text| Ok(text.into_owned()))
    }

    pub(super) fn add(&mut self, violation: Violation) {
        self.0.push(violation);
    }

    /// Members of the document that the request does not have, each of them a violation.
    pub(super) fn unknown(&mut self, members: &[&Member<'_>], known: &[&[&str]]) {
        self.0.extend(members.iter().map(|(name, _)| {
            let trimmed = name.trim();
            let rule = if trimmed != name && known.iter().any(|names| names.contains(&trimmed)) {
                PADDED
            } else {
                "is not a field of this request: fix the name or remove the field"
            };
            Violation::of_named(name, rule)
        }));
    }

    /// The request, if there are no violations.
    pub(super) fn finish<R>(self, request: Option<R>) -> Result<R, ValidationError> {
        request.filter(|_| self.0.is_empty()).ok_or_else(|| ValidationError::new(self.0))
    }
}

pub(super) const PADDED: Rule = "has white space around the name of a field: remove it";
pub(super) const REPEATED: Rule = "must appear only once";

/// The rule for required texts, and for the reference that a person searches by.
pub(super) fn not_blank(text: impl Into<String>) -> Result<String, Rule> {
    let text = text.into();
    crate::id::check_not_blank(&text).map(|()| text)
}

/// The rule for the amount of a request, which may be written with more decimals than it keeps. `1.000` is refused although
/// its value needs no decimals: in half the world it is a thousand.
pub(super) fn payable(amount: Amount, written_decimals: usize) -> Result<Amount, Rule> {
    if !amount.is_positive() {
        Err("must be above zero")
    } else if amount.decimal_places() > 2 {
        Err("must have at most two decimal places")
    } else if written_decimals.max(amount.written_decimals()) > 2 {
        Err("must be written with at most two decimal places, because 1.000 is a thousand in many countries")
    } else {
        Ok(amount)
    }
}
