//! The contract that every [`Transport`](payments_core::Transport) must keep, as tests that anybody can run.
//!
//! A transport is the one place where a payment can be sent twice, or where a payment that was taken can be called
//! unsent. Most HTTP clients do one of the two by default: they repeat a request on a connection that broke, follow a
//! redirect, or report "connection closed" without saying whether anything had been read. This crate puts an HTTP stack
//! into every such situation, with a real server, and compares what the transport says with what the server saw.
//!
//! # A test suite for your stack
//!
//! [`stack`] needs a function that makes your transport. [`contract_tests!`] makes a test of each contract:
//!
//! ```
//! # use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
//! # struct MyTransport;
//! # impl MyTransport { fn trusting(_: &str) -> Self { Self } }
//! # impl Transport for MyTransport {
//! #     async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
//! #         Err(TransportError::not_processed(TransportErrorKind::Connect))
//! #     }
//! # }
//! # struct Runtime;
//! # impl Runtime {
//! #     fn new() -> std::io::Result<Self> { Ok(Self) }
//! #     fn block_on<F: Future>(&self, future: F) -> F::Output { payments_conformance::block_on(future) }
//! # }
//! // tests/conformance.rs
//! use payments_conformance::stack;
//! // use tokio::runtime::Runtime;
//!
//! payments_conformance::contract_tests!({
//!     let runtime = Runtime::new().expect("the system gives threads and a poller");
//!     stack(|setup| MyTransport::trusting(setup.authority_pem()))
//!         .block_on(move |future| runtime.block_on(future))
//! });
//! ```
//!
//! A transport that needs no runtime goes without [`block_on`](FnStack::block_on). A
//! [blocking one](payments_core::blocking::Transport) has [`blocking_contract_tests!`], and keeps the same contracts but
//! those about dropped calls. Implement [`Stack`] or [`BlockingStack`] where a function is not enough.
//!
//! Each [contract](contracts) is a test with its name. One that is broken fails with the whole story: what the server
//! did, what its journal holds, what the transport said, what it should have said, and what that means for the money.
//! `--nocapture` (or `--success-output immediate` with nextest) shows the figures of those that are kept. [`check`]
//! gives the same as one value, a [`Report`].
//!
//! Begin with one, such as `cargo test --test conformance a_payment_arrives_byte_for_byte`. The whole takes a minute or two over a
//! transport that works, and far longer over one that waits where it should not. The servers keep their connections open
//! after a response: read as many bytes as `Content-Length` says, even after `Connection: close`.
//!
//! One mistake breaks many contracts. A test harness sorts them by name; fix them in the order of [`contracts`], where
//! those about requests and answers come before those that build on them. A story names the contract that was being
//! checked, but the first line of it may be about what is owed in every situation.
//!
//! # What a stack cannot do
//!
//! It declares that in [`FnStack::abilities`] or [`Stack::abilities`], with a reason:
//!
//! ```
//! use payments_conformance::{Abilities, Ability};
//!
//! # fn declared() -> Abilities {
//! Abilities::default()
//!     .without(Ability::Https, "TLS is spoken by a proxy on the same machine")
//!     .without(Ability::Cancel, "the thread of a call cannot be interrupted")
//! # }
//! # let _ = declared();
//! ```
//!
//! The contracts that need what is missing do not apply, and their tests pass. So does the test of a contract that is
//! broken and declared as a [`deviation`](Abilities::deviation), which never covers what is owed in every situation. A
//! green test run says nothing of either: keep its output with `--nocapture`, or read the [`Report`], where each has a
//! line of its own.
//!
//! Three abilities are off unless the stack declares them with [`with`](Abilities::with). Two are about connections that
//! have served before: [`Ability::LooksBeforeReuse`] and [`Ability::Http2Pings`]. The third is [`Ability::Http2`]. With it [`Setup::wants_http2`] says of each transport whether it is to offer
//! HTTP/2 in the TLS handshake, beside HTTP/1.1; the contracts of [`contracts::http2`] apply, and those whose server is
//! [data](Script) are checked over it too. It is spoken within TLS alone, so such a stack needs [`Ability::Https`].
//!
//! ```
//! # use payments_conformance::{Abilities, Ability};
//! # let _ =
//! Abilities::default().with(Ability::Http2)
//! # ;
//! ```
//!
//! # How it works
//!
//! The servers are plain threads and blocking sockets, with TLS where the stack speaks it, so that any stack qualifies.
//! They wait for events and not for time. The requests are those that `payments-core` itself builds, with a unique id,
//! and the journal holds every one that arrived, whole or in part. Whatever the situation, the journal decides: a
//! request that is in it must not have been called
//! [`NotProcessed`](payments_core::Delivery::NotProcessed), and must not be in it twice.
//!
//! # What it does not do
//!
//! It proves no absence of errors: it is the list of those that are known to move money. It does not judge speed; where
//! a contract measures time, the figure is shown with its goal, and only a multiple of it fails. It needs no network
//! but the loopback interface, and no name server that answers.

mod abilities;
mod authority;
mod blocking;
mod violation;
mod test_request;
mod child;
mod contract;
mod contract_tests;
pub mod contracts;
mod connection;
mod http2;
mod journal;
mod logs;
mod report;
mod script;
mod secrets;
mod completed_call;
mod server;
mod situations;
mod stack;
mod signal;
mod test_run;

#[doc(hidden)]
pub use child::run_as_test as __run_as_test;

pub use abilities::{Abilities, Ability};
pub use blocking::{BlockingStack, blocking};
pub use test_request::ID_HEADER;
pub use journal::Journal;
pub use report::{Report, Verdict, check, check_only};
pub use script::{Act, Script};
pub use stack::{FnStack, Setup, Stack, stack};
pub use signal::block_on;
