use std::hash::{BuildHasher, RandomState};

/// Where the spread of pauses between a look-up's attempts comes from, so that many clients do not return all at once.
pub trait Jitter: Send + Sync + 'static {
    /// Any number, evenly spread over all of `u64`.
    fn next(&self) -> u64;
}

/// The standard library's randomly keyed hasher: random enough to spread pauses, and no dependency.
#[derive(Debug)]
pub(crate) struct RandomJitter;

impl Jitter for RandomJitter {
    fn next(&self) -> u64 {
        RandomState::new().hash_one(0_u8)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn many_clients_do_not_return_all_at_once() {
        let numbers: HashSet<u64> = (0..100).map(|_| RandomJitter.next()).collect();
        assert!(numbers.len() > 90, "{numbers:?}");
    }
}
