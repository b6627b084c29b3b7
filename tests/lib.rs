//! What the questions of several crates share: the tables of what a client is told of every fault and of every HTTP
//! status, the check that the service's books agree, ports to which no request gets through, and an egress proxy.
//!
//! The questions about the whole workspace are in `questions.rs`. The Rust in the READMEs and guides is compiled here as
//! documentation tests.

mod books;
mod connect_proxy;
mod deaf_port;
mod document;
mod fault_table;
mod status_table;
mod told;

pub use books::{Books, Effect};
pub use connect_proxy::ConnectProxy;
pub use deaf_port::DeafPort;
pub use document::{Message, assert_messages};
pub use fault_table::{
    FAULT_TABLE, FaultRow, PHASES, SAMPLE_STATUSES, WhatHappens, kinds, what_happens,
    what_happens_over_a_socket,
};
pub use status_table::{AnswerBody, STATUS_TABLE, StatusRow, status_row};
pub use told::Told;

#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../crates/payments-conformance/README.md")]
    mod conformance {}
    #[doc = include_str!("../crates/payments-core/README.md")]
    mod core {}
    #[doc = include_str!("../crates/payments-fake/README.md")]
    mod fake {}
    #[doc = include_str!("../crates/payments-hyper/README.md")]
    mod hyper {}
    #[doc = include_str!("../crates/payments-journal/README.md")]
    mod journal {}
    #[doc = include_str!("../crates/payments-model/README.md")]
    mod model {}
    #[doc = include_str!("../crates/payments-reqwest/README.md")]
    mod reqwest {}
    #[doc = include_str!("../crates/payments-sandbox/README.md")]
    mod sandbox {}
    #[doc = include_str!("../crates/payments-ureq/README.md")]
    mod ureq {}
    #[doc = include_str!("../docs/journal.md")]
    mod journal_guide {}
    #[doc = include_str!("../docs/transport.md")]
    mod transport_guide {}
}
