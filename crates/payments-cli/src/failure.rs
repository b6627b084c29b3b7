//! The failure of a command, for both output formats and the exit code, and its JSON document.

mod problem;

use std::error::Error as StdError;
use std::fmt;
use std::num::NonZeroU64;
use std::time::{Duration, SystemTime};

use payments_core::{CallError, Error, ErrorKind, LookupError, NextStep, Outcome, Success};
use payments_journal::{Cause, StoreError};
use payments_model::{Amount, TransactionId, ValidationError};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::value::Value;

pub(crate) use self::problem::{Problem, RecordedIntent};
use crate::format::{Exact, entry, timestamp};
use crate::intent::IntentNote;

/// Why a command did not succeed. None of its texts contains a secret.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) outcome: FailedOutcome,
    /// A stable word for programs. No code depends on it.
    pub(crate) kind: Box<str>,
    pub(crate) situation: Situation,
    /// What happened, what it means for the money, and what to do.
    pub(crate) message: String,
    /// The underlying cause, such as why a certificate was refused.
    pub(crate) cause: Option<Box<str>>,
    pub(crate) violations: Box<[Problem]>,
    /// The number of problems of a file, of which not all may be kept.
    pub(crate) violation_count: Option<NonZeroU64>,
    /// The response, if there was one.
    pub(crate) response: Option<Box<FailedResponse>>,
    /// The request that was sent, if the outcome is unknown.
    pub(crate) sent: Option<Box<Sent>>,
    /// The journal's part of the result, if the call has a key.
    pub(crate) note: Option<Box<IntentNote>>,
    pub(crate) advice: Box<Advice>,
}

/// What to do next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) purpose: Purpose,
    /// The message without what to do, if the headline says that.
    pub(crate) what_happened: Option<String>,
    /// What finds out whether the money moved, if the outcome is unknown.
    pub(crate) next_step: Option<NextStep>,
    /// Possible causes.
    pub(crate) hints: Vec<String>,
    /// Whether a signal ended the command.
    pub(crate) is_interrupted: bool,
    /// How much of the command was completed.
    pub(crate) done: Done,
    /// Whether the call fails again until the cause is fixed.
    pub(crate) needs_a_fix: bool,
}

/// How much of a command was completed before it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Done {
    #[default]
    Nothing,
    Partly,
    /// The last write may have been done or not.
    InDoubt,
    /// A part, and that part shows that a key may have been charged twice.
    SecondCharge,
}

/// The purpose of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A payment or a void. The default, because its failures need most care.
    #[default]
    MoveMoney,
    /// A lookup of a transaction. Its failure says nothing about the payment.
    FindTransaction,
    /// A lookup of a customer.
    FindCustomer,
    /// A command of the journal, which never sends a payment.
    KeepJournal,
}

impl Purpose {
    /// What an early refusal says about its effect. "Nothing was sent" would be confusing for a command of the journal,
    /// which never sends a payment.
    pub(crate) const fn nothing_done(self) -> &'static str {
        match self {
            Self::MoveMoney | Self::FindTransaction | Self::FindCustomer => "nothing was sent",
            Self::KeepJournal => "nothing was changed",
        }
    }
}

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
    pub(crate) fn of(error: &payments_journal::Error) -> Self {
        match error.cause() {
            Cause::InProgress { .. } => Self::InProgress,
            Cause::KeyReused { .. } => Self::KeyReused,
            Cause::OtherService { .. } => Self::OtherService,
            Cause::Store(_) | Cause::NoRuntime => Self::Journal,
            _ => Self::Plain,
        }
    }
}

/// The kept parts of a response that was not a success.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedResponse {
    pub(crate) http_status: u16,
    /// As sent, without quotes.
    pub(crate) status_code: Option<String>,
    pub(crate) transaction_id: Option<TransactionId>,
    pub(crate) reason: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_seconds: Option<u64>,
    /// The beginning of a refusal's body, masked. It may contain the reason in a form that is not known here.
    pub(crate) body: Option<String>,
}

