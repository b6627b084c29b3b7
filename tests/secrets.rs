//! Does any output contain a card number, a security code, an expiry date, an account number or the API key?
//!
//! `payments_canary` describes how the search works. If a run can be repeated byte for byte, two runs with different secrets
//! must also produce the same output.

mod calls;
mod journal_types;
mod kit_types;
mod panics;
mod public_types;
mod repeated_requests;
mod requests;
mod secret_types;
mod servers;
mod sources;
mod transcript;
