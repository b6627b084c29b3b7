//! What [`Journal::flush`](crate::Journal::flush) makes of outcomes that could not be written when their charges ended.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::{Applied, Change, Ending, Intent, IntentKey, StoreError};

/// An outcome that could not be written when its charge ended, and what [`Journal::flush`](crate::Journal::flush) has made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateEnd {
    /// The key of the charge.
    pub key: IntentKey,
    /// How it ended. If it was processed and is not recorded, keep the id: a person resolves the key with it.
    pub ending: Ending,
    /// Whether it is in the journal now. If not and there is an [`intent`](Self::intent), somebody has decided about the key
    /// meanwhile, and that stands. If there is none either, it is still to be written.
    pub is_recorded: bool,
    /// The intent after this.
    pub intent: Option<Intent>,
    /// Another intent that is processed as the same transaction: see
    /// [`Journaled::same_transaction_as`](crate::Journaled::same_transaction_as).
    pub same_transaction_as: Option<IntentKey>,
}

impl LateEnd {
    /// One that is still to be written; `None` if nothing was sent, which nobody has to know.
    pub(crate) fn waiting(change: &Change) -> Option<Self> {
        let ending = change.ending().filter(|_| change.is_final_outcome())?.clone();
        let key = change.key().clone();
        Some(Self { key, ending, is_recorded: false, intent: None, same_transaction_as: None })
    }

    /// What has become of it. A row with this end was written when the store was in doubt.
    pub(crate) fn applied(change: &Change, applied: Applied) -> Option<Self> {
        let waiting = Self::waiting(change)?;
        Some(match applied {
            Applied::Written { row, same_transaction_as } => {
                Self { is_recorded: true, intent: Some(row), same_transaction_as, ..waiting }
            }
            Applied::Refused(_, intent) => {
                let is_recorded = intent.as_ref().is_some_and(|intent| change.is_recorded_in(intent));
                Self { is_recorded, intent, ..waiting }
            }
        })
    }
}

/// Why [`Journal::flush`](crate::Journal::flush) has not written every outcome. It derefs to the [`StoreError`].
#[derive(Clone, Debug)]
pub struct FlushError {
    pub(crate) late_ends: Vec<LateEnd>,
    pub(crate) error: StoreError,
}

impl FlushError {
    /// The outcomes that it has written, and those that it has not.
    pub fn late_ends(&self) -> &[LateEnd] {
        &self.late_ends
    }
}

impl Deref for FlushError {
    type Target = StoreError;

    fn deref(&self) -> &StoreError {
        &self.error
    }
}

impl From<StoreError> for FlushError {
    fn from(error: StoreError) -> Self {
        Self { late_ends: Vec::new(), error }
    }
}

impl From<FlushError> for StoreError {
    fn from(error: FlushError) -> Self {
        error.error
    }
}

impl fmt::Display for FlushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl Error for FlushError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
