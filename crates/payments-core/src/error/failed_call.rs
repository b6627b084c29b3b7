use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use http::StatusCode;
use payments_model::{TransactionId, ValidationError, Violation};

use super::configuration::ConfigurationError;
use super::failed_response::FailedResponse;
use super::kind::ErrorKind;
use crate::operation::OperationName;
use crate::response::{BodyForm, Found, Metadata, RefusedBy};
use crate::{CallId, Delivery, TransportError, TransportErrorKind};

/// What [`Error`](crate::Error) and [`LookupError`](crate::LookupError) share: which call failed, why, and what was read of the
/// response. It says nothing about the money.
///
/// `Display` is the first part of the error's message: what happened, without the consequence and what to do. `{:#}` adds the
/// causes.
#[derive(Debug)]
pub struct FailedCall {
    pub(crate) operation: Option<OperationName>,
    pub(crate) call_id: Option<CallId>,
    pub(crate) cause: Cause,
}

/// What went wrong, in the order of a call's steps.
#[derive(Debug)]
pub(crate) enum Cause {
    Configuration(ConfigurationError),
    Validation(ValidationError),
    /// No complete response was read. The part that was read is the second field.
    Transport(TransportError, Option<Box<FailedResponse>>),
    /// A complete response that is not a success.
    Response(Box<FailedResponse>),
}

impl From<ConfigurationError> for Cause {
    fn from(error: ConfigurationError) -> Self {
        Self::Configuration(error)
    }
}

impl From<ValidationError> for Cause {
    fn from(error: ValidationError) -> Self {
        Self::Validation(error)
    }
}

impl FailedCall {
    /// The kind of failure: one `match` decides who has to act.
    pub fn kind(&self) -> ErrorKind {
        let has_words = |response: &&FailedResponse| response.refused_by.is_some() || response.is_foreign();
        let Some(response) = self.response().filter(has_words) else { return self.kind_of_cause() };
        match response.metadata.http_status {
            StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimited,
            _ if response.refused_by != Some(RefusedBy::Service) => ErrorKind::RefusedByIntermediary,
            StatusCode::UNAUTHORIZED => ErrorKind::Unauthorized,
            StatusCode::NOT_FOUND => ErrorKind::NotFound,
            _ => ErrorKind::Refused,
        }
    }

    /// Who refused the request, if it was refused. After a payment or a void, the outcome is then
    /// [`Outcome::Rejected`](crate::Outcome::Rejected).
    pub fn refused_by(&self) -> Option<RefusedBy> {
        self.response()?.refused_by
    }

    /// Whether the transport sent nothing, for a reason that waiting does not remove: an invalid certificate, for example, or a missing
    /// runtime. An invalid request and a wrong configuration of the client have a [`kind`](Self::kind) of their own.
    pub fn needs_a_fix(&self) -> bool {
        self.transport_error()
            .is_some_and(|error| error.delivery() == Delivery::NotProcessed && error.is_permanent())
    }

    /// The call, as events and spans name it. `None` if no client made the call.
    pub fn call_id(&self) -> Option<CallId> {
        self.call_id
    }

    /// The operation that failed, if the error belongs to one.
    pub fn operation(&self) -> Option<OperationName> {
        self.operation
    }

    /// Every violation of an invalid request, by field and rule; empty for any other error.
    pub fn violations(&self) -> &[Violation] {
        match &self.cause {
            Cause::Validation(error) => error.violations(),
            _ => &[],
        }
    }

    /// The transport's error, if no complete response was read. Its kind is finer than [`kind`](Self::kind).
    pub fn transport_error(&self) -> Option<&TransportError> {
        match &self.cause {
            Cause::Transport(error, _) => Some(error),
            _ => None,
        }
    }

    /// The HTTP status of the response, if there was one.
    pub fn http_status(&self) -> Option<StatusCode> {
        self.metadata().map(|metadata| metadata.http_status)
    }

    /// The body's `status_code`, masked as every text of a response.
    pub fn status_code(&self) -> Option<&str> {
        self.metadata()?.status_code.as_deref()
    }

    /// The service's reason for the refusal, [masked](payments_model::mask): the body's message without the prefix
    /// `bad request error: `, or else the standard phrase of the HTTP status. For people: the interface publishes no list.
    pub fn reason(&self) -> Option<&str> {
        self.response()?.reason()
    }

    /// How long the service asks to wait, from its header `Retry-After`. It is not a permission to send a charge again. It can be
    /// any length: compare it before you add it to a time.
    ///
    /// A date is measured against the response's own `Date`, because the clocks of the two machines may differ. `None` if the
    /// header is a date and the response has none.
    pub fn retry_after(&self) -> Option<Duration> {
        self.metadata()?.retry_after
    }

