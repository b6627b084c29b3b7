//! Why a call failed: [`Error`] for what moves money, [`LookupError`] for lookups.

mod call_error;
mod configuration;
mod failed_call;
mod failed_response;
mod kind;
mod lookup;
mod outcome;
mod payment;

pub use call_error::CallError;
pub(crate) use configuration::ConfigurationError;
pub(crate) use failed_call::Cause;
pub use failed_call::FailedCall;
pub(crate) use failed_response::FailedResponse;
pub use kind::ErrorKind;
pub use lookup::LookupError;
pub use outcome::Outcome;
pub use payment::Error;
