use std::error::Error as StdError;
use std::fmt;

use payments_model::{TransactionId, TransactionRecord, ValidationError};

use super::call_error::{CallError, FromCall};
use super::configuration::ConfigurationError;
use super::failed_call::{Cause, FailedCall, failed_call_accessors};
use super::kind::ErrorKind;
use super::outcome::Outcome;
use crate::Delivery;
use crate::operation::{Facts, NextStep, OperationName};
use crate::response::{RefusedBy, Secrets};

/// Why a call that moves money did not succeed, and whether the money can have moved.
///
/// Check [`outcome`](Self::outcome) first: it decides what you may do next. Everything else is for logs and people.
/// `{}` is one line: what happened, whether the money can have moved, and what to do. `{:#}` adds the causes, such as the
/// operating system's error. Neither these nor `Debug` show a card number, a security code, an account or the API key.
///
/// **An outcome is about one request.** Check it where you make the call, and retry only that call. In a function that charges
/// and then does something else with `?`, the error of the second step hides that the first one has charged. This is also true of
/// steps that send nothing. `.build()?` on the next request converts a [`ValidationError`] into this type, and setting up what it
/// needs, such as [`CallerHeaders::insert`](crate::CallerHeaders::insert) or [`Client::for_merchant`](crate::Client::for_merchant),
/// returns this type. Both have [`Outcome::NotProcessed`], which speaks for the request that was not built, and never for a charge
/// before it. So build every request, and set up every client, before you send the first.
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
    /// If the outcome is unknown.
    next_step: Option<NextStep>,
}

impl Error {
    /// Whether the money can have moved. Check this first.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// With [`Outcome::Unknown`], what a person does to find out whether the money moved.
    pub fn next_step(&self) -> Option<&NextStep> {
        self.0.next_step.as_ref()
    }

    /// With [`Outcome::Unknown`], the transaction of the [next step](Self::next_step). With any other outcome, the one in the
    /// response, such as the record of a declined payment.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        match &self.0.next_step {
            Some(step) => step.transaction_id(),
            None => self.0.failed_call.named_transaction(),
        }
    }

    /// Whether the service refused the payment or the void itself: a declined card, an expired token, a wrong field. Another card or
    /// a corrected request may help, so show the [`reason`](Self::reason) to the payer.
    ///
    /// It is true only with [`Outcome::Rejected`], so this payment moved no money. It is false for a refusal of the caller (401, 403 and
    /// 429), of the address (405, and 404 unless a void names a transaction that the service does not know) or of the form of the request
    /// (such as 413 and 415), whether the HTTP status or the body's `status_code` says so. It is also false for a refusal that something
    /// in front of the service sent. No other card helps there.
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
        let http_status = call.http_status().map(|status| status.as_u16());
        // Gateways put a status of their own into a body with HTTP 200 or 400.
        let status_code = call.status_code().and_then(|code| code.parse().ok());
        self.0.outcome == Outcome::Rejected
            && call.refused_by() == Some(RefusedBy::Service)
            && [http_status, status_code]
                .into_iter()
                .all(|status| Self::is_about_the_payment(status, call.operation()))
    }

    /// Of a refusal by the service with this status: whether it is about the payment or the void itself. For a refusal of which only
    /// the HTTP status was stored; [`is_decline`](Self::is_decline) asks it of this error's, and of its `status_code`.
    pub fn is_about_the_payment(http_status: Option<u16>, operation: Option<OperationName>) -> bool {
        match http_status {
            Some(401 | 403 | 405..=407 | 411 | 413..=417 | 421 | 426 | 428 | 429 | 431) => false,
            Some(404) => operation == Some(OperationName::Void),
            _ => true,
        }
    }

    failed_call_accessors!();

    /// Everything else that is known of the failed call.
    pub fn failed_call(&self) -> &FailedCall {
        &self.0.failed_call
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
            next_step: None,
        }))
    }
}

impl FromCall for Error {
    fn from_call(failed_call: FailedCall, facts: &Facts<'_>, secrets: &Secrets<'_>) -> Self {
        let outcome = match &failed_call.cause {
            _ if failed_call.refused_by().is_some() => Outcome::Rejected,
            Cause::Configuration(_) | Cause::Validation(_) => Outcome::NotProcessed,
            Cause::Transport(error, _) if error.delivery() == Delivery::NotProcessed => Outcome::NotProcessed,
            Cause::Transport(..) | Cause::Response(_) => Outcome::Unknown,
        };
        let transaction_id = match facts.transaction_id {
            // Its record shows whether it was voided. The response may name the void itself. An id is shown unmasked.
            Some(to_be_voided) => Some(to_be_voided).filter(|id| !secrets.are_in(id.as_str())),
            None => failed_call.named_transaction(),
        };
        let step = (outcome == Outcome::Unknown).then(|| Facts { transaction_id, ..*facts }.next_step());
        Self(Box::new(Inner { outcome, failed_call, next_step: step }))
    }
}

impl CallError for Error {
    fn failed_call(&self) -> &FailedCall {
        &self.0.failed_call
    }

    fn as_payment(&self) -> Option<&Error> {
        Some(self)
    }
}

/// For `?` in a function that has not charged yet. The outcome is [`Outcome::NotProcessed`], and speaks for the configuration only.
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
        let Inner { outcome, failed_call, next_step } = &*self.0;
        f.debug_struct("Error")
            .field("message", &format_args!("{self}"))
            .field("outcome", outcome)
            .field("failed_call", failed_call)
            .field("next_step", next_step)
            .finish()
    }
}

/// Three parts: what happened, whether the money can have moved, and what to do.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, failed_call, next_step } = &*self.0;
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
        next_step.as_ref().map_or(Ok(()), |step| step.fmt(f))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.failed_call.source()
    }
}
