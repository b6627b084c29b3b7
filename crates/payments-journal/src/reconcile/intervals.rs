//! Spans of time, and which of many overlap one.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, SystemTime};

use crate::milliseconds;

/// From the first millisecond to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Interval {
    pub(super) const ALWAYS: Self = Self { first: i64::MIN, last: i64::MAX };

    pub(super) fn between(first: SystemTime, last: SystemTime) -> Self {
        Self { first: milliseconds::of(first), last: milliseconds::of(last) }
    }

    pub(super) fn from(first: SystemTime) -> Self {
        Self { first: milliseconds::of(first), last: i64::MAX }
    }

    const fn length(self) -> i64 {
        self.last.saturating_sub(self.first)
    }

    /// With this much time before and after it.
    pub(super) fn widened(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self { first: self.first.saturating_sub(by), last: self.last.saturating_add(by) }
    }

    /// With this much time after it.
    pub(super) fn longer_by(self, by: Duration) -> Self {
        Self { last: self.widened(by).last, ..self }
    }

    pub(super) const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    pub(super) const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// What has a key and a span of time.
pub(super) struct Index<K, T>(HashMap<K, Intervals<T>>);

impl<K: Eq + Hash, T: Copy + Ord> Index<K, T> {
    /// What has one of these keys and overlaps `asked`.
    pub(super) fn overlapping(
        &self,
        keys: impl IntoIterator<Item = K>,
        asked: Interval,
    ) -> impl Iterator<Item = T> {
        let found = keys.into_iter().filter_map(move |key| self.0.get(&key));
        found.flat_map(move |found| found.overlapping(asked))
    }
}

impl<K: Eq + Hash, T: Copy + Ord + Default> FromIterator<(K, Interval, T)> for Index<K, T> {
    fn from_iter<I: IntoIterator<Item = (K, Interval, T)>>(values: I) -> Self {
        let mut by_key = HashMap::<K, Intervals<T>>::new();
        for (key, interval, value) in values {
            by_key.entry(key).or_default().push(interval, value);
        }
        for intervals in by_key.values_mut() {
            intervals.short.sort_by_key(|(interval, value)| (interval.first, *value));
        }
        Self(by_key)
    }
}

/// What has a span of time, sorted once so that a search reads only what is near it.
#[derive(Default)]
struct Intervals<T> {
    short: Vec<(Interval, T)>,
    longest: i64,
    /// Spans of more than [`LONG`], which would make every search long.
    long: Vec<(Interval, T)>,
}

/// 40 days, in milliseconds.
const LONG: i64 = 40 * 24 * 3600 * 1000;

impl<T: Copy + Ord> Intervals<T> {
    fn push(&mut self, interval: Interval, value: T) {
        if interval.length() > LONG {
            self.long.push((interval, value));
        } else {
            self.longest = self.longest.max(interval.length());
            self.short.push((interval, value));
        }
    }

    /// What overlaps `asked`.
    fn overlapping(&self, asked: Interval) -> impl Iterator<Item = T> {
        let earliest = asked.first.saturating_sub(self.longest);
        let begin = self.short.partition_point(|(interval, _)| interval.first < earliest);
        let near = self.short[begin..].iter().take_while(move |(interval, _)| interval.first <= asked.last);
        let overlapping = near.chain(&self.long).filter(move |(interval, _)| interval.overlaps(asked));
        overlapping.map(|(_, value)| *value)
    }
}
