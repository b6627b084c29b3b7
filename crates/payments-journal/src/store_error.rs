use std::error::Error;
use std::sync::Arc;
use std::{fmt, iter};

use crate::IntentKey;

/// Why the journal failed. It does not say whether a payment was made: an [`Error`](crate::Error) says that with its
/// [outcome](crate::Error::outcome). Nothing is sent without the journal, but the outcome of a payment that was made may
/// meet such a failure ([`Journaled::write_error`](crate::Journaled::write_error)).
///
/// Cheap to clone, because one failed commit fails every change that waited for it.
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: Kind,
    message: Arc<str>,
    /// After that its text says that nothing was changed, and what to do, which may be empty.
    unchanged: Option<&'static str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Refused,
    Unavailable,
    InDoubt,
    Poisoned,
    Damaged,
    Newer,
    HistoryLost,
}

/// A store makes these errors, and so does a test of what a program does after one.
impl StoreError {
    /// The journal does not do this: its location, permissions or settings are unsafe, or the request breaks one of its
    /// rules. The change was not made. `message` says what to do.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// The store cannot be reached or is busy. The change was not made.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    /// The change may have been made or not.
    pub fn in_doubt(message: impl Into<String>) -> Self {
        Self::new(Kind::InDoubt, message)
    }

    /// The store cannot be used until it is opened again: an earlier write or sync failed, the process was forked, or this program
    /// closed it. The change was not made.
    pub fn poisoned(message: impl Into<String>) -> Self {
        Self::new(Kind::Poisoned, message)
    }

    /// The content of the store cannot be read as a journal.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::new(Kind::Damaged, message)
    }

    /// The journal was written by a newer version of this crate.
    pub fn newer(message: impl Into<String>) -> Self {
        Self::new(Kind::Newer, message)
    }

    /// The journal lacks its newest entries. The change was not made.
    pub fn history_lost(message: impl Into<String>) -> Self {
        Self::new(Kind::HistoryLost, message)
    }

    /// Adds the underlying error, whose text must not contain a secret.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into().into()), ..self }
    }
}

impl StoreError {
    /// The change may have been made or not: rely on neither.
    pub fn is_in_doubt(&self) -> bool {
        self.kind == Kind::InDoubt
    }

    /// Nothing more is charged through this journal until it is opened again, so calling again with it is useless: a write or a
    /// sync failed, the process was forked while it was open, or this program has closed it.
    pub fn is_poisoned(&self) -> bool {
        self.kind == Kind::Poisoned
    }

    /// Nothing was changed, and the same call may succeed later: the store is busy or cannot be reached.
    pub fn is_unavailable(&self) -> bool {
        self.kind == Kind::Unavailable
    }

    /// Nothing was opened or changed, and the same call fails again: the journal's location, permissions or settings are
    /// unsafe, it was opened only to be read, or what was asked breaks one of its rules, such as the longest text.
    pub fn is_refused(&self) -> bool {
        self.kind == Kind::Refused
    }

    /// Nothing was changed: the file or database is not a journal, or is damaged.
    pub fn is_damaged(&self) -> bool {
        self.kind == Kind::Damaged
    }

    /// Nothing was changed: a newer version of this crate has written the journal.
    pub fn is_newer(&self) -> bool {
        self.kind == Kind::Newer
    }

    /// Nothing was changed and nothing is sent: the journal lacks its newest entries, as after a restore of an older copy. What
    /// they charged would be charged again. Ends and reads go on. A person must put the newest copy back, or
    /// [accept](crate::Journal::accept_history) what was lost.
    pub fn is_history_lost(&self) -> bool {
        self.kind == Kind::HistoryLost
    }

    /// Whether the same call fails again until a person has done what the text says.
    pub(crate) fn needs_a_fix(&self) -> bool {
        self.is_refused() || self.is_damaged() || self.is_newer() || self.is_history_lost()
    }

    /// The end of an attempt was not written, because the row says something else.
    pub(crate) fn changed_meanwhile() -> Self {
        let how =
            "another process changed the intent while it was being sent, so the outcome was not written";
        Self::in_doubt(how)
    }

    /// The same error of a change that writes the outcome of this key.
    pub(crate) fn of_outcome(self, key: &IntentKey) -> Self {
        let message = format!("the outcome of {key} could not be written: {}", self.message).into();
        Self { message, ..self }
    }

    /// The same error without its texts, which contain a secret.
    pub(crate) fn without_text(self) -> Self {
        Self::new(self.kind, "the journal cannot be read or written for this key")
    }

    /// The same error, which says that nothing was changed, and then what to do, if that is not empty.
    pub(crate) fn unchanged(self, what_to_do: &'static str) -> Self {
        Self { unchanged: Some(what_to_do), ..self }
    }

    /// The same error with another text after its own.
    pub(crate) fn and(self, other: impl fmt::Display) -> Self {
        Self { message: format!("{self}; {other}").into(), unchanged: None, ..self }
    }

    /// Its text, which says that nothing was changed.
    pub(crate) fn and_nothing_changed(&self) -> String {
        self.text(true)
    }

    /// Its text, which does not say that nothing was changed, for a report about several keys.
    pub fn why(&self) -> String {
        self.text(false)
    }

    fn text(&self, is_unchanged: bool) -> String {
        let unchanged = if is_unchanged { format!("; {NOTHING_CHANGED}") } else { String::new() };
        let what_to_do = self.unchanged.filter(|text| !text.is_empty());
        let what_to_do = what_to_do.map(|text| format!(": {text}")).unwrap_or_default();
        format!("{}{unchanged}{what_to_do}", self.message)
    }

    /// As [`unavailable`](Self::unavailable), with the text and cause of this error.
    #[cfg(feature = "postgres")]
    pub(crate) fn into_unavailable(self) -> Self {
        Self { kind: Kind::Unavailable, ..self }
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into().into(), unchanged: None, source: None }
    }
}

pub(crate) const NOTHING_CHANGED: &str = "nothing was changed";

/// Why a process does not use this journal.
pub(crate) fn forked(journal: impl fmt::Display) -> String {
    format!(
        "{journal} cannot be used in a process that was forked while a journal was open: open it after the fork only, or start the \
         process as a program of its own"
    )
}

/// `{:#}` adds the causes.
impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(self.unchanged.is_some()))?;
        let causes = iter::successors(self.source(), |&cause| cause.source());
        let shown = if f.alternate() { usize::MAX } else { 0 };
        causes.take(shown).try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
