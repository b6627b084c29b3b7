//! A real PostgreSQL server for one test, from the binaries installed on the machine.
//!
//! ```no_run
//! let Some(server) = payments_postgres_for_tests::Server::start() else { return };
//! println!("{}", server.url());
//! ```
//!
//! - The server listens on a Unix socket in its own temporary folder, with `fsync` on. Its data directory is a copy of a
//!   template that `initdb` creates once in the target folder, so that a start takes only tenths of a second.
//! - If the test runs as root, the server runs as the user `nobody`, because PostgreSQL refuses to run as root.
//! - The server ends and its folder is removed when [`Server`] is dropped, **and also when the test process dies for any
//!   reason**: a shell in another process group supervises it and stops it when the pipe from the test closes.
//! - Without PostgreSQL, [`Server::start`] returns [`None`]. With `CI=true` it panics instead, so that no test is skipped
//!   unnoticed. `cargo xtask test` reports which stores it covered.

mod binaries;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod template;

pub use binaries::Binaries;
#[cfg(unix)]
pub use server::{Server, Settings, Shutdown};
