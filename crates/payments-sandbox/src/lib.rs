//! The payment service on one's own machine, over HTTP, for any language.
//!
//! It is the [`FakeGateway`](payments_fake::FakeGateway) behind a real socket: the same answers byte for byte, the same
//! [test values](payments_fake::test_values), the same ledger, and the same [faults](payments_fake::Fault), which are real
//! socket events here. No account, no network, no shared state: each sandbox has a free port of its own and starts in
//! milliseconds.
//!
//! [`Sandbox`] runs in the background of a tokio runtime, [`BlockingSandbox`] on a thread of its own for programs that
//! have no runtime:
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
//! let mut answer = Vec::new();
//! socket.read_to_end(&mut answer)?;
//!
//! // The client is told nothing at all, and has paid.
//! assert!(answer.is_empty());
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
//! | `refuse` | a TCP reset as well, and nothing happened: a connection that stands can no longer be refused |
//! | `stall` | nothing, until it goes or the sandbox stops |
//! | `garbage` | bytes that are not HTTP, then the end |
//! | `truncate` | a head with the true `Content-Length`, less of the body, then the end |
//! | `drip` | the head, then the body piece by piece |
//! | `delay` | the whole answer, late, on a connection that stays open |
//! | `html`, `status`, `wrong_shape` | another whole answer |
//!
//! # Steering it from another language
//!
//! Whatever tests in Rust do through [`Sandbox::gateway`], tests in any language do over HTTP, under
//! [`Sandbox::admin_url`]: arm faults, look at the state and at the requests, add customers and tokens, begin again, stop
//! the clock. It is on the service's port, or on [one of its own](SandboxBuilder::admin_listen), and never under the base
//! path. The guide `docs/sandbox.md` has the table. A request may ask for its own fault with the header `Sandbox-Fault:
//! after_commit=reset`, unless [switched off](SandboxBuilder::control_headers); an armed fault goes first. A request that is refused because this header
//! is wrong is not among the recorded ones: it never came to the service.
//!
//! [`Sandbox::ui_url`] is the address of a page for a person: requests as they come, what the service did beside what the
//! client saw, the ledger, and buttons for what is above.
//!
//! [`OPENAPI`] describes the service itself.
//!
//! # What lasts
//!
//! Nothing, unless it is given a [file](SandboxBuilder::data). Then every change is committed and synced before anybody is
//! told of it; requests that come at the same time share a commit. See [`DataFile`].
//!
//! # As a server
//!
//! HTTP/1.1 with keep-alive, over https with a certificate [of its own](SandboxBuilder::tls) or a
//! [given one](SandboxBuilder::tls_pem). Every response has a unique `x-request-id` and the `Sandbox-Version`, the refusal of
//! what cannot be read as a request included. A body over 64 KiB gets 413, a head over 64 KiB 431. The number of
//! [connections](SandboxBuilder::max_connections) is limited. There are no timeouts: a client may take as long as it likes for
//! a request, for a response and between two of them, until the sandbox stops.
//!
//! A client that closes its sending side after its request gets its response all the same. Only while a `delay` before the
//! commit [holds](payments_fake::Reply::Held) its request does it count as gone, as does one that closes or resets the
//! connection: such a request is dropped and nothing is charged.
//!
//! [`Sandbox::shutdown`] finishes what is in flight, and ends the pauses of faults for that: a request that is held is
//! processed and answered at once, and so is one whose answer is delayed; the rest of a `drip` comes at once. What a fault
//! would keep waiting for ever is closed. A client that does not finish its request, or does not read its response, has one
//! second more, chosen by this SDK.
//!
//! # What it does not do
//!
//! It moves no money, and it is no place for real cards: nothing of a card but its last four digits is kept, in memory or in
//! a file, but whoever can reach the port can use it, and steer it too.
//! [`UnlistedCards::Refused`](payments_fake::UnlistedCards::Refused) refuses every number that is no test value.

mod admin;
mod blocking_sandbox;
mod body;
mod connection;
mod description;
mod exchange;
mod page;
mod sandbox;
mod sandbox_builder;
mod server;
mod shutdown;
mod site;
mod socket;
mod store;
mod symptom;
mod tls;
mod wall_clock;

pub use blocking_sandbox::BlockingSandbox;
pub use description::{OPENAPI, VERSION, magic_json};
pub use exchange::{Exchange, Shown};
pub use sandbox::Sandbox;
pub use sandbox_builder::SandboxBuilder;
pub use store::{DataFile, Store, StoreError};
