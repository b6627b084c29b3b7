use std::error::Error as StdError;
use std::fmt;

use http::StatusCode;

use super::ErrorKind;
use super::failure::{Cause, Failure, failure_accessors};
use crate::OperationName;
use crate::response::Meaning;

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

    /// Nothing was sent, because of the id or of the settings.
    pub(crate) fn before_sending(operation: OperationName, cause: impl Into<Cause>) -> Self {
        Self::new(Failure::new(Some(operation), cause.into()))
    }

    /// The service knows no such id: HTTP 404. A payment of unknown outcome may still be made later.
    ///
    /// Ask [`is_intermediary`](Self::is_intermediary) before concluding that a transaction does not exist: a proxy's 404
    /// says nothing about it.
    pub fn is_not_found(&self) -> bool {
        self.http_status() == Some(StatusCode::NOT_FOUND)
    }

    /// The API key was refused (HTTP 401). Every further call will fail until the key is fixed.
    pub fn is_unauthorized(&self) -> bool {
        self.http_status() == Some(StatusCode::UNAUTHORIZED)
    }

    /// The service, or something in front of it, said no: HTTP 4xx, or a 2xx whose body says `failed` or the like. Not found
    /// and unauthorized are rejections too. Running it again helps only once the cause is gone.
    pub fn is_rejected(&self) -> bool {
        matches!(self.0.meaning(), Some(Meaning::RefusedByService | Meaning::RefusedByIntermediary))
    }

    /// A deadline ended.
    pub fn is_timeout(&self) -> bool {
        self.failure().is_timeout()
    }

    /// There was a response, and it says neither what was asked for nor no: a 5xx, a redirect, a page of something else, a
    /// record that cannot be read.
    pub fn is_unclear(&self) -> bool {
        self.0.meaning() == Some(Meaning::Unclear)
    }

    /// Nothing was sent: the id cannot be looked up. See [`violations`](Self::violations).
    pub fn is_validation(&self) -> bool {
        self.kind() == ErrorKind::Invalid
    }

    /// Nothing was sent: the client is configured wrongly, or its transport misses something that it needs, such as a runtime.
    pub fn is_configuration(&self) -> bool {
        self.kind() == ErrorKind::Configuration
    }

    /// No connection to the service could be made (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        self.kind() == ErrorKind::NotConnected
    }

    /// The refusal is not in the service's own words, so something in front of it, a proxy or a firewall, is likely to have
    /// said no.
    pub fn is_intermediary(&self) -> bool {
        self.0.is_intermediary()
    }

    failure_accessors!();

    pub(crate) fn failure(&self) -> &Failure {
        &self.0
    }

    /// In the service's own words: a proxy has never heard of it.
    fn says_that_there_is_no_such_transaction(&self) -> bool {
        self.operation() == Some(OperationName::GetTransaction) && self.kind() == ErrorKind::NotFound
    }
}

impl fmt::Debug for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupError")
            .field("message", &format_args!("{self}"))
            .field("failure", &self.0)
            .finish()
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
