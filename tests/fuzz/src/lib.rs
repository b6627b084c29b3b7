//! Any bytes at all, put to every reader of the workspace, and what must hold for each.
//!
//! A target is a function from bytes to nothing that panics if a property is broken. The properties are stated without
//! the code that they are about: an own reader of JSON ([`Json`]), arithmetic on digits as one does it on paper
//! ([`Decimal`]), and the decisions on outcomes written down a second time.
//!
//! # Three ways to run them
//!
//! - `cargo test -p payments-fuzz` puts every input of the corpus to its target, and some thousand changed ones, the same
//!   on every machine. It is part of `cargo xtask test`.
//! - `cargo xtask fuzz [TARGET] [--seconds 30]` lets libFuzzer look for inputs by the code that they reach. Stable Rust is
//!   enough; a C++ compiler is needed.
//! - `cargo run -p payments-fuzz --bin TARGET -- FILE` puts one file to one target, in an ordinary build.
//!
//! The layout is the one that `cargo fuzz` knows, for those who have it.
//!
//! # No sanitizers
//!
//! There is no unsafe code in the workspace, so an address sanitizer would look for what cannot be. What is looked for
//! are panics, overflows (debug assertions are on), endless loops, and broken properties.
//!
//! # Every amount
//!
//! [`money`] takes every amount of cents below a million, and any number of random ones, from text to JSON and back:
//! `cargo xtask exhaustive-money`.

#![allow(
    clippy::missing_panics_doc,
    reason = "to panic where something does not hold is what all of it is for"
)]

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
pub use targets::answers::{
    decode_ach_answer, decode_card_answer, decode_customer_answer, decode_token_answer,
    decode_transaction_answer, decode_void_answer,
};
pub use targets::endpoints::read_endpoint;
pub use targets::faults::read_fault;
pub use targets::fixtures::load_fixtures;
pub use targets::gateway::handle_requests;
pub use targets::masking::mask_text;
pub use targets::path_ids::read_path_id;
pub use targets::records::read_record;
pub use targets::requests::{parse_ach_request, parse_card_request, parse_token_request, parse_void_request};
pub use targets::retry_after::read_retry_after;
