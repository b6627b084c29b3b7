use std::error::Error as StdError;
use std::fmt;

use payments_core::{NextStep, Outcome};
use payments_model::TransactionId;

use crate::{Failure, FailureKind, Intent, IntentKey, IntentState, StoreError};

/// Why a journaled call did not succeed, and whether money can have moved.
///
/// Check [`outcome`](Self::outcome) first, and match the [`cause`](Self::cause) once. `{}` shows what happened, whether money can
/// have moved and what to do; `{:#}` adds the causes. Neither these nor `Debug` show the card number, security code or account of the
/// payment, or the API key. A key and a reference are shown as they were written, because they are searched by, except for a key that
/// contains a secret.
pub struct Error(Box<Inner>);

struct Inner {
    key: IntentKey,
    cause: Cause,
    /// Why the outcome could not be written.
    write_error: Option<StoreError>,
    /// How this call failed, if it was sent and moved no money, and the cause is what another attempt has left meanwhile.
    own: Option<payments_core::Error>,
    /// Whether an earlier call may have paid, of a key that contains a secret.
    may_be_paid: bool,
}

/// What a call with a key has met. No two of these are true at once.
///
/// Where another attempt decides, this call moved no money, and as a rule it sent nothing. It may have been sent and refused if the
/// other one ended meanwhile, for example because a person was wrong about that one: [`source`](StdError::source) is then how this
/// call failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// This call was sent, or the client refused it. This is the client's error, with the HTTP status, how long to wait and the
    /// [call id](payments_core::FailedCall::call_id).
    Call(payments_core::Error),
    /// Another call is sending the key at this moment: try again in a moment, with the same key. No person has to look yet.
    #[non_exhaustive]
    InProgress {
        /// What is being sent.
        intent: Intent,
        /// What makes it [another request](Intent::differences); empty if it is the same.
        differences: Vec<&'static str>,
    },
    /// What another call with the same request has left.
    Recorded(Intent),
    /// The key names another request. If that one is processed or unknown, the [outcome](Error::outcome) is unknown: do not pay the
    /// same thing another way. If it moved no money, a [new attempt](crate::JournaledClient::after_rejection) sends this request
    /// under the same key.
    #[non_exhaustive]
    KeyReused {
        /// What has the key.
        intent: Intent,
        /// What makes it [another request](Intent::differences).
        differences: Vec<&'static str>,
    },
    /// Nothing was sent: the key belongs to another service than the one that this client
    /// [calls](payments_core::Client::service). Either the base URL is wrong, or this is the journal of another environment, such
    /// as that of a rehearsal. A payment there says nothing about this service, so there is no transaction, whatever was recorded.
    /// A new attempt after a rejection does not help, nor does reopening the key.
    #[non_exhaustive]
    OtherService {
        /// The service of the key; `None` if that is not known, because its entry was [lost](crate::Subject::Lost).
        recorded: Option<String>,
        /// The service that was called.
        called: String,
        /// Whether nothing was moved at the recorded one.
        moved_nothing: bool,
    },
    /// Nothing was sent: a [new attempt after a rejection](crate::JournaledClient::after_rejection) was requested, and the journal
    /// has no such key. A plain call is safe if this is the right journal and the key was never purged.
    NoSuchIntent,
    /// Nothing was sent, because the row of the key could not be read or written. No row, no charge. An earlier call with the key
    /// may have paid: calling again with the **same key** is always safe, and returns the outcome once the journal is back. Never
    /// use another key.
    Store(StoreError),
    /// Nothing was sent, because the call was polled outside a tokio runtime. As for [`Store`](Self::Store), call again with the
    /// same key.
    NoRuntime,
    /// Nothing was sent: the key, or the token or id of the request, contains the API key, card data or account data. If an earlier
    /// call may have paid, with other data, the [outcome](Error::outcome) is unknown: do not pay it under another key. With such a
    /// token or id the cause is then [`KeyReused`](Self::KeyReused).
    SecretInKey,
    /// The transport or the journal panicked. It may have been sent.
    Panicked(&'static str),
    /// The runtime ended. It may have been sent.
    Lost,
}

impl Error {
    pub(crate) fn new(key: IntentKey, cause: Cause) -> Self {
        Self::unrecorded(key, cause, None)
    }

    pub(crate) fn unrecorded(key: IntentKey, cause: Cause, write_error: Option<StoreError>) -> Self {
        Self(Box::new(Inner { key, cause, write_error, own: None, may_be_paid: false }))
    }

    /// The same of a key that an earlier call may have paid.
    pub(crate) fn of_a_key_that_may_be_paid(mut self) -> Self {
        self.0.may_be_paid = true;
        self
    }

