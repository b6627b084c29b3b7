//! The payments SDK over reqwest: [`ReqwestTransport`], for programs that already use reqwest.
//!
//! [`client`] returns a ready client. [`ReqwestTransport`] is the [`Transport`](payments_core::Transport) below it: one attempt,
//! at most one transmission, and with every failure the evidence of how far the request got. A program that does not use reqwest
//! yet should use `payments-hyper`, which has fewer dependencies and costs less per call.
//!
//! ```console
//! $ cargo add payments-core payments-reqwest
//! $ cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! ```
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_core::{ApiKey, Endpoint, Outcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Nothing listens on port 1. The real service has an `https` URL.
//! let key = ApiKey::new("sk_test_51H")?;
//! let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", key)?;
//! let client = payments_reqwest::client(endpoint)?;
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive);
//! let payment = payment.build()?;
//! let error = client.process_token(&payment).await.unwrap_err();
//!
//! // Not one byte was sent, so it is safe to send the payment again.
//! assert_eq!(error.outcome(), Outcome::NotProcessed);
//! # Ok(())
//! # }
//! ```
//!
//! # What can go wrong
//!
//! [`Error::outcome`](payments_core::Error::outcome) of a failed payment follows from what reqwest reports:
//!
//! | reqwest reports | the transport reports | because |
//! |---|---|---|
//! | nothing: it did not get the request | `NotProcessed` | there is no runtime, or reqwest would change the URL |
//! | an error with `is_connect()` | `NotProcessed` | there was no connection to write to |
//! | any other error before a status | `Unknown` | the server may have read everything; no error text disproves it |
//! | nothing until the total deadline, while it waits for a connection | `NotProcessed` | hyper-util polls the connector within the call only until it has a connection |
//! | nothing until the total deadline otherwise | `Unknown` | the server may have read everything |
//! | a status, then an error, the deadline or the cap | `Answered` | the status and the part of the body that was read are kept |
//! | a response with two lengths | `Unknown` | it may be the response to another request |
//!
//! For a payment, `Answered` is an unknown outcome whatever the status is: the missing part may name a transaction.
//!
//! If the server has closed a pooled connection, hyper may use another one. It does so only if it has written no byte of the
//! request.
//!
//! # What is switched off, and why
//!
//! - **Retries.** With reqwest's default over HTTP/2, 199 of 411 097 payments were executed twice, because reqwest resends a
//!   request that a server refuses but may have processed.
//! - **Redirects.** reqwest follows 307 and 308 by posting the body again, including the card number, to wherever the response
//!   says.
//! - **Proxies from the environment.** Only your own builder can set a proxy.
//! - **Decompression.** The body is returned unchanged.
//! - **HTTP/2.** Connections use HTTP/1.1. Over HTTP/2, a response that is cut short can look whole.
//! - **reqwest's timeouts.** The deadlines of the request replace them.
//!
//! # What is added
//!
//! - **The connect deadline.** reqwest has one connect timeout for all requests of a client. Here connecting, including name
//!   resolution and TLS, ends by the deadline of the request that needs the connection.
//! - **URLs.** reqwest's `Url` resolves `..`, encodes some bytes again, and reads the host `0x7f.1` as 127.0.0.1. A URL that reqwest
//!   would change is refused.
//! - **Dropped calls.** reqwest continues to send the body of a dropped call. Here the body ends with the call.
//! - **Responses with two lengths.** hyper accepts `Content-Length` together with `Transfer-Encoding`. Here such a response is
//!   refused, and all connections are abandoned, because reqwest cannot close a single one. A request that still waits for a
//!   connection waits for a new one. One that has already taken this connection is `Unknown`.
//! - **The total deadline.** It has its own timer. A server that sends interim responses (1xx) as fast as it can keeps hyper and a
//!   tokio thread busy, and tokio's timers may not run meanwhile.
//!
//! # Your own `reqwest::ClientBuilder`
//!
//! [`ReqwestTransport::builder`] sets which certificates are trusted. For other TLS settings, a proxy, a resolver or a local
//! address, give [`unversioned::from_client_builder`] a function that returns your builder, such as
//! `|| reqwest::Client::builder().local_address(address)`. Its documentation says what your builder decides, what is overridden, and
//! what cannot be checked. Build the client from either transport with
//! [`Client::builder(endpoint, transport, SystemTimer::new())`](payments_core::Client::builder).
//!
//! # Runtime
//!
//! A call needs a tokio runtime with its network and time drivers, as `#[tokio::main]` and `Builder::enable_all` create it.
//! Outside a runtime nothing is sent: the error is [`NotProcessed`](payments_core::Outcome::NotProcessed), its
//! kind is [`Configuration`](payments_core::ErrorKind::Configuration), and its text names tokio. In a runtime without
//! one of these drivers tokio panics. The panic is caught, and the error is the same, but its message reaches the panic hook, which
//! prints it by default. With `panic = "abort"` it ends the process. A panic anywhere else in a call is caught too. The request may
//! have been sent, so the outcome is [`Unknown`](payments_core::Outcome::Unknown).
//!
//! A connection belongs to the runtime that opened it. Several runtimes can use one transport. Each has its own connections, and
//! those of the most recently used runtimes are kept: two for each core, and at least eight.
//!
//! A tokio runtime does not survive `fork`: its threads exist in the parent only, and parent and child share its sockets. So build
//! the runtime and the client after the fork, in each process. `payments-ureq` can be built before.
//!
//! # Limits
//!
//! - A response may have up to 1 000 headers. Headers that are folded over several lines are read.
//! - reqwest copies headers, including the API key, and no copy is wiped.
//! - A server that floods interim responses (1xx) can outlast a deadline if one thread runs the connection and the call: hyper reads up
//!   to 50 MB of them before it lets another task run, and reqwest has no setting for that. In a debug build over loopback, a call
//!   with a deadline of 0.5 seconds lasted 70. With a second worker thread it ended on time. `payments-hyper` reads 64 KiB at a time.
//! - If hyper returns the request of a *new* connection unsent, the outcome is `Unknown`, because reqwest does not show it.
//! - This crate enables reqwest's feature `rustls-no-provider`. If other code of the program builds a reqwest client with default
//!   TLS, it needs a provider: enable reqwest's feature `rustls`, or install one with `CryptoProvider::install_default`.
//! - reqwest returns the connection of a response with two lengths to its pool microseconds before the call can look at the head.
//!   Another request may take it meanwhile. Its response is refused too, but not if it is complete before the first call has looked
//!   at the head. `payments-hyper` and `payments-ureq` do not have this gap.
//! - HTTP/1.1 does not number requests or responses. A late second response can be taken for the response to the next request.
//!
//! # Stability
//!
//! No type of reqwest, hyper, rustls or tokio is part of the public API outside [`unversioned`].

mod builder;
mod call;
mod client;
mod clients;
mod connect_deadline;
mod evidence;
mod transport;
pub mod unversioned;

pub use builder::ReqwestTransportBuilder;
pub use client::client;
pub use payments_core::transport::BuildError;
pub use transport::ReqwestTransport;
