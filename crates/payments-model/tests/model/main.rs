//! What the crate promises, seen from outside. Tests named `dNN_…` stand for a numbered design decision.

mod answers;
mod fixtures;
mod money;
mod records;
mod requests;
mod secrets;
mod serialization;
mod tables;
