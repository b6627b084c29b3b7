//! The first program that a new user builds.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::semicolon_if_nothing_returned,
    reason = "the README's example is not linted"
)]

// Included instead of a module, so that rustfmt does not change it.
include!("first_example.rs");
