//! A command that did not succeed, as both output shapes and the exit code need it.

use std::error::Error as StdError;
use std::time::SystemTime;

use http::StatusCode;
use payments_core::{
    Delivery, Error, LookupError, OperationName, Outcome, RetryAfter, Success, TransportError,
    TransportErrorKind,
};
use payments_model::{Amount, TransactionId, ValidationError, Violation};

use crate::exit_code::ExitCode;
use crate::report::IntentNote;
use crate::text::timestamp;

/// Why a command did not succeed. Every text in it is free of secrets.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) outcome: FailedOutcome,
    /// One stable word.
    pub(crate) kind: Box<str>,
    /// What happened, what it means for the money, what to do.
    pub(crate) message: String,
    /// What lies beneath, such as why a certificate was refused.
    pub(crate) cause: Option<String>,
    pub(crate) violations: Vec<Violation>,
    /// What an answer said, if one came.
    pub(crate) answer: Option<Box<FailedAnswer>>,
    /// What was sent, if its outcome is unknown.
    pub(crate) sent: Option<Box<Sent>>,
    pub(crate) advice: Box<Advice>,
}

/// What to do next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) purpose: Purpose,
    /// The transaction to look up next; only an id that a look-up takes.
    pub(crate) to_look_up: Option<TransactionId>,
    /// What the service's records can be searched by if the outcome is unknown.
    pub(crate) search_by: Option<&'static str>,
    /// Where the cause may lie.
    pub(crate) hints: Vec<String>,
    /// What the journal says, if the call has a key.
    pub(crate) note: Option<IntentNote>,
    /// Whether a part of what was asked for is done.
    pub(crate) is_partly_done: bool,
}

/// What is kept of an answer that is no success.
#[derive(Clone, Debug)]
pub(crate) struct FailedAnswer {
    pub(crate) http_status: u16,
    /// As it was written, without quotes.
    pub(crate) status_code: Option<String>,
    pub(crate) transaction_id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_seconds: Option<u64>,
}

impl FailedAnswer {
    fn of(error: &impl CallError) -> Option<Self> {
        Some(Self {
            http_status: error.http_status()?.as_u16(),
            status_code: error.status_code().map(str::to_owned),
            transaction_id: error.transaction_id().map(ToString::to_string),
            reason: error.reason().map(str::to_owned),
            request_id: error.request_id().map(str::to_owned),
            retry_after_seconds: error.retry_after().and_then(seconds),
        })
    }

    /// What a journal keeps of one.
    pub(crate) fn of_kept(failure: &payments_journal::Failure) -> Option<Self> {
        Some(Self {
            http_status: failure.http_status?,
            status_code: None,
            transaction_id: failure.transaction_id.as_ref().map(ToString::to_string),
            reason: failure.reason.clone(),
            request_id: None,
            retry_after_seconds: None,
        })
    }
}

/// The SDK's three outcomes, with the refusals by this command itself told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedOutcome {
    /// Refused here, before anything was sent.
    Invalid,
    /// Provably never acted on.
    NotProcessed,
    /// Answered no.
    Rejected,
    /// It may have been processed.
    Unknown,
}

