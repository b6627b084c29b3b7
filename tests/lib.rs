//! Shared parts of the tests of several crates: the tables of the expected result for every fault and every HTTP status, a
//! check of the service's ledger, ports that no request reaches, an egress proxy, and the comparison with
//! `docs/error-messages.md`.
//!
//! The tests of the whole workspace start in `questions.rs`, one file for each question. The Rust code in the READMEs and guides
//! is compiled here as documentation tests.

mod call_result;
mod connect_proxy;
mod fault_table;
mod ledger_check;
mod messages;
mod status_table;
mod unresponsive_port;

pub use call_result::CallResult;
pub use connect_proxy::ConnectProxy;
pub use fault_table::{
    Expectation, FAULT_TABLE, FaultRow, PHASES, SAMPLE_STATUSES, expectation, expectation_over_socket,
    fault_kinds,
};
pub use ledger_check::{Effect, LedgerCheck};
pub use messages::{Message, assert_messages};
pub use status_table::{ResponseBody, STATUS_TABLE, StatusRow, status_row};
pub use unresponsive_port::UnresponsivePort;

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
    #[doc = include_str!("../docs/outcomes.md")]
    mod outcomes_guide {}
    #[doc = include_str!("../docs/production.md")]
    mod production_guide {}
    #[doc = include_str!("../docs/transport.md")]
    mod transport_guide {}
}
