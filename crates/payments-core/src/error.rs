use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use payments_model::{TransactionId, TransactionRecord, ValidationError, Violation};

use crate::configuration_error::ConfigurationError;
use crate::failure::{Cause, Failure};
use crate::{OperationName, Outcome, RetryAfter, TransportError};

/// Why a call that moves money did not succeed, and whether the money can have moved.
///
/// Ask [`outcome`](Self::outcome) first: it decides what may be done next. Everything else is for logs and people.
/// `{}` is one line that says what happened, whether the money can have moved and what to do; `{:#}` adds the causes
/// below it, such as the operating system's own words. Neither these nor `Debug` show a card number, a security code,
/// an account or the API key.
///
/// **An outcome is about one call.** Ask it where the call is made, and retry that call alone. In a function that charges and
/// then does something else with `?`, the error of the second step hides that the first one has charged.
///
/// A lookup fails with [`LookupError`](crate::LookupError), which has no outcome and does not convert into this type: a
/// failed lookup says nothing about an earlier charge.
pub struct Error(Box<Inner>);

struct Inner {
    outcome: Outcome,
    failure: Failure,
    found: Found,
    /// The transaction that a void of unknown outcome was to change.
    to_be_voided: Option<TransactionId>,
    /// What the payment can be found by in the service's records.
    found_by: &'static str,
}

/// What an unsuccessful response still told about the transaction.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) transaction_id: Option<TransactionId>,
    pub(crate) record_status: Option<String>,
    pub(crate) record: Option<TransactionRecord>,
}

impl Error {
    pub(crate) fn new(outcome: Outcome, failure: Failure) -> Self {
        let found = Found::default();
        Self(Box::new(Inner { outcome, failure, found, to_be_voided: None, found_by: "" }))
    }

    pub(crate) fn with_found(mut self, found: Found) -> Self {
        self.0.found = found;
        self
    }

    /// The same error, of a payment that can be found by this.
    pub(crate) fn found_by(mut self, found_by: &'static str) -> Self {
        self.0.found_by = found_by;
        self
    }

    /// The same error, of a void of this transaction: what it is now tells whether it was voided. Where the outcome is
    /// known, an id would say that the response holds a transaction.
    pub(crate) fn of_a_void(mut self, of: Option<&TransactionId>) -> Self {
        if self.0.outcome == Outcome::Unknown {
            self.0.to_be_voided = of.cloned();
        }
        self
    }

    pub(crate) fn failure(&self) -> &Failure {
        &self.0.failure
    }

    /// Whether the money can have moved. Every other question comes after this one.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Nothing was sent, nothing was charged: the request itself is invalid. See [`violations`](Self::violations).
    pub fn is_validation(&self) -> bool {
        self.0.failure.is_validation()
    }

    /// Nothing was sent, nothing was charged: the client is configured wrongly, or its transport misses something that it
    /// needs, such as a runtime. Sending again helps only after that is corrected.
    pub fn is_configuration(&self) -> bool {
        self.0.failure.is_configuration()
    }

    /// Nothing was charged: the API key was refused (HTTP 401). Every further call will fail until the key is fixed.
    ///
    /// True with [`Outcome::Unknown`] in one odd case: a 401 whose body claims that the payment succeeded.
    pub fn is_unauthorized(&self) -> bool {
        self.0.failure.has_status(StatusCode::UNAUTHORIZED)
    }

    /// Nothing was charged by this call if [`outcome`](Self::outcome) is [`Outcome::Rejected`]: HTTP 404.
    pub fn is_not_found(&self) -> bool {
        self.0.failure.has_status(StatusCode::NOT_FOUND)
    }

    /// A charge may have been made, unless [`outcome`](Self::outcome) is [`Outcome::NotProcessed`]: a deadline ended.
    pub fn is_timeout(&self) -> bool {
        self.0.failure.is_timeout()
    }

