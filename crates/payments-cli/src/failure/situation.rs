//! What decides the advice after a failure, beside its outcome and the purpose of the command.

use payments_journal::{Cause, Error};

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
        match error.cause() {
            Cause::InProgress { .. } => Self::InProgress,
            Cause::KeyReused { .. } => Self::KeyReused,
            Cause::OtherService { .. } => Self::OtherService,
            Cause::Store(_) | Cause::NoRuntime => Self::Journal,
            _ => Self::Plain,
        }
    }
}
