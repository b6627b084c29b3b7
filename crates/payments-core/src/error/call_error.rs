use super::failed_call::FailedCall;
use super::payment::Error;
use crate::operation::Facts;
use crate::response::Secrets;

/// The error of an operation: [`Error`] or [`LookupError`](super::LookupError).
pub(crate) trait CallError: Sized {
    /// The error of the operation with these facts.
    fn of(call: FailedCall, facts: &Facts<'_>, secrets: &Secrets<'_>) -> Self;

    /// What went wrong.
    fn failed_call(&self) -> &FailedCall;

    /// This error, if it is that of a payment or a void. Any other is a lookup's.
    fn as_payment(&self) -> Option<&Error> {
        None
    }
}
