use std::error::Error as StdError;
use std::fmt;

use payments_model::{TransactionId, TransactionRecord, ValidationError};

use super::call_error::CallError;
use super::configuration::ConfigurationError;
use super::failed_call::{Cause, FailedCall, failed_call_accessors};
use super::kind::ErrorKind;
use super::outcome::Outcome;
use crate::Delivery;
use crate::operation::{Facts, OperationName};
use crate::response::{RefusedBy, Secrets};

/// Why a call that moves money did not succeed, and whether the money can have moved.
///
/// Check [`outcome`](Self::outcome) first: it decides what you may do next. Everything else is for logs and people.
/// `{}` is one line: what happened, whether the money can have moved, and what to do. `{:#}` adds the causes, such as the
/// operating system's error. Neither these nor `Debug` show a card number, a security code, an account or the API key.
///
/// **An outcome is about one request.** Check it where you make the call, and retry only that call. In a function that charges
/// and then does something else with `?`, the error of the second step hides that the first one has charged. This is also true of
/// building the next request: `.build()?` converts a [`ValidationError`] into this type with [`Outcome::NotProcessed`], which
/// speaks for the request that was not built, and never for a charge before it. So build every request before you send the first.
///
/// ```
/// # use bytes::Bytes;
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_core::{ApiKey, Endpoint, ErrorKind, Operation, Outcome};
///
/// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
/// let response = http::Response::builder().status(400).body(Bytes::from_static(
///     br#"{"status":"failed","status_code":400,"msg":"bad request error: invalid token"}"#,
/// ))?;
/// let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("sk_live_51H")?)?;
/// let error = payment.read(&endpoint, response).unwrap_err();
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
    failed_call: FailedCall,
    /// The transaction to void, if the outcome of a void is unknown. Its record shows whether it was voided.
    to_be_voided: Option<TransactionId>,
    /// What to search the service's records by.
    search_by: &'static str,
}

impl Error {
    /// Whether the money can have moved. Check this first.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// With [`Outcome::Unknown`], the transaction to look up: the one in the response, or else the one that a void names. With
    /// any other outcome, the one in the response, such as the record of a declined payment.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        let found = self.0.failed_call.found().and_then(|found| found.transaction_id.as_ref());
        found.or(self.0.to_be_voided.as_ref())
    }

    /// Whether the service refused the payment or the void itself: a declined card, an expired token, a wrong field. Another card or
    /// a corrected request may help, so show the [`reason`](Self::reason) to the payer.
    ///
    /// It is true only with [`Outcome::Rejected`], so this payment moved no money. It is false for a refusal of the caller (HTTP 401,
    /// 403 and 429) or of the address (405, and 404 unless a void names a transaction that the service does not know), and for one
    /// that something in front of the service sent: no other card helps there.
    ///
    /// ```
    /// # use bytes::Bytes;
    /// # use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// # use payments_core::{ApiKey, Endpoint, Operation};
    /// # let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
    /// # let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("sk_live_51H")?)?;
    /// # let response = |status: u16, body: &'static str| http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes()));
    /// let declined = response(400, r#"{"status":"failed","status_code":400,"msg":"card declined"}"#)?;
    /// assert!(payment.read(&endpoint, declined).unwrap_err().is_decline());
    ///
    /// let unauthorized = response(401, r#"{"status":"failed","status_code":401,"msg":"Invalid API Key"}"#)?;
    /// assert!(!payment.read(&endpoint, unauthorized).unwrap_err().is_decline());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_decline(&self) -> bool {
        let call = self.failed_call();
        self.0.outcome == Outcome::Rejected
            && call.refused_by() == Some(RefusedBy::Service)
            && Self::is_about_the_payment(call.http_status().map(|status| status.as_u16()), call.operation())
    }

    /// Of a refusal by the service with this HTTP status: whether it is about the payment or the void itself.
    ///
    /// For the other crates of this project only: it may change in any version.
    #[doc(hidden)]
    pub fn is_about_the_payment(http_status: Option<u16>, operation: Option<OperationName>) -> bool {
        match http_status {
            Some(401 | 403 | 405 | 429) => false,
            Some(404) => operation == Some(OperationName::Void),
            _ => true,
        }
    }

    failed_call_accessors!();

    /// Everything else that is known of the failed call.
    pub fn failed_call(&self) -> &FailedCall {
        &self.0.failed_call
    }

    /// With [`Outcome::Unknown`], what a person can search the service's records by if there is no
    /// [`transaction_id`](Self::transaction_id) to look up: see [`OperationName::search_by`].
    pub fn search_by(&self) -> Option<&'static str> {
        (self.0.outcome == Outcome::Unknown).then_some(self.0.search_by)
    }

    /// The record's `Status` code, if the response has one. Its meaning is not published.
    pub fn record_status(&self) -> Option<&str> {
        self.0.failed_call.found()?.record_status.as_deref()
    }

    /// The transaction record of a refusal, such as a declined card's.
    pub fn record(&self) -> Option<&TransactionRecord> {
        self.0.failed_call.found()?.record.as_ref()
    }

    /// An error of a program that has not made a call yet.
    fn before_a_call(cause: Cause) -> Self {
        Self(Box::new(Inner {
            outcome: Outcome::NotProcessed,
            failed_call: FailedCall::of_cause(cause),
            to_be_voided: None,
            search_by: "",
        }))
    }
}

