//! Fuzz targets for every parser of the workspace.
//!
//! A target is a function that takes any bytes and panics if a property does not hold. The properties are checked with
//! independent code: a JSON reader ([`Json`]), decimal arithmetic on digits ([`Decimal`]), and a second implementation of the
//! outcome decisions.
//!
//! # Three ways to run them
//!
//! - `cargo test -p payments-fuzz` runs each target on every input of its corpus and on some thousand mutated inputs. They
//!   are the same on every machine. It is part of `cargo xtask test`.
//! - `cargo xtask fuzz [TARGET] [--seconds 30]` runs libFuzzer, which searches for inputs by code coverage. It needs a
//!   nightly toolchain, `cargo-fuzz` and a C++ compiler.
//! - `cargo run -p payments-fuzz --bin TARGET -- FILE` runs one target on one file, in an ordinary build.
//!
//! The layout is that of `cargo fuzz`.
//!
//! # No sanitizers
//!
//! The workspace has no unsafe code, so an address sanitizer would find nothing. The targets find panics, overflows (debug
//! assertions are on), endless loops, and broken properties.
//!
//! # Every amount
//!
//! `cargo xtask exhaustive-money` takes every amount of cents below a million, and as many random amounts, from text to JSON
//! and back. The checks are in [`money`].

#![allow(clippy::missing_panics_doc, reason = "every function panics if a property does not hold")]

mod corpus;
mod decimal;
mod digits;
mod http_text;
mod json;
pub mod money;
mod mutation;
mod replay;
mod target;
mod targets;

pub use corpus::inputs;
pub use decimal::Decimal;
pub use json::{Json, NotRead};
pub use mutation::Mutation;
pub use replay::replay;
pub use target::Target;
pub use targets::amounts::read_amount;
pub use targets::endpoints::read_endpoint;
pub use targets::faults::read_fault;
pub use targets::fixtures::load_fixtures;
pub use targets::gateway::handle_requests;
pub use targets::masking::mask_text;
pub use targets::path_ids::read_path_id;
pub use targets::records::read_record;
pub use targets::requests::{parse_ach_request, parse_card_request, parse_token_request, parse_void_request};
pub use targets::responses::{
    decode_ach_answer, decode_card_answer, decode_customer_answer, decode_token_answer,
    decode_transaction_answer, decode_void_answer,
};
pub use targets::retry_after::read_retry_after;
