//! The command line.

#![allow(unreachable_pub, reason = "the macro makes every item `pub`")]

use std::num::NonZeroUsize;

use payments_simulation::{Invariant, Sabotage};

xflags::xflags! {
    /// Simulate payments over a bad network, and search for a broken promise.
    cmd simulate {
        /// How many payments there are; voids and look-ups come on top. 100000 by default.
        optional --charges charges: u64
        /// Where all chance comes from; 1 by default.
        optional --seed seed: u64
        /// How many threads share the work; one by default. The result is the same.
        optional --threads threads: NonZeroUsize
        /// Break the client's side on purpose, such as `sends-twice`.
        optional --sabotage sabotage: Sabotage
        /// Look for this broken promise alone, such as `ends-in-time`.
        optional --only only: Invariant
        /// Print how often each combination of operation, fault, phase and ending happened.
        optional --coverage
    }
}
