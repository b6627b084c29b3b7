//! A state of the model, and its canonical name.

use std::ops::{Index, IndexMut};

use crate::rows::{Attempt, How, Row};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    First,
    Second,
}

/// What a sender is at. An idle one has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Call {
    pub(crate) key: Key,
    pub(crate) attempt: Attempt,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// The row is written, nothing is sent.
    Begun {
        is_after_rejection: bool,
    },
    /// Sent.
    Waiting,
    /// How it ended is not durable yet.
    Ending(How),
    WrittenOff,
}

/// What is true of a key, whether the journal knows it or not: since it was new, or since a person said that it was not
/// processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Truth {
    /// The transmission that may have reached the service, and of which no sender has heard that it was refused.
    pub(crate) transmission: Option<Fate>,
    /// A sender has heard a rejection, and no caller has asked for a new attempt since.
    pub(crate) is_refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fate {
    UnderWay,
    Charged,
}

/// A key's row, and the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Book {
    pub(crate) row: Option<Row>,
    pub(crate) truth: Truth,
}

/// What somebody has read a row for, and does later, whatever happens in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Purpose {
    GiveUp,
    Resolve,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct State<const KEYS: usize, const SENDERS: usize> {
    pub(crate) books: [Book; KEYS],
    pub(crate) senders: [Option<Call>; SENDERS],
    /// The attempt of the row that somebody has read, and its key.
    pub(crate) read: Option<(Key, Attempt, Purpose)>,
}

impl<const K: usize, const S: usize> State<K, S> {
    /// Whether the attempt that the row names is still somebody's.
    pub(crate) fn is_sender_alive(&self, key: Key) -> bool {
        self.senders.iter().flatten().any(|call| call.key == key && call.attempt == Attempt::Current)
    }

    pub(crate) fn call(&mut self, sender: usize) -> &mut Call {
        self.senders[sender].as_mut().expect("the sender is not idle")
    }

    fn calls_of(&mut self, key: Key) -> impl Iterator<Item = &mut Call> {
        self.senders.iter_mut().flatten().filter(move |call| call.key == key)
    }

    /// The row names a new attempt, or is gone: who was current is not any more.
    pub(crate) fn rename_current(&mut self, key: Key) {
        self.calls_of(key).for_each(|call| call.attempt = Attempt::Other);
        if let Some((_, attempt, _)) = self.read.as_mut().filter(|(of, ..)| *of == key) {
            *attempt = Attempt::Other;
        }
    }

    /// A person has said that the attempt of this row was not processed, or its key is new again.
    pub(crate) fn write_off(&mut self, key: Key) {
        self[key].truth = Truth::default();
        let calls = self.calls_of(key).filter(|call| call.attempt == Attempt::Current);
        calls.for_each(|call| call.phase = Phase::WrittenOff);
    }

    /// The same state under canonical names: senders that are alike and keys that are alike have no names.
    pub(crate) fn canonical(mut self) -> Self {
        self.senders.sort_unstable();
        if K == 1 {
            return self;
        }
        let mut mirrored = self;
        mirrored.books.reverse();
        mirrored.senders.iter_mut().flatten().for_each(|call| call.key = call.key.other());
        mirrored.read = mirrored.read.map(|(key, attempt, to)| (key.other(), attempt, to));
        mirrored.senders.sort_unstable();
        self.min(mirrored)
    }
}

impl<const K: usize, const S: usize> Index<Key> for State<K, S> {
    type Output = Book;

    fn index(&self, key: Key) -> &Book {
        &self.books[key as usize]
    }
}

impl<const K: usize, const S: usize> IndexMut<Key> for State<K, S> {
    fn index_mut(&mut self, key: Key) -> &mut Book {
        &mut self.books[key as usize]
    }
}

impl Key {
    pub(crate) fn all<const K: usize>() -> impl Iterator<Item = Self> {
        [Self::First, Self::Second].into_iter().take(K)
    }

    pub(crate) fn other(self) -> Self {
        if self == Self::First { Self::Second } else { Self::First }
    }
}
