//! What a journal that has lost its newest entries makes of an attempt or a key that it lacks.

use crate::{Failure, Intent, IntentState, OtherAttempt, RecordedResolution, Resolution, Subject};

impl Intent {
    /// The row that the journal would have if it had not lost this begun attempt, or `None` if it has the attempt. `found` is what
    /// it has.
    ///
    /// The attempt is the newest one if `found` is older, or if nothing in it can have moved money. Otherwise another attempt
    /// has begun since then without knowing of this one, and stays the newest. Everything that was said in either is kept.
    pub(crate) fn brought_back(&self, found: Option<&Self>) -> Option<Self> {
        let Some(found) = found else { return Some(self.clone()) };
        if found.attempt == self.attempt || found.number_of(&self.attempt).is_some() {
            return None;
        }
        let revision = self.revision.max(found.revision);
        let is_only_named = found.request.subject == Subject::Lost && found.is_unresolved();
        if is_only_named && found.resolutions.is_empty() {
            return Some(Self { revision, ..self.clone() });
        }
        let is_older = self.number_of(&found.attempt).is_some();
        let is_newest = is_older || is_only_named || found.moved_nothing();
        // The attempts up to here are in both. Those of this row come after all others, or before the newest of `found`.
        let is_in_found = |other: &&OtherAttempt| {
            other.attempt == found.attempt || found.number_of(&other.attempt).is_some()
        };
        let shared =
            self.other_attempts.iter().filter(is_in_found).map(|other| other.number).max().unwrap_or(0);
        let before = found.attempts - u32::from(!is_newest);
        let own = |number| if number > shared { number - shared + before } else { number };
        let attempts = own(self.attempts) + u32::from(!is_newest);
        let theirs = |number| if number > before { attempts } else { number };
        let (of_found, of_own) = if is_newest {
            (found.with_newest_attempt(), self.other_attempts.clone())
        } else {
            (found.other_attempts.clone(), self.with_newest_attempt())
        };
        let is_own = |theirs: &OtherAttempt| of_own.iter().any(|own| own.attempt == theirs.attempt);
        let of_found = of_found.into_iter().filter(|other| !is_own(other));
        let mut other_attempts: Vec<_> =
            of_found.map(|other| OtherAttempt { number: theirs(other.number), ..other }).collect();
        other_attempts
            .extend(of_own.into_iter().map(|other| OtherAttempt { number: own(other.number), ..other }));
        other_attempts.sort_by_key(|other| other.number);
        let both = self.resolutions.iter().zip(&found.resolutions).take_while(|(own, theirs)| own == theirs);
        let both = both.count();
        let mut resolutions: Vec<_> =
            self.resolutions.iter().map(|said| said.clone().renumbered(own)).collect();
        resolutions.extend(found.resolutions[both..].iter().map(|said| said.clone().renumbered(theirs)));
        let created_at = self.created_at.min(found.created_at);
        let mut row = Self { attempts, created_at, revision, other_attempts, resolutions, ..self.clone() };
        match &found.state {
            state if !is_newest => {
                let mut state = state.clone();
                if let IntentState::Resolved { resolution, .. } = &mut state {
                    resolution.attempt = resolution.attempt.map(theirs);
                }
                let Self { attempts, created_at, revision, other_attempts, resolutions, .. } = row;
                row = Self {
                    state,
                    attempts,
                    created_at,
                    revision,
                    other_attempts,
                    resolutions,
                    ..found.clone()
                };
            }
            // The service's word about an earlier attempt.
            IntentState::Processed { transaction_id } => {
                let resolution = Resolution::reported(transaction_id.clone()).of_attempt(found.attempts);
                let (at, attempt) = (found.changed_at, found.attempts);
                row.resolutions.push(RecordedResolution { at, attempt, resolution, before: None });
            }
            IntentState::Rejected(failure) => row.follows = row.follows.or_else(|| Some(failure.clone())),
            _ => {}
        }
        Some(row)
    }

    /// Whether a person has said that the key may have been sent in a time whose entries are lost.
    pub(crate) fn is_unknown_by_loss(&self) -> bool {
        matches!(&self.state, IntentState::Unknown(failure) if failure.kind == Failure::LOST_HISTORY)
    }
}

impl RecordedResolution {
    fn renumbered(mut self, number: impl Fn(u32) -> u32) -> Self {
        self.attempt = number(self.attempt);
        self.resolution.attempt = self.resolution.attempt.map(number);
        self
    }
}
