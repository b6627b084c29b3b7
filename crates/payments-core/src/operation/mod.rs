//! The operations as plain values: each builds its request and reads its response, without I/O.

mod data;
mod exchange;
mod facts;
mod lookups;
mod name;
mod next_step;
mod request;

pub(crate) use data::ResponseData;
pub use data::VoidReceipt;
pub(crate) use exchange::Exchange;
pub use exchange::Operation;
pub use facts::Facts;
pub use lookups::{GetCustomer, GetTransaction};
pub use name::OperationName;
pub use next_step::NextStep;
