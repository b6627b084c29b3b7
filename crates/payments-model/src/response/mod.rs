//! The body of a response: reading it, and writing it for a fake service.

mod body;
mod envelope;
mod salvage;
mod write;

pub use body::{Body, begins_with_json_object, is_truncated_json};
pub use envelope::{Code, Data, Envelope, Status};
pub use salvage::{claims_success, salvage_transaction_id, salvaged_transaction_ids};
pub use write::{BAD_REQUEST_PREFIX, ErrorEnvelope, SuccessEnvelope};
