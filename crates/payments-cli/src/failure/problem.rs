//! A broken rule of a request, or of one row of a file.

use std::borrow::Cow;

use payments_journal::IntentKey;
use payments_model::{Amount, Violation};
use serde::Serialize;

use crate::format::exact;

/// A broken rule of a request, or of one row of a file. It never holds the row's text, because any cell may contain a token or a card
/// number. A key that is in the journal contains neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The file of the row, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<Box<str>>,
    /// Where the row begins, from 1; the header of a CSV file is line 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// The key of the row, where it can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<IntentKey>,
    /// A field name of the interface, or `Key`, `row`, `header` or `file`.
    pub(crate) field: Cow<'static, str>,
    /// The rest of a sentence that starts with the field.
    pub(crate) rule: Cow<'static, str>,
    /// The journal's intent with the row's key, if that is the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<Box<RecordedIntent>>,
    /// Whether the cause is a setting and not the row, so that text shows only the first of those with the same rule.
    #[serde(skip)]
    pub(crate) is_of_a_setting: bool,
}

/// The intent that already has the key of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RecordedIntent {
    pub(crate) key: String,
    pub(crate) state: &'static str,
    #[serde(serialize_with = "exact")]
    pub(crate) amount: Option<Amount>,
    pub(crate) transaction_id: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        line: u64,
        field: impl Into<Cow<'static, str>>,
        rule: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            file: None,
            line: Some(line),
            key: None,
            field: field.into(),
            rule: rule.into(),
            recorded: None,
            is_of_a_setting: false,
        }
    }

    /// Adds the row's key.
    pub(crate) fn of(self, key: &IntentKey) -> Self {
        Self { key: Some(key.clone()), ..self }
    }
}

impl From<&Violation> for Problem {
    fn from(violation: &Violation) -> Self {
        let (field, rule) = (violation.field().to_owned(), violation.rule().to_owned());
        Self { line: None, ..Self::new(0, field, rule) }
    }
}
