//! Chapters to read. There is no code in them but their examples, which are compiled and run with the tests.
//!
//! - [Why these defaults](defaults): each default of the client and of its transport, with its reason.
//! - [Bring your own HTTP stack](own_transport): from nothing to a transport that keeps the contract.

#[doc = include_str!("../docs/defaults.md")]
pub mod defaults {}

// The files of the transport are shown as they are. `tests/own_transport.rs` compiles them and holds them against the
// contract, so for the documentation tests, which would compile each of them once more, they are mere text.
#[doc = include_str!("../docs/own_transport/evidence.md")]
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/exchange.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/answer.md")]
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/answer.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/deadlines.md")]
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/line.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/future.md")]
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/transport.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/judge.md")]
pub mod own_transport {}
