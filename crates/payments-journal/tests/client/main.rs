//! What a caller of `JournaledClient` can count on, whatever the store, the network or the caller does.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod after_rejection;
mod cancelled;
#[cfg(feature = "tracing")]
mod events;
mod faulty_store;
mod intent_outcomes;
mod keys;
mod never_twice;
mod resolving;
mod settling;
mod store_faults;
mod support;
