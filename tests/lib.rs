//! Questions about the house as a whole. The questions are in `questions.rs`; here the README is compiled.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
