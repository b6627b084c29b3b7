//! The contract that every [`Transport`](payments_core::Transport) must keep, as tests for your own HTTP stack.
//!
//! A transport is where money can be lost without anyone noticing. Most HTTP clients, by default, resend a request on a
//! broken connection, follow redirects, or report "connection closed" without saying whether the request was sent. Each
//! of these can charge a card twice. This crate runs a transport against a real server that closes, resets, stalls and
//! floods. It compares what the transport reports with what the server received.
//!
//! # Getting started
//!
//! Pass [`stack`] a function that creates your transport. [`contract_tests!`] creates a test for each contract:
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
//!     let runtime = Runtime::new().expect("the runtime starts");
//!     stack(|setup| MyTransport::trusting(setup.authority_pem()))
//!         .block_on(move |future| runtime.block_on(future))
//! });
//! ```
//!
//! Omit [`block_on`](FnStack::block_on) if the transport needs no runtime. For a
//! [blocking transport](payments_core::blocking::Transport) use [`blocking_contract_tests!`]; it must keep the same
//! contracts, except those about dropped calls. If a function is not enough, implement [`Stack`].
//!
//! Start with one test, such as `cargo test --test conformance a_payment_arrives_byte_for_byte`. All tests take a minute
//! or two with a correct transport, and much longer with one that hangs.
//!
//! # Reading a failure
//!
//! Each [contract](contracts) is a test with the contract's name. A failure message says what the transport did and what
//! it must do instead, what the server did and received, and how this can lose money. Its first line may be about a
//! [general rule](contracts), such as a request sent twice, rather than the contract's own requirement.
//!
//! One mistake breaks many contracts. Fix those first that can move money twice or give the API key away, and the others in the
//! order of [`contracts`]: those about requests and responses come before those that depend on them.
//!
//! `--nocapture` (or `--success-output immediate` with nextest) shows the figures of passing tests. [`check`] returns all
//! results as one [`Report`], which begins with what to fix first and has each cause once.
//!
//! Common mistakes while starting:
//!
//! - The transport does not trust [`Setup::authority_pem`], so every call over https fails.
//! - The transport needs a runtime and [`block_on`](FnStack::block_on) is missing, so most calls panic.
//! - The transport reads until the server closes the connection. The kit's servers keep connections open after a
//!   response: read as many bytes as `Content-Length` says, even after `Connection: close`.
//!
//! # What a stack cannot do
//!
//! Declare it in [`FnStack::abilities`] or [`Stack::abilities`], with a reason:
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
//! Contracts that need a missing ability do not apply, and their tests pass. A contract that is broken and declared as a
//! [`deviation`](Abilities::deviation) also passes, unless a general rule is broken. Test harnesses show neither: run with
//! `--nocapture` or read the [`Report`], which has a line for each.
//!
//! Five abilities are off unless declared [`with`](Abilities::with): [`Ability::LooksBeforeReuse`], [`Ability::ManyHeaders`],
//! [`Ability::FoldedHeaders`], [`Ability::Http2Pings`] and [`Ability::Http2`]. With `Http2`, offer HTTP/2 and HTTP/1.1 in the TLS handshake of every
//! transport for which [`Setup::wants_http2`] is true. Then the contracts of [`contracts::http2`] apply, and contracts with
//! a [scripted](Script) server are also checked over HTTP/2. HTTP/2 needs [`Ability::Https`], because the kit offers it only
//! over TLS.
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
//! The servers use plain threads and blocking sockets, with TLS for https, so that any stack can be tested. They wait for
//! events instead of sleeping where they can. `payments-core` builds the requests; the kit adds a unique id. The server
//! records every request that arrives, whole or in part. Whatever the situation, a request that has arrived must not be reported as
//! [`NotProcessed`](payments_core::Delivery::NotProcessed) and must not arrive twice.
//!
//! A transport may also send in the background, after its call has failed or was dropped. Every contract with such a call
//! watches for 100 ms more, in the stack's own runtime, and
//! [`a_failed_call_sends_nothing_afterwards`](contracts::lost_answers::a_failed_call_sends_nothing_afterwards) for three
//! seconds. A copy that is sent later goes unnoticed.
//!
//! # What it does not do
//!
//! It does not prove that a transport is correct: it checks for known mistakes that can lose money. It does not test speed.
//! Contracts that measure time show the figure and its goal, and fail only at a multiple of the goal. It needs no network
//! except the loopback interface, and no working name server.

mod abilities;
mod any_stack;
mod arrivals;
mod authority;
mod blocking;
mod call_log;
mod child;
mod completed_call;
mod connection;
mod contract;
mod contract_list;
mod contract_tests;
pub mod contracts;
mod harness;
mod http2_peer;
mod logs;
mod report;
mod scheme;
mod script;
mod secrets;
mod server;
mod signal;
mod situations;
mod stack;
mod test_request;
mod test_run;
mod violation;
mod watchdog;

#[doc(hidden)]
pub use child::run_as_test as __run_as_test;

pub use abilities::{Abilities, Ability};
pub use any_stack::AnyStack;
pub use arrivals::Arrivals;
pub use blocking::blocking;
pub use report::{Report, Verdict, check, check_only};
pub use script::{Act, Script};
pub use signal::block_on;
pub use stack::{FnStack, Setup, Stack, stack};
pub use test_request::ID_HEADER;
