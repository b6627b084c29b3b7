use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use crate::transport::ProcessId;

/// A source of random numbers. They vary the pauses between a lookup's attempts, so that many clients do not retry at once, and
/// become the [ids of calls](crate::CallId).
pub trait RandomSource: Send + Sync + 'static {
    /// Any number, uniformly distributed over all of `u64`.
    fn next(&self) -> u64;
}

/// Uses the standard library's randomly keyed hasher, which needs no dependency and is random enough for pauses and ids.
#[derive(Debug)]
pub(crate) struct SystemRandom;

impl RandomSource for SystemRandom {
    fn next(&self) -> u64 {
        // A forked process has a copy of its parent's keys. One with the number of an ancestor lives at another time.
        RandomState::new().hash_one((ProcessId::current_number(), Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_vary() {
        let numbers: std::collections::HashSet<u64> = (0..100).map(|_| SystemRandom.next()).collect();
        assert!(numbers.len() > 90, "{numbers:?}");
    }
}
