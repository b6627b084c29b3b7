//! The SDK's two error types, as a command reads them.

use std::error::Error as StdError;

use http::StatusCode;
use payments_core::{Error, LookupError, OperationName, Outcome, RetryAfter, TransportError};
use payments_model::{TransactionId, Violation};

use crate::failure::FailedOutcome;

/// What a command reads of an error, whether the call was to move money or to look something up.
pub(crate) trait CallError: StdError {
    fn failed_outcome(&self) -> FailedOutcome;
    fn transaction_id(&self) -> Option<&TransactionId>;
    /// What the service's records can be searched by if the outcome is unknown.
    fn search_by(&self) -> Option<&'static str>;
    fn code(&self) -> &'static str;
    fn operation(&self) -> Option<OperationName>;
    fn violations(&self) -> &[Violation];
    fn http_status(&self) -> Option<StatusCode>;
    fn status_code(&self) -> Option<&str>;
    fn reason(&self) -> Option<&str>;
    fn request_id(&self) -> Option<&str>;
    fn retry_after(&self) -> Option<RetryAfter>;
    fn transport_error(&self) -> Option<&TransportError>;
}

macro_rules! call_error {
    ($error:ident, $outcome:expr, $transaction_id:expr, $search_by:expr, $($method:ident -> $output:ty,)*) => {
        impl CallError for $error {
            fn failed_outcome(&self) -> FailedOutcome {
                $outcome(self)
            }

            fn transaction_id(&self) -> Option<&TransactionId> {
                $transaction_id(self)
            }

            fn search_by(&self) -> Option<&'static str> {
                $search_by(self)
            }

            $(fn $method(&self) -> $output {
                Self::$method(self)
            })*
        }
    };
    ($error:ident, $outcome:expr, $transaction_id:expr, $search_by:expr) => {
        call_error! {
            $error, $outcome, $transaction_id, $search_by,
            code -> &'static str,
            operation -> Option<OperationName>,
            violations -> &[Violation],
            http_status -> Option<StatusCode>,
            status_code -> Option<&str>,
            reason -> Option<&str>,
            request_id -> Option<&str>,
            retry_after -> Option<RetryAfter>,
            transport_error -> Option<&TransportError>,
        }
    };
}

call_error!(Error, outcome_of_payment, Self::transaction_id, Self::search_by);
call_error!(LookupError, outcome_of_lookup, no_transaction, no_search);

fn outcome_of_payment(error: &Error) -> FailedOutcome {
    match error.outcome() {
        Outcome::NotProcessed if error.is_validation() || error.is_configuration() => FailedOutcome::Invalid,
        Outcome::NotProcessed => FailedOutcome::NotProcessed,
        Outcome::Rejected => FailedOutcome::Rejected,
        Outcome::Unknown => FailedOutcome::Unknown,
    }
}

fn outcome_of_lookup(error: &LookupError) -> FailedOutcome {
    if error.is_validation() || error.is_configuration() {
        FailedOutcome::Invalid
    } else if error.is_rejected() {
        FailedOutcome::Rejected
    } else {
        FailedOutcome::NotProcessed
    }
}

/// A failed lookup names none that should be looked up next.
fn no_transaction(_: &LookupError) -> Option<&TransactionId> {
    None
}

/// Nothing was moved, so nothing has to be found.
fn no_search(_: &LookupError) -> Option<&'static str> {
    None
}
