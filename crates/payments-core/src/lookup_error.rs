use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;
use payments_model::{ValidationError, Violation};

use crate::configuration_error::ConfigurationError;
use crate::failure::{Cause, Failure};
use crate::judgement::Judgement;
use crate::{OperationName, RetryAfter, TransportError};

/// Why a lookup did not succeed.
///
/// A lookup moves nothing, so it can always be run again. **It says nothing about a charge**, so this type has no `outcome`
/// and does not convert into [`Error`](crate::Error) or from it. With one shared type, a failed lookup after a good
/// charge would read `NotProcessed`, and a caller who retries on that would charge twice. `?` cannot mix the two:
///
/// ```compile_fail,E0277
/// use payments_core::model::TokenTransaction;
/// use payments_core::{Client, Error};
///
/// async fn charge_and_look_up(client: &Client, payment: &TokenTransaction) -> Result<(), Error> {
///     let charged = client.process_token(payment).await?;
///     client.transaction(&charged.transaction_id).await?; // a LookupError
///     Ok(())
/// }
/// ```
///
/// Handle the lookup where it is made, or keep both in an error type of your own that tells them apart:
///
/// ```
/// use payments_core::model::TokenTransaction;
/// use payments_core::{Client, Error};
///
/// async fn charge_and_look_up(client: &Client, payment: &TokenTransaction) -> Result<(), Error> {
///     let charged = client.process_token(payment).await?;
///     if let Err(error) = client.transaction(&charged.transaction_id).await {
///         eprintln!("charged, but not looked up: {error}");
///     }
///     Ok(())
/// }
/// ```
///
/// `{}` is one line that says what happened and what to do; `{:#}` adds the causes below it. Neither these nor `Debug` show
/// the API key.
pub struct LookupError(Box<Failure>);

impl LookupError {
    pub(crate) fn new(failure: Failure) -> Self {
        Self(Box::new(failure))
    }

    pub(crate) fn invalid(operation: OperationName, error: ValidationError) -> Self {
        Self::new(Failure::new(Some(operation), Cause::Validation(error)))
    }

    pub(crate) fn configuration(error: ConfigurationError) -> Self {
        Self::new(Failure::new(None, Cause::Configuration(error)))
    }

    /// The service knows no such id: HTTP 404. A payment of unknown outcome may still be made later.
    ///
    /// Ask [`is_intermediary`](Self::is_intermediary) before concluding that a transaction does not exist: a proxy's 404
    /// says nothing about it.
    pub fn is_not_found(&self) -> bool {
        self.0.has_status(StatusCode::NOT_FOUND)
    }

    /// The API key was refused (HTTP 401). Every further call will fail until the key is fixed.
    pub fn is_unauthorized(&self) -> bool {
        self.0.has_status(StatusCode::UNAUTHORIZED)
    }

    /// The service, or something in front of it, said no: HTTP 4xx, or a 2xx whose body says `failed` or the like. Not found
    /// and unauthorized are rejections too. Running it again helps only once the cause is gone.
    pub fn is_rejected(&self) -> bool {
        matches!(self.0.judgement(), Some(Judgement::RejectedByService | Judgement::RejectedByIntermediary))
    }

    /// A deadline ended.
    pub fn is_timeout(&self) -> bool {
        self.0.is_timeout()
    }

    /// There was a response, and it says neither what was asked for nor no: a 5xx, a redirect, a page of something else, a
    /// record that cannot be read.
    pub fn is_unclear(&self) -> bool {
        self.0.judgement() == Some(Judgement::Unclear)
    }

    /// Nothing was sent: the id cannot be looked up. See [`violations`](Self::violations).
    pub fn is_validation(&self) -> bool {
        self.0.is_validation()
    }

    /// Nothing was sent: the client is configured wrongly, or its transport misses something that it needs, such as a runtime.
    pub fn is_configuration(&self) -> bool {
        self.0.is_configuration()
    }

    /// No connection to the service could be made (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        self.0.is_connect()
    }

    /// The refusal is not in the service's own words, so something in front of it, a proxy or a firewall, is likely to have
    /// said no.
    pub fn is_intermediary(&self) -> bool {
        self.0.is_intermediary()
    }

    /// The lookup that failed.
    pub fn operation(&self) -> Option<OperationName> {
        self.0.operation
    }

    /// Every violation of an invalid id; empty for any other error.
    pub fn violations(&self) -> &[Violation] {
        self.0.violations()
    }

    /// The HTTP status of the response, if there was one.
    pub fn http_status(&self) -> Option<StatusCode> {
        self.0.http_status()
    }

    /// The body's `status_code` as it was written.
    pub fn status_code(&self) -> Option<&str> {
        self.0.status_code()
    }

    /// Why the service said no, in its own words, scrubbed: the body's message without the prefix
    /// `bad request error: `, else the HTTP status's standard phrase. For people; the interface publishes no list.
    pub fn reason(&self) -> Option<&str> {
        self.0.reason()
    }

    /// When the service asks to be called again.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.0.retry_after()
    }

    /// The response's request id header, if it has one: what to quote to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id()
    }

    /// The first 2 KiB of the response's body, scrubbed of secrets as well as they can be recognised.
    ///
    /// It may still hold personal data, so it is part of neither `Debug` nor `Display`.
    pub fn body_snippet(&self) -> Option<String> {
        self.0.body_snippet()
    }

    /// The transport's account of what went wrong, if the response was not read to its end.
    pub fn transport_error(&self) -> Option<&TransportError> {
        self.0.transport_error()
    }

    /// A short, stable word for logs and metrics, such as `timeout`, `not_found` or `unclear_answer`.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    pub(crate) fn failure(&self) -> &Failure {
        &self.0
    }

    /// In the service's own words: a proxy has never heard of it.
    fn says_that_there_is_no_such_transaction(&self) -> bool {
        self.operation() == Some(OperationName::GetTransaction) && self.kind() == "not_found"
    }
}

impl fmt::Debug for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("LookupError");
        debug.field("message", &format_args!("{self}"));
        self.0.debug_fields(&mut debug);
        debug.finish()
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_what_happened(false, f)?;
        f.write_str(if self.is_validation() {
            "; nothing was sent: correct the request"
        } else if self.is_configuration() {
            "; nothing was sent: correct the settings"
        } else if self.says_that_there_is_no_such_transaction() {
            // What was in flight when somebody looked is not there yet.
            "; a look-up moves nothing: check the id; a payment of unknown outcome may still be made"
        } else if self.is_rejected() {
            "; a look-up moves nothing: correct the cause, then run it again"
        } else {
            "; a look-up moves nothing: it is safe to run it again"
        })
    }
}

impl StdError for LookupError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