impl FailedOutcome {
    /// The outcome as the JSON document has it.
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
    /// A refusal by this command; `message` says what to do.
    pub(crate) fn invalid(kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::Invalid, kind.into(), message.into())
    }

    /// Nothing was sent, and the caller did nothing wrong.
    pub(crate) fn not_processed(kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::NotProcessed, kind.into(), message.into())
    }

    /// The request may have been sent, and nobody waits for its answer any more.
    pub(crate) fn unknown(kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::Unknown, kind.into(), message.into())
    }

    /// The answer to an earlier call was no.
    pub(crate) fn rejected(kind: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::Rejected, kind.into(), message.into())
    }

    /// The same failure with the text of what lies beneath.
    pub(crate) fn because(mut self, cause: &dyn StdError) -> Self {
        self.cause = chain(Some(cause));
        self
    }

    /// The same failure, of an answer that says success and cannot be taken for one.
    pub(crate) fn answered<T>(mut self, answer: &Success<T>) -> Self {
        self.answer = Some(Box::new(FailedAnswer {
            http_status: answer.http_status().as_u16(),
            status_code: answer.status_code().map(str::to_owned),
            transaction_id: None,
            reason: answer.message().map(str::to_owned),
            request_id: answer.request_id().map(str::to_owned),
            retry_after_seconds: answer.retry_after().and_then(seconds),
        }));
        self
    }

    /// The same failure, of a call for this purpose.
    pub(crate) fn of_a(mut self, purpose: Purpose) -> Self {
        self.advice.purpose = purpose;
        self
    }

    /// The same failure, of a call with a key.
    pub(crate) fn noted(mut self, note: IntentNote) -> Self {
        self.advice.note = Some(note);
        self
    }

    /// The same failure, of a payment that the service's records can be searched for by this.
    pub(crate) fn searched_by(mut self, search_by: &'static str) -> Self {
        self.advice.search_by = Some(search_by);
        self
    }

    /// The same failure, of a request that may have been acted upon.
    pub(crate) fn of_what_was_sent(mut self, sent: Sent) -> Self {
        self.sent = Some(Box::new(sent));
        self
    }

    /// The same failure, after which this transaction, which the request named, tells what happened.
    pub(crate) fn look_up_next(mut self, id: &TransactionId) -> Self {
        // Where an answer has no id the SDK gives the request's, and it is not to be shown as if the answer had it.
        if let Some(answer) = &mut self.answer {
            answer.transaction_id.take_if(|given| given == id.as_str());
        }
        self.advice.to_look_up = Some(id.clone());
        self
    }

    /// The same failure, and where its cause may lie.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.advice.hints.push(hint.into());
        self
    }

    /// Both at once, so that whoever mends the one does not meet the other only then. Their outcome and kind are alike.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.message = format!("{}; also: {}", self.message, other.message);
        self.cause = match (self.cause, other.cause) {
            (Some(one), Some(another)) => Some(format!("{one}; {another}")),
            (one, another) => one.or(another),
        };
        self.advice.hints.extend(other.advice.hints);
        self
    }

    /// A call that did not succeed.
    pub(crate) fn of(error: &impl CallError) -> Self {
        let cause = chain(error.source());
        let hints = error.transport_error().and_then(|error| hint(error, cause.as_deref()));
        Self {
            violations: error.violations().to_vec(),
            answer: FailedAnswer::of(error).map(Box::new),
            advice: Box::new(Advice {
                to_look_up: to_look_up(error),
                search_by: error.search_by(),
                hints: hints.into_iter().map(str::to_owned).collect(),
                ..Advice::default()
            }),
            cause,
            ..Self::new(error.failed_outcome(), error.code().into(), error.to_string())
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match (self.outcome, self.answer.as_ref().map(|answer| answer.http_status)) {
            (FailedOutcome::Invalid, _) => ExitCode::Invalid,
            (FailedOutcome::NotProcessed, _) => ExitCode::NotProcessed,
            (FailedOutcome::Rejected, Some(401)) => ExitCode::Unauthorized,
            (FailedOutcome::Rejected, Some(404)) => ExitCode::NotFound,
            (FailedOutcome::Rejected, _) => ExitCode::Rejected,
            (FailedOutcome::Unknown, _) => ExitCode::Unknown,
        }
    }

    fn new(outcome: FailedOutcome, kind: Box<str>, message: String) -> Self {
        Self {
            outcome,
            kind,
            message,
            cause: None,
            violations: Vec::new(),
            answer: None,
            sent: None,
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

/// What to look at where no connection stood.
pub(crate) const IS_IT_THERE: &str = "check --base-url or PAYMENTS_BASE_URL: is the service there?";

/// What to do about a certificate of one's own.
pub(crate) const UNKNOWN_ISSUER: &str = "the certificate is signed by no authority that is trusted here: \
     if it is your own, give its certificate with --ca-cert or ca_cert";

/// Where the cause lies when no connection could be made.
fn hint(error: &TransportError, cause: Option<&str>) -> Option<&'static str> {
    use TransportErrorKind as Kind;

    if error.delivery() != Delivery::NotProcessed {
        return None;
    }
    match (error.kind(), cause) {
        // After a deadline it depends on the settings.
        (Kind::Resolve | Kind::Connect, _) => Some(IS_IT_THERE),
        (Kind::Tls, Some(cause)) if cause.contains("UnknownIssuer") => Some(UNKNOWN_ISSUER),
        // The TLS library's own words; another cause of theirs gets the other hint, which misleads nobody.
        (Kind::Tls, Some(cause)) if cause.to_ascii_lowercase().contains("certificate") => {
            Some("check the host name in --base-url or PAYMENTS_BASE_URL, and the authority of --ca-cert")
        }
        (Kind::Tls, _) => Some("does the server speak TLS there? check --base-url or PAYMENTS_BASE_URL"),
        _ => None,
    }
}

/// The texts of an error and of everything beneath it.
fn chain(error: Option<&dyn StdError>) -> Option<String> {
    let mut text = error?.to_string();
    let mut beneath = error?.source();
    while let Some(error) = beneath {
        let next = error.to_string();
        // Some libraries print their source and hand it out as well.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        beneath = error.source();
    }
    Some(text)
}

fn seconds(retry_after: RetryAfter) -> Option<u64> {
    match retry_after {
        RetryAfter::Delay(delay) => Some(delay.as_secs()),
        RetryAfter::Date(date) => Some(date.duration_since(SystemTime::now()).unwrap_or_default().as_secs()),
        _ => None,
    }
}

/// What a command reads of an error, whether the call was to move money or to look something up.
pub(crate) trait CallError: StdError {
    fn failed_outcome(&self) -> FailedOutcome;
    fn transaction_id(&self) -> Option<&TransactionId>;
    /// What the service's records can be searched by if the outcome is unknown.
    fn search_by(&self) -> Option<&'static str>;
    fn code(&self) -> &'static str;
    fn operation(&self) -> Option<OperationName>;
    fn violations(&self) -> &[Violation];
    fn http_status(&self) -> Option<StatusCode>;
    fn status_code(&self) -> Option<&str>;
    fn reason(&self) -> Option<&str>;
    fn request_id(&self) -> Option<&str>;
    fn retry_after(&self) -> Option<RetryAfter>;
    fn transport_error(&self) -> Option<&TransportError>;
}

macro_rules! call_error {
    ($error:ident, $outcome:expr, $transaction_id:expr, $search_by:expr, $($method:ident -> $output:ty,)*) => {
        impl CallError for $error {
            fn failed_outcome(&self) -> FailedOutcome {
                $outcome(self)
            }

            fn transaction_id(&self) -> Option<&TransactionId> {
                $transaction_id(self)
            }

            fn search_by(&self) -> Option<&'static str> {
                $search_by(self)
            }

            $(fn $method(&self) -> $output {
                Self::$method(self)
            })*
        }
    };
    ($error:ident, $outcome:expr, $transaction_id:expr, $search_by:expr) => {
        call_error! {
            $error, $outcome, $transaction_id, $search_by,
            code -> &'static str,
            operation -> Option<OperationName>,
            violations -> &[Violation],
            http_status -> Option<StatusCode>,
            status_code -> Option<&str>,
            reason -> Option<&str>,
            request_id -> Option<&str>,
            retry_after -> Option<RetryAfter>,
            transport_error -> Option<&TransportError>,
        }
    };
}

call_error!(Error, outcome_of_payment, Self::transaction_id, Self::search_by);
call_error!(LookupError, outcome_of_lookup, no_transaction, no_search);

fn outcome_of_payment(error: &Error) -> FailedOutcome {
    match error.outcome() {
        Outcome::NotProcessed if error.is_validation() || error.is_configuration() => FailedOutcome::Invalid,
        Outcome::NotProcessed => FailedOutcome::NotProcessed,
        Outcome::Rejected => FailedOutcome::Rejected,
        Outcome::Unknown => FailedOutcome::Unknown,
    }
}

fn outcome_of_lookup(error: &LookupError) -> FailedOutcome {
    if error.is_validation() || error.is_configuration() {
        FailedOutcome::Invalid
    } else if error.is_rejected() {
        FailedOutcome::Rejected
    } else {
        FailedOutcome::NotProcessed
    }
}

/// A failed lookup names none that should be looked up next.
fn no_transaction(_: &LookupError) -> Option<&TransactionId> {
    None
}

/// Nothing was moved, so nothing has to be found.
fn no_search(_: &LookupError) -> Option<&'static str> {
    None
}

