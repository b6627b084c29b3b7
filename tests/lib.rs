//! What the questions of several crates share: the tables of what a client is told of every fault and of every HTTP
//! status, the check that the service's books agree, ports to which no request gets through, and an egress proxy.
//!
//! The questions about the house as a whole are in `questions.rs`. Here the README is compiled, too.

mod books;
mod connect_proxy;
mod deaf_port;
mod fault_table;
mod status_table;
mod told;

pub use books::{Books, Effect};
pub use connect_proxy::ConnectProxy;
pub use deaf_port::DeafPort;
pub use fault_table::{
    FAULT_TABLE, FaultRow, PHASES, SAMPLE_STATUSES, WhatHappens, kinds, what_happens,
    what_happens_over_a_socket,
};
pub use status_table::{AnswerBody, STATUS_TABLE, StatusRow, status_row};
pub use told::Told;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