impl CallError for Error {
    fn of(failed_call: FailedCall, facts: &Facts<'_>, secrets: &Secrets<'_>) -> Self {
        let outcome = match &failed_call.cause {
            _ if failed_call.refused_by().is_some() => Outcome::Rejected,
            Cause::Configuration(_) | Cause::Validation(_) => Outcome::NotProcessed,
            Cause::Transport(error, _) if error.delivery() == Delivery::NotProcessed => Outcome::NotProcessed,
            Cause::Transport(..) | Cause::Response(_) => Outcome::Unknown,
        };
        // It is shown unmasked. With a known outcome, an id would mean that the response contains a transaction.
        let is_shown = |id: &&TransactionId| outcome == Outcome::Unknown && !secrets.are_in(id.as_str());
        let to_be_voided = facts.transaction_id.filter(is_shown).cloned();
        let search_by = facts.operation.search_by(facts.reference);
        Self(Box::new(Inner { outcome, failed_call, to_be_voided, search_by }))
    }

    fn failed_call(&self) -> &FailedCall {
        self.failed_call()
    }

    fn as_payment(&self) -> Option<&Error> {
        Some(self)
    }
}

/// For `?` in a function that has not charged yet. The outcome speaks for the configuration only.
impl From<ConfigurationError> for Error {
    fn from(error: ConfigurationError) -> Self {
        Self::before_a_call(error.into())
    }
}

/// For `.build()?` in a function that has not charged yet.
///
/// The outcome is [`Outcome::NotProcessed`], and speaks for the invalid request only. **A function that has already charged must not
/// use `?` on building another request**: its caller would read that nothing was processed, and charge again.
impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::before_a_call(error.into())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failed_call, to_be_voided, search_by: _ } = &*self.0;
        f.debug_struct("Error")
            .field("message", &format_args!("{self}"))
            .field("outcome", outcome)
            .field("failed_call", failed_call)
            .field("to_be_voided", to_be_voided)
            .finish()
    }
}

/// Three parts: what happened, whether the money can have moved, and what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failed_call, search_by, .. } = &*self.0;
        failed_call.fmt(f)?;
        f.write_str("; ")?;
        f.write_str(match (outcome, failed_call.kind()) {
            (Outcome::NotProcessed, ErrorKind::Invalid) => "nothing was sent: fix the request",
            (Outcome::NotProcessed, ErrorKind::Configuration) => "nothing was sent: fix the settings",
            (Outcome::NotProcessed, _) if failed_call.needs_a_fix() => {
                "nothing was processed: it is safe to send it again, but it will fail again until the cause is fixed"
            }
            (Outcome::NotProcessed, _) => "nothing was processed: it is safe to send it again",
            (Outcome::Rejected, ErrorKind::RateLimited) => "it was rejected: wait, then send a new request",
            (Outcome::Rejected, _) => "it was rejected: fix the cause, then send a new request",
            (Outcome::Unknown, _) if failed_call.is_foreign_forbidden() => {
                "it may have been processed: find the cause, and look for the payment before you send anything again: "
            }
            (Outcome::Unknown, _) => "it may have been processed: do not send it again, ",
        })?;
        if *outcome != Outcome::Unknown {
            return Ok(());
        }
        // Escaped, so that a server cannot add a line to a log.
        match self.transaction_id().map(|id| (id.as_str().escape_debug(), id.path_segment())) {
            Some((shown, Ok(_))) => write!(f, "look up transaction {shown}"),
            // Lookups refuse this id.
            Some((shown, Err(_))) => write!(f, "reconcile transaction {shown} with the service"),
            None => write!(f, "reconcile it with the service by {search_by}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.failed_call.source()
    }
}
