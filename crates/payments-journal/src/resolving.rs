//! What persons may say about an intent, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use payments_model::TransactionId;
use thiserror::Error;

use crate::{
    Ending, Failure, FailureKind, HistoryEvent, Intent, IntentKey, IntentState, RecordedResolution,
    Resolution, StoreError, Verdict,
};

/// Why a change does not apply to an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: every reason of the rules")]
pub enum Refusal {
    /// The journal does not have the key.
    NoSuchIntent,
    /// It belongs to another service.
    OtherService,
    /// It is another request, with these differences.
    AnotherRequest(Vec<&'static str>),
    /// It is not as the person has read it, when it had this many attempts.
    Changed(u32),
    /// There is no attempt with this number.
    NoSuchAttempt(u32),
    /// Only a found transaction is accepted for an earlier attempt.
    EarlierAttempt(u32),
    /// The attempt is being sent, or what is known about it does not give way to this.
    Known,
    /// It cannot be reopened, or not with one of these statuses.
    NotRejected,
    /// The service has reported that this earlier attempt was processed.
    Reported(u32),
    /// Another attempt of this key was processed as the transaction.
    SameTransaction(u32),
    /// Another intent holds the transaction that a person names.
    Taken {
        /// The transaction.
        id: TransactionId,
        /// The other intent.
        by: IntentKey,
    },
    /// A text is longer than a row keeps.
    TooLong,
    /// It has as many notes as a row keeps.
    TooMany,
}

/// Refuses longer texts than a row keeps.
pub(crate) fn check_texts(by: &str, note: Option<&str>) -> Result<(), TooLong> {
    let mut texts = [Some(by), note].into_iter().flatten();
    if texts.all(|text| text.len() <= Resolution::MAX_TEXT_BYTES) { Ok(()) } else { Err(TooLong) }
}

/// A text is longer than a row keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a note and a person's name have at most {} bytes each", Resolution::MAX_TEXT_BYTES)]
pub(crate) struct TooLong;

impl From<TooLong> for StoreError {
    fn from(error: TooLong) -> Self {
        Self::refused(error.to_string()).unchanged("")
    }
}

impl Intent {
    /// Transactions that attempts of this key were found processed as, besides the one that it is
    /// [processed as](Self::processed_as). While the outcome of the newest attempt is open, every found one is among them.
    ///
    /// If there is one, somebody may have been charged twice: a person has to look.
    pub fn second_charges(&self) -> impl Iterator<Item = &TransactionId> {
        let processed_as = self.processed_as();
        self.findings()
            .filter_map(|(_, found)| found.verdict.processed_as())
            .filter(move |id| processed_as != Some(id))
    }

    /// What a person has said about the attempt with this number, if that is what the journal goes by.
    pub fn decision_about(&self, attempt: u32) -> Option<&Resolution> {
        let is_decided = attempt != self.attempts
            || match &self.state {
                IntentState::Resolved { .. } => true,
                IntentState::Rejected(failure) => failure.kind == FailureKind::RESOLVED,
                _ => false,
            };
        self.last_recorded(attempt).filter(|_| is_decided).map(|recorded| &recorded.resolution)
    }

    /// What a person had said before the journal made it unknown instead of believing them once more: entries that are
    /// [lost](crate::Journal::accept_history) may have charged it. Who repeats the same words has not looked at that time.
    pub fn overtaken_decision(&self) -> Option<&Resolution> {
        let lost = self.events.iter().rfind(|event| matches!(event, HistoryEvent::Lost { .. }));
        let is_named = matches!(lost, Some(HistoryEvent::Lost { by: Some(_), .. }));
        let said = self.last_recorded(self.attempts).filter(|_| self.is_unknown_by_loss() && !is_named);
        said.map(|recorded| &recorded.resolution)
    }

