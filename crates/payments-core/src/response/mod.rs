//! What a response means, and what is kept of it.

mod body_form;
mod meaning;
mod metadata;
mod retry_after;
mod secrets;
mod snippet;
mod success;

pub(crate) use body_form::BodyForm;
pub(crate) use meaning::{IdSearch, Meaning, Summary, meaning_for_lookup, meaning_for_payment};
pub(crate) use metadata::Metadata;
pub use retry_after::RetryAfter;
pub(crate) use secrets::Secrets;
pub use success::Success;
