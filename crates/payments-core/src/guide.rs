//! Chapters to read. There is no code in them but their examples, which are compiled and run with the tests.
//!
//! - [Why these defaults](defaults): each default of the client with its reason.

#[doc = include_str!("../docs/defaults.md")]
pub mod defaults {}