    /// Nothing was charged if [`outcome`](Self::outcome) says so, as it nearly always does here: no connection to the
    /// service could be made (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        self.0.failure.is_connect()
    }

    /// Nothing was charged: the refusal is not in the service's own words, so something in front of it, a proxy or a
    /// firewall, is likely to have said no. [`outcome`](Self::outcome) is always [`Outcome::Rejected`] here.
    pub fn is_intermediary(&self) -> bool {
        self.0.failure.is_intermediary()
    }

    /// The operation that failed, if the error belongs to one.
    pub fn operation(&self) -> Option<OperationName> {
        self.0.failure.operation
    }

    /// Every violation of an invalid request, by field and rule; empty for any other error.
    pub fn violations(&self) -> &[Violation] {
        self.0.failure.violations()
    }

    /// The HTTP status of the response, if there was one.
    pub fn http_status(&self) -> Option<StatusCode> {
        self.0.failure.http_status()
    }

    /// The body's `status_code` as it was written.
    pub fn status_code(&self) -> Option<&str> {
        self.0.failure.status_code()
    }

    /// Why the service said no, in its own words, scrubbed: the body's message without the prefix
    /// `bad request error: `, else the HTTP status's standard phrase. For people; the interface publishes no list.
    pub fn reason(&self) -> Option<&str> {
        self.0.failure.reason()
    }

    /// With [`Outcome::Unknown`], the transaction to look up: of the response, whatever it was, or for a void whose
    /// response gave none, the id that was to be voided. With any other outcome, of the response alone, such as a declined
    /// payment's.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        self.0.found.transaction_id.as_ref().or(self.0.to_be_voided.as_ref())
    }

    /// With [`Outcome::Unknown`], what a person can search the service's records by if there is no
    /// [`transaction_id`](Self::transaction_id) to look up, as [`Operation::search_by`](crate::Operation::search_by) has it.
    pub fn search_by(&self) -> Option<&'static str> {
        (self.0.outcome == Outcome::Unknown).then_some(self.0.found_by)
    }

    /// The first part of the text: what happened, without what it means for the money and what to do. For a layer above that
    /// gives advice of its own. With `{:#}` it has the causes too.
    pub fn what_happened(&self) -> impl fmt::Display + '_ {
        WhatHappened(self)
    }

    /// The record's `Status` code, if the response holds one. Its meaning is not published.
    pub fn record_status(&self) -> Option<&str> {
        self.0.found.record_status.as_deref()
    }

    /// The transaction record of a response that says no, such as a declined card's.
    pub fn record(&self) -> Option<&TransactionRecord> {
        self.0.found.record.as_ref()
    }

    /// When the service asks to be called again. It is no permission to send a charge again.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.0.failure.retry_after()
    }

    /// The response's request id header, if it has one: what to quote to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.failure.request_id()
    }

    /// The first 2 KiB of the response's body, scrubbed of secrets as well as they can be recognised.
    ///
    /// It may still hold personal data, so it is part of neither `Debug` nor `Display`.
    pub fn body_snippet(&self) -> Option<String> {
        self.0.failure.body_snippet()
    }

    /// The transport's account of what went wrong, if the response was not read to its end.
    pub fn transport_error(&self) -> Option<&TransportError> {
        self.0.failure.transport_error()
    }

    /// A short, stable word for logs and metrics, such as `validation`, `timeout`, `unauthorized` or `unclear_answer`.
    pub fn kind(&self) -> &'static str {
        self.0.failure.kind()
    }
}

impl From<ConfigurationError> for Error {
    fn from(error: ConfigurationError) -> Self {
        Self::new(Outcome::NotProcessed, Failure::new(None, Cause::Configuration(error)))
    }
}

impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::new(Outcome::NotProcessed, Failure::new(None, Cause::Validation(error)))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failure, found, to_be_voided, found_by: _ } = &*self.0;
        let mut debug = f.debug_struct("Error");
        debug.field("message", &format_args!("{self}")).field("outcome", outcome);
        failure.debug_fields(&mut debug);
        debug.field("found", found).field("to_be_voided", to_be_voided).finish()
    }
}

struct WhatHappened<'a>(&'a Error);

impl fmt::Display for WhatHappened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { failure, found, .. } = &*self.0.0;
        failure.write_what_happened(found.transaction_id.is_some(), f)
    }
}

/// Three parts for three in the morning: what happened, what it means for the money, what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failure, found_by, .. } = &*self.0;
        WhatHappened(self).fmt(f)?;
        f.write_str("; ")?;
        match outcome {
            Outcome::NotProcessed if failure.is_validation() => {
                f.write_str("nothing was sent: correct the request")
            }
            Outcome::NotProcessed if failure.is_configuration() => {
                f.write_str("nothing was sent: correct the settings")
            }
            Outcome::NotProcessed => f.write_str("nothing was processed: it is safe to send it again"),
            Outcome::Rejected => f.write_str("it was refused: correct the cause, then send a new request"),
            Outcome::Unknown => {
                f.write_str("it may have been processed: ")?;
                f.write_str(if failure.is_foreign_forbidden() {
                    "find the cause with `payments check`, and look for the payment before anything is sent again: "
                } else {
                    "do not send it again, "
                })?;
                // Escaped, because a log must not grow a line that a server wrote.
                match self.transaction_id().map(|id| (id.as_str().escape_debug(), id.path_segment())) {
                    Some((shown, Ok(_))) => write!(f, "look up transaction {shown}"),
                    // No lookup takes it.
                    Some((shown, Err(_))) => write!(f, "reconcile transaction {shown} with the service"),
                    None => write!(f, "reconcile it with the service by {found_by}"),
                }
            }
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.failure.source()
    }
}
