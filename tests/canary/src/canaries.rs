use crate::sighting::{self, Sighting};

/// One set of secrets. All sets have the same lengths, the same card brand, and the same last four digits of the card, which
/// may be shown.
#[derive(Clone, Debug)]
pub struct Canaries {
    card: String,
    cvv: &'static str,
    expiry: &'static str,
    account: String,
    key: String,
}

impl Canaries {
    /// The number of sets.
    pub const SETS: usize = CODES.len();

    /// One of the [sets](Self::SETS), counted from 0. The secrets of two sets have nothing but their form in common.
    ///
    /// # Panics
    ///
    /// If there is no such set.
    #[track_caller]
    pub fn set(number: usize) -> Self {
        let (cvv, expiry) = CODES[number];
        let mut random = Random::of_set(number);
        Self {
            card: random.card(),
            cvv,
            expiry,
            account: random.text(b"0123456789", 18),
            key: random.text(b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", 24),
        }
    }

    /// Sixteen digits that pass the Luhn check and end in 8794. Not a known test card.
    pub fn card(&self) -> &str {
        &self.card
    }

    /// Three digits.
    pub fn cvv(&self) -> &str {
        self.cvv
    }

    /// `MMYY`.
    pub fn expiry(&self) -> &str {
        self.expiry
    }

    /// Eighteen digits.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Twenty-four letters and digits.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Every secret of the set that is in the bytes, once for each form in which it occurs.
    pub fn sightings(&self, bytes: &[u8]) -> Vec<Sighting> {
        sighting::all(self, bytes)
    }

    /// Asserts that no secret is in the bytes. Use it if not even the security code can be there by chance.
    ///
    /// # Panics
    ///
    /// If a secret is found, or if there are no bytes: an empty text proves nothing.
    #[track_caller]
    pub fn assert_absent(&self, place: &str, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "{place} is empty, which proves nothing");
        let sightings = self.sightings(bytes);
        assert!(sightings.is_empty(), "secrets in {place}:\n{}", sighting::list(&sightings));
    }
}

/// Security codes and expiry dates that are not statuses, ports or current years, each in one set only.
const CODES: [(&str, &str); 6] =
    [("917", "1137"), ("683", "0946"), ("752", "0751"), ("846", "1058"), ("395", "0863"), ("578", "1249")];

/// Pseudo-random numbers that are the same in every run (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn of_set(number: usize) -> Self {
        let mut this = Self(number as u64 + 0x5eed);
        this.below(1);
        this
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn text(&mut self, letters: &[u8], length: usize) -> String {
        let mut letter = || letters[usize::try_from(self.below(letters.len() as u64)).expect("small")];
        (0..length).map(|_| char::from(letter())).collect()
    }

    /// The fourth digit makes the number pass the Luhn check.
    fn card(&mut self) -> String {
        let middle = self.text(b"0123456789", 8);
        let numbers = (0..10).map(|digit| format!("492{digit}{middle}8794"));
        numbers.into_iter().find(|number| passes_luhn(number)).expect("one of ten digits passes the check")
    }
}

fn passes_luhn(number: &str) -> bool {
    let sum: u32 = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| match u32::from(digit - b'0') << (place % 2) {
            value @ 10.. => value - 9,
            value => value,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn sets_have_only_their_form_in_common() {
        let sets: Vec<_> = (0..Canaries::SETS).map(Canaries::set).collect();
        let mut seen = HashSet::new();
        for set in &sets {
            assert!(passes_luhn(set.card()) && set.card().ends_with("8794"), "{}", set.card());
            let lengths = [set.card(), set.cvv(), set.expiry(), set.account(), set.key()].map(str::len);
            assert_eq!(lengths, [16, 3, 4, 18, 24]);
            for secret in [set.card(), set.cvv(), set.expiry(), set.account(), set.key()] {
                assert!(seen.insert(secret.to_owned()), "{secret}");
            }
            for other in sets.iter().filter(|other| other.card() != set.card()) {
                let text = format!("{} {} {}", other.card(), other.account(), other.key());
                assert_eq!(set.sightings(text.as_bytes()), []);
            }
        }
    }
}
