//! Chapters to read. There is no code in them but their examples, which are compiled and run with the tests.
//!
//! - [Why these defaults](defaults): each default of the client and of its transport, with its reason.
//! - [Bring your own HTTP stack](own_transport): from nothing to a transport that keeps the contract.

#[doc = include_str!("../docs/defaults.md")]
pub mod defaults {}

// Each file of the transport is shown as it is. What it takes from the others is hidden behind it.
#[doc = include_str!("../docs/own_transport/evidence.md")]
/// ```standalone_crate
#[doc = include_str!("../docs/own_transport/exchange.rs")]
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/modules.rs"));
/// # fn main() {}
/// ```
#[doc = include_str!("../docs/own_transport/answer.md")]
/// ```standalone_crate
#[doc = include_str!("../docs/own_transport/answer.rs")]
/// # fn main() {}
/// ```
#[doc = include_str!("../docs/own_transport/deadlines.md")]
/// ```standalone_crate
#[doc = include_str!("../docs/own_transport/line.rs")]
/// # fn main() {}
/// ```
#[doc = include_str!("../docs/own_transport/future.md")]
/// ```standalone_crate
#[doc = include_str!("../docs/own_transport/transport.rs")]
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/modules.rs"));
/// # fn main() {}
/// ```
#[doc = include_str!("../docs/own_transport/judge.md")]
pub mod own_transport {}
