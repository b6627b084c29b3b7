//! What decides the advice after a failure, beside its outcome and the purpose of the command.

use payments_journal::Error;

/// What a failed call has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    /// The outcome and the purpose say all.
    Plain,
    /// The service has no such record.
    NotFound,
    /// The journal could not be opened, read or written, so nothing was sent now.
    Journal,
    /// The journal does not exist.
    NoJournal,
    /// Another process is sending the key.
    InProgress,
    /// The key belongs to another request.
    KeyReused,
    /// The key belongs to another service.
    OtherService,
    /// The report to reconcile with cannot be used.
    Report,
}

impl Situation {
    /// Of a call with a key.
    pub(crate) fn of(error: &Error) -> Self {
        if error.is_in_progress() {
            Self::InProgress
        } else if error.is_key_reused() {
            Self::KeyReused
        } else if error.is_other_service() {
            Self::OtherService
        } else if error.is_store() {
            Self::Journal
        } else {
            Self::Plain
        }
    }
}
