//! Does a small correct transport keep every contract?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[allow(dead_code, reason = "a correct transport has no flaws")]
mod support;

payments_conformance::contract_tests!(support::PlainStack(None));
