use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use payments_model::{TransactionId, TransactionRecord, ValidationError};

use super::failure::{Failure, failure_accessors};
use super::{ConfigurationError, ErrorKind, Outcome};
use crate::response::Secrets;

/// Why a call that moves money did not succeed, and whether the money can have moved.
///
/// Check [`outcome`](Self::outcome) first: it decides what you may do next. Everything else is for logs and people.
/// `{}` is one line: what happened, whether the money can have moved, and what to do. `{:#}` adds the causes, such as the
/// operating system's error. Neither these nor `Debug` show a card number, a security code, an account or the API key.
///
/// **An outcome is about one call.** Check it where you make the call, and retry only that call. In a function that charges
/// and then does something else with `?`, the error of the second step hides that the first one has charged.
///
/// ```
/// # use bytes::Bytes;
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_core::{ErrorKind, Outcome, Success};
///
/// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
/// let response = http::Response::builder().status(400).body(Bytes::from_static(
///     br#"{"status":"failed","status_code":400,"msg":"bad request error: invalid token"}"#,
/// ))?;
/// let error = Success::from_response(&payment, response).unwrap_err();
/// assert_eq!((error.outcome(), error.kind()), (Outcome::Rejected, ErrorKind::Refused));
/// assert_eq!(error.reason(), Some("invalid token"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A lookup fails with [`LookupError`](crate::LookupError), which has no outcome and does not convert into this type: a
/// failed lookup says nothing about an earlier charge.
pub struct Error(Box<Inner>);

struct Inner {
    outcome: Outcome,
    failure: Failure,
    found: Found,
    /// The transaction to void, if the outcome of a void is unknown.
    to_be_voided: Option<TransactionId>,
    /// What to search the service's records by.
    found_by: &'static str,
}

/// What an unsuccessful response says about the transaction.
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

    /// Sets what to search the service's records by.
    pub(crate) fn found_by(mut self, found_by: &'static str) -> Self {
        self.0.found_by = found_by;
        self
    }

    /// Sets the transaction to void, whose record shows whether it was voided. Ignored if the outcome is known: an id would
    /// then mean that the response contains a transaction.
    pub(crate) fn with_voided_transaction(mut self, id: Option<TransactionId>) -> Self {
        if self.0.outcome == Outcome::Unknown {
            self.0.to_be_voided = id;
        }
        self
    }

    pub(crate) fn failure(&self) -> &Failure {
        &self.0.failure
    }

    /// Whether the money can have moved. Check this first.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Nothing was sent, nothing was charged: the request is invalid. See [`violations`](Self::violations).
    pub fn is_validation(&self) -> bool {
        self.kind() == ErrorKind::Invalid
    }

    /// Nothing was sent, nothing was charged: the client's configuration is wrong, or its transport lacks something that it
    /// needs, such as a runtime. Fix that before you send again.
    pub fn is_configuration(&self) -> bool {
        self.kind() == ErrorKind::Configuration
    }

    /// Nothing was charged: the API key was refused (HTTP 401). Every further call will fail until the key is fixed.
    ///
    /// True with [`Outcome::Unknown`] in one odd case: a 401 whose body claims that the payment succeeded.
    pub fn is_unauthorized(&self) -> bool {
        self.http_status() == Some(StatusCode::UNAUTHORIZED)
    }

    /// Nothing was charged by this call if [`outcome`](Self::outcome) is [`Outcome::Rejected`]: HTTP 404.
    pub fn is_not_found(&self) -> bool {
        self.http_status() == Some(StatusCode::NOT_FOUND)
    }

    /// A charge may have been made, unless [`outcome`](Self::outcome) is [`Outcome::NotProcessed`]: a deadline passed.
    pub fn is_timeout(&self) -> bool {
        self.failure().is_timeout()
    }

    /// Nothing was charged if [`outcome`](Self::outcome) is [`Outcome::NotProcessed`], as it nearly always is here: connecting
    /// to the service failed (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        self.kind() == ErrorKind::NotConnected
    }

    /// Nothing was charged: the refusal does not have the service's error body, so a proxy or a firewall in front of the
    /// service probably sent it. [`outcome`](Self::outcome) is always [`Outcome::Rejected`] here.
    ///
    /// After a page with HTTP 403 or 502 it is false, because the service may have charged. Such an error too has the
    /// [kind](Self::kind) [`ErrorKind::RefusedByIntermediary`], which says nothing about the money.
    pub fn is_intermediary(&self) -> bool {
        self.0.failure.is_intermediary()
    }

    /// With [`Outcome::Unknown`], the transaction to look up: the one in the response, or else the one that a void names. With
    /// any other outcome, the one in the response, such as the record of a declined payment.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        self.0.found.transaction_id.as_ref().or(self.0.to_be_voided.as_ref())
    }

    /// With [`Outcome::Unknown`], what a person can search the service's records by if there is no
    /// [`transaction_id`](Self::transaction_id) to look up. The same as [`Operation::search_by`](crate::Operation::search_by).
    pub fn search_by(&self) -> Option<&'static str> {
        (self.0.outcome == Outcome::Unknown).then_some(self.0.found_by)
    }

    /// The first part of the message: what happened, without the consequence for the money and what to do. For a layer that
    /// adds its own advice. `{:#}` adds the causes.
    pub fn what_happened(&self) -> impl fmt::Display + '_ {
        WhatHappened(self)
    }

    /// The record's `Status` code, if the response has one. Its meaning is not published.
    pub fn record_status(&self) -> Option<&str> {
        self.0.found.record_status.as_deref()
    }

    /// The transaction record of a refusal, such as a declined card's.
    pub fn record(&self) -> Option<&TransactionRecord> {
        self.0.found.record.as_ref()
    }

    failure_accessors!();
}

