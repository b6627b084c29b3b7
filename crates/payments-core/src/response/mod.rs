//! What a response means, and what is kept of it.

mod body_form;
mod meaning;
mod metadata;
mod received;
mod retry_after;
mod secrets;
mod snippet;
mod success;

pub(crate) use body_form::BodyForm;
pub(crate) use meaning::Meaning;
pub use meaning::RefusedBy;
pub(crate) use metadata::Metadata;
pub(crate) use received::{Found, Received};
pub(crate) use secrets::Secrets;
pub use success::Success;
