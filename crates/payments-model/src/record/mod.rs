//! The records that the service returns. They are read leniently, field by field.

mod customer;
mod field;
mod fields;
mod other;
mod transaction;

pub use customer::CustomerRecord;
pub use field::Field;
pub use fields::RecordError;
pub use other::OtherFields;
pub use transaction::{TransactionReceipt, TransactionRecord, TransactionTypeCode};