    /// The answer of another attempt with the key, to a call that was sent and failed like this.
    pub(crate) fn after(mut self, own: payments_core::Error) -> Self {
        self.0.own = Some(own);
        self
    }

    /// Whether the money of this *intent* can have moved, by this call or by an earlier one with the same key. Check it before
    /// anything else.
    ///
    /// | outcome | of the key |
    /// |---|---|
    /// | [`NotProcessed`](Outcome::NotProcessed) | no call has moved money: the key may be sent again, or this call was refused because of its content |
    /// | [`Rejected`](Outcome::Rejected) | the response was no: another card is a [new attempt](crate::JournaledClient::after_rejection) with the same key |
    /// | [`Unknown`](Outcome::Unknown) | it may have been paid: never pay it another way or under another key before a person has looked |
    ///
    /// A call that sent nothing is also `Unknown` if an earlier one may have paid: if the journal cannot be read or written, if the
    /// key names another request that may be processed, if it contains a secret, or if it belongs to another service: see [`Cause`]. So is a call that was
    /// refused, if the journal learned meanwhile that an earlier attempt, which a person had written off, may have paid.
    pub fn outcome(&self) -> Outcome {
        match &self.0.cause {
            Cause::Call(error) => error.outcome(),
            Cause::Recorded(Intent { state: IntentState::Rejected(_), .. }) => Outcome::Rejected,
            Cause::Recorded(Intent { state: IntentState::NotProcessed(_), .. }) | Cause::NoSuchIntent => {
                Outcome::NotProcessed
            }
            Cause::SecretInKey if !self.0.may_be_paid => Outcome::NotProcessed,
            Cause::KeyReused { intent, .. } if intent.moved_nothing() => Outcome::NotProcessed,
            // An earlier call with the key may have paid: paying another way now may pay twice.
            _ => Outcome::Unknown,
        }
    }

    /// What this call has met, to be matched once.
    ///
    /// ```
    /// use payments_journal::{Cause, Error};
    ///
    /// fn log(error: &Error) {
    ///     match error.cause() {
    ///         Cause::Call(call) => println!("{:?} {:?}", call.http_status(), call.failed_call().call_id()),
    ///         Cause::InProgress { .. } => println!("{}: again in a moment", error.key()),
    ///         Cause::Store(store) => println!("{}: again with the same key: {store}", error.key()),
    ///         _ => println!("{error}"),
    ///     }
    /// }
    /// ```
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Whether another call with the same request has ended, and this is its outcome, as the journal has
    /// [recorded](Cause::Recorded) it. This call moved no money.
    pub fn is_from_the_journal(&self) -> bool {
        matches!(self.0.cause, Cause::Recorded(_))
    }

    /// Whether the service declined the payment itself, in the response to this call or to an earlier one with the key, or as a
    /// person has found out: another card may help, with an explicit call
    /// [after the rejection](crate::JournaledClient::after_rejection). It is false for a rejection that is not
    /// [about the payment](crate::Failure::is_about_the_payment): no other card helps there.
    pub fn is_decline(&self) -> bool {
        match (&self.0.cause, self.intent()) {
            (Cause::Call(error), _) => error.is_decline(),
            (_, Some(Intent { state: IntentState::Rejected(failure), request, .. })) => {
                failure.is_about_the_payment(request.operation())
            }
            _ => false,
        }
    }

    /// The key of the call; `[redacted]` if it contains the API key, card data or account data.
    pub fn key(&self) -> &IntentKey {
        &self.0.key
    }

    /// The row that decides, if another call with the key does.
    pub fn intent(&self) -> Option<&Intent> {
        match &self.0.cause {
            Cause::InProgress { intent, .. } | Cause::Recorded(intent) | Cause::KeyReused { intent, .. } => {
                Some(intent)
            }
            _ => None,
        }
    }

    /// Why the outcome of this call could not be written, if it could not. [`outcome`](Self::outcome) is then that of this call
    /// alone, because nobody knows what became of the row meanwhile. The key stays unresolved: a later call with it sends nothing
    /// and reports that the outcome is unknown.
    pub fn write_error(&self) -> Option<&StoreError> {
        self.0.write_error.as_ref()
    }

    /// The same error after [`Journal::flush`](crate::Journal::flush) has written the outcome: there is no
    /// [`write_error`](Self::write_error) any more.
    #[must_use]
    pub fn flushed(mut self) -> Self {
        self.0.write_error = None;
        self
    }

