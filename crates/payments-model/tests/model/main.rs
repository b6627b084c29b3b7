//! The promises of the public API. A suffix such as `_d30` is the number of a decision in `docs/decisions.md`.

// Test helpers may panic, like tests.
#![allow(clippy::unwrap_used)]

mod fixtures;
mod formats;
mod masking;
mod money;
mod records;
mod requests;
mod responses;
mod secrets;
mod serialization;
mod table_checks;
mod tables;
