//! The command line.

#![allow(unreachable_pub, reason = "the macro makes every item `pub`")]

use std::num::NonZeroUsize;

use payments_simulation::{Invariant, Sabotage};

xflags::xflags! {
    /// Simulate payments over a bad network and search for a violated invariant.
    cmd simulate {
        /// Number of payments, not counting voids and lookups; 100000 by default.
        optional --charges charges: u64
        /// Seed of the random generator; 1 by default.
        optional --seed seed: u64
        /// Number of threads; one by default. The result does not depend on it.
        optional --threads threads: NonZeroUsize
        /// Break the client side on purpose, for example with `sends-twice`.
        optional --sabotage sabotage: Sabotage
        /// Check only this invariant, for example `ends-in-time`.
        optional --only only: Invariant
        /// Print how often each combination of operation, fault, phase and ending occurred.
        optional --coverage
    }
}
