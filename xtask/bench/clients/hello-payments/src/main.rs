//! What a user who begins has to build.

#![allow(clippy::semicolon_if_nothing_returned, reason = "the README is not written for lints")]

// Word for word, so that it is not formatted as a module would be.
include!("first_example.rs");
