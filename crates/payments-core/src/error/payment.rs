use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use payments_model::{TransactionId, TransactionRecord, ValidationError};

use super::failure::{Failure, failure_accessors};
use super::{ConfigurationError, ErrorKind, Outcome};
use crate::response::Secrets;

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
    pub(crate) fn of_a_void(mut self, of: Option<TransactionId>) -> Self {
        if self.0.outcome == Outcome::Unknown {
            self.0.to_be_voided = of;
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
        self.kind() == ErrorKind::Invalid
    }

    /// Nothing was sent, nothing was charged: the client is configured wrongly, or its transport misses something that it
    /// needs, such as a runtime. Sending again helps only after that is corrected.
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

    /// A charge may have been made, unless [`outcome`](Self::outcome) is [`Outcome::NotProcessed`]: a deadline ended.
    pub fn is_timeout(&self) -> bool {
        self.failure().is_timeout()
    }

    /// Nothing was charged if [`outcome`](Self::outcome) says so, as it nearly always does here: no connection to the
    /// service could be made (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        self.kind() == ErrorKind::NotConnected
    }

    /// Nothing was charged: the refusal is not in the service's own words, so something in front of it, a proxy or a
    /// firewall, is likely to have said no. [`outcome`](Self::outcome) is always [`Outcome::Rejected`] here.
    pub fn is_intermediary(&self) -> bool {
        self.0.failure.is_intermediary()
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

/// Three parts for three in the morning: what happened, what it means for the money, what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failure, found_by, .. } = &*self.0;
        WhatHappened(self).fmt(f)?;
        f.write_str("; ")?;
        match outcome {
            Outcome::NotProcessed if failure.kind() == ErrorKind::Invalid => {
                f.write_str("nothing was sent: correct the request")
            }
            Outcome::NotProcessed if failure.kind() == ErrorKind::Configuration => {
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
