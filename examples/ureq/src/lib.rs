//! A [`Transport`](payments_core::Transport) over ureq, which blocks, to copy.
//!
//! [`UreqTransport`] is the transport, [`ThreadTimer`] the clock that a `Client` wants beside it, and `src/main.rs` makes a
//! payment with both. No runtime is needed: each call is made by a thread of a small pool, and the future that stands
//! for it is woken from there. Everything that a general client does for convenience is switched off: it follows no
//! redirect, asks no proxy, makes no error of a status, decodes no answer, and trusts the roots that it is given.
//!
//! # Which evidence proves what
//!
//! ureq's errors do not tell whether something was sent: a broken TLS handshake and a broken TLS connection are the same
//! `io::Error`. So the proof comes from below. Every connection is wrapped, and its first write in an exchange is noted
//! before it is made:
//!
//! | at the end of a call | the transport says | because |
//! |---|---|---|
//! | no write was begun | `NotProcessed` | every byte of a request would have passed here |
//! | a write was begun, and there is no status | `Unknown` | the server may have read everything |
//! | a status, then an error, the deadline or the cap | `Answered` | the status and what was read of the body are kept |
//! | a head with two lengths | `Unknown` | nobody knows whose answer it is the end of |
//!
//! # What had to be added
//!
//! - ureq counts name resolution and connecting apart. Here they share the connect deadline of the request.
//! - The time-outs of a socket end late, on Linux by up to an eighth of their length. Here the future has clocks of its own,
//!   and ends its thread in time.
//! - A blocking call cannot be dropped, so dropping its future shuts its socket down and forbids it to write: the thread
//!   ends a moment later, and the server sees the close. A thread that still waits for a name or for TCP goes on until
//!   its deadline, and sends nothing.
//! - ureq takes a reset for the end of a body without a length; here such a body is cut short.
//! - ureq takes an answer with `Content-Length` and `Transfer-Encoding`; here it is refused.
//! - At the level TRACE ureq logs what it sends and receives, the API key with it. `Cargo.toml` compiles that level out.

mod attempt;
mod threads;
mod timer;
mod transport;
mod wire;

pub use timer::ThreadTimer;
pub use transport::UreqTransport;
