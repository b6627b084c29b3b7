//! How a billing run ended.

mod json;
mod stop;
mod summary;
mod tally;
mod text;

pub(crate) use self::stop::Stop;
pub(crate) use self::summary::{DuplicateTransaction, KnownOutcome, Summary, UnresolvedRow};
pub(crate) use self::tally::{Tallies, Tally};