/// What a call is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A payment or a void.
    #[default]
    MoveMoney,
    /// To find a transaction: its failure says nothing about the payment.
    FindTransaction,
    /// To find a customer.
    FindCustomer,
    /// To read or mend the journal, which sends no payment.
    KeepJournal,
}

impl Purpose {
    /// What a refusal at the outset says of what it has left alone. A command of the journal never sends a payment, and
    /// who hears that nothing was sent may wonder what it would have sent.
    pub(crate) const fn nothing_done(self) -> &'static str {
        match self {
            Self::MoveMoney | Self::FindTransaction | Self::FindCustomer => "nothing was sent",
            Self::KeepJournal => "nothing was changed",
        }
    }
}

/// What was sent, and when. Every text in it is free of secrets.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Of a payment.
    pub(crate) amount: Option<Amount>,
    /// The caller's own, if the request has one.
    pub(crate) reference: Option<String>,
    pub(crate) at: SystemTime,
}

impl Sent {
    /// When it was sent, in UTC as RFC 3339 has it.
    pub(crate) fn timestamp(&self) -> String {
        timestamp(self.at)
    }
}

/// The transaction of an answer, if a look-up takes its id.
pub(crate) fn to_look_up(error: &impl CallError) -> Option<TransactionId> {
    error.transaction_id().filter(|id| id.path_segment().is_ok()).cloned()
}

