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
pub(crate) enum Cause {
    /// This call was sent, or was refused by the client.
    Call(payments_core::Error),
    /// An earlier call with this key ended so, or is being sent. Nothing was sent now.
    Recorded(Intent),
    KeyReused(Intent, Vec<&'static str>),
    /// A new attempt after a rejection was asked for, and the journal does not know the key.
    NoSuchIntent,
    Store(StoreError),
    SecretInKey,
    NoRuntime,
    Panicked,
    Lost,
}

impl Error {
    pub(crate) fn new(key: IntentKey, cause: Cause) -> Self {
        Self::unrecorded(key, cause, None)
    }

    pub(crate) fn unrecorded(key: IntentKey, cause: Cause, not_recorded: Option<StoreError>) -> Self {
        Self(Box::new(Inner { key, cause, not_recorded }))
    }

    /// Whether the money of this *intent* can have moved, by this call or by an earlier one with the same key. Every other
    /// question comes after this one.
    ///
    /// | outcome | of the key |
    /// |---|---|
    /// | [`NotProcessed`](Outcome::NotProcessed) | no call has moved money: the key may be sent again, or this call was refused for what it holds |
    /// | [`Rejected`](Outcome::Rejected) | the response was no: another card is a [new attempt](crate::JournaledClient::after_rejection) with the same key |
    /// | [`Unknown`](Outcome::Unknown) | it may have been paid: never pay it another way or under another key before a person has looked |
    ///
    /// A call that sent nothing is `Unknown` too where an earlier one may have paid: if the journal cannot be read or written
    /// ([`is_journal`](Self::is_journal)), and if the key stands for another request that may be processed
    /// ([`is_key_reused`](Self::is_key_reused)).
    pub fn outcome(&self) -> Outcome {
        match &self.0.cause {
            Cause::Call(error) => error.outcome(),
            Cause::Recorded(Intent { state: IntentState::Rejected(_), .. }) => Outcome::Rejected,
            Cause::Recorded(Intent { state: IntentState::NotProcessed(_), .. })
            | Cause::NoSuchIntent
            | Cause::SecretInKey => Outcome::NotProcessed,
            Cause::KeyReused(intent, _) if intent.moved_nothing() => Outcome::NotProcessed,
            // An earlier call with the key may have paid: whoever pays another way now may pay twice.
            _ => Outcome::Unknown,
        }
    }

    /// Nothing was sent by this call, but somebody else is sending the same intent at this moment, or has this key in
    /// flight: ask the journal again later.
    pub fn is_in_progress(&self) -> bool {
        matches!(&self.0.cause, Cause::Recorded(intent) if intent.state == IntentState::Sending)
    }

    /// Nothing was sent by this call: the key already stands for another request. [`intent`](Self::intent) is that one.
    ///
    /// [`outcome`](Self::outcome) is [`Outcome::Unknown`] if that one is processed, in flight or unknown: do not pay the same
    /// thing another way. [`transaction_id`](Self::transaction_id) is what it is already paid as, where that is known. If that
    /// one was rejected or not processed, the outcome is [`Outcome::NotProcessed`], and
    /// [`JournaledClient::after_rejection`](crate::JournaledClient::after_rejection) sends this request under the same key.
    /// Calling it again as before gives the same error.
    pub fn is_key_reused(&self) -> bool {
        matches!(self.0.cause, Cause::KeyReused(..))
    }

    /// Nothing was sent: a [new attempt after a rejection](crate::JournaledClient::after_rejection) was asked for, and the
    /// journal has no such key. Sending it by a plain call is safe if this is the right journal and the key was never purged.
    pub fn is_no_such_intent(&self) -> bool {
        matches!(self.0.cause, Cause::NoSuchIntent)
    }

    /// Nothing was sent by this call: the outcome is that of an earlier call with the same key.
    pub fn is_recorded(&self) -> bool {
        matches!(self.0.cause, Cause::Recorded(_)) && !self.is_in_progress()
    }

    /// Nothing was sent by this call, because the row of the key could not be read or written, or because there is no tokio
    /// runtime to do it on. No row, no charge.
    ///
    /// [`outcome`](Self::outcome) is [`Outcome::Unknown`], because an earlier call with the same key may have paid. Calling
    /// again with the **same key** is safe at any time, and tells once the journal is back. Never use another key.
    pub fn is_journal(&self) -> bool {
        matches!(self.0.cause, Cause::Store(_) | Cause::NoRuntime)
    }

    /// The key of the call.
    pub fn key(&self) -> &IntentKey {
        &self.0.key
    }

    /// The row that kept this call from being sent.
    pub fn intent(&self) -> Option<&Intent> {
        match &self.0.cause {
            Cause::Recorded(intent) | Cause::KeyReused(intent, _) => Some(intent),
            _ => None,
        }
    }

    /// The client's own error, if this call got as far as the client.
    pub fn call_error(&self) -> Option<&payments_core::Error> {
        let Cause::Call(error) = &self.0.cause else { return None };
        Some(error)
    }

    /// Why the journal could not be read or written, if [that](Self::is_journal) is what happened. `None` for want of a
    /// runtime.
    pub fn store_error(&self) -> Option<&StoreError> {
        let Cause::Store(error) = &self.0.cause else { return None };
        Some(error)
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
            _ => self.intent().and_then(Intent::transaction_id),
        }
    }