    /// With [`Outcome::Unknown`], what a person does to find out whether the money moved, before the key is resolved. `None` if this
    /// call says nothing about that.
    pub fn next_step(&self) -> Option<NextStep> {
        match &self.0.cause {
            Cause::Call(error) => error.next_step().cloned(),
            _ if self.outcome() == Outcome::Unknown => self.intent().map(Intent::next_step),
            _ => None,
        }
    }

    /// The transaction to look up, if one is known.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        match &self.0.cause {
            Cause::Call(error) => error.transaction_id(),
            _ => self.intent().and_then(Intent::to_look_up),
        }
    }

    /// Why, in the service's own words, masked: those of the response to this call, or of the earlier one that decides, whether it
    /// was for this request or for [another](Cause::KeyReused).
    pub fn reason(&self) -> Option<&str> {
        match &self.0.cause {
            Cause::Call(error) => error.reason(),
            _ => self.intent()?.state.failure()?.reason.as_deref(),
        }
    }

    /// One word for logs and metrics, the same whether the failure is of this call or recorded: that of a
    /// [`FailureKind`], or `in_progress`, `key_reused`, `other_service`, `no_such_key`, `journal`, `secret_in_key`,
    /// `panic`, `lost`.
    pub fn kind(&self) -> &str {
        match &self.0.cause {
            Cause::Call(error) => Failure::kind_of(error.failed_call()),
            Cause::InProgress { differences, .. } if differences.is_empty() => "in_progress",
            Cause::Recorded(intent) => {
                intent.state.failure().map_or("recorded", |failure| failure.kind.as_str())
            }
            Cause::InProgress { .. } | Cause::KeyReused { .. } => "key_reused",
            Cause::OtherService { .. } => "other_service",
            Cause::NoSuchIntent => "no_such_key",
            Cause::Store(_) | Cause::NoRuntime => "journal",
            Cause::SecretInKey => "secret_in_key",
            Cause::Panicked(_) => FailureKind::PANIC.as_str(),
            Cause::Lost => FailureKind::LOST.as_str(),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { key, cause, write_error, own, may_be_paid: _ } = &*self.0;
        f.debug_struct("Error")
            .field("message", &format_args!("{self}"))
            .field("outcome", &self.outcome())
            .field("key", key)
            .field("cause", cause)
            .field("write_error", write_error)
            .field("own", own)
            .finish()
    }
}

/// In three parts: what happened, whether money can have moved, what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { key, cause, write_error, own, may_be_paid } = &*self.0;
        let now = if own.is_some() { "this call moved no money" } else { "nothing was sent now" };
        match cause {
            Cause::Call(error) => {
                write!(f, "{key}: ")?;
                match (error.outcome(), error.next_step()) {
                    // The client advises to send a new request, which could be read here as "with a new key".
                    (Outcome::Rejected, _) => {
                        fmt::Display::fmt(error.failed_call(), f)?;
                        write!(f, "; it was rejected: fix the cause, then {}", after_a_rejection(self.is_decline()))
                    }
                    // It also advises not to send it again, which is harmless with a key. Of a foreign 403 it says to find the
                    // cause first.
                    (_, Some(step)) if !error.failed_call().is_foreign_forbidden() => {
                        fmt::Display::fmt(error.failed_call(), f)?;
                        write!(
                            f,
                            "; it may have been processed: do not pay it another way, {step}, then resolve the key"
                        )
                    }
                    _ => fmt::Display::fmt(error, f),
                }
            }
            Cause::InProgress { differences, .. } if differences.is_empty() => write!(
                f,
                "{key} is being sent at this moment; {now}, it may be processed: try again in a moment"
            ),
            Cause::Recorded(intent) => write_recorded(intent, now, f),
            Cause::InProgress { intent, differences } | Cause::KeyReused { intent, differences } => {
                let differences = differences.join(" and a different ");
                write!(f, "{key} is already used for another request, with a different {differences}; ")?;
                write_key_holder(intent, now, f)
            }
            Cause::OtherService { recorded: None, called, .. } => write!(
                f,
                "the entry of {key} was lost, and a person has resolved it without its service, so it is not known whether that is true of \
                 {called}; {now}: resolve it again with the base URL and merchant of its service"
            ),
            Cause::OtherService { recorded: Some(recorded), called, moved_nothing } => {
                write!(
                    f,
                    "{key} belongs to another service: it was first used for {recorded}, and this call is for {called}; \
                     {now}, and "
                )?;
                f.write_str(if *moved_nothing {
                    "it moved no money there: check base URL, merchant and journal; if that was a mistake, or the same service under \
                     another name, a person renames it in the journal (Journal::rename_service), then call again"
                } else {
                    "it may have been processed there: check base URL, merchant and journal, and do not pay it under another key \
                     before a person has looked"
                })
            }
            Cause::NoSuchIntent => write!(
                f,
                "the journal has no key {key}, so there is no rejection to follow; nothing was sent: \
                 for a first attempt, make a plain call"
            ),
            Cause::Store(error) => {
                write!(f, "{key}: ")?;
                fmt::Display::fmt(error, f)?;
                let what_to_do = if error.needs_a_fix() {
                    "do not pay it another way; it fails again until that is fixed"
                } else {
                    "call again with the same key when the journal is back"
                };
                write!(f, "; {MAY_HAVE_PAID} {what_to_do}")
            }
            Cause::SecretInKey if *may_be_paid => write!(
                f,
                "the intent key contains the API key, card data or account data; \
                 {MAY_HAVE_PAID} do not pay it under another key before a person has looked"
            ),
            Cause::SecretInKey => f.write_str(
                "the intent key, or the token or id of the request, contains the API key, card data or account data; \
                 nothing was sent: use a value without secrets",
            ),
            Cause::NoRuntime => write!(
                f,
                "{key}: a journaled call needs a tokio runtime, and was polled outside one; \
                 {MAY_HAVE_PAID} call again with the same key inside a tokio runtime"
            ),
            Cause::Panicked(who) => write!(
                f,
                "{key}: {who} panicked after the request may have been sent; \
                 it may have been processed: do not pay it another way, reconcile it with the service, then resolve the key"
            ),
            Cause::Lost => write!(
                f,
                "{key}: the runtime ended while it was being sent; \
                 it may have been processed: do not pay it another way, open the journal again, reconcile it with the service, then resolve the key"
            ),
        }?;
        if let Some(error) = write_error {
            write!(
                f,
                " (the outcome could not be written to the journal, where the key stays unresolved: {error})"
            )?;
        }
        Ok(())
    }
}