impl FailedResponse {
    fn of(error: &impl CallError) -> Option<Self> {
        let call = error.failed_call();
        Some(Self {
            http_status: call.http_status()?.as_u16(),
            status_code: call.status_code().map(str::to_owned),
            transaction_id: call.named_transaction().cloned(),
            reason: call.reason().map(str::to_owned),
            request_id: call.request_id().map(str::to_owned),
            retry_after_seconds: call.retry_after().as_ref().map(Duration::as_secs),
            body: refusal_body(error),
        })
    }

    /// The part of a response that the journal recorded.
    pub(crate) fn recorded(failure: &payments_journal::Failure) -> Option<Self> {
        Some(Self {
            http_status: failure.http_status?,
            transaction_id: failure.transaction_id.clone(),
            reason: failure.reason.clone(),
            ..Self::default()
        })
    }
}

/// The SDK's three outcomes, and a separate one for requests that this command refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedOutcome {
    /// Refused here, before anything was sent.
    Invalid,
    /// Provably not acted upon.
    NotProcessed,
    /// Rejected by a response.
    Rejected,
    /// It may have been processed.
    Unknown,
}

impl FailedOutcome {
    /// Of a call that provably sent nothing, the report says whether it was refused here.
    pub(crate) const fn of(outcome: Outcome, is_refused_here: bool) -> Self {
        match outcome {
            Outcome::NotProcessed if is_refused_here => Self::Invalid,
            Outcome::NotProcessed => Self::NotProcessed,
            Outcome::Rejected => Self::Rejected,
            Outcome::Unknown => Self::Unknown,
        }
    }

    /// Of a call. A failed lookup has no outcome in the SDK.
    pub(crate) fn of_call(error: &impl CallError) -> Self {
        let call = error.failed_call();
        match error.as_payment() {
            Some(error) => Self::of(error.outcome(), is_invalid(error.kind())),
            None if is_invalid(call.kind()) => Self::Invalid,
            None if call.refused_by().is_some() => Self::Rejected,
            None => Self::NotProcessed,
        }
    }

    /// The outcome in the JSON document.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotProcessed => "not_processed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

impl Failure {
    /// Refused by this command.
    pub(crate) fn invalid(kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::Invalid, kind, message)
    }

