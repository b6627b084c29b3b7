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
/// Handle the lookup where you make it, or keep both errors apart in your own error type:
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
/// `{}` is one line: what happened and what to do. `{:#}` adds the causes. Neither these nor `Debug` show the API key.
pub struct LookupError(Box<Failure>);

impl LookupError {
    pub(crate) fn new(failure: Failure) -> Self {
        Self(Box::new(failure))
    }

    /// Nothing was sent, because the id or the settings are invalid.
    pub(crate) fn before_sending(operation: OperationName, cause: impl Into<Cause>) -> Self {
        Self::new(Failure::new(Some(operation), cause.into()))
    }

    /// HTTP 404: the service does not know this id. A payment of unknown outcome may still be made later.
    ///
    /// Check [`is_intermediary`](Self::is_intermediary) before you conclude that a transaction does not exist: a proxy's 404
    /// says nothing about it.
    pub fn is_not_found(&self) -> bool {
        self.http_status() == Some(StatusCode::NOT_FOUND)
    }

    /// The API key was refused (HTTP 401). Every further call will fail until the key is fixed.
    pub fn is_unauthorized(&self) -> bool {
        self.http_status() == Some(StatusCode::UNAUTHORIZED)
    }

    /// The service, or something in front of it, refused: HTTP 4xx, or a 2xx whose body says `failed` or the like. Not found
    /// and unauthorized are rejections too. Fix the cause before you run the lookup again.
    pub fn is_rejected(&self) -> bool {
        matches!(self.0.meaning(), Some(Meaning::RefusedByService | Meaning::RefusedByIntermediary))
    }

    /// A deadline passed.
    pub fn is_timeout(&self) -> bool {
        self.failure().is_timeout()
    }

    /// The response is neither the record nor a refusal: a 5xx, a redirect, an unrelated page, a record that cannot be read.
    pub fn is_unclear(&self) -> bool {
        self.0.meaning() == Some(Meaning::Unclear)
    }

    /// Nothing was sent: the id cannot be looked up. See [`violations`](Self::violations).
    pub fn is_validation(&self) -> bool {
        self.kind() == ErrorKind::Invalid
    }

    /// Nothing was sent: the client's configuration is wrong, or its transport lacks something that it needs, such as a runtime.
    pub fn is_configuration(&self) -> bool {
        self.kind() == ErrorKind::Configuration
    }

    /// Connecting to the service failed (name resolution, TCP or TLS).
    pub fn is_connect(&self) -> bool {
        self.kind() == ErrorKind::NotConnected
    }

    /// The refusal does not have the service's error body, so a proxy or a firewall in front of the service probably sent it.
    pub fn is_intermediary(&self) -> bool {
        self.0.is_intermediary()
    }

    failure_accessors!();

    pub(crate) fn failure(&self) -> &Failure {
        &self.0
    }

    /// Whether the service itself, and not a proxy, does not know the transaction.
    fn is_unknown_transaction(&self) -> bool {
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
            "; nothing was sent: fix the request"
        } else if self.is_configuration() {
            "; nothing was sent: fix the settings"
        } else if self.is_unknown_transaction() {
            // A payment that is still in flight has no record yet.
            "; a lookup moves no money: check the id; a payment of unknown outcome may still be made"
        } else if self.is_rejected() || self.0.needs_a_fix() {
            "; a lookup moves no money: fix the cause, then run it again"
        } else {
            "; a lookup moves no money: it is safe to run it again"
        })
    }
}

impl StdError for LookupError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
