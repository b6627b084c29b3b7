//! Test secrets that do not occur by chance, and a search for them in every encoding.
//!
//! A test puts a set of [`Canaries`] into its requests, collects all output, and searches it:
//!
//! ```
//! use payments_canary::Canaries;
//!
//! let canaries = Canaries::set(0);
//! let log = format!("POST /transaction, card {}", canaries.card());
//! assert_eq!(canaries.sightings(log.as_bytes()).len(), 1);
//! canaries.assert_absent("the log", b"POST /transaction, card ************8794");
//! ```
//!
//! `sighting.rs` describes what is searched for, `reading.rs` in which encodings.
//!
//! # Three digits occur by chance
//!
//! A security code has three digits and an expiry date four, so finding one proves little. There are three sound checks. A
//! test uses the strictest that applies:
//!
//! - If the output of a run is reproducible, two runs that differ only in their secrets must have the same output
//!   ([`assert_independent_of_secrets`]). This finds every form of a leak, even a hash, without any search.
//! - Text that cannot contain the digits for another reason must not contain them as whole words
//!   ([`Canaries::assert_absent`]).
//! - Other output (times, ports, database pages) is collected from several runs with different sets. A leak is found in every
//!   run, a coincidence is not ([`assert_no_leak_in_runs`]).

mod canaries;
mod memory;
mod reading;
mod runs;
mod sighting;

pub use canaries::Canaries;
pub use memory::Hidden;
#[cfg(target_os = "linux")]
pub use memory::copies_in_memory;
pub use runs::{assert_independent_of_secrets, assert_no_leak_in_runs};
pub use sighting::{Sighting, has_word};
