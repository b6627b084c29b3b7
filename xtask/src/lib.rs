//! What the project's own programs share: xtask, the benchmarks, the release program, and the tests of the repository's rules.

use std::ops::RangeInclusive;

mod cargo;
mod server;

pub use cargo::{Dependency, Metadata, Package, Target, as_from_a_shell, cargo};
pub use server::Server;

/// The formats of rustdoc's JSON that the crate `public-api` can read. Formats 58 and 59 only added optional members.
pub const READABLE_FORMATS: RangeInclusive<u64> = 57..=59;