    /// The arguments are wrong, or one of them is missing.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::invalid("usage", message)
    }

    /// A setting is missing or wrong.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::invalid("configuration", message)
    }

    /// Nothing was sent, through no fault of the caller.
    pub(crate) fn not_processed(kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::NotProcessed, kind, message)
    }

    /// Adds the underlying cause.
    pub(crate) fn with_cause(mut self, cause: &dyn StdError) -> Self {
        self.cause = chain(Some(cause));
        self
    }

    /// Adds a response that reports success but cannot be trusted.
    pub(crate) fn with_response<T>(mut self, response: &Success<T>) -> Self {
        self.response = Some(Box::new(FailedResponse {
            http_status: response.http_status().as_u16(),
            status_code: response.status_code().map(str::to_owned),
            reason: response.message().map(str::to_owned),
            request_id: response.request_id().map(str::to_owned),
            retry_after_seconds: response.retry_after().as_ref().map(Duration::as_secs),
            ..FailedResponse::default()
        }));
        self
    }

    /// With this message, which says all.
    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.message = message;
        self.advice.what_happened = None;
        self
    }

    /// With more in its message.
    pub(crate) fn reworded(self, reword: impl FnOnce(&str) -> String) -> Self {
        Self { message: reword(&self.message), ..self }
    }

    /// Sets the purpose of the call.
    pub(crate) fn for_purpose(mut self, purpose: Purpose) -> Self {
        self.advice.purpose = purpose;
        self
    }

    /// Adds what was sent.
    pub(crate) fn with_sent(self, sent: Sent) -> Self {
        Self { sent: Some(Box::new(sent)), ..self }
    }

    /// Adds a possible cause.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.advice.hints.push(hint.into());
        self
    }

    /// Reports both failures together, so that both can be fixed at once. Their outcome and kind are the same.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.message = format!("{}; also: {}", self.message, other.message);
        self.cause = match (self.cause, other.cause) {
            (Some(one), Some(another)) => Some(format!("{one}; {another}").into()),
            (one, another) => one.or(another),
        };
        self.advice.hints.extend(other.advice.hints);
        self
    }

    /// The failure of a call. [`crate::call::hints::failure`] adds hints.
    pub(crate) fn of(error: &impl CallError) -> Self {
        let call = error.failed_call();
        Self {
            situation: if call.kind() == ErrorKind::NotFound {
                Situation::NotFound
            } else {
                Situation::Plain
            },
            violations: call.violations().iter().map(Problem::from).collect(),
            response: FailedResponse::of(error).map(Box::new),
            advice: Box::new(Advice {
                next_step: error.as_payment().and_then(Error::next_step).cloned(),
                needs_a_fix: call.needs_a_fix(),
                ..Advice::default()
            }),
            cause: chain(error.source()),
            ..Self::new(
                FailedOutcome::of_call(error),
                payments_journal::Failure::kind_of(call),
                error.to_string(),
            )
        }
    }

    /// A journal operation failed, so nothing was sent. What it was to write may be written nevertheless.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        let needs_a_fix =
            error.is_refused() || error.is_damaged() || error.is_newer() || error.is_history_lost();
        let outcome = if needs_a_fix { FailedOutcome::Invalid } else { FailedOutcome::NotProcessed };
        let done = if error.is_in_doubt() { Done::InDoubt } else { Done::Nothing };
        Self {
            situation: Situation::Journal,
            cause: chain(error.source()),
            advice: Box::new(Advice { done, needs_a_fix, ..Advice::default() }),
            ..Self::new(outcome, "journal", error.to_string())
        }
    }

    /// The transaction of the next step, else that of the response.
    pub(crate) fn transaction_id(&self) -> Option<&TransactionId> {
        let next = self.advice.next_step.as_ref().and_then(NextStep::transaction_id);
        next.or_else(|| self.response.as_ref()?.transaction_id.as_ref())
    }

    pub(crate) fn http_status(&self) -> Option<u16> {
        self.response.as_ref().map(|response| response.http_status)
    }

    pub(crate) fn new(outcome: FailedOutcome, kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self {
            outcome,
            kind: kind.into(),
            message: message.into(),
            cause: None,
            situation: Situation::Plain,
            violations: Box::default(),
            violation_count: None,
            response: None,
            sent: None,
            note: None,
            advice: Box::default(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Self {
        Self::of(&error)
    }
}

impl From<ValidationError> for Failure {
    fn from(error: ValidationError) -> Self {
        Self::from(Error::from(error))
    }
}

/// A panic or a signal that ended a command before it knew its result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Abandoned {
    /// A panic, which is a bug.
    Panic,
    /// The signal of this name.
    Signal(&'static str),
}

impl Abandoned {
    /// Before anything was sent.
    pub(crate) fn before_sending(self) -> Failure {
        self.harmless(match self {
            Self::Panic => "; nothing was sent",
            Self::Signal(_) => " before anything was sent; it is safe to run it again",
        })
    }

    /// The command moved no money. `rest` ends the message.
    pub(crate) fn harmless(self, rest: &str) -> Failure {
        self.failure(FailedOutcome::NotProcessed, format!("{self}{rest}"))
    }

    pub(crate) fn failure(self, outcome: FailedOutcome, message: String) -> Failure {
        let (kind, is_interrupted) = match self {
            Self::Panic => ("internal", false),
            Self::Signal(_) => ("interrupted", true),
        };
        let mut failure = Failure::new(outcome, kind, message);
        failure.advice.is_interrupted = is_interrupted;
        failure
    }
}

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic => f.write_str("internal error"),
            Self::Signal(name) => write!(f, "interrupted by {name}"),
        }
    }
}

