use payments_core::RandomSource;
use payments_model::mask;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `SplitMix64`. The outputs of one stream are all different, so identifiers never repeat, and one seed always produces the
/// same identifiers. None of them is secret.
#[derive(Clone, Debug)]
pub(crate) struct Randomness {
    state: u64,
    /// The numbers of identifiers that came from outside, perhaps from an earlier gateway with the same seed. Shared, so that a
    /// clone costs nothing.
    reserved: Arc<HashSet<u64>>,
}

impl Randomness {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, reserved: Arc::default() }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// `prefix`, then sixteen hexadecimal digits that this stream never repeats, without those that are
    /// [reserved](Self::reserve). They never look like a card number, because such an id would be masked in logs and refused in
    /// fixtures.
    pub(crate) fn identifier(&mut self, prefix: &str) -> String {
        loop {
            let number = self.next();
            let identifier = format!("{prefix}{number:016x}");
            if !self.reserved.contains(&number) && matches!(mask(&identifier, &[]), Cow::Borrowed(_)) {
                return identifier;
            }
        }
    }

    /// Never returns these identifiers. Only those of its own form could be returned.
    pub(crate) fn reserve<'a>(&mut self, identifiers: impl Iterator<Item = &'a str>) {
        let digits = identifiers.filter_map(|identifier| identifier.rsplit('_').next());
        let numbers = digits.filter(|digits| digits.len() == 16);
        // A vector has a length, so that the set grows only once.
        let numbers: Vec<_> = numbers.filter_map(|digits| u64::from_str_radix(digits, 16).ok()).collect();
        Arc::make_mut(&mut self.reserved).extend(numbers);
    }
}

/// A client's random numbers, from the seed 0.
#[derive(Debug, Default)]
pub(crate) struct SeededSource(AtomicU64);

impl RandomSource for SeededSource {
    fn next(&self) -> u64 {
        mix(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

/// The constants are those of `SplitMix64`.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_has_every_digit_of_the_number() {
        let mut randomness = Randomness::new(7);
        for _ in 0..100 {
            let number = randomness.clone().next();
            assert_eq!(randomness.identifier("txn_"), format!("txn_{number:016x}"));
        }
        // The output of zero is zero, and the state before it is one step back.
        assert_eq!(Randomness::new(0_u64.wrapping_sub(STEP)).identifier(""), "0000000000000000");
    }

    #[test]
    fn an_identifier_never_looks_like_a_card_number() {
        let mut randomness = Randomness::new(7);
        let (mut numbers, mut skipped) = (Randomness::new(7), 0);
        let identifiers: Vec<_> = (0..20_000).map(|_| randomness.identifier("txn_")).collect();
        for identifier in &identifiers {
            assert_eq!(mask(identifier, &[]), identifier.as_str());
            while format!("txn_{:016x}", numbers.next()) != *identifier {
                skipped += 1;
            }
        }
        assert!(skipped > 0, "some outputs look like card numbers");
    }

    /// The published first outputs of `SplitMix64` for seed 1234567.
    #[test]
    fn it_is_splitmix64() {
        let mut randomness = Randomness::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| randomness.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
