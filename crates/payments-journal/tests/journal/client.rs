//! The guarantees of `JournaledClient`, with any fault of the store, the network or the caller.

mod after_rejection;
mod blocking;
mod cancelled;
#[cfg(feature = "tracing")]
pub(crate) mod events;
#[cfg(feature = "opentelemetry")]
mod gauges;
mod intent_outcomes;
mod keys;
mod never_twice;
mod overtaken;
mod resolving;
mod restored;
mod scripted_store;
mod services;
mod settling;
mod store_faults;
pub(crate) mod support;
mod world;