    /// The transactions that no other intent may be resolved as, each once: the one that it is
    /// [processed as](Self::processed_as), which is the first, and those that its attempts were found processed as. An id of which
    /// a part was [replaced](TransactionId::is_redacted) is none: two charges may have it although the service returned different
    /// ids.
    pub fn held_transactions(&self) -> impl Iterator<Item = &TransactionId> {
        let found = self.findings().filter_map(|(_, found)| found.verdict.processed_as());
        let mut held: Vec<&TransactionId> = Vec::new();
        for id in self.processed_as().into_iter().chain(found) {
            if !id.is_redacted() && !held.contains(&id) {
                held.push(id);
            }
        }
        held.into_iter()
    }

    /// Whether an attempt was found processed. The key is then never sent again.
    pub(crate) fn is_found_processed(&self) -> bool {
        self.findings().next().is_some()
    }

    /// Whether a person decided about the newest attempt before its end was known.
    pub(crate) fn is_decided_by_a_person(&self) -> bool {
        let is_reopened = matches!(&self.state, IntentState::NotProcessed(failure) if failure.is_reopened());
        self.last_recorded(self.attempts).is_some()
            && (is_reopened || self.decision_about(self.attempts).is_some())
    }

    /// Why a person may not say this about it.
    pub(crate) fn refusal_of(&self, resolution: &Resolution) -> Option<Refusal> {
        let number = resolution.attempt.unwrap_or(self.attempts);
        let is_newest = number == self.attempts;
        if number == 0 || number > self.attempts {
            return Some(Refusal::NoSuchAttempt(number));
        }
        if check_texts(&resolution.by, resolution.note.as_deref()).is_err() {
            return Some(Refusal::TooLong);
        }
        // A found transaction is always recorded.
        if self.count_of_notes() >= MAX_NOTES && resolution.verdict.processed_as().is_none() {
            return Some(Refusal::TooMany);
        }
        if !is_newest && self.last_recorded(number).is_some_and(|last| last.resolution.is_reported) {
            return Some(Refusal::Reported(number));
        }
        let is_open = match (&resolution.verdict, &self.state) {
            (Verdict::Processed(_), _) if !is_newest => true,
            (_, _) if !is_newest => return Some(Refusal::EarlierAttempt(number)),
            (_, IntentState::Sending | IntentState::Processed { .. }) => false,
            (Verdict::Processed(_), _) | (_, IntentState::Unknown(_)) => true,
            _ => self.decision_about(number).is_some(),
        };
        if !is_open {
            return Some(Refusal::Known);
        }
        let id = resolution.verdict.processed_as()?;
        let other = match &self.state {
            IntentState::Processed { transaction_id } if transaction_id == id => Some(self.attempts),
            _ => self.findings().find(|(_, it)| it.verdict.processed_as() == Some(id)).map(|(of, _)| of),
        };
        other.filter(|other| *other != number).map(Refusal::SameTransaction)
    }

    /// Records what a person says, which must not be [refused](Self::refusal_of), or what the service has reported about an
    /// earlier attempt.
    pub(crate) fn resolve(&mut self, resolution: &Resolution, at: SystemTime) {
        let attempt = resolution.attempt.unwrap_or(self.attempts);
        let before = self.own_failure().cloned();
        let is_of_another = self.processed_attempt().is_some_and(|processed| processed != attempt);
        // A command that is run again says nothing new.
        if self.decision_about(attempt) != Some(resolution) {
            let (resolution, before) = (resolution.clone(), before.clone());
            self.events.push(HistoryEvent::Resolved(RecordedResolution { at, attempt, resolution, before }));
        }
        // The key stays processed as another attempt unless this one was processed too.
        if attempt == self.attempts && !(is_of_another && resolution.verdict.processed_as().is_none()) {
            self.follows = None;
            self.state = match &resolution.verdict {
                Verdict::Rejected(id) => {
                    let transaction_id = id.clone();
                    IntentState::Rejected(Failure {
                        transaction_id,
                        ..Failure::of_kind(FailureKind::RESOLVED)
                    })
                }
                Verdict::Processed(_) | Verdict::NotProcessed => IntentState::Resolved {
                    resolution: resolution.clone(),
                    before: before.unwrap_or_else(|| Failure::of_kind(FailureKind::RESOLVED)),
                },
            };
        }
        self.show_the_deciding_attempt();
    }

