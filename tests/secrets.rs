//! Is there any way to see a card number, a security code, an expiry, an account or the key that is not meant to be seen?
//!
//! `payments_canary` says how a secret is searched for. Where a run can be repeated byte for byte, two runs with other
//! secrets must also leave the very same.

mod calls;
mod echoes;
mod journal_types;
mod kit_types;
mod lines;
mod page;
mod panics;
mod public_types;
mod requests;
mod secret_types;
mod servers;
mod sources;