/// The step as a clause, with the whole command where an id is known. Where none is, a person searches the service's records:
/// the interface has neither a search nor a list.
pub(crate) fn after_unknown(known: Option<&TransactionId>, search_by: &str) -> String {
    match known {
        Some(id) => format!("look it up: {}", look_up(id)),
        None => format!("reconcile by {search_by}"),
    }
}

/// The command that looks a transaction up, ready to paste. Its id must be one that a look-up takes.
pub(crate) fn look_up(id: &TransactionId) -> String {
    let separator = if id.as_str().starts_with('-') { "-- " } else { "" };
    format!("payments transaction get {separator}{id}")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use payments_core::{ApiKey, Endpoint, GetTransaction, Operation};
    use payments_model::Void;
    use payments_model::unversioned::{ErrorEnvelope, SuccessEnvelope};
    use payments_tests::{ResponseBody, status_row};

    use super::*;

    /// How the command ends after such an answer to this operation.
    fn exit_code<O: Operation>(operation: &O, status: u16, body: Vec<u8>) -> u8
    where
        Failure: From<O::Error>,
    {
        let key = ApiKey::new("key").expect("visible ASCII");
        let endpoint = Endpoint::new("https://pay.example.com", key).expect("https");
        let mut answer = http::Response::new(Bytes::from(body));
        *answer.status_mut() = StatusCode::from_u16(status).expect("three digits");
        match operation.read(&endpoint, answer) {
            Ok(_) => ExitCode::Processed.number(),
            Err(error) => Failure::from(error).exit_code().number(),
        }
    }

    #[test]
    fn every_status_with_every_body_has_the_exit_code_of_the_table_d05_d06_d08_d09_d10_d11_d12() {
        let id = TransactionId::new("txn_1").expect("a good id");
        let (void, look_up) = (Void::new(id.clone()), GetTransaction::new(id));
        let data = r#"{"TransactionId":"txn_1"}"#;
        for status in 200..=599 {
            for body in ResponseBody::ALL {
                let (to_void, to_look_up) = match body {
                    ResponseBody::Refusal => {
                        let refused = ErrorEnvelope::new(status, "no").encode();
                        (refused.clone(), refused)
                    }
                    ResponseBody::Success => {
                        let found = SuccessEnvelope::get("found", data);
                        (SuccessEnvelope::post("done", data), found)
                    }
                    _ => (b"<html>".to_vec(), b"<html>".to_vec()),
                };
                let row = status_row(status, body);
                let seen = (exit_code(&void, status, to_void), exit_code(&look_up, status, to_look_up));
                assert_eq!(seen, (row.payment.exit_code, row.lookup.exit_code), "HTTP {status}, {body:?}");
            }
        }
    }

    #[test]
    fn the_command_is_whole_and_takes_its_id_for_no_option() {
        let step = |text| after_unknown(Some(&TransactionId::new(text).unwrap()), "time");
        assert_eq!(step("txn_1"), "look it up: payments transaction get txn_1");
        assert_eq!(step("--output=json"), "look it up: payments transaction get -- --output=json");
        assert_eq!(after_unknown(None, "token and time"), "reconcile by token and time");
    }
}
