use std::error::Error as StdError;
use std::fmt;

use payments_core::Outcome;
use payments_model::TransactionId;

use crate::{Intent, IntentKey, IntentState, StoreError};

/// Why a journaled call did not succeed, and whether the money can have moved.
///
/// Ask [`outcome`](Self::outcome) first. `{}` says what happened, whether the money can have moved and what to do; `{:#}`
/// adds the causes. Neither these nor `Debug` show a card number, a security code, an account or the API key.
pub struct Error(Box<Inner>);

struct Inner {
    key: IntentKey,
    cause: Cause,
    /// Why the end could not be written down.
    not_recorded: Option<StoreError>,
}

#[derive(Debug)]
enum Cause {
    /// This call was sent, or was refused by the client.
    Call(payments_core::Error),
    /// An earlier call with this key ended so. Nothing was sent now.
    Recorded(Intent),
    InProgress(Intent),
    KeyReused(Intent, Vec<&'static str>),
    Store(StoreError),
    SecretInKey,
    NoRuntime,
    Panicked,
    Lost,
}

impl Error {
    pub(crate) fn of_call(
        key: IntentKey,
        error: payments_core::Error,
        not_recorded: Option<StoreError>,
    ) -> Self {
        Self(Box::new(Inner { key, cause: Cause::Call(error), not_recorded }))
    }

    pub(crate) fn recorded(intent: Intent) -> Self {
        Self::new(intent.key.clone(), Cause::Recorded(intent))
    }

    pub(crate) fn in_progress(intent: Intent) -> Self {
        Self::new(intent.key.clone(), Cause::InProgress(intent))
    }

    pub(crate) fn key_reused(intent: Intent, differences: Vec<&'static str>) -> Self {
        Self::new(intent.key.clone(), Cause::KeyReused(intent, differences))
    }

    pub(crate) fn store(key: IntentKey, error: StoreError) -> Self {
        Self::new(key, Cause::Store(error))
    }

    pub(crate) fn secret_in_key(key: IntentKey) -> Self {
        Self::new(key, Cause::SecretInKey)
    }

    pub(crate) fn no_runtime(key: IntentKey) -> Self {
        Self::new(key, Cause::NoRuntime)
    }

    pub(crate) fn panicked(key: IntentKey, not_recorded: Option<StoreError>) -> Self {
        Self(Box::new(Inner { key, cause: Cause::Panicked, not_recorded }))
    }

    pub(crate) fn lost(key: IntentKey) -> Self {
        Self::new(key, Cause::Lost)
    }

    fn new(key: IntentKey, cause: Cause) -> Self {
        Self(Box::new(Inner { key, cause, not_recorded: None }))
    }

    /// Whether the money of this intent can have moved. Every other question comes after this one.
    ///
    /// [`Outcome::NotProcessed`] says of a first call with a key that the money has not moved. Of a key that was called
    /// before, ask [`is_journal`](Self::is_journal) and [`is_key_reused`](Self::is_key_reused) too: they tell of this call
    /// alone.
    pub fn outcome(&self) -> Outcome {
        match &self.0.cause {
            Cause::Call(error) => error.outcome(),
            Cause::Recorded(intent) => match &intent.state {
                IntentState::Rejected(_) => Outcome::Rejected,
                IntentState::NotProcessed(_) => Outcome::NotProcessed,
                IntentState::Sending
                | IntentState::Processed { .. }
                | IntentState::Unknown(_)
                | IntentState::Resolved { .. } => Outcome::Unknown,
            },
            // What the key stands for may have moved money: whoever pays the other way now may pay twice.
            Cause::KeyReused(intent, _) if intent.is_unresolved() => Outcome::Unknown,
            Cause::InProgress(_) | Cause::Panicked | Cause::Lost => Outcome::Unknown,
            Cause::KeyReused(..) | Cause::Store(_) | Cause::SecretInKey | Cause::NoRuntime => {
                Outcome::NotProcessed
            }
        }
    }

