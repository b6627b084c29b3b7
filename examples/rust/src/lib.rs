//! The stage on which the examples run: the service that they call, and the process that a program of yours would be.
//!
//! An example is a program that finds the service's address and its key in its environment, as yours does. Its `main`
//! starts a sandbox, and then the same example again, as a [`Program`] of its own whose environment names the sandbox.
//! Nothing of this is needed outside the examples.
//!
//! # The retry loop that does not compile
//!
//! `retry_unprocessed` retries the charge alone. A loop around the charge *and* the lookup would charge twice as soon as a
//! lookup fails, if a lookup failed with the charge's error type. It does not, so this is refused (`?` finds no conversion
//! from `LookupError` into `Error`):
//!
//! ```compile_fail,E0277
//! use payments_core::model::TokenTransaction;
//! use payments_core::{Client, Error, Outcome};
//!
//! async fn charge_and_look_up(client: &Client, payment: &TokenTransaction) -> Result<(), Error> {
//!     let charged = client.process_token(payment).await?;
//!     client.transaction(&charged.transaction_id).await?;
//!     Ok(())
//! }
//!
//! async fn retry(client: &Client, payment: &TokenTransaction) -> Result<(), Error> {
//!     loop {
//!         match charge_and_look_up(client, payment).await {
//!             Err(error) if error.outcome() == Outcome::NotProcessed => continue,
//!             result => return result,
//!         }
//!     }
//! }
//! ```
//!
//! With the lookup's error handled where it is made, it compiles:
//!
//! ```
//! use payments_core::model::TokenTransaction;
//! use payments_core::{Client, Error, Outcome};
//!
//! async fn charge_and_look_up(client: &Client, payment: &TokenTransaction) -> Result<(), Error> {
//!     let charged = client.process_token(payment).await?;
//!     let _found = client.transaction(&charged.transaction_id).await.ok();
//!     Ok(())
//! }
//!
//! async fn retry(client: &Client, payment: &TokenTransaction) -> Result<(), Error> {
//!     loop {
//!         match charge_and_look_up(client, payment).await {
//!             Err(error) if error.outcome() == Outcome::NotProcessed => continue,
//!             result => return result,
//!         }
//!     }
//! }
//! ```

mod books;
mod program;
mod unplugged;

pub use books::{assert_nothing_wrong_was_said, show_books};
pub use program::Program;
pub use unplugged::Unplugged;
