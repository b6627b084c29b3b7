//! The tests of the kit: honest stacks pass, and each flaw is found.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod blocking;
mod broken;
mod correct;
mod deviations;
mod report;
mod support;
