//! A [`Transport`](payments_core::Transport) over reqwest, to copy.
//!
//! [`ReqwestTransport`] is the transport, [`TokioTimer`] the clock that a `Client` wants beside it, and `src/main.rs` makes
//! a payment with both. Everything that a general client does for convenience is switched off: it follows no redirect,
//! repeats nothing, asks no proxy, decodes no answer, and trusts the roots that it is given.
//!
//! # Which evidence proves what
//!
//! | reqwest says | the transport says | because |
//! |---|---|---|
//! | nothing: the request was never handed over | `NotProcessed` | no runtime, or an address that reqwest would rewrite |
//! | an error with `is_connect()` | `NotProcessed` | no connection stood, so there was nothing to write to |
//! | any other error before a status | `Unknown` | the server may have read everything; no error text disproves it |
//! | the total deadline ended before a status | `Unknown` | likewise |
//! | a status, then an error, the deadline or the cap | `Answered` | the status and what was read of the body are kept |
//! | a head with two lengths | `Unknown` | nobody knows whose answer it is the end of |
//!
//! A request that reqwest's pool finds to be unsent, because the server had closed the connection, goes over another one:
//! that is the only repetition left, and hyper does it only for a request of which not one byte was written.
//!
//! # What had to be added
//!
//! - reqwest has one connect time-out for all requests and counts it for each. [`ReqwestTransport`] ends a connection that
//!   is being made by the deadline of the request that asked for it, name resolution and TLS included.
//! - reqwest's addresses are `Url`s, which resolve `..` and encode some bytes anew. What would not arrive as it is
//!   written is refused.
//! - reqwest goes on sending the request of a dropped call. Here its body ends with the call.
//! - hyper takes an answer with `Content-Length` and `Transfer-Encoding`. Here it is refused, and all connections are left
//!   behind, because reqwest closes no single one of them.
//! - The total deadline has a clock of its own. A server that sends interim answers (1xx) as fast as it can keeps hyper
//!   and a thread of tokio busy, and may keep tokio from looking at its clock.

mod call_body;
mod connect_deadline;
mod timer;
mod transport;

pub use timer::TokioTimer;
pub use transport::ReqwestTransport;
