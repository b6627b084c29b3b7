//! The default HTTP stack of the payments SDK: [`HyperTransport`], over hyper-util's client and hyper-rustls.
//!
//! It implements [`Transport`](payments_core::Transport) of `payments-core`: one attempt, at most one transmission, and
//! with every failure the evidence of how far the request got. [`client`] makes a ready client over it.
//!
//! ```
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_core::{ApiKey, Endpoint, Outcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Nobody listens at port 1; the service has an `https` address.
//! let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", ApiKey::new("sk_test_51H")?)?;
//! let client = payments_hyper::client(endpoint)?;
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
//! # What it does not do
//!
//! - It sends nothing twice: no retries of what may have been sent, and redirects are responses like any other.
//! - It takes no proxy from the environment, and writes no TLS keys to a log.
//! - It guesses nothing in an address: a port that cannot be read is refused and does not become the scheme's own.
//! - It has no setting that turns the verification of certificates off.
//! - It does not decide which servers may be sent to over plain http, what a status means or what a body says. That is for
//!   `payments-core`.
//! - It cannot tell a server's late second response to one call from its first to the next, over HTTP/1.1 and for any
//!   client: see [Connections](#connections).
//!
//! # What proves that nothing was sent
//!
//! A failed call is [`NotProcessed`](payments_core::Delivery::NotProcessed), which allows the caller to charge again,
//! in these cases and no others. None of them depends on the text of an error.
//!
//! | the call ended | proof |
//! |---|---|
//! | before it had a connection: bad URI or port, no runtime, name, TCP, proxy, TLS, connect deadline, no free connection | hyper-util reports a failed connect, or an error without a connection |
//! | on a connection that had died | hyper returned the request, which it does only if it has written none of it |
//! | at its total deadline, while no connection had been assigned to it | the request was not given to any connection |
//! | over HTTP/2, because the server reset its stream with `REFUSED_STREAM` | the server says so in the form that RFC 9113 reserves for it |
//!
//! Every other failure before a status is [`Unknown`](payments_core::Delivery::Unknown): a server that has read the whole
//! request and then closes looks just like one that never read it. Once a final status was read it is
//! [`Answered`](payments_core::Delivery::Answered), with the part of the body that arrived. A response whose length can be
//! read in two ways (`Content-Length` twice, or beside `Transfer-Encoding`) is unknown.
//!
//! A request that hyper returned from a pooled connection is sent on another connection, in the same call. That is no
//! second transmission, because there was no first. If a new connection returns it too, the call ends there.
//!
//! # Runtime
//!
//! A call needs a tokio runtime with its network and time drivers, as `#[tokio::main]` and `Builder::enable_all` make it.
//! Where one is missing, nothing was sent, and sending again does not help: the error is
//! [`NotProcessed`](payments_core::Outcome::NotProcessed), its
//! [`is_configuration`](payments_core::Error::is_configuration) is true, and its text names what is missing.
//!
//! - Outside of a runtime nothing panics. This holds with `panic = "abort"` as well.
//! - In a runtime without a driver tokio panics, and it offers no way to ask first. The panic is caught, but its message
//!   reaches the panic hook, which prints it by default. With `panic = "abort"` it ends the process.
//! - A panic after a connection was assigned is caught too. The request may have been sent, so the outcome is
//!   [`Unknown`](payments_core::Outcome::Unknown) and it is no configuration error.
//!
//! # Connections
//!
//! The pool is that of hyper-util's client. An HTTP/1.1 connection carries one exchange at a time and is used again only if
//! the whole response was read and nothing went wrong. Dropping a call ends its connection: from then on nothing more is
//! written to it. The server may still have read the request.
//!
//! Before a pooled connection is written to, the operating system is asked whether the server has closed it. What
//! remains is a close that is still on its way; connections that were idle for 20 seconds are not used again, because
//! servers commonly close after 60 and more.
//!
//! The same look finds a response to no request. Bytes that arrived before a request is written (over TLS, one whole
//! record of them) are never taken for its response. HTTP/1.1 numbers neither requests nor responses, so a second response that
//! arrives later, when the next request is in flight, is taken for that one's. Against a server or proxy that might do so, give
//! each call a connection of its own: [`pool_idle_timeout`](HyperTransportBuilder::pool_idle_timeout) of zero.
//!
//! A connection belongs to the tokio runtime that opened it, whose task drives it. One transport may be used from several;
//! each has connections of its own, and those of the eight runtimes used last are kept.
//!
//! HTTP/2, where the builder allows it, differs: the calls to one server share a connection, and dropping a call resets its
//! stream. A ping is sent every 3 seconds. If none is acknowledged for 5 seconds, as when a network dropped the connection
//! without a word, the calls on it end as unknown and the next call opens another.
//!
//! # Proxy
//!
//! [`proxy`](HyperTransportBuilder::proxy) sets an egress proxy. Connections are tunnelled through it by `CONNECT`, and TLS is
//! spoken with the service itself.
//!
//! # Deadlines and limits
//!
//! The connect deadline covers the wait for a free connection, name resolution, TCP, the proxy and TLS as a whole; the total
//! deadline covers everything to the last byte of the body. Both count from the first poll. A head may have 100 headers
//! and 64 KiB, a body as much as the request's cap, and no peer can delay the deadline by sending without end.
//!
//! # TLS
//!
//! TLS 1.2 and 1.3, certificates always verified, sessions resumed, no early data. The provider is always chosen
//! explicitly, and the process-wide one is neither read nor installed. With neither `ring` nor `aws-lc-rs` enabled the
//! crate still speaks plain http, for a server on the same machine; an https request is then not processed.
//!
//! | feature | adds |
//! |---|---|
//! | `ring` (default) | TLS with the cryptography of ring |
//! | `aws-lc-rs` | TLS with the cryptography of aws-lc-rs |
//! | `webpki-roots` (default) | Mozilla's root certificates, compiled in |
//! | `platform-verifier` | the root certificates and the verifier of the operating system |
//! | `http2` | the builder's `allow_http2`; connections stay HTTP/1.1 without it |
//!
//! # Secrets
//!
//! Over HTTP/1.1 the body is given to the socket, or to the cipher, from the buffer it came in: hyper makes no copy of
//! it, so that a buffer which is wiped when dropped leaves none behind. Errors hold neither headers nor bodies.
//!
//! # Stability
//!
//! No type of hyper, hyper-util, rustls or tokio is part of this crate's public interface.

// docs.rs builds with nightly, which writes on each item the feature that it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod build_error;
mod builder;
mod client;
mod connector;
mod deadline;
mod evidence;
mod proxy;
mod socket;
mod timer;
mod tls;
mod transport;
mod uri;

pub use build_error::BuildError;
pub use builder::HyperTransportBuilder;
pub use client::client;
pub use timer::TokioTimer;
pub use tls::{TlsProvider, TrustedRoots};
pub use transport::HyperTransport;
