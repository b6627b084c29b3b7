//! What the service returns: read leniently, one field at a time.

mod customer;
mod field;
mod fields;
mod other;
mod transaction;

pub use customer::CustomerRecord;
pub use field::Field;
pub use other::OtherFields;
pub use transaction::{TransactionReceipt, TransactionRecord, TransactionTypeCode};