/// The texts of an error and of its sources.
pub(crate) fn chain(error: Option<&dyn StdError>) -> Option<Box<str>> {
    let mut text = error?.to_string();
    let mut source = error?.source();
    while let Some(error) = source {
        let next = error.to_string();
        // Some libraries print their source and also return it.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    Some(text.into())
}

/// The body of a refusal, unless it is blank or cannot be read.
fn refusal_body(error: &impl CallError) -> Option<String> {
    let call = error.failed_call();
    let is_refusal = FailedOutcome::of_call(error) == FailedOutcome::Rejected
        || call.http_status().is_some_and(|status| status.is_client_error());
    let body = call.body_snippet().filter(|_| is_refusal && call.content_coding().is_none())?;
    (!body.trim().is_empty()).then_some(body)
}

/// Whether nothing was sent, because the request or the settings are wrong.
fn is_invalid(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Invalid | ErrorKind::Configuration)
}

/// What was sent, and when. None of its texts contains a secret.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// `None` for a void.
    pub(crate) amount: Option<Amount>,
    /// The caller's own reference.
    pub(crate) reference: Option<String>,
    pub(crate) at: SystemTime,
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            outcome: &'static str,
            error: ErrorObject<'a>,
            #[serde(flatten)]
            note: Option<&'a IntentNote>,
        }

        let note = self.note.as_deref();
        Document { outcome: self.outcome.as_str(), error: ErrorObject(self), note }.serialize(serializer)
    }
}

struct ErrorObject<'a>(&'a Failure);

/// The documented members always, the others where known.
impl Serialize for ErrorObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(failure) = self;
        let (response, sent) = (failure.response.as_deref(), failure.sent.as_deref());
        let status = response.and_then(|response| response.status_code.as_deref()).map(status_code);
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("kind", &failure.kind)?;
        object.serialize_entry("message", &failure.message)?;
        object.serialize_entry("http_status", &failure.http_status())?;
        object.serialize_entry("status_code", &status)?;
        object.serialize_entry("transaction_id", &failure.transaction_id().map(TransactionId::as_str))?;
        object.serialize_entry("violations", &failure.violations)?;
        entry(&mut object, "violation_count", failure.violation_count)?;
        entry(&mut object, "cause", failure.cause.as_ref())?;
        entry(&mut object, "reason", response.and_then(|response| response.reason.as_ref()))?;
        entry(&mut object, "request_id", response.and_then(|response| response.request_id.as_ref()))?;
        let pause = response.and_then(|response| response.retry_after_seconds);
        entry(&mut object, "retry_after_seconds", pause)?;
        entry(&mut object, "body_snippet", response.and_then(|response| response.body.as_ref()))?;
        entry(&mut object, "amount", sent.and_then(|sent| sent.amount).map(Exact))?;
        entry(&mut object, "reference", sent.and_then(|sent| sent.reference.as_ref()))?;
        entry(&mut object, "sent_at", sent.map(|sent| timestamp(sent.at)))?;
        object.end()
    }
}

/// The `status_code` of a response, which is passed without quotes: a number if it is one, else a string.
fn status_code(written: &str) -> Value {
    written.parse::<i64>().map_or_else(|_| written.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_a_response_are_written_exactly_d07_d54() {
        for (written, given) in [("101", json!(101)), ("1e2x", json!("1e2x")), ("1.5", json!("1.5"))] {
            assert_eq!(status_code(written), given);
        }
        let mut failure = Failure::invalid("rejected", "text");
        let retry_after_seconds = Some(u64::MAX);
        failure.response =
            Some(Box::new(FailedResponse { retry_after_seconds, ..FailedResponse::default() }));
        let document = serde_json::to_value(&failure).expect("a document");
        assert_eq!(document["error"]["retry_after_seconds"], json!(u64::MAX));
    }
}
