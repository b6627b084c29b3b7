//! The tests of payments-core that use only its public interface, one file per question.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod blocking;
mod client;
mod error_messages;
mod escaped_secrets;
mod outcome_table;
mod own_transport;
mod redacted_ids;
mod requests;
mod support;
mod telemetry;
mod tracing;
mod unread_bodies;
