//! The tests of payments-fake that use only its public interface, one file per question.

#![allow(clippy::unwrap_used, reason = "a panic in a helper fails the test")]

mod choices;
mod conformance;
mod determinism;
mod fault_document;
mod faults;
mod fixtures;
mod in_flight;
mod interface;
mod ledger;
mod recorded_effects;
mod redaction;
mod restored;
mod scripted_transport;
mod speed;
mod support;
mod tenants;
mod test_values;
