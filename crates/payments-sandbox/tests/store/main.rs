//! The data file: real SQLite files in real folders, and gateways that come back from them.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod commits;
mod failures;
mod refusals;
mod round_trip;
mod secrets;
mod speed;
mod support;
mod whole_groups;
