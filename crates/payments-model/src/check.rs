//! What a builder or a JSON document hands over before it is checked, and the one place where violations
//! gather.

use std::borrow::Cow;

use crate::json_writer::{Length, ObjectWriter};
use crate::{Amount, ValidationError, Violation};

/// The rest of a sentence that begins with the field's name.
pub(crate) type Rule = &'static str;

/// One field of a request before it is checked.
#[derive(Default)]
pub(crate) enum Entry<T> {
    #[default]
    Missing,
    Given(T),
    /// The JSON document has the field in a shape that cannot be a value.
    Refused(Rule),
}

impl<T> Entry<T> {
    /// Takes what the next occurrence of the field holds.
    pub(crate) fn put(&mut self, next: Self) {
        *self = if matches!(self, Self::Missing) { next } else { Self::Refused("appears more than once") };
    }
}

impl<'a> Entry<Cow<'a, str>> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Given(text.into())
    }
}

/// Proof that a violation was recorded: only [`Check::refuse`] makes one.
pub(crate) struct Invalid(());

/// Gathers the violations of one request.
#[derive(Default)]
pub(crate) struct Check {
    violations: Vec<Violation>,
}

impl Check {
    pub(crate) fn refuse(&mut self, violation: Violation) -> Invalid {
        self.violations.push(violation);
        Invalid(())
    }

    pub(crate) fn append(&mut self, mut violations: Vec<Violation>) {
        self.violations.append(&mut violations);
    }

    pub(crate) fn required<T, U>(
        &mut self,
        field: &'static str,
        entry: Entry<T>,
        parse: impl FnOnce(T) -> Result<U, Rule>,
    ) -> Result<U, Invalid> {
        match self.optional(field, entry, parse)? {
            Some(value) => Ok(value),
            None => Err(self.refuse(Violation::new(field, "is required"))),
        }
    }

    pub(crate) fn optional<T, U>(
        &mut self,
        field: &'static str,
        entry: Entry<T>,
        parse: impl FnOnce(T) -> Result<U, Rule>,
    ) -> Result<Option<U>, Invalid> {
        let parsed = match entry {
            Entry::Missing => return Ok(None),
            Entry::Given(value) => parse(value),
            Entry::Refused(rule) => Err(rule),
        };
        parsed.map(Some).map_err(|rule| self.refuse(Violation::new(field, rule)))
    }

    /// A text without a rule of its own.
    pub(crate) fn any_text(
        &mut self,
        field: &'static str,
        entry: Entry<Cow<'_, str>>,
    ) -> Result<Option<String>, Invalid> {
        self.optional(field, entry, |text| Ok(text.into_owned()))
    }

    pub(crate) fn any_flag(
        &mut self,
        field: &'static str,
        entry: Entry<bool>,
    ) -> Result<Option<bool>, Invalid> {
        self.optional(field, entry, Ok)
    }

    /// The request and the length of what `write` writes of it, if nothing was found wrong with either.
    pub(crate) fn finish<T>(
        mut self,
        request: Result<T, Invalid>,
        write: impl Fn(&T, &mut ObjectWriter<'_>),
    ) -> Result<(T, Length), ValidationError> {
        if let Ok(request) = request
            && self.violations.is_empty()
        {
            let length = Length::of(|out| write(&request, out));
            if length.bytes <= MAX_BODY_BYTES {
                return Ok((request, length));
            }
            self.refuse(Violation::new("body", "must be at most 65536 bytes of JSON"));
        }
        Err(ValidationError::new(self.violations))
    }
}

/// For texts that must say something.
pub(crate) fn not_blank(text: Cow<'_, str>) -> Result<String, Rule> {
    if text.trim().is_empty() { Err("must not be blank") } else { Ok(text.into_owned()) }
}

/// The rule for every amount that is sent.
pub(crate) fn check_amount(amount: Amount) -> Result<Amount, Rule> {
    if !amount.is_positive() {
        Err("must be above zero")
    } else if amount.decimal_places() > 2 {
        Err("must have at most two decimals")
    } else {
        Ok(amount)
    }
}

/// A sanity cap chosen by this SDK; the interface shows no bounds.
const MAX_BODY_BYTES: usize = 64 * 1024;
