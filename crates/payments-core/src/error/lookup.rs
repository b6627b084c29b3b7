use std::error::Error as StdError;
use std::fmt;

use super::call_error::{CallError, FromCall};
use super::failed_call::{FailedCall, failed_call_accessors};
use super::kind::ErrorKind;
use crate::operation::{Facts, OperationName};
use crate::response::Secrets;

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
pub struct LookupError(Box<FailedCall>);

impl LookupError {
    failed_call_accessors!();

    /// Everything else that is known of the failed call.
    pub fn failed_call(&self) -> &FailedCall {
        &self.0
    }
}

impl FromCall for LookupError {
    fn from_call(call: FailedCall, _: &Facts<'_>, _: &Secrets<'_>) -> Self {
        Self(Box::new(call))
    }
}

impl CallError for LookupError {
    fn failed_call(&self) -> &FailedCall {
        &self.0
    }
}

impl fmt::Debug for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupError")
            .field("message", &format_args!("{self}"))
            .field("failed_call", &self.0)
            .finish()
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        f.write_str(match self.kind() {
            ErrorKind::Invalid => "; nothing was sent: fix the request",
            ErrorKind::Configuration => "; nothing was sent: fix the settings",
            // A payment that is still in flight has no record yet.
            ErrorKind::NotFound if self.0.operation() == Some(OperationName::GetTransaction) => {
                "; a lookup moves no money: check the id; a payment of unknown outcome may still be made"
            }
            _ if self.0.refused_by().is_some() && self.0.is_transient() => {
                "; a lookup moves no money: wait, then run it again"
            }
            _ if !self.0.is_transient() => "; a lookup moves no money: fix the cause, then run it again",
            _ => "; a lookup moves no money: it is safe to run it again",
        })
    }
}

impl StdError for LookupError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
