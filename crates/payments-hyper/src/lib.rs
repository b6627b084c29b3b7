//! The default HTTP stack of the payments SDK: [`HyperTransport`], over hyper-util's client and rustls.
//!
//! It implements [`Transport`](payments_core::Transport) of `payments-core`: one attempt, at most one transmission, and with
//! every failure the evidence of how far the request got. [`client`] creates a ready client over it.
//!
//! ```
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_core::{ApiKey, Endpoint, Outcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Nothing listens on port 1. A real service has an `https` address.
//! let key = ApiKey::new("sk_test_51H")?;
//! let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", key)?;
//! let client = payments_hyper::client(endpoint)?;
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive);
//! let payment = payment.build()?;
//! let error = client.process_token(&payment).await.unwrap_err();
//!
//! // Not one byte was sent, and the transport can prove it.
//! assert_eq!(error.outcome(), Outcome::NotProcessed);
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not do
//!
//! - It sends nothing twice: it never retries a request that may have been sent, and it returns a redirect like any other
//!   response.
//! - It takes no proxy from the environment and writes no TLS keys to a log.
//! - It does not guess at an address: a port that cannot be read is refused, not replaced by the scheme's default.
//! - It has no setting that turns certificate verification off.
//! - It does not decide which servers plain http is allowed for, or what a status or a body means. `payments-core` does.
//! - Over HTTP/1.1 it cannot tell a server's late second response to one call from the first response to the next call. No client
//!   can: see [Connections](#connections).
//!
//! # What proves that nothing was sent
//!
//! A failed call is [`NotProcessed`](payments_core::Delivery::NotProcessed), which allows the caller to charge again, in these
//! cases only. None of them depends on the text of an error.
//!
//! | the call ended | proof |
//! |---|---|
//! | before it had a connection: bad URI or port, no runtime, name, TCP, proxy, TLS, connect deadline, no free connection | hyper-util reports a failed connect, or an error without a connection |
//! | on a connection that was already dead | hyper returned the request, which it does only if it has written none of it |
//! | at its total deadline, before a connection was assigned | no connection received the request |
//! | over HTTP/2, because the server reset its stream with `REFUSED_STREAM` | RFC 9113 reserves this code for requests that were not processed |
//!
//! Every other failure before a status is [`Unknown`](payments_core::Delivery::Unknown): a server that reads the whole
//! request and then closes looks exactly like one that never read it. Once a final status was read, the failure is
//! [`Answered`](payments_core::Delivery::Answered), with the part of the body that arrived. A response with an ambiguous length
//! (`Content-Length` twice, or together with `Transfer-Encoding`) is unknown.
//!
//! If hyper returns a request from a pooled connection, the same call sends it on another connection. That is not a second
//! transmission, because there was no first. If a new connection returns it too, the call ends.
//!
//! # Runtime
//!
//! A call needs a tokio runtime with network and time drivers, such as `#[tokio::main]` and `Builder::enable_all` create. If the
//! runtime or a driver is missing, nothing is sent, and a retry does not help: the error is
//! [`NotProcessed`](payments_core::Outcome::NotProcessed), its
//! kind is [`Configuration`](payments_core::ErrorKind::Configuration), and its text names what is missing.
//!
//! - A call made outside a runtime does not panic, which matters with `panic = "abort"`.
//! - In a runtime without a driver tokio panics, and there is no way to ask it first. The panic is caught, but its message reaches
//!   the panic hook, which prints it by default. With `panic = "abort"` it ends the process.
//! - A panic after a connection was assigned is caught too. The request may have been sent, so the outcome is
//!   [`Unknown`](payments_core::Outcome::Unknown), and the error is not a configuration error.
//!
//! # Connections
//!
//! The pool is that of hyper-util's client. An HTTP/1.1 connection carries one exchange at a time, and is reused only if the
//! whole response was read without an error. Dropping a call ends its connection: nothing more is written to it. The server may
//! still have read the request.
//!
//! Before a request is written to a pooled connection, the operating system is asked whether the server has closed it. A close
//! that is still on its way cannot be seen, so connections that were idle for 20 seconds are not reused: servers commonly close
//! after 60 seconds or more.
//!
//! The same check finds a response to no request. Bytes that arrived before a request is written (over TLS, one whole record)
//! are never read as its response. HTTP/1.1 numbers neither requests nor responses, so a second response that arrives later,
//! while the next request is in flight, is read as the response to that request. If a server or proxy might do this, use a
//! separate connection for each call: a [`pool_idle_timeout`](HyperTransportBuilder::pool_idle_timeout) of zero.
//!
//! A connection belongs to the tokio runtime that opened it, because a task of that runtime drives it. One transport may be used
//! from several runtimes. Each has its own connections, and those of the most recently used runtimes are kept: two for each core, and
//! at least eight.
//!
//! A tokio runtime does not survive `fork`: its threads exist in the parent only, and parent and child share its sockets. So build
//! the runtime and the client after the fork, in each process. `payments-ureq` can be built before.
//!
//! HTTP/2, if the builder allows it, differs: calls to one server share a connection, and dropping a call resets its stream. A
//! ping is sent every 3 seconds. If one is not acknowledged within 5 seconds, for example because the network silently dropped
//! the connection, the calls on it end as unknown and the next call opens another.
//!
//! # Proxy
//!
//! [`proxy`](HyperTransportBuilder::proxy) sets an egress proxy. Connections are `CONNECT` tunnels, and TLS is end to end with
//! the service. If the proxy refuses a tunnel, the error's source names its status: `the proxy returned 403`. A refusal is
//! [permanent](payments_core::TransportError::is_permanent) if its status is 4xx, except 408, 425 and 429.
//!
//! # Deadlines and limits
//!
//! The connect deadline covers the wait for a free connection, name resolution, TCP, the proxy and TLS together. The total
//! deadline covers everything up to the last byte of the body. Both start at the first poll. A response head is limited to
//! 1 000 headers and 64 KiB, a body to the request's cap. Headers that are folded over several lines are read. A server that
//! sends without end cannot delay the deadline.
//!
//! # TLS
//!
//! TLS 1.2 and 1.3, certificates always verified, sessions resumed, no early data. The provider is always chosen explicitly;
//! the process-wide one is neither read nor installed. With neither `ring` nor `aws-lc-rs` enabled the crate still supports
//! plain http, for a server on the same machine, and an https request fails with a configuration error.
//!
//! | feature | adds |
//! |---|---|
//! | `ring` (default) | TLS with ring's cryptography |
//! | `aws-lc-rs` | TLS with aws-lc-rs's cryptography |
//! | `webpki-roots` (default) | Mozilla's root certificates, compiled in |
//! | `platform-verifier` | the operating system's root certificates and verifier |
//! | `http2` | the builder's `allow_http2`; without it, connections use HTTP/1.1 |
//!
//! # Secrets
//!
//! Over HTTP/1.1 the body goes to the socket, or to the cipher, directly from the caller's buffer. hyper makes no copy, so a
//! buffer that is wiped when dropped leaves none behind. Errors contain neither headers nor bodies.
//!
//! # Stability
//!
//! No type of hyper, hyper-util, rustls or tokio is part of this crate's public API.

// docs.rs builds with nightly, which shows the feature that each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod call;
mod client;
mod clients;
mod connector;
mod evidence;
mod proxy;
mod socket;
mod timer;
mod tls;
mod transport;
mod tunnel;

pub use builder::HyperTransportBuilder;
pub use client::client;
pub use payments_core::transport::BuildError;
pub use timer::TokioTimer;
pub use tls::{TlsProvider, TrustedRoots};
pub use transport::HyperTransport;
