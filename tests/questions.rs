//! Tests of the whole workspace, one file for each question.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod behaviour;
mod calls;
mod defaults;
mod error_messages;
mod fault_document;
mod guides;
mod never_sent;
mod openapi;
mod outcomes;
mod requests;
mod secrets;
mod test_setup;
mod tls_refusals;
