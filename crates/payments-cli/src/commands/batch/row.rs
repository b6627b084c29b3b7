//! One row of the file: a key, and a request that the model has checked.

use std::borrow::Cow;

use payments_journal::IntentKey;
use payments_model::{TokenTransaction, mask};

use crate::batch_report::Problem;

/// The name of the key, beside the names of the interface.
pub(super) const KEY: &str = "Key";

/// What names a row that has no key of its own.
pub(super) const REFERENCE: &str = "ReferenceNo";

/// A row that can be charged.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Where it begins in the file, from 1.
    pub(super) line: u64,
    pub(super) key: IntentKey,
    pub(super) payment: TokenTransaction,
}

/// A row as it was read.
#[derive(Debug)]
pub(super) struct RowRead {
    pub(super) line: u64,
    /// Of everything that the row says, to notice that it says something else when it is read again.
    pub(super) digest: u64,
    /// As far as it could be read, whatever else is wrong with the row: two rows may share it.
    pub(super) key: Option<IntentKey>,
    pub(super) content: Result<Row, Vec<Problem>>,
}

/// What a row says, on its way to being checked.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    /// The text of `Key`, or the rule that it breaks by not being a text.
    pub(super) key: Option<Result<Cow<'a, str>, &'static str>>,
    pub(super) reference: Option<Cow<'a, str>>,
    /// The request as a JSON object, without the key.
    pub(super) document: String,
    /// What is wrong beside what the model finds.
    pub(super) problems: Vec<Problem>,
}

impl Draft<'_> {
    /// Lets the model judge. `words` may put a violation's rule in the words of the file's format.
    pub(super) fn check(
        self,
        line: u64,
        digest: u64,
        words: impl Fn(&str, &str) -> Option<String>,
    ) -> RowRead {
        let Self { key, reference, document, mut problems } = self;
        let key = match key_of(key, reference) {
            Ok(key) => Some(key),
            Err((field, rule)) => {
                problems.push(Problem::new(line, field, rule));
                None
            }
        };
        let payment = match TokenTransaction::from_json(document.as_bytes()) {
            Ok(payment) => {
                // The service would be sent it, and the journal could not tell it from others with the same last four.
                let token = payment.token_id().as_str();
                if mask(token, &[]) != token {
                    let rule = "must be a token of the service, and never a card number";
                    problems.push(Problem::new(line, "TokenId", rule));
                }
                Some(payment)
            }
            Err(error) => {
                problems.extend(error.violations().iter().map(|violation| {
                    let (field, rule) = (violation.field(), violation.rule());
                    let rule = words(field, rule).unwrap_or_else(|| rule.to_owned());
                    Problem::new(line, field.to_owned(), rule)
                }));
                None
            }
        };
        let content = match (&key, payment) {
            (Some(key), Some(payment)) if problems.is_empty() => Ok(Row { line, key: key.clone(), payment }),
            _ => Err(problems),
        };
        RowRead { line, digest, key, content }
    }
}

/// The key of the row, or the field to blame and the rule that it breaks.
fn key_of(
    key: Option<Result<Cow<'_, str>, &'static str>>,
    reference: Option<Cow<'_, str>>,
) -> Result<IntentKey, (&'static str, String)> {
    match (key, reference) {
        (Some(Ok(key)), _) => IntentKey::new(&*key).map_err(|error| (KEY, error.rule().to_owned())),
        (Some(Err(rule)), _) => Err((KEY, rule.to_owned())),
        (None, Some(reference)) => IntentKey::new(&*reference)
            .map_err(|error| (REFERENCE, format!("{}, because without a Key it is the key", error.rule()))),
        (None, None) => Err((KEY, "is required where there is no ReferenceNo".to_owned())),
    }
}
