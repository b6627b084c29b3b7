//! The tests of payments-ureq, one file per question.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod building;
mod conformance;
mod deadline;
mod fork;
mod log;
mod never_left;
mod pool;
mod runtimes;
