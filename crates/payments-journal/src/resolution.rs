use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

/// What a person found out about an intent of unknown outcome.
///
/// ```
/// use payments_journal::Resolution;
///
/// let resolution = Resolution::not_processed("ada").note("not in the settlement report of 21 November");
/// assert_eq!(resolution.by, "ada");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[must_use = "nothing is resolved before the journal is told"]
pub struct Resolution {
    /// What happened to the money.
    pub verdict: Verdict,
    /// Who says so.
    pub by: String,
    /// How they know.
    pub note: Option<String>,
}

/// What happened to the money, as a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "complete: the money moved or it did not")]
pub enum Verdict {
    /// It was processed, as this transaction. The key is never sent again.
    Processed(TransactionId),
    /// It was not processed. **The key may be sent again**: if the person is wrong, somebody is charged twice.
    NotProcessed,
}

impl Resolution {
    /// It was processed, as this transaction.
    pub fn processed(transaction_id: TransactionId, by: impl Into<String>) -> Self {
        Self { verdict: Verdict::Processed(transaction_id), by: by.into(), note: None }
    }

    /// It was not processed, and may be sent again.
    pub fn not_processed(by: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotProcessed, by: by.into(), note: None }
    }

    /// Says how the person knows.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }
}
