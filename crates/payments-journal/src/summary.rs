//! Counts and sums of a journal's intents.

use std::time::{Duration, SystemTime};

use payments_model::Amount;

use crate::{Intent, OwnerId, StateName};

/// How many intents are in each state, and what they are about: see [`Journal::summary`](crate::Journal::summary).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Every state, in the order of [`StateName::ALL`], also those that no intent is in.
    pub states: Vec<StateSummary>,
}

/// The intents in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateSummary {
    /// The state.
    pub state: StateName,
    /// The number of intents.
    pub count: u64,
    /// The exact sum of their amounts. A void has no amount and only adds to the count. `None` if the sum is too large to be
    /// exact.
    pub sum: Option<Amount>,
    /// The earliest [begin](crate::Intent::begun_at) of their attempts, by the clock of the sender; `None` if there are none.
    pub oldest: Option<SystemTime>,
}

impl Summary {
    /// Of these intents, which one owner is sending or which are in another state. What a dead owner left as sending is unknown.
    pub(crate) fn of(rows: impl IntoIterator<Item = (bool, Tally)>) -> Self {
        let empty = |&state| StateSummary { state, count: 0, sum: Some(Amount::from_cents(0)), oldest: None };
        let mut states: Vec<_> = StateName::ALL.iter().map(empty).collect();
        for (is_live, Tally { of, .. }) in rows {
            let is_crashed = of.state == StateName::Sending && !is_live;
            let state = if is_crashed { StateName::Unknown } else { of.state };
            if let Some(summary) = states.iter_mut().find(|summary| summary.state == state) {
                summary.add(&of);
            }
        }
        Self { states }
    }

    /// The intents in this state.
    #[expect(clippy::missing_panics_doc, reason = "it has every state")]
    pub fn state(&self, state: StateName) -> &StateSummary {
        self.states.iter().find(|summary| summary.state == state).expect("it has every state")
    }

    /// The number of intents in every state together.
    pub fn count(&self) -> u64 {
        self.states.iter().map(|summary| summary.count).sum()
    }
}

impl StateSummary {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = self.sum.zip(other.sum).and_then(|(sum, more)| sum.checked_add(more));
        self.oldest = [self.oldest, other.oldest].into_iter().flatten().min();
    }

    /// The time from the oldest begin to `now`; zero if that is in the future by this clock, `None` if there are no intents.
    pub fn age_of_oldest(&self, now: SystemTime) -> Option<Duration> {
        self.oldest.map(|oldest| now.duration_since(oldest).unwrap_or_default())
    }
}

/// Some intents of one state, as a store adds them up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "complete: stores create it")]
pub struct Tally {
    /// The intents.
    pub of: StateSummary,
    /// Who is sending them, in the state [`StateName::Sending`].
    pub sender: Option<OwnerId>,
}

/// Adds intents up, one after another.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Vec<Tally>);

impl Tallies {
    pub(crate) fn add_intent(&mut self, intent: &Intent) {
        self.add(intent.state.name(), &intent.owner, intent.request.amount, intent.begun_at);
    }

    pub(crate) fn add(
        &mut self,
        state: StateName,
        owner: &OwnerId,
        amount: Option<Amount>,
        begun_at: SystemTime,
    ) {
        let sum = amount.or(Some(Amount::from_cents(0)));
        let one = StateSummary { state, count: 1, sum, oldest: Some(begun_at) };
        let sender = (state == StateName::Sending).then_some(owner);
        let is_same = |tally: &&mut Tally| tally.of.state == state && tally.sender.as_ref() == sender;
        match self.0.iter_mut().find(is_same) {
            Some(tally) => tally.of.add(&one),
            None => self.0.push(Tally { of: one, sender: sender.cloned() }),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Tally> {
        self.0
    }
}
