//! The tests of payments-reqwest, one file per question.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod conformance;
mod default_retries;
#[cfg(unix)]
mod fork;
mod own_builder;
mod own_builder_secrets;
mod own_tls;
mod pool;
mod refused;
mod runtimes;
