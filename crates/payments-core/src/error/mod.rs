//! Why a call failed: [`Error`] for what moves money, [`LookupError`] for lookups.

mod configuration;
mod failure;
mod kind;
mod lookup;
mod outcome;
mod payment;

pub(crate) use configuration::ConfigurationError;
pub(crate) use failure::{Cause, FailedResponse, Failure};
pub use kind::ErrorKind;
pub use lookup::LookupError;
pub use outcome::Outcome;
pub use payment::Error;
pub(crate) use payment::Found;