    /// Nothing was sent by this call, but somebody else is sending the same intent at this moment, or has this key in
    /// flight: ask the journal again later.
    pub fn is_in_progress(&self) -> bool {
        matches!(self.0.cause, Cause::InProgress(_))
    }

    /// Nothing was sent by this call: the key already stands for another request. [`intent`](Self::intent) is that one, and
    /// **it may be processed**: look at its state before the same thing is paid in another way.
    ///
    /// [`outcome`](Self::outcome) is [`Outcome::Unknown`] if it is not known what became of that one, and otherwise
    /// [`Outcome::NotProcessed`], because the request of this call was not sent. Calling it again gives the same.
    pub fn is_key_reused(&self) -> bool {
        matches!(self.0.cause, Cause::KeyReused(..))
    }

    /// Nothing was sent by this call: the outcome is that of an earlier call with the same key.
    pub fn is_recorded(&self) -> bool {
        matches!(self.0.cause, Cause::Recorded(_))
    }

    /// Nothing was sent by this call: the journal could not write the intent down. No row, no charge.
    ///
    /// If the same key was called before, what became of that only the journal knows, once it can be read again: call again
    /// with the same key, never with another.
    pub fn is_journal(&self) -> bool {
        matches!(self.0.cause, Cause::Store(_))
    }

    /// The key of the call.
    pub fn key(&self) -> &IntentKey {
        &self.0.key
    }

    /// The row that kept this call from being sent.
    pub fn intent(&self) -> Option<&Intent> {
        match &self.0.cause {
            Cause::Recorded(intent) | Cause::InProgress(intent) | Cause::KeyReused(intent, _) => Some(intent),
            _ => None,
        }
    }

    /// The client's own error, if this call got as far as the client.
    pub fn call_error(&self) -> Option<&payments_core::Error> {
        match &self.0.cause {
            Cause::Call(error) => Some(error),
            _ => None,
        }
    }

    /// Why the journal could not write the intent down, if [that](Self::is_journal) is what happened.
    pub fn store_error(&self) -> Option<&StoreError> {
        match &self.0.cause {
            Cause::Store(error) => Some(error),
            _ => None,
        }
    }

    /// Why the end of this call could not be written down, if so. [`outcome`](Self::outcome) is right all the same, but the
    /// key stays in doubt: a later call with it sends nothing and is told that the outcome is unknown.
    pub fn not_recorded(&self) -> Option<&StoreError> {
        self.0.not_recorded.as_ref()
    }

    /// The transaction to look up, if one is known.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        match &self.0.cause {
            Cause::Call(error) => error.transaction_id(),
            Cause::Recorded(intent) | Cause::InProgress(intent) => intent.transaction_id(),
            _ => None,
        }
    }

    /// One word for logs and metrics: that of [`payments_core::Error::kind`], or `in_progress`, `key_reused`, `journal`,
    /// `secret_in_key`, `no_runtime`, `panic`, `lost`.
    pub fn kind(&self) -> &str {
        match &self.0.cause {
            Cause::Call(error) => error.kind(),
            Cause::Recorded(intent) => match &intent.state {
                IntentState::Rejected(failure)
                | IntentState::NotProcessed(failure)
                | IntentState::Unknown(failure) => &failure.kind,
                _ => "recorded",
            },
            Cause::InProgress(_) => "in_progress",
            Cause::KeyReused(..) => "key_reused",
            Cause::Store(_) => "journal",
            Cause::SecretInKey => "secret_in_key",
            Cause::NoRuntime => "no_runtime",
            Cause::Panicked => "panic",
            Cause::Lost => "lost",
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { key, cause, not_recorded } = &*self.0;
        let mut debug = f.debug_struct("Error");
        debug.field("message", &format_args!("{self}")).field("outcome", &self.outcome());
        // A key that holds a secret is not shown.
        if !matches!(cause, Cause::SecretInKey) {
            debug.field("key", key);
        }
        debug.field("cause", cause).field("not_recorded", not_recorded).finish()
    }
}

