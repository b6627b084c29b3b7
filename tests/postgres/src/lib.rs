//! A PostgreSQL server of a test's own: a real one, out of the binaries that the machine has.
//!
//! ```no_run
//! let Some(server) = payments_postgres_for_tests::Server::start() else { return };
//! println!("{}", server.url());
//! ```
//!
//! - A server listens on a Unix socket in a folder of its own under the temporary folder, with `fsync` on. Its data are a
//!   copy of a folder that `initdb` has filled once and that stays in the target folder, so that a start costs tenths of a
//!   second.
//! - As root it runs as the user `nobody`, because PostgreSQL refuses root.
//! - It is gone with its folder when [`Server`] is dropped **and when the test process dies of whatever**: a shell that is
//!   in no process group of the test's stands over it, and ends it when its pipe to the test closes.
//! - A machine without PostgreSQL gives [`None`], but where the environment says `CI=true` that is a failure: a test that
//!   is skipped must be seen. `cargo xtask test` says which stores it has covered.

mod binaries;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod template;

pub use binaries::Binaries;
#[cfg(unix)]
pub use server::{Server, Settings, Shutdown};
