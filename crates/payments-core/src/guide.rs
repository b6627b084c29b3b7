//! Chapters of documentation. Their only code is examples, which the tests compile and run.
//!
//! - [Why these defaults](defaults): every default of the client and its transports, with the reason for it.
//! - [Bring your own HTTP stack](own_transport): how to build a transport from scratch that keeps the contract.

#[doc = include_str!("../docs/defaults.md")]
pub mod defaults {}

// The chapter shows the files of the transport unchanged. `tests/core/own_transport.rs` compiles them and tests the contract, so
// documentation tests take them as text and do not compile each again.
#[doc = include_str!("../docs/own_transport/evidence.md")]
/// `exchange.rs`:
///
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/exchange.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/response.md")]
/// `response.rs`:
///
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/response.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/deadlines.md")]
/// `call_state.rs`:
///
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/call_state.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/future.md")]
/// `transport.rs`:
///
#[cfg_attr(not(doctest), doc = "```")]
#[cfg_attr(doctest, doc = "```text")]
#[doc = include_str!("../docs/own_transport/transport.rs")]
/// ```
#[doc = include_str!("../docs/own_transport/conformance.md")]
pub mod own_transport {}