/// For a call that could not use the journal.
const MAY_HAVE_PAID: &str = "nothing was sent now: an earlier call with this key may have paid, so";

/// Describes the intent that already has the key.
fn write_key_holder(intent: &Intent, now: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let amount =
        intent.request.amount.map_or_else(String::new, |amount| format!(" (its amount is {amount})"));
    if let Some(id) = intent.processed_as() {
        let (done, id) = (if intent.is_void() { "voided" } else { "paid" }, id.as_str().escape_debug());
        return write!(
            f,
            "{now}: that one is already {done} as transaction {id}{amount}, do not pay it another way; \
             use a new key only for a different payment"
        );
    }
    if intent.moved_nothing() {
        return write!(
            f,
            "nothing was sent, and that one moved no money{amount}: \
             to send this request with the same key, make a new attempt (after_rejection)"
        );
    }
    let what = match &intent.state {
        IntentState::Sending => "is being sent at this moment: try again in a moment, and",
        _ => "may have been processed: resolve it first and",
    };
    write!(f, "{now}, and that one{amount} {what} do not pay this under another key")
}

fn after_a_rejection(is_about_the_payment: bool) -> &'static str {
    if is_about_the_payment {
        "make a new attempt with the same key (after_rejection)"
    } else {
        "let a person reopen the key"
    }
}

fn write_recorded(intent: &Intent, now: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let key = &intent.key;
    match &intent.state {
        IntentState::Rejected(failure) => {
            write!(f, "{key} was rejected earlier")?;
            if let Some(resolution) = intent.decision_about(intent.attempts) {
                write!(f, ", as {} has found out", resolution.by.escape_debug())?;
            }
            if let Some(status) = failure.http_status {
                write!(f, ", HTTP {status}")?;
            }
            if let Some(reason) = &failure.reason {
                write!(f, ", {}", reason.escape_debug())?;
            }
            let advice = after_a_rejection(failure.is_about_the_payment(intent.request.operation()));
            write!(f, "; {now}: fix the cause, then {advice}")
        }
        IntentState::Unknown(failure) => {
            write!(f, "the outcome of {key} is unknown since an earlier call ({})", failure.kind)?;
            write!(f, "; {now}, it may have been processed: ")?;
            for id in intent.second_charges() {
                let id = id.as_str().escape_debug();
                write!(
                    f,
                    "an earlier attempt was processed as transaction {id}, so this one may be a second charge: "
                )?;
            }
            write!(f, "{}, then resolve the key", intent.next_step())
        }
        state => write!(f, "{key} is {}; {now}", state.name().as_str()),
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.cause {
            Cause::Call(error) => error.source(),
            Cause::Store(error) => error.source(),
            _ => self.0.own.as_ref().map(|own| own as &(dyn StdError + 'static)),
        }
    }
}
