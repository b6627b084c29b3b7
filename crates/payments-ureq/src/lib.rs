//! The payments SDK for blocking programs, without an async runtime: [`UreqTransport`], over ureq and rustls.
//!
//! [`client`] returns a [blocking client](payments_core::blocking::Client). [`UreqTransport`] is the
//! [blocking transport](payments_core::blocking::Transport) below it: one attempt, at most one transmission, and with every
//! failure the evidence of how far the request got.
//!
//! ```console
//! $ cargo add payments-core payments-ureq
//! ```
//!
//! ```
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_core::{ApiKey, Endpoint, Outcome};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Nothing listens on port 1. The real service has an `https` URL.
//!     let key = ApiKey::new("sk_test_51H")?;
//!     let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", key)?;
//!     let client = payments_ureq::client(endpoint)?;
//!
//!     let amount = Amount::from_cents(10_50);
//!     let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive);
//!     let payment = payment.build()?;
//!     match client.process_token(&payment) {
//!         Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!         Err(error) => match error.outcome() {
//!             Outcome::NotProcessed => println!("you were not charged ({error:#})"),
//!             Outcome::Rejected => println!("the payment was refused ({error:#})"),
//!             Outcome::Unknown => println!("we are checking your payment ({error:#})"), // never send it again
//!         },
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # What can go wrong
//!
//! [`Error::outcome`](payments_core::Error::outcome) of a failed payment follows from how far the request got. ureq's errors do not
//! prove that. The connection does: before the first write of a request, it records that the request may have been sent.
//!
//! | when the call ended | the transport reports | because |
//! |---|---|---|
//! | no write had begun | [`NotProcessed`](payments_core::Delivery::NotProcessed) | every byte of a request is written after that point |
//! | a write had begun, and there is no status | [`Unknown`](payments_core::Delivery::Unknown) | the server may have read everything |
//! | a status, then an error, the deadline or the cap | [`Answered`](payments_core::Delivery::Answered) | the status and the part of the body that was read are kept |
//! | a head with two lengths | [`Unknown`](payments_core::Delivery::Unknown) | the response may belong to another request |
//!
//! For a payment, `Answered` is an unknown outcome whatever the status is: the missing part may name a transaction.
//!
//! A panic within a call is caught and reported with the same evidence. Its message reaches the panic hook, which prints it
//! by default. With `panic = "abort"` it ends the process. Later calls open new connections.
//!
//! A logger may make a call of its own while ureq logs within another call. The inner call opens its own connection.
//!
//! **At the level TRACE, ureq logs the API key:** see [below](#at-trace-ureq-logs-the-api-key).
//!
//! # What it does not do
//!
//! - It sends nothing twice: it retries nothing, and treats a redirect as an ordinary response.
//! - It takes no proxy from the environment, and logs no TLS keys.
//! - It turns no status into an error, and decodes no body.
//! - It has no setting that disables the verification of certificates.
//! - It does not support HTTP/2, client certificates or egress proxies. `payments-hyper` does.
//!
//! # Threads and runtimes
//!
//! A call runs on its caller's thread. To resolve a host name for a new connection, it uses a second thread, because a lookup cannot
//! be interrupted. That thread may outlive the call, and sends nothing. Any number of threads can share one client; the number of
//! calls in progress is not limited.
//!
//! No runtime is needed. Within a runtime, a call works and does not panic, but it blocks its thread, and with it every
//! other task on that thread. So call it in `tokio::task::spawn_blocking`, or use `payments-hyper`.
//!
//! A call cannot be canceled. It ends by its deadlines:
//!
//! | deadline | covers |
//! |---|---|
//! | connect | lookup, TCP and TLS together |
//! | total | everything, to the last byte of the body |
//!
//! No server can make a call last longer: not by silence, single bytes or endless `1xx` responses, and not by reading nothing.
//!
//! # Forked processes
//!
//! A client may be built before `fork` and used in parent and child. A child opens its own connections, and neither reads, writes
//! nor shuts down those of its parent. With ureq's own agent, both would use one pooled connection, and each could take the other's
//! response for its own.
//!
//! The copies of the parent's idle connections stay open in the child until it ends. A call during which the process forks
//! continues in the parent; in the child it ends as [`Unknown`](payments_core::Outcome::Unknown). A process is recognized by its id.
//!
//! # What is added to ureq
//!
//! - Lookup, TCP and TLS share one deadline. ureq has one for each.
//! - Deadlines are accurate to milliseconds. A socket timeout ends late, on Linux by up to an eighth of its length.
//! - Writing has a deadline even if the server reads a little now and then.
//! - A reset, or TLS that ends without `close_notify`, makes a body incomplete. ureq takes both for the end of a body without a
//!   length.
//! - A response with two lengths is refused. ureq accepts `Content-Length` together with `Transfer-Encoding`.
//! - Only a new connection needs a lookup. ureq makes one for each call.
//! - TLS always uses rustls with ring, whatever features ureq has and whatever provider the process has.
//!
//! # At TRACE ureq logs the API key
//!
//! At the level TRACE of the `log` crate, ureq writes the head of each request and the bytes that it reads of each response. The log
//! then contains the `Authorization` header and what the response says about the payment. **Do not enable TRACE for the target
//! `ureq_proto` in production.** Up to DEBUG, the log contains neither the key nor a body.
//!
//! This crate does not compile TRACE out, because that would affect the whole program. Your program can do one of these:
//!
//! - Filter the target, for example with `RUST_LOG=trace,ureq_proto=debug`.
//! - Compile TRACE out for every crate of the program, in its `Cargo.toml`:
//!   `log = { version = "0.4", features = ["max_level_debug", "release_max_level_debug"] }`
//!
//! # Features of ureq that must stay off
//!
//! Cargo enables a feature of ureq for the whole build if any crate enables it. Depend on ureq with `default-features = false` in
//! every crate of the program, and check with `cargo tree -e features -i ureq`.
//!
//! | feature | effect |
//! |---|---|
//! | `gzip` (a default of ureq), `brotli` | ureq decodes a body with a `Content-Encoding`, even though the request did not ask for one, and has no setting to prevent it. The cap then counts decoded bytes, a second length is not detected, and a body that cannot be decoded is reported as truncated. A charge whose response cannot be read is [`Unknown`](payments_core::Outcome::Unknown) |
//! | `cookies` | ureq keeps the cookies of responses and sends them with later requests |
//!
//! # Limits
//!
//! - A response with more than 128 headers, or with a header that is folded over several lines, ends the call as
//!   [`Unknown`](payments_core::Outcome::Unknown): ureq has no setting for either. `payments-hyper` and `payments-reqwest` read 1 000
//!   headers, and folded ones.
//! - The request is copied into buffers that are not wiped.
//! - A connection is not reused after a response without a body (204, 304 or `Content-Length: 0`). Every response to a payment has one.
//! - A `100 Continue` that has headers ends the call as [`Unknown`](payments_core::Outcome::Unknown).
//! - The crate uses `ureq::unversioned`, so it accepts only ureq 3.5 until a newer version has been reviewed.
//!
//! # Stability
//!
//! No type of ureq or rustls is part of this crate's public API.

mod agents;
mod attempt;
mod builder;
mod client;
mod connection;
mod socket;
mod transport;

pub use builder::UreqTransportBuilder;
pub use client::client;
pub use payments_core::transport::BuildError;
pub use transport::UreqTransport;
