//! Fuzz targets for every parser of the workspace.
//!
//! A target is a function that takes any bytes and panics if a property does not hold. The properties are checked with
//! code of this package: a reader of JSON that keeps every member (`Json`), decimal arithmetic on digits (`Decimal`), and a second
//! implementation of the outcome decisions.
//!
//! # Three ways to run them
//!
//! - `cargo test -p payments-fuzz` runs each target on every input of its corpus and on some thousand mutated inputs. They
//!   are the same on every machine. It is part of `cargo xtask test`.
//! - `cargo xtask fuzz [TARGET] [--seconds 30]` runs libFuzzer, which searches for inputs by code coverage. It needs a
//!   nightly toolchain, `cargo-fuzz` and a C++ compiler.
//! - `FUZZ_TARGET=TARGET cargo run -p payments-fuzz -- FILE` runs one target on one file, in an ordinary build.
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

mod decimal;
mod digits;
mod http_text;
mod json;
pub mod money;
#[cfg(test)]
mod mutation;
mod random;
mod target;
mod targets;

pub use target::Target;
