//! The body of a response.

mod body;
mod envelope;
mod salvage;

pub use body::{begins_with_json_object, is_truncated_json};
pub use envelope::{BAD_REQUEST_PREFIX, Code, Envelope, Message, Status};
pub use salvage::{claims_success, salvage_transaction_id, salvaged_transaction_ids};