    /// One word for logs and metrics: that of [`payments_core::Error::code`], or `in_progress`, `key_reused`, `no_such_key`,
    /// `journal`, `secret_in_key`, `panic`, `lost`.
    pub fn kind(&self) -> &str {
        match &self.0.cause {
            Cause::Call(error) => error.code(),
            Cause::Recorded(intent) => match &intent.state {
                IntentState::Sending => "in_progress",
                IntentState::Rejected(failure)
                | IntentState::NotProcessed(failure)
                | IntentState::Unknown(failure) => &failure.kind,
                _ => "recorded",
            },
            Cause::KeyReused(..) => "key_reused",
            Cause::NoSuchIntent => "no_such_key",
            Cause::Store(_) | Cause::NoRuntime => "journal",
            Cause::SecretInKey => "secret_in_key",
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
            // Without a journal the advice is to send a new request. With one it could be read as "under a new key".
            Cause::Call(error) if error.outcome() == Outcome::Rejected => {
                error.what_happened().fmt(f)?;
                let advice = after_a_rejection(error.http_status().map(|status| status.as_u16()));
                write!(f, "; it was refused: correct the cause, then {advice}")
            }
            Cause::Call(error) => error.fmt(f),
            Cause::Recorded(intent) => write_recorded(intent, f),
            Cause::KeyReused(intent, differences) => {
                let differences = differences.join(" and another ");
                write!(f, "{key} already stands for another request, with another {differences}; ")?;
                write_what_became_of_the_other(intent, f)
            }
            Cause::NoSuchIntent => write!(
                f,
                "the journal has no {key}, so there is no rejection to follow; nothing was sent: \
                 for a first attempt use the plain call"
            ),
            Cause::Store(error) => {
                write!(f, "{key}: ")?;
                fmt::Display::fmt(error, f)?;
                write!(f, "; {MAY_HAVE_PAID} when the journal is back")
            }
            Cause::SecretInKey => f.write_str(
                "the intent key, or the token or id of the request, holds the API key, card or account data; nothing was sent",
            ),
            Cause::NoRuntime => write!(
                f,
                "{key}: a journaled call needs a tokio runtime, and was polled outside of one; \
                 {MAY_HAVE_PAID} inside a tokio runtime"
            ),
            Cause::Panicked => write!(
                f,
                "{key}: the transport panicked after the request may have been sent; \
                 it may have been processed: do not send it again, reconcile it with the service"
            ),
            Cause::Lost => write!(
                f,
                "{key}: the runtime ended while it was being sent; \
                 it may have been processed: do not send it again, ask the journal once it is opened again"
            ),
        }?;
        if let Some(error) = not_recorded {
            write!(f, " (this could not be written to the journal, where the key stays in doubt: {error})")?;
        }
        Ok(())
    }
}

/// Of a call that could not ask the journal.
const MAY_HAVE_PAID: &str =
    "nothing was sent now: an earlier call with this key may have paid, so call again with the same key";

/// Of the intent that has the key already.
fn write_what_became_of_the_other(intent: &Intent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let amount =
        intent.request.amount.map_or_else(String::new, |amount| format!(" (its amount is {amount})"));
    if let Some(id) = intent.processed_as() {
        let (done, id) = (if intent.is_void() { "voided" } else { "paid" }, id.as_str().escape_debug());
        return write!(
            f,
            "nothing was sent now: it is already {done} as transaction {id}{amount}, do not pay it another way; \
             only something else to be paid gets a key of its own"
        );
    }
    if intent.moved_nothing() {
        return write!(
            f,
            "nothing was sent, and that one moved no money{amount}: \
             to send this one under the same key, make a new attempt (after_rejection)"
        );
    }
    let what = match &intent.state {
        IntentState::Sending => "is being sent at this moment,",
        _ => "may have been processed, resolve it first and",
    };
    write!(f, "nothing was sent now{amount}: it {what} do not pay this under another key")
}

/// 401, 403 and 429 say nothing about the payment.
fn after_a_rejection(http_status: Option<u16>) -> &'static str {
    match http_status {
        Some(401 | 403 | 429) => "let a person reopen the key",
        _ => "make a new attempt with the same key (after_rejection)",
    }
}

fn write_recorded(intent: &Intent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let key = &intent.key;
    match &intent.state {
        IntentState::Sending => write!(
            f,
            "{key} is being sent at this moment; nothing was sent now, it may be processed: ask the journal again later"
        ),
        IntentState::Rejected(failure) => {
            write!(f, "{key} was rejected earlier")?;
            if let Some(status) = failure.http_status {
                write!(f, ", HTTP {status}")?;
            }
            if let Some(reason) = &failure.reason {
                write!(f, ", {}", reason.escape_debug())?;
            }
            let advice = after_a_rejection(failure.http_status);
            write!(f, "; nothing was sent now: correct the cause, then {advice}")
        }
        IntentState::Unknown(failure) => {
            write!(f, "the outcome of {key} is unknown since an earlier call ({})", failure.kind)?;
            f.write_str("; nothing was sent now, it may have been processed: ")?;
            match &failure.transaction_id {
                Some(id) => write!(f, "look up transaction {}", id.as_str().escape_debug())?,
                None => write!(f, "reconcile it with the service by {}", intent.request.search_by())?,
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
