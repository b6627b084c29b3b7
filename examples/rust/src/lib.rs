//! Helpers that run the examples. Your own program needs none of them.
//!
//! Each example is a program that reads the service's address and the API key from its environment, as yours does. Its
//! `main` starts a sandbox, and then runs the same example again as a [`Program`], with the sandbox in its environment.
//!
//! # The retry loop that does not compile
//!
//! `retry_unprocessed` retries only the charge. A loop around the charge *and* the lookup would charge twice when a lookup
//! fails, if lookups failed with the charge's error type. They do not, so this does not compile (`?` finds no conversion
//! from `LookupError` to `Error`):
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
//! It compiles once the lookup's error is handled at the lookup:
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

mod closed_port;
mod ledger;
mod program;

pub use closed_port::ClosedPort;
pub use ledger::{assert_reports_match, show_ledger};
pub use program::Program;