    /// If the newest attempt moved no money and others were found processed, the key is processed as the last of them. If none was
    /// and an earlier one [may have been](Self::earlier_unknown), the key is unknown as that one.
    pub(crate) fn show_the_deciding_attempt(&mut self) {
        let moved_nothing = match &self.state {
            IntentState::Rejected(_) | IntentState::NotProcessed(_) => true,
            IntentState::Resolved { .. } => self.processed_attempt() != Some(self.attempts),
            _ => false,
        };
        if moved_nothing
            && let Some((number, found)) = self.findings().last()
            && let Some(before) = self.own_failure()
        {
            let resolution = found.clone().of_attempt(number);
            self.state = IntentState::Resolved { resolution, before: before.clone() };
        }
        if matches!(&self.state, IntentState::Rejected(_) | IntentState::NotProcessed(_)) {
            let earlier = self.earlier_unknown().next_back().map(|(_, failure)| failure.clone());
            if let Some(failure) = earlier {
                self.state = IntentState::Unknown(failure);
            }
        }
        let number = self.processed_attempt().unwrap_or(self.attempts);
        if let (Some(request), Some(begun_at)) = (self.request_of(number).cloned(), self.begun_at_of(number))
        {
            (self.request, self.begun_at) = (request, begun_at);
        }
    }

    /// The earlier attempts that may have moved money, about which and after which no person has decided, by number. The journal
    /// had lost their begin when the next one began.
    pub(crate) fn earlier_unknown(&self) -> impl DoubleEndedIterator<Item = (u32, &Failure)> {
        let mut unknown = BTreeMap::new();
        let mut ended = BTreeSet::new();
        for event in &self.events {
            match event {
                HistoryEvent::Ended { attempt, ending: Ending::Unknown(failure), .. } => {
                    unknown.insert(*attempt, failure);
                }
                // Also before a copy's owner was marked as dead.
                HistoryEvent::Ended { attempt, .. } => {
                    ended.insert(*attempt);
                }
                _ => {}
            }
        }
        let decided = self.resolutions().map(|said| said.attempt).max().unwrap_or(0);
        let is_open = move |number| number < self.attempts && number > decided && !ended.contains(&number);
        unknown.into_iter().filter(move |(number, _)| is_open(*number))
    }

    /// The attempt that a person has found processed, if the state is that.
    fn processed_attempt(&self) -> Option<u32> {
        match &self.state {
            IntentState::Resolved { resolution, .. } => {
                resolution.verdict.processed_as().map(|_| resolution.attempt.unwrap_or(self.attempts))
            }
            _ => None,
        }
    }

    /// The attempts that were found processed, by number.
    fn findings(&self) -> impl Iterator<Item = (u32, &Resolution)> {
        let numbers: BTreeSet<_> = self.resolutions().map(|recorded| recorded.attempt).collect();
        numbers.into_iter().filter_map(|number| {
            let decided = self.decision_about(number)?;
            decided.verdict.processed_as().map(|_| (number, decided))
        })
    }

    fn last_recorded(&self, attempt: u32) -> Option<&RecordedResolution> {
        self.resolutions().rfind(|recorded| recorded.attempt == attempt)
    }

    /// The failure of the newest attempt, without what persons have said about it.
    fn own_failure(&self) -> Option<&Failure> {
        match &self.state {
            // A person said so about this attempt, or about the one that this follows.
            IntentState::Rejected(failure) if failure.kind == FailureKind::RESOLVED => {
                let said = self.last_recorded(self.attempts);
                said.and_then(|recorded| recorded.before.as_ref()).or(Some(failure))
            }
            IntentState::Resolved { before, .. } => Some(before),
            state => state.failure(),
        }
    }
}

/// More than a person writes about one payment, besides found transactions.
pub(crate) const MAX_NOTES: usize = 100;
