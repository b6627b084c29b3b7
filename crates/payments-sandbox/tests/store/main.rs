//! The data file: real SQLite files in real folders, and gateways that are restored from them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod commits;
mod failures;
mod refusals;
mod round_trip;
mod secrets;
mod speed;
mod support;
mod whole_groups;
