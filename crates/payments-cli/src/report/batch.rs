//! How a billing run ended, as both output shapes and the exit code need it.

mod stop;
mod summary;

pub(crate) use self::stop::Stop;
pub(crate) use self::summary::{DuplicateTransaction, KnownOutcome, Summary, Tallies, Tally, UnresolvedRow};
