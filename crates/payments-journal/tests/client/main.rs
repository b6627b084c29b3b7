//! The guarantees of `JournaledClient`, with any fault of the store, the network or the caller.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod after_rejection;
mod blocking;
mod cancelled;
#[cfg(feature = "tracing")]
mod events;
mod faulty_store;
#[cfg(feature = "opentelemetry")]
mod gauges;
mod intent_outcomes;
mod keys;
mod never_twice;
mod resolving;
mod restored;
mod services;
mod settling;
mod store_faults;
mod support;
mod tested;
mod world;
