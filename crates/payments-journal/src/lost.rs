//! What a journal that has lost its newest entries makes of an attempt or a key that it lacks.

use crate::{FailureKind, HistoryEvent, Intent, IntentState, RecordedResolution, Resolution, Subject};

impl Intent {
    /// The row that the journal would have if it had not lost this begun attempt, or `None` if it has the attempt. `found` is what
    /// it has.
    ///
    /// The attempt is the newest one if `found` is older, or if nothing in it can have moved money. Otherwise another attempt
    /// has begun since then without knowing of this one, and stays the newest, unless it was processed and `is_unknown` says that
    /// this one may have been too. Everything that was said in either is kept.
    pub(crate) fn brought_back(&self, found: Option<&Self>, is_unknown: bool) -> Option<Self> {
        let Some(found) = found else { return Some(self.clone()) };
        if found.number_of(&self.attempt_id).is_some() {
            return None;
        }
        let revision = self.revision.max(found.revision);
        let (own_events, their_events) = (self.history(), found.history());
        let is_only_named = found.request.subject == Subject::Lost && found.is_unresolved();
        if is_only_named && found.resolutions().next().is_none() {
            // Who has named it is kept; the attempt that was not known is this one.
            let named = their_events.iter().filter(|event| !matches!(event, HistoryEvent::Begun { .. }));
            let named = named.map(|event| event.clone().renumbered(|_| self.attempts));
            let events = named.chain(own_events.iter().cloned()).collect();
            return Some(Self { revision, events, ..self.clone() });
        }
        let is_dropped = self.has_dropped_newest_of(found);
        let is_older = is_dropped || self.number_of(&found.attempt_id).is_some();
        let is_newest = is_older
            || is_only_named
            || found.moved_nothing()
            || is_unknown && found.processed_as().is_some();
        // The attempts up to here are in both. Those of this row come after all others, or before the newest of `found`.
        let shared = own_events.iter().filter_map(|event| match event {
            HistoryEvent::Begun { attempt, attempt_id, .. } => found.number_of(attempt_id).map(|_| *attempt),
            _ => None,
        });
        let shared = shared.max().unwrap_or(0).max(if is_older { found.attempts } else { 0 });
        let before = found.attempts - u32::from(!is_newest);
        let own = |number| if number > shared { number - shared + before } else { number };
        let attempts = own(self.attempts) + u32::from(!is_newest);
        let theirs = |number| if number > before { attempts } else { number };
        // What happened in the lost time comes before what has happened since.
        let is_own = |event: &&HistoryEvent| match event {
            HistoryEvent::Begun { attempt_id, .. } => self.number_of(attempt_id).is_some(),
            event => own_events.contains(event),
        };
        // How that attempt ended is known here, and was dropped with its begin.
        let is_outdated = |event: &&HistoryEvent| {
            is_dropped && matches!(event, HistoryEvent::Ended { attempt, .. } if *attempt == found.attempts)
        };
        let since = their_events.iter().filter(|event| !is_own(event) && !is_outdated(event));
        let events = own_events.iter().map(|event| event.clone().renumbered(own));
        let events = events.chain(since.map(|event| event.clone().renumbered(theirs))).collect();
        let created_at = self.created_at.min(found.created_at);
        let dropped_events = self.dropped_events.max(found.dropped_events);
        let mut row = Self { attempts, created_at, revision, events, dropped_events, ..self.clone() };
        match &found.state {
            state if !is_newest => {
                let mut state = state.clone();
                if let IntentState::Resolved { resolution, .. } = &mut state {
                    resolution.attempt = resolution.attempt.map(theirs);
                }
                let Self { attempts, created_at, revision, events, dropped_events, .. } = row;
                row = Self { state, attempts, created_at, revision, events, dropped_events, ..found.clone() };
            }
            // The service's word about an earlier attempt.
            IntentState::Processed { transaction_id } => {
                let resolution = Resolution::reported(transaction_id.clone()).of_attempt(found.attempts);
                let (at, attempt) = (found.changed_at, found.attempts);
                let reported = RecordedResolution { at, attempt, resolution, before: None };
                row.events.push(HistoryEvent::Resolved(reported));
            }
            IntentState::Rejected(failure) => row.follows = row.follows.or_else(|| Some(failure.clone())),
            _ => {}
        }
        Some(row)
    }

    /// Whether `found` is an older copy of this row, which has dropped the begin of that copy's newest attempt since.
    fn has_dropped_newest_of(&self, found: &Self) -> bool {
        let begun_at = |row: &Self, number| {
            row.history().iter().find_map(|event| match event {
                HistoryEvent::Begun { at, attempt, .. } if *attempt == number => Some(*at),
                _ => None,
            })
        };
        self.dropped_events > 0
            && found.attempts < self.attempts
            && begun_at(self, found.attempts).is_none()
            && begun_at(found, found.attempts).is_some_and(|at| at <= self.begun_at)
    }

    /// Whether a person has said that the key may have been sent in a time whose entries are lost.
    pub(crate) fn is_unknown_by_loss(&self) -> bool {
        matches!(&self.state, IntentState::Unknown(failure) if failure.kind == FailureKind::LOST_HISTORY)
    }
}
