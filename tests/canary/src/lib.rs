//! Secrets that do not come up by chance, and the search for them in every form of a leak.
//!
//! A test puts a set of [`Canaries`] into its requests, collects all that anybody could see afterwards, and has it searched:
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
//! What is searched for, and in which forms, is in `sighting.rs` and `reading.rs`.
//!
//! # Three digits come up by chance
//!
//! A security code has three digits and an expiry four, so finding one proves little. There are three sound ways, and a
//! test takes the strictest that its place allows:
//!
//! - Where the same run gives the same bytes, nothing is searched at all: two runs that differ in nothing but their secrets
//!   must show the same ([`assert_tells_no_difference`]). That finds every form of a leak, a hash as well, and has no chance in
//!   it.
//! - A page of text in which they cannot stand for another reason must not hold them as whole words
//!   ([`Canaries::assert_absent`]).
//! - Elsewhere (times, ports, pages of a database) the same is run with several sets. What leaks is found in each run; what
//!   comes up by chance is not ([`assert_leaks_in_no_run`]).

mod canaries;
mod memory;
mod reading;
mod runs;
mod sighting;

pub use canaries::Canaries;
pub use memory::Hidden;
#[cfg(target_os = "linux")]
pub use memory::copies_in_memory;
pub use runs::{assert_leaks_in_no_run, assert_tells_no_difference};
pub use sighting::{Sighting, has_word};
