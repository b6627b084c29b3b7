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
    /// How many of them are not in the sum because the journal has lost [what was sent](crate::Subject::Lost).
    pub lost: u64,
    /// The earliest [begin](crate::Intent::begun_at) of their attempts, by the clock of the sender; `None` if there are none.
    pub oldest: Option<SystemTime>,
}

impl Summary {
    /// Of these intents. What a dead owner left as sending is unknown.
    pub(crate) fn of(tallies: Vec<Tally>, is_dead: impl Fn(&OwnerId) -> bool) -> Self {
        let empty = |&state| StateSummary {
            state,
            count: 0,
            sum: Some(Amount::from_cents(0)),
            lost: 0,
            oldest: None,
        };
        let mut states: Vec<_> = StateName::ALL.iter().map(empty).collect();
        for Tally { of, sender } in tallies {
            let state = if sender.as_ref().is_some_and(&is_dead) { StateName::Unknown } else { of.state };
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
        self.lost += other.lost;
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

impl Tally {
    pub(crate) fn of_intent(intent: &Intent) -> Self {
        let amount = (intent.request.amount, intent.request.has_lost_amount());
        Self::of_one(intent.state.name(), &intent.owner, amount, intent.begun_at)
    }

    pub(crate) fn of_one(
        state: StateName,
        owner: &OwnerId,
        (amount, is_lost): (Option<Amount>, bool),
        begun_at: SystemTime,
    ) -> Self {
        let sum = amount.or(Some(Amount::from_cents(0)));
        let sender = (state == StateName::Sending).then(|| owner.clone());
        let of = StateSummary { state, count: 1, sum, lost: is_lost.into(), oldest: Some(begun_at) };
        Self { of, sender }
    }

    /// Adds this to those of the same state and sender.
    pub(crate) fn add_to(self, tallies: &mut Vec<Self>) {
        let is_same = |tally: &&mut Self| tally.of.state == self.of.state && tally.sender == self.sender;
        match tallies.iter_mut().find(is_same) {
            Some(tally) => tally.of.add(&self.of),
            None => tallies.push(self),
        }
    }
}
