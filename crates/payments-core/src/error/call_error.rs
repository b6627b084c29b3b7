use std::error::Error as StdError;

use super::failed_call::FailedCall;
use super::payment::Error;
use crate::operation::Facts;
use crate::response::Secrets;

/// The error of an operation: [`Error`] or [`LookupError`](crate::LookupError). For code that is generic over both.
///
/// It is sealed: no other type implements it.
#[allow(private_bounds, reason = "only this crate implements it")]
pub trait CallError: StdError + FromCall {
    /// What went wrong.
    fn failed_call(&self) -> &FailedCall;

    /// This error, if it is that of a payment or a void. Any other is a lookup's.
    fn as_payment(&self) -> Option<&Error> {
        None
    }
}

/// Other crates cannot name it.
pub(crate) trait FromCall: Sized {
    /// The error of the operation with these facts.
    fn from_call(call: FailedCall, facts: &Facts<'_>, secrets: &Secrets<'_>) -> Self;
}
