//! How a billing run ended, as both output shapes and the exit code need it.

mod doubt;
mod problems;
mod refused;
mod stop;
mod summary;
mod tally;

pub(crate) use self::doubt::{Doubt, Ended, Repeated};
pub(crate) use self::problems::{Problem, Problems, Recorded};
pub(crate) use self::refused::Refused;
pub(crate) use self::stop::Stop;
pub(crate) use self::summary::{Summary, Tallies};
pub(crate) use self::tally::Tally;
