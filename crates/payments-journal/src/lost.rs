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
        let is_only_named = found.request.subject == Subject::Lost && found.is_unresolved();
        if is_only_named && found.resolutions().next().is_none() {
            return Some(self.in_place_of_its_name(found));
        }
        let is_dropped = self.has_dropped_newest_of(found);
        let is_older = is_dropped || self.number_of(&found.attempt_id).is_some();
        let is_newest = is_older
            || is_only_named
            || found.moved_nothing()
            || is_unknown && found.processed_as().is_some();
        let shared = self.number_of_newest_in(found).max(if is_older { found.attempts } else { 0 });
        let before = found.attempts - u32::from(!is_newest);
        let merge = Merge { lost: self, found, is_dropped, is_newest, shared, before };
        Some(if is_newest { merge.with_lost_as_newest() } else { merge.with_found_as_newest() })
    }

    /// Who has named it is kept; the attempt that was not known is this one.
    fn in_place_of_its_name(&self, found: &Self) -> Self {
        let named = found.history().into_owned().into_iter();
        let named = named.filter(|event| !matches!(event, HistoryEvent::Begun { .. }));
        let named = named.map(|event| event.renumbered(|_| self.attempts));
        let events = named.chain(self.history().into_owned()).collect();
        Self { revision: self.revision.max(found.revision), events, ..self.clone() }
    }

    /// The number of its newest attempt that is in the other row too, or 0.
    fn number_of_newest_in(&self, other: &Self) -> u32 {
        let history = self.history();
        let shared = history.iter().filter_map(|event| match event {
            HistoryEvent::Begun { attempt, attempt_id, .. } => other.number_of(attempt_id).map(|_| *attempt),
            _ => None,
        });
        shared.max().unwrap_or(0)
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

/// A row that the journal has lost, and what has become of an older copy of it meanwhile: both may have attempts of their own.
///
/// Their common attempts come first, and keep their numbers. What happened in the lost time comes before what has happened since, but
/// the newest attempt of all is that of `lost` if `is_newest`, else that of `found`.
///
/// For example, both have attempt 1, and since then `lost` had 2 and 3, and `found` had another 2. If `is_newest`, the merged row has 1,
/// the 2 of `found`, and those of `lost` as 3 and 4. Otherwise it has 1, 2 and 3 of `lost`, and the 2 of `found` as 4.
struct Merge<'a> {
    lost: &'a Intent,
    found: &'a Intent,
    /// `lost` no longer has the newest attempt of `found`.
    is_dropped: bool,
    is_newest: bool,
    /// `lost` has its attempts up to this number in common with `found`.
    shared: u32,
    /// The attempts of `found` up to this number come before the others of `lost`.
    before: u32,
}

impl Merge<'_> {
    fn with_lost_as_newest(&self) -> Intent {
        let mut row = self.row(self.lost);
        match &self.found.state {
            // The service's word about an earlier attempt.
            IntentState::Processed { transaction_id } => {
                let (at, attempt) = (self.found.changed_at, self.found.attempts);
                let resolution = Resolution::reported(transaction_id.clone()).of_attempt(attempt);
                let reported = RecordedResolution { at, attempt, resolution, before: None };
                row.events.push(HistoryEvent::Resolved(reported));
            }
            IntentState::Rejected(failure) => row.follows = row.follows.or_else(|| Some(failure.clone())),
            _ => {}
        }
        row
    }

    fn with_found_as_newest(&self) -> Intent {
        let mut row = self.row(self.found);
        if let IntentState::Resolved { resolution, .. } = &mut row.state {
            resolution.attempt = resolution.attempt.map(|number| self.of_found(number));
        }
        row
    }

    /// This one of the two, with what both have.
    fn row(&self, newest: &Intent) -> Intent {
        let Self { lost, found, .. } = self;
        Intent {
            attempts: self.attempts(),
            created_at: lost.created_at.min(found.created_at),
            revision: lost.revision.max(found.revision),
            events: self.events(),
            dropped_events: lost.dropped_events.max(found.dropped_events),
            // Other attempts may be lost too.
            lost_since: [lost.lost_since, found.lost_since].into_iter().flatten().min(),
            ..newest.clone()
        }
    }

    fn events(&self) -> Vec<HistoryEvent> {
        let Self { lost, found, .. } = self;
        let of_lost = lost.history();
        let is_of_lost = |event: &HistoryEvent| match event {
            HistoryEvent::Begun { attempt_id, .. } => lost.number_of(attempt_id).is_some(),
            // How that attempt ended is known here, and was dropped with its begin.
            HistoryEvent::Ended { attempt, .. } if self.is_dropped && *attempt == found.attempts => true,
            event => of_lost.contains(event),
        };
        let since = found.history().into_owned().into_iter().filter(|event| !is_of_lost(event));
        let since: Vec<_> = since.map(|event| event.renumbered(|number| self.of_found(number))).collect();
        let events = of_lost.iter().map(|event| event.clone().renumbered(|number| self.of_lost(number)));
        events.chain(since).collect()
    }

    /// The number in the merged row of the attempt that has this one in `lost`.
    const fn of_lost(&self, number: u32) -> u32 {
        if number > self.shared { number - self.shared + self.before } else { number }
    }

    /// The same of an attempt of `found`.
    fn of_found(&self, number: u32) -> u32 {
        if number > self.before { self.attempts() } else { number }
    }

    fn attempts(&self) -> u32 {
        self.of_lost(self.lost.attempts) + u32::from(!self.is_newest)
    }
}
