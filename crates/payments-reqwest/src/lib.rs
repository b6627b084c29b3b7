//! The payments SDK over reqwest: [`ReqwestTransport`], for programs that have reqwest already.
//!
//! It implements [`Transport`](payments_core::Transport) of `payments-core`: one attempt, at most one transmission, and
//! with every failure the evidence of how far the request got. [`client`] makes a ready client over it. A program that has
//! no HTTP stack yet is better served by `payments-hyper`, which builds from fewer crates and costs less per call.
//!
//! ```
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_core::{ApiKey, Endpoint, Outcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Nobody listens at port 1; the service has an `https` address.
//! let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", ApiKey::new("sk_test_51H")?)?;
//! let client = payments_reqwest::client(endpoint)?;
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build()?;
//! let error = client.process_token(&payment).await.unwrap_err();
//!
//! // Not one byte was sent, and the transport has the proof.
//! assert_eq!(error.outcome(), Outcome::NotProcessed);
//! # Ok(())
//! # }
//! ```
//!
//! # Which evidence proves what
//!
//! | reqwest reports | the transport reports | because |
//! |---|---|---|
//! | nothing: it was not given the request | `NotProcessed` | there is no runtime, or reqwest would rewrite the address |
//! | an error with `is_connect()` | `NotProcessed` | there was no connection to write to |
//! | any other error before a status | `Unknown` | the server may have read everything; no error text disproves it |
//! | nothing until the total deadline | `Unknown` | likewise |
//! | a status, then an error, the deadline or the cap | `Answered` | the status and the part of the body that was read are kept |
//! | a response with two lengths | `Unknown` | it may be the response to another request |
//!
//! One repetition is left: where the server has closed a pooled connection, hyper returns the request, and it goes over
//! another connection. hyper does that only with a request of which it has written no byte.
//!
//! # What is switched off, and why
//!
//! - **Retries.** Over HTTP/2, 199 of 411 097 payments were executed twice with reqwest's default: it sends again when a server
//!   refuses a request that it may have processed.
//! - **Redirects.** reqwest follows 307 and 308 by posting the body again, card number included, to wherever the response
//!   says.
//! - **Proxies of the environment.** Only a builder of your own can name one.
//! - **Compression.** A body is passed on as it came.
//! - **HTTP/2.** Connections are HTTP/1.1. A response that is cut short can look whole over HTTP/2.
//! - **reqwest's timeouts.** The deadlines of the request take their place.
//!
//! # What had to be added
//!
//! - **The connect deadline.** reqwest has one timeout for all requests of a client. Here connecting, name resolution and TLS
//!   included, ends by the deadline of the request that asked for it.
//! - **Addresses.** reqwest's `Url` resolves `..` and encodes some bytes again. An address that would not be sent as it is
//!   written is refused.
//! - **Dropped calls.** reqwest goes on sending the body of a dropped call. Here the body ends with the call.
//! - **Responses with two lengths.** hyper accepts `Content-Length` beside `Transfer-Encoding`. Here that is refused, and
//!   all connections are left behind, because reqwest closes no single one.
//! - **The total deadline.** It has a clock of its own. A server that sends interim responses (1xx) as fast as it can keeps
//!   hyper and a thread of tokio busy, and tokio may not look at its clock meanwhile.
//!
//! # Your own `reqwest::ClientBuilder`
//!
//! [`ReqwestTransport::builder`] sets which certificates are trusted. For other TLS, a proxy, a resolver or a local
//! address, [`unversioned::from_client_builder`] takes a builder of your own. It documents what your builder decides, what is
//! overridden, and what cannot be checked.
//!
//! # Runtime
//!
//! A call needs a tokio runtime with its network and time drivers, as `#[tokio::main]` and `Builder::enable_all` make it.
//! Outside of a runtime nothing is sent: the error is [`NotProcessed`](payments_core::Outcome::NotProcessed), its
//! [`is_configuration`](payments_core::Error::is_configuration) is true, and its text names tokio. In a runtime without
//! a driver tokio panics.
//!
//! A connection belongs to the runtime that opened it. One transport may be used from several; each has connections of its
//! own, and those of the eight runtimes used last are kept.
//!
//! # Limits
//!
//! - reqwest copies headers, the key among them, and no copy is wiped.
//! - Where hyper returns the request of a *new* connection unsent, the outcome is `Unknown`: reqwest does not show it.
//! - This crate enables reqwest's feature `rustls-no-provider`. Other code of the program that builds a reqwest client with default
//!   TLS needs a provider: enable reqwest's feature `rustls`, or install one with `CryptoProvider::install_default`.
//! - HTTP/1.1 numbers neither requests nor responses. A late second response can be taken for the next request's.
//!
//! # Stability
//!
//! No type of reqwest, hyper, rustls or tokio is part of the public interface, outside of [`unversioned`].

mod build_error;
mod builder;
mod call_body;
mod client;
mod clients;
mod connect_deadline;
mod evidence;
mod timer;
mod transport;
pub mod unversioned;

pub use build_error::BuildError;
pub use builder::ReqwestTransportBuilder;
pub use client::client;
pub use timer::TokioTimer;
pub use transport::ReqwestTransport;
