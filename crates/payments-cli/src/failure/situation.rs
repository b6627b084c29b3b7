//! What decides the advice after a failure, beside its outcome and the purpose of the command.

use payments_journal::{Error, FailureKind};

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
    /// The key contains an API key, so it is not shown.
    SecretInKey,
    /// The report to reconcile with cannot be used.
    Report,
    /// The call panicked, or its runtime ended, so nothing says what became of it.
    Internal,
}

impl Situation {
    /// Of a call with a key.
    pub(crate) fn of(error: &Error) -> Self {
        let is_internal = |kind: &FailureKind| kind.as_str() == error.kind();
        if error.is_in_progress() {
            Self::InProgress
        } else if error.is_key_reused() {
            Self::KeyReused
        } else if error.is_other_service() {
            Self::OtherService
        } else if error.is_store() {
            Self::Journal
        } else if error.kind() == "secret_in_key" {
            Self::SecretInKey
        } else if error.call_error().is_none()
            && !error.is_from_the_journal()
            && [FailureKind::PANIC, FailureKind::LOST].iter().any(is_internal)
        {
            Self::Internal
        } else {
            Self::Plain
        }
    }
}