    /// The response's request id header, if it has one. Quote it to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.metadata()?.request_id.as_deref()
    }

    /// The first 2 KiB of the response's body, [masked](payments_model::mask).
    ///
    /// It may contain personal data, so it is part of neither `Debug` nor `Display`.
    pub fn body_snippet(&self) -> Option<String> {
        self.metadata().map(|metadata| metadata.snippet.text())
    }

    /// The coding of the response, such as `gzip`, if it is encoded although the request accepts only `identity`; `unknown`
    /// if no header names it and the body is not text. The body was not read, so nothing is known of what it says.
    pub fn content_coding(&self) -> Option<&str> {
        match &self.response()?.form {
            BodyForm::Encoded(coding) => Some(coding),
            _ => None,
        }
    }

    /// Whether the response's body ended too early, so that nothing is known of what the rest would have said.
    pub fn is_truncated(&self) -> bool {
        let is_cut = self.response().is_some_and(|response| response.form == BodyForm::Cut);
        let kind = self.transport_error().map(TransportError::kind);
        is_cut || kind == Some(TransportErrorKind::BodyTruncated)
    }

    /// The transaction that the response names. After a void it may be the void itself.
    pub fn named_transaction(&self) -> Option<&TransactionId> {
        self.found()?.transaction_id.as_ref()
    }

    /// A failure that belongs to no operation.
    pub(crate) fn of_cause(cause: Cause) -> Self {
        Self { operation: None, call_id: None, cause }
    }

    fn moves_money(&self) -> bool {
        self.operation.is_some_and(OperationName::moves_money)
    }

    /// The response that was read, complete or not.
    fn response(&self) -> Option<&FailedResponse> {
        match &self.cause {
            Cause::Transport(_, response) => response.as_deref(),
            Cause::Response(response) => Some(response),
            _ => None,
        }
    }

    pub(crate) fn found(&self) -> Option<&Found> {
        self.response().map(|response| &response.found)
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.response().map(|response| &response.metadata)
    }

    /// Whether the service or something in front of it refused, with words that can be read.
    pub(crate) fn is_readable_refusal(&self) -> bool {
        let is_client_error = self.http_status().is_some_and(|status| status.is_client_error());
        (is_client_error || self.refused_by().is_some()) && self.content_coding().is_none()
    }

    /// Whether a payment or a void got an HTTP 403 without the service's error body. Firewalls that inspect responses send it after the
    /// service has acted, so the outcome is [`Unknown`](crate::Outcome::Unknown): find the cause first, because the next payment may
    /// end in the same way.
    pub fn is_foreign_forbidden(&self) -> bool {
        self.moves_money() && self.response().is_some_and(FailedResponse::is_foreign_forbidden)
    }

    /// Whether the same lookup may succeed a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        let transport_error = self.transport_error();
        match self.http_status().map(|status| status.as_u16()) {
            Some(408 | 425 | 429 | 500..=599) => true,
            // The same record is as large the next time.
            Some(_)
                if transport_error.is_some_and(|error| error.kind() == TransportErrorKind::BodyTooLarge) =>
            {
                false
            }
            // An unreadable 2xx, but not a refusal in the body of a 2xx.
            Some(200..=299) => self.kind() != ErrorKind::Refused,
            // Of a body that is not whole, nothing is known of what it says.
            Some(400..=499) => self.response().is_some_and(|response| !response.form.is_whole()),
            Some(_) => false,
            // An invalid certificate or configuration will still be invalid in a second.
            None => transport_error.is_some_and(|error| !error.is_permanent()),
        }
    }

    pub(crate) fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.transport_error()?.source()
    }

    fn kind_of_cause(&self) -> ErrorKind {
        use TransportErrorKind as Kind;
        match &self.cause {
            Cause::Configuration(_) => ErrorKind::Configuration,
            Cause::Validation(_) => ErrorKind::Invalid,
            Cause::Response(_) => ErrorKind::Unclear,
            Cause::Transport(error, _) if error.is_configuration() => ErrorKind::Configuration,
            Cause::Transport(error, _) => match error.kind() {
                Kind::Resolve | Kind::Connect | Kind::Tls => ErrorKind::NotConnected,
                Kind::Timeout => ErrorKind::TimedOut,
                _ => ErrorKind::Interrupted,
            },
        }
    }
}

impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "{operation}: ")?;
        }
        match &self.cause {
            Cause::Configuration(error) => write!(f, "{error}")?,
            Cause::Validation(error) => write!(f, "{error}")?,
            Cause::Transport(error, _) => write!(f, "{error}")?,
            Cause::Response(response) => return response.write(self.moves_money(), f),
        }
        // The source of a configuration error names what to fix.
        let is_shown = f.alternate() || self.kind() == ErrorKind::Configuration;
        let mut source = self.source().filter(|_| is_shown);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

/// The accessors that both errors have of their own, for the parts that nearly every caller uses.
macro_rules! failed_call_accessors {
    () => {
        /// The kind of failure: one `match` decides who has to act.
        pub fn kind(&self) -> crate::ErrorKind {
            self.failed_call().kind()
        }

        /// See [`FailedCall::reason`](crate::FailedCall::reason).
        pub fn reason(&self) -> Option<&str> {
            self.failed_call().reason()
        }

        /// The HTTP status of the response, if there was one.
        pub fn http_status(&self) -> Option<http::StatusCode> {
            self.failed_call().http_status()
        }

        /// See [`FailedCall::retry_after`](crate::FailedCall::retry_after).
        pub fn retry_after(&self) -> Option<std::time::Duration> {
            self.failed_call().retry_after()
        }

        /// The response's request id header, if it has one. Quote it to the service's support.
        pub fn request_id(&self) -> Option<&str> {
            self.failed_call().request_id()
        }
    };
}
pub(crate) use failed_call_accessors;