impl From<ConfigurationError> for Error {
    fn from(error: ConfigurationError) -> Self {
        Self::new(Outcome::NotProcessed, Failure::new(None, error.into()))
    }
}

impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::new(Outcome::NotProcessed, Failure::new(None, error.into()))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failure, found, to_be_voided, found_by: _ } = &*self.0;
        let none = Secrets::default();
        let secrets = failure.metadata().map_or(&none, |metadata| metadata.secrets());
        f.debug_struct("Error")
            .field("message", &format_args!("{self}"))
            .field("outcome", outcome)
            .field("failure", failure)
            .field("found", &secrets.masked_debug(found))
            .field("to_be_voided", to_be_voided)
            .finish()
    }
}

struct WhatHappened<'a>(&'a Error);

impl fmt::Display for WhatHappened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { failure, found, .. } = &*self.0.0;
        failure.write_what_happened(found.transaction_id.is_some(), f)
    }
}

/// Three parts: what happened, whether the money can have moved, and what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failure, found_by, .. } = &*self.0;
        WhatHappened(self).fmt(f)?;
        f.write_str("; ")?;
        match outcome {
            Outcome::NotProcessed if failure.kind() == ErrorKind::Invalid => {
                f.write_str("nothing was sent: fix the request")
            }
            Outcome::NotProcessed if failure.kind() == ErrorKind::Configuration => {
                f.write_str("nothing was sent: fix the settings")
            }
            Outcome::NotProcessed if failure.needs_a_fix() => f.write_str(
                "nothing was processed: it is safe to send it again, but it will fail again until the cause is fixed",
            ),
            Outcome::NotProcessed => f.write_str("nothing was processed: it is safe to send it again"),
            Outcome::Rejected => f.write_str("it was rejected: fix the cause, then send a new request"),
            Outcome::Unknown => {
                f.write_str("it may have been processed: ")?;
                f.write_str(if failure.is_foreign_forbidden() {
                    "find the cause with `payments check`, and look for the payment before you send anything again: "
                } else {
                    "do not send it again, "
                })?;
                // Escaped, so that a server cannot add a line to a log.
                match self.transaction_id().map(|id| (id.as_str().escape_debug(), id.path_segment())) {
                    Some((shown, Ok(_))) => write!(f, "look up transaction {shown}"),
                    // Lookups refuse this id.
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
