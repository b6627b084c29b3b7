//! A state of the model, and its canonical name.

use std::ops::{Index, IndexMut};

use crate::rows::{Attempt, How, Row};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    First,
    Second,
}

/// The call of a sender. An idle sender has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Call {
    pub(crate) key: Key,
    pub(crate) attempt: Attempt,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// The row is written, nothing is sent.
    Begun { is_after_rejection: bool },
    /// The request is sent.
    Waiting,
    /// How it ended is not durable yet.
    Ending(How),
    /// What it does does not count. It may record any end, or the one that it has received.
    WrittenOff(Option<How>),
}

/// What has really happened to a key, whether the journal knows it or not: since the key was new, or since a person said that it
/// was not processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Facts {
    /// The transmission that may have reached the service. `None` after a sender has received its rejection.
    pub(crate) transmission: Option<Transmission>,
    /// A sender has received a rejection, or a person has found one, and no caller has asked for a new attempt since.
    pub(crate) is_refused: bool,
    /// A person has found out that the newest attempt was processed.
    pub(crate) is_newest_found: bool,
    /// An earlier attempt was processed: a person has found out, or its sender has received the response.
    pub(crate) is_earlier_found: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Transmission {
    InFlight,
    Charged,
}

/// A key's row, and what has really happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyState {
    pub(crate) row: Option<Row>,
    pub(crate) facts: Facts,
}

/// Why a row was read. The change follows later, whatever happens in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Purpose {
    MarkCrashed,
    Resolve,
}

/// A row that was read, compared with what it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Read {
    pub(crate) key: Key,
    pub(crate) purpose: Purpose,
    pub(crate) attempt: Attempt,
    pub(crate) is_same_revision: bool,
}

impl Read {
    /// The row as it is now.
    pub(crate) fn of(key: Key, purpose: Purpose) -> Self {
        Self { key, purpose, attempt: Attempt::Current, is_same_revision: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct State<const KEYS: usize, const SENDERS: usize> {
    pub(crate) keys: [KeyState; KEYS],
    pub(crate) senders: [Option<Call>; SENDERS],
    /// What processes and persons have read.
    pub(crate) reads: [Option<Read>; 2],
}

impl<const K: usize, const S: usize> State<K, S> {
    /// Whether a sender still runs the attempt that the row names.
    pub(crate) fn is_sender_alive(&self, key: Key) -> bool {
        self.senders.iter().flatten().any(|call| call.key == key && call.attempt == Attempt::Current)
    }

    pub(crate) fn call(&mut self, sender: usize) -> &mut Call {
        self.senders[sender].as_mut().expect("the sender is not idle")
    }

    fn calls_of(&mut self, key: Key) -> impl Iterator<Item = &mut Call> {
        self.senders.iter_mut().flatten().filter(move |call| call.key == key)
    }

    fn reads_of(&mut self, key: Key) -> impl Iterator<Item = &mut Read> {
        self.reads.iter_mut().flatten().filter(move |read| read.key == key)
    }

    /// The row names a new attempt, so the earlier attempt is not current any more. With two keys it is forgotten, because there
    /// would be too many states.
    pub(crate) fn rename_current(&mut self, key: Key) {
        let earlier = if K == 1 { Attempt::Other } else { Attempt::Gone };
        let current = self.calls_of(key).filter(|call| call.attempt == Attempt::Current);
        current.for_each(|call| call.attempt = earlier);
        self.reads_of(key).for_each(|read| read.attempt = Attempt::Other);
    }

    /// The row is gone, and knows no attempt if it comes again, maybe with the same revision.
    pub(crate) fn forget_attempts(&mut self, key: Key) {
        self.calls_of(key).for_each(|call| call.attempt = Attempt::Gone);
        self.reads_of(key).for_each(|read| read.attempt = Attempt::Other);
    }

    /// The row has another revision than everyone has read. One that was read before a purge may come again.
    pub(crate) fn count_revision(&mut self, key: Key) {
        let reads = self.reads_of(key).filter(|read| read.attempt == Attempt::Current);
        reads.for_each(|read| read.is_same_revision = false);
    }

    /// A person has said that the newest attempt of this key moved no money, or the key is new again.
    pub(crate) fn write_off(&mut self, key: Key) {
        let Facts { is_earlier_found, .. } = self[key].facts;
        self[key].facts = Facts { is_earlier_found, ..Facts::default() };
        let calls = self.calls_of(key).filter(|call| call.attempt == Attempt::Current);
        calls.for_each(|call| {
            call.phase = Phase::WrittenOff(match call.phase {
                Phase::Ending(how) => Some(how),
                Phase::WrittenOff(how) => how,
                Phase::Begun { .. } | Phase::Waiting => None,
            });
        });
    }

    /// The same state with canonical names: the order of senders and of keys does not matter.
    pub(crate) fn canonical(mut self) -> Self {
        self.senders.sort_unstable();
        self.reads.sort_unstable();
        if K == 1 {
            return self;
        }
        let mut mirrored = self;
        mirrored.keys.reverse();
        mirrored.senders.iter_mut().flatten().for_each(|call| call.key = call.key.other());
        mirrored.reads.iter_mut().flatten().for_each(|read| read.key = read.key.other());
        mirrored.reads.sort_unstable();
        mirrored.senders.sort_unstable();
        self.min(mirrored)
    }
}

impl<const K: usize, const S: usize> Index<Key> for State<K, S> {
    type Output = KeyState;

    fn index(&self, key: Key) -> &KeyState {
        &self.keys[key as usize]
    }
}

impl<const K: usize, const S: usize> IndexMut<Key> for State<K, S> {
    fn index_mut(&mut self, key: Key) -> &mut KeyState {
        &mut self.keys[key as usize]
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
