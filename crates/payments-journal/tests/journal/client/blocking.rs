//! The client for programs without a runtime: the same tests as the asynchronous one, and what only it has.

#![allow(clippy::duplicate_mod, reason = "the same tests for both clients")]

#[cfg(unix)]
mod processes;
mod tested;
mod threads;

#[path = "after_rejection.rs"]
mod after_rejection;
#[path = "intent_outcomes.rs"]
mod intent_outcomes;
#[path = "keys.rs"]
mod keys;
#[path = "overtaken.rs"]
mod overtaken;
#[path = "resolving.rs"]
mod resolving;
#[path = "restored.rs"]
mod restored;
#[path = "services.rs"]
mod services;
#[path = "store_faults.rs"]
mod store_faults;
#[path = "world.rs"]
mod world;
