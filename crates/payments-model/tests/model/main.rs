//! What the crate promises, seen from outside. Tests named `dNN_…` stand for a numbered design decision.

// A helper of tests may panic like a test does.
#![allow(clippy::unwrap_used)]

mod fixtures;
mod formats;
mod inputs;
mod masking;
mod money;
mod records;
mod requests;
mod responses;
mod secrets;
mod serialization;
mod table_checks;
mod tables;
