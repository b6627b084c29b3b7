//! Finds equal values in the rows of a file without keeping them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hash, RandomState};

/// The hashes of something in each row of a file. The values are not kept, because a file may have millions.
#[derive(Clone, Debug, Default)]
pub(super) struct Hashes {
    hasher: RandomState,
    hashes: Vec<u64>,
}

impl Hashes {
    pub(super) fn add(&mut self, value: &impl Hash) {
        self.hashes.push(self.hasher.hash_one(value));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Before the first [`have`](Self::have).
    pub(super) fn sort(&mut self) {
        self.hashes.sort_unstable();
    }

    /// Whether the sorted hashes have that of this value.
    pub(super) fn have(&self, value: &impl Hash) -> bool {
        self.hashes.binary_search(&self.hasher.hash_one(value)).is_ok()
    }

    /// The rows, read `again` with their values, of which another row has the same hash; `hashed` is the part of a value that was
    /// added. The values may still differ. Nothing is read if each hash is there once.
    pub(super) fn repeated<R, V, H: Hash, I: Iterator<Item = (R, Vec<V>)>>(
        self,
        again: impl FnOnce() -> I,
        hashed: impl Fn(&V) -> &H,
    ) -> impl Iterator<Item = (R, Vec<V>)> {
        let Self { hasher, mut hashes } = self;
        hashes.sort_unstable();
        let repeated: HashSet<_> =
            hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        drop(hashes);
        let rows = (!repeated.is_empty()).then(again).into_iter().flatten();
        rows.filter_map(move |(row, mut values)| {
            values.retain(|value| repeated.contains(&hasher.hash_one(hashed(value))));
            (!values.is_empty()).then_some((row, values))
        })
    }

    /// The line of each row whose value an earlier line has, and that line.
    pub(super) fn duplicates<V: Eq + Hash, I: Iterator<Item = (V, u64)>>(
        self,
        again: impl FnOnce() -> I,
    ) -> Vec<(u64, u64)> {
        let mut first_lines = HashMap::new();
        self.repeated(|| again().map(|(value, line)| (line, vec![value])), |value| value)
            .filter_map(|(line, value)| {
                let first = *first_lines.entry(value).or_insert(line);
                (first != line).then_some((line, first))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use payments_journal::IntentKey;

    use super::*;

    #[test]
    fn equal_hashes_of_different_keys_are_no_duplicates() {
        let rows = ["a", "b", "a"].map(|key| IntentKey::new(key).unwrap());
        let rows: Vec<_> = rows.into_iter().zip(1..).collect();
        let hasher = RandomState::new();
        let [a, b] = [&rows[0], &rows[1]].map(|(key, _)| hasher.hash_one(key));
        let keys = Hashes { hasher, hashes: vec![a, b, b, a] };
        assert_eq!(keys.duplicates(|| rows.into_iter()), [(3, 1)]);
    }

    #[test]
    fn rows_are_read_again_only_for_equal_hashes() {
        let mut keys = Hashes::default();
        for key in ["a", "b"] {
            keys.add(&IntentKey::new(key).unwrap());
        }
        let again = || -> std::iter::Empty<(IntentKey, _)> { unreachable!("no hash is repeated") };
        assert_eq!(keys.duplicates(again), []);
    }
}
