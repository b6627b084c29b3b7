//! The tests of payments-fake that need nothing but its public interface, one file per question.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

mod change_log;
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
mod scripted_transport;
mod support;
mod tenants;
mod test_values;
