//! The payment service on your own machine, over HTTP, for any language.
//!
//! It is the [`FakeGateway`](payments_fake::FakeGateway) behind a real socket: the same responses byte for byte, the same
//! [test values](payments_fake::test_values), the same ledger, and the same [faults](payments_fake::Fault), which are real
//! socket events here. It needs no account and no network. Each sandbox has its own free port, shares no state, and starts
//! in milliseconds.
//!
//! [`Sandbox`] runs in the background of a tokio runtime. [`BlockingSandbox`] runs on its own thread, for programs without
//! a runtime:
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use payments_core::OperationName;
//! use payments_core::model::Amount;
//! use payments_fake::Fault;
//! use payments_sandbox::BlockingSandbox;
//!
//! let sandbox = BlockingSandbox::start()?;
//! sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
//!
//! // Any HTTP client in any language; this one is a socket.
//! let address = sandbox.local_addr();
//! let body = r#"{"TokenId":"tok_approved","Amount":10.50,"ConvenienceFeeActive":false}"#;
//! let mut socket = TcpStream::connect(address)?;
//! write!(
//!     socket,
//!     "POST /api/v1/public/token-transaction HTTP/1.1\r\nHost: {address}\r\nAuthorization: {}\r\n\
//!      Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
//!     sandbox.api_key(),
//!     body.len(),
//! )?;
//! let mut response = Vec::new();
//! socket.read_to_end(&mut response)?;
//!
//! // The client received no response, and was charged.
//! assert!(response.is_empty());
//! sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What a fault does to the socket
//!
//! | fault | the client sees |
//! |---|---|
//! | `close` | the end of the stream, without a byte |
//! | `reset` | a TCP reset |
//! | `refuse` | a TCP reset too, without an effect: an accepted connection can no longer be refused |
//! | `stall` | nothing, until the client leaves or the sandbox stops |
//! | `garbage` | bytes that are not HTTP, then the end |
//! | `truncate` | a head with the full `Content-Length`, a part of the body, then the end |
//! | `drip` | the head, then the body piece by piece |
//! | `delay` | the complete response, late, on a connection that stays open |
//! | `html`, `status`, `wrong_shape` | another complete response |
//!
//! # Controlling it from another language
//!
//! Tests in Rust use [`Sandbox::gateway`]. Tests in any language do the same over HTTP, under [`Sandbox::admin_url`]: arm
//! faults, read the state and the requests, add customers and tokens, reset, stop the clock. The admin interface is on the
//! service's port or on [its own](SandboxBuilder::admin_listen), and never under the base path. The guide
//! `docs/sandbox.md` has the table.
//!
//! A request can ask for its own fault with the header `Sandbox-Fault: after_commit=reset`, unless that is
//! [switched off](SandboxBuilder::control_headers); an armed fault takes precedence. A request with an invalid header is
//! refused before it reaches the service, so it is not among the recorded requests.
//!
//! [`Sandbox::ui_url`] is the address of a page for people. It shows requests as they arrive, what the service did and what
//! the client saw, and the ledger, and it has buttons for the actions above.
//!
//! [`OPENAPI`] describes the service itself.
//!
//! # Persistence
//!
//! State is in memory. A [file](SandboxBuilder::data_file) is loaded at the start and written at the end, and whenever you ask for
//! it. A process that is killed loses all changes after the last save: this is a test double.
//!
//! # As a server
//!
//! HTTP/1.1 with keep-alive, over https with a [generated certificate](SandboxBuilder::tls) or
//! [yours](SandboxBuilder::tls_pem). Every response has a unique `x-request-id` and the `Sandbox-Version`, even the response
//! to bytes that are not a valid request. A HEAD gets the head of the response to a GET. A body over 64 KiB gets 413, a head
//! over 64 KiB 431. The number of [connections](SandboxBuilder::max_connections) is limited. A connection on which nothing is
//! transferred for a minute, and which waits for no response, is closed. Otherwise a client may be as slow as it likes until the
//! sandbox stops.
//!
//! A client that closes its sending side after its request still gets its response. There is one exception: while a `delay`
//! or a closed [gate](payments_fake::Gate) before the commit holds its request, it counts as gone, like a client that closes or
//! resets the connection. Such a request is dropped and nothing is charged.
//!
//! [`Sandbox::shutdown`] finishes the requests in flight, and ends the pauses of faults: held requests are processed at
//! once, and delayed or dripped responses are sent at once. A connection that a fault would keep open for ever is closed. A
//! client that has not finished its request or read its response has one more second, chosen by this SDK.
//!
//! # What it does not do
//!
//! It moves no money, and it is not a place for real cards. It keeps only the last four digits of a card, in memory and in a
//! file, but everyone who can reach the port can use and control it.
//! [`UnlistedCards::Refused`](payments_fake::UnlistedCards::Refused) refuses every number that is not a test value.

mod activity;
mod admin;
mod blocking_sandbox;
mod body;
mod connection;
mod control_header;
mod data_file;
mod description;
mod exchange;
mod last_response;
mod page;
mod sandbox;
mod sandbox_builder;
mod sandbox_info;
mod server;
mod shutdown;
mod site;
mod socket;
mod symptom;
mod tls;
mod wall_clock;

pub use activity::IdleClose;
pub use blocking_sandbox::BlockingSandbox;
pub use description::{OPENAPI, VERSION};
pub use exchange::Exchange;
pub use sandbox::Sandbox;
pub use sandbox_builder::SandboxBuilder;

/// For the tests of this project only. It may change in any version.
#[doc(hidden)]
pub mod unversioned {
    pub use crate::control_header::fault_from_header;
}
