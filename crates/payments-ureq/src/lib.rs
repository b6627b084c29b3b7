//! The payments SDK without an async runtime: [`UreqTransport`], over ureq and rustls.
//!
//! ```
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_core::{ApiKey, Endpoint, Outcome};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Nobody listens at port 1; the service has an `https` address.
//!     let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", ApiKey::new("sk_test_51H")?)?;
//!     let client = payments_ureq::client(endpoint)?;
//!
//!     let amount = Amount::from_cents(10_50);
//!     let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build()?;
//!     match client.process_token(&payment) {
//!         Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!         Err(error) => match error.outcome() {
//!             Outcome::NotProcessed => println!("nothing was charged. Fix the cause, then send it again: {error:#}"),
//!             Outcome::Rejected => println!("refused: {error:#}"),
//!             Outcome::Unknown => println!("it may be charged, do NOT send it again: {error:#}"),
//!         },
//!     }
//!     Ok(())
//! }
//! ```
//!
//! [`client`] returns a [blocking client](payments_core::blocking::Client). [`UreqTransport`] is the
//! [blocking transport](payments_core::blocking::Transport) below it: one attempt, at most one transmission, and with every
//! failure the evidence of how far the request got.
//!
//! # What it does not do
//!
//! - It sends nothing twice: no retries, and a redirect is a response like any other.
//! - It takes no proxy from the environment, and writes no TLS keys to a log.
//! - It makes no error of a status, and decodes no body.
//! - It has no setting that turns the verification of certificates off.
//! - It has no HTTP/2, no client certificates and no egress proxy. `payments-hyper` has.
//!
//! # Threads and runtimes
//!
//! A call is made on its caller's thread. For a host name that is not an IP address, a new connection takes a second
//! thread for the lookup, because a lookup cannot be interrupted: it may outlive the call, and sends nothing. Any number
//! of threads can share one client; there is no limit to the calls that are in progress.
//!
//! No runtime is needed. Called within one, a call works and does not panic, but it blocks its thread, and with it every
//! other task of that thread. So make it in `tokio::task::spawn_blocking`, or use `payments-hyper`.
//!
//! A call cannot be cancelled. It ends by its deadlines:
//!
//! | deadline | covers |
//! |---|---|
//! | connect | lookup, TCP and TLS as a whole |
//! | total | everything, to the last byte of the body |
//!
//! No server can hold a call longer, by silence, single bytes, endless `1xx` responses or by reading nothing.
//!
//! # What proves that nothing was sent
//!
//! The errors of ureq are no proof that nothing was sent. The proof comes from the connection: before the first write of a
//! request, it notes that the request may have been sent.
//!
//! | at the end of a call | it reports | because |
//! |---|---|---|
//! | no write was begun | [`NotProcessed`](payments_core::Delivery::NotProcessed) | every byte of a request passes that point |
//! | a write was begun, and there is no status | [`Unknown`](payments_core::Delivery::Unknown) | the server may have read everything |
//! | a status, then an error, the deadline or the cap | [`Answered`](payments_core::Delivery::Answered) | the status and the part of the body that was read are kept |
//! | a head with two lengths | [`Unknown`](payments_core::Delivery::Unknown) | the response may belong to another request |
//!
//! A panic within a call is caught, and reported with the same evidence. Its message reaches the panic hook, which prints it
//! by default. With `panic = "abort"` it ends the process.
//!
//! # What had to be added to ureq
//!
//! - Lookup, TCP and TLS share one deadline. ureq gives each its own.
//! - Deadlines end within milliseconds. The timeout of a socket ends late, on Linux by up to an eighth of its length.
//! - Writing has a deadline even if the server reads a little now and then.
//! - A reset, or TLS that ends without its close, cuts a body short. ureq takes both for the end of a body without a
//!   length.
//! - A response with two lengths is refused. ureq accepts `Content-Length` beside `Transfer-Encoding`.
//! - A lookup is made for a new connection only. ureq makes one for each call.
//! - TLS is by rustls with ring, whatever features of ureq and whatever provider the process has.
//!
//! # At TRACE ureq logs the API key
//!
//! At the level TRACE of the `log` crate, ureq writes the head of each request and what it reads of each response, byte by
//! byte. The `Authorization` header is in it, and so is what the response says of the payment. **Do not enable TRACE for
//! the target `ureq_proto` in production.** Up to DEBUG the log has neither the key nor a body.
//!
//! This crate does not compile TRACE out, because that would be for the whole program. Your program can do either:
//!
//! - Filter the target, for example with `RUST_LOG=trace,ureq_proto=debug`.
//! - Compile TRACE out for every crate of the program, in its `Cargo.toml`:
//!   `log = { version = "0.4", features = ["max_level_debug", "release_max_level_debug"] }`
//!
//! # Features of ureq that must stay off
//!
//! Cargo enables a feature of ureq for the whole build if any crate in it asks for that feature. Depend on ureq with
//! `default-features = false` in every crate of the program, and check with `cargo tree -e features -i ureq`.
//!
//! | feature | what happens with it |
//! |---|---|
//! | `gzip` (a default of ureq), `brotli` | ureq decodes a body whose `Content-Encoding` says so, though nothing asked for it, and ureq has no setting against that. The cap then counts decoded bytes, a second length is not seen, and a body that cannot be decoded is reported as cut short. A charge whose response cannot be read is [`Unknown`](payments_core::Outcome::Unknown) |
//! | `cookies` | ureq keeps the cookies of responses and sends them with later requests |
//!
//! # Limits
//!
//! - The request is copied into buffers that are not wiped.
//! - A `100 Continue` that has headers ends the call as [`Unknown`](payments_core::Outcome::Unknown).
//! - It is built on `ureq::unversioned`, so it takes ureq 3.5 alone until a newer one has been read.
//!
//! # Stability
//!
//! No type of ureq or rustls is part of this crate's public interface.

mod attempt;
mod build_error;
mod builder;
mod client;
mod connection;
mod socket;
mod transport;

pub use build_error::BuildError;
pub use builder::UreqTransportBuilder;
pub use client::client;
pub use transport::UreqTransport;