/// Three parts for three in the morning: what happened, what it means for the money, what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { key, cause, not_recorded } = &*self.0;
        match cause {
            Cause::Call(error) if f.alternate() => write!(f, "{error:#}")?,
            Cause::Call(error) => write!(f, "{error}")?,
            Cause::Recorded(intent) => write_recorded(intent, f)?,
            Cause::InProgress(_) => write!(
                f,
                "{key} is being sent at this moment; nothing was sent now, it may be processed: ask the journal again later"
            )?,
            Cause::KeyReused(intent, differences) => {
                let differences = differences.join(" and another ");
                write!(f, "{key} already stands for another request, with another {differences}; ")?;
                write_what_became_of_the_other(intent, f)?;
            }
            Cause::Store(error) => {
                write!(f, "{key}: ")?;
                fmt::Display::fmt(error, f)?;
                f.write_str("; nothing was sent now: mend the journal, then call again with the same key")?;
            }
            Cause::SecretInKey => {
                f.write_str("the intent key, or the token or id of the request, holds the API key, card or account data; nothing was sent")?;
            }
            Cause::NoRuntime => write!(
                f,
                "{key}: a journaled call runs in a task of its own and was not polled on a tokio runtime; nothing was sent"
            )?,
            Cause::Panicked => write!(
                f,
                "{key}: the transport panicked after the request may have been sent; \
                 it may have been processed: do not send it again, reconcile it with the service"
            )?,
            Cause::Lost => write!(
                f,
                "{key}: the runtime ended while it was being sent; \
                 it may have been processed: do not send it again, ask the journal once it is opened again"
            )?,
        }
        if let Some(error) = not_recorded {
            write!(f, " (this could not be written to the journal, where the key stays in doubt: {error})")?;
        }
        Ok(())
    }
}

/// Of the intent that has the key already: what it is decides whether another key may be taken.
fn write_what_became_of_the_other(intent: &Intent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("nothing was sent now")?;
    if let Some(id) = intent.processed_as() {
        write!(f, ", and that one is processed as transaction {}", id.as_str().escape_debug())?;
    }
    if let Some(amount) = intent.request.amount {
        write!(f, " (its amount is {amount})")?;
    }
    f.write_str(match &intent.state {
        IntentState::Sending => ": it is being sent at this moment, do not pay this under another key",
        IntentState::Unknown(_) => {
            ": it may have been processed, resolve it first and do not pay this under another key"
        }
        IntentState::Processed { .. } | IntentState::Resolved { .. } if intent.processed_as().is_some() => {
            ": only if this is something else, send it under a key of its own"
        }
        _ => ": that one moved no money; send this under a key of its own",
    })
}

fn write_recorded(intent: &Intent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let key = &intent.key;
    match &intent.state {
        IntentState::Rejected(failure) => {
            write!(f, "{key} was rejected earlier")?;
            let says_nothing_about_the_payment = matches!(failure.http_status, Some(401 | 403 | 429));
            if let Some(status) = failure.http_status {
                write!(f, ", HTTP {status}")?;
            }
            if let Some(reason) = &failure.reason {
                write!(f, ", {}", reason.escape_debug())?;
            }
            f.write_str(if says_nothing_about_the_payment {
                "; nothing was sent now: correct the cause, then let a person reopen the key"
            } else {
                "; nothing was sent now: correct the cause, then send a new request under a new key"
            })
        }
        IntentState::Unknown(failure) => {
            write!(f, "the outcome of {key} is unknown since an earlier call ({})", failure.kind)?;
            f.write_str("; nothing was sent now, it may have been processed: ")?;
            match &failure.transaction_id {
                Some(id) => write!(f, "look up transaction {}", id.as_str().escape_debug())?,
                None => f.write_str("reconcile it with the service")?,
            }
            f.write_str(", then resolve the key")
        }
        state => write!(f, "{key} is {}; nothing was sent now", state.name().as_str()),
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.cause {
            Cause::Call(error) => error.source(),
            Cause::Store(error) => error.source(),
            _ => None,
        }
    }
}
