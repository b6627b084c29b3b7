use std::iter;
use std::time::SystemTime;

use payments_model::{TransactionId, mask};

use crate::milliseconds;
use crate::{
    AttemptId, Failure, Intent, IntentKey, IntentRequest, IntentState, OwnerId, Resolution, Subject,
};

/// One change of one row, and the only way a row ever changes.
///
/// All rules of the journal are in [`decide`](Self::decide), a function without clock, randomness or I/O. A store reads the
/// row, calls `decide`, writes the result and makes it durable, atomically. It decides nothing.
///
/// A [`Journal`](crate::Journal) makes the changes.
#[derive(Clone, Debug)]
pub struct Change {
    key: IntentKey,
    at: SystemTime,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Begin { service: String, request: IntentRequest, attempt: AttemptId, owner: OwnerId, begin: Begin },
    // With the row of its begin, if it may have been sent.
    End { attempt: AttemptId, ending: Ending, begun: Option<Box<Intent>> },
    Orphan { attempt: AttemptId },
    // The newest attempt and the revision as they were read.
    Resolve { attempt: AttemptId, revision: u64, resolution: Resolution },
    // This attempt may have been made in the time that the journal has lost, which began then.
    Lost { attempt: AttemptId, owner: OwnerId, since: SystemTime },
    // Without statuses: a person has named the key.
    Reopen { http_statuses: Option<Vec<u16>> },
}

/// Which attempts may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: a plain call and an explicit one")]
pub enum Begin {
    /// Only the first one, and a repetition of the same request if it was provably never acted upon.
    First,
    /// A new one, with any request, of a key that moved no money: rejected, not processed, or resolved as not processed. The
    /// caller knows that it was rejected and asks for it.
    AfterRejection,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: success, and the three outcomes of a failure")]
pub enum Ending {
    /// The service reports it as processed, with this transaction.
    Processed(TransactionId),
    /// The service or something in front of it said no.
    Rejected(Failure),
    /// The request was provably never acted upon.
    NotProcessed(Failure),
    /// It may have been processed.
    Unknown(Failure),
}

impl Ending {
    /// The end of an attempt that was not sent, because it was not certain that its intent was written.
    pub(crate) fn withdrawn() -> Self {
        Self::NotProcessed(Failure::of_kind(Failure::WITHDRAWN))
    }
}

impl Change {
    /// This attempt of this owner is about to send the intent to this [service](payments_core::Client::service). A key that was
    /// used for another service never begins.
    pub fn begin(
        begin: Begin,
        key: IntentKey,
        service: &str,
        request: IntentRequest,
        attempt: AttemptId,
        owner: OwnerId,
        at: SystemTime,
    ) -> Self {
        let service = service.to_owned();
        Self::new(key, at, Kind::Begin { service, request, attempt, owner, begin })
    }

    /// This is how the attempt ended. If it [follows a rejection](Intent::follows) and was not processed, the key is rejected
    /// again.
    ///
    /// An earlier attempt that ends only now changes the row if it was processed: that is recorded as a
    /// [finding](Resolution::is_reported) about it.
    pub fn end(key: IntentKey, attempt: AttemptId, ending: Ending, at: SystemTime) -> Self {
        Self::new(key, at, Kind::End { attempt, ending, begun: None })
    }

    /// As [`end`](Self::end), of the attempt that was begun with this row. It needs nothing of the journal: if the journal has
    /// lost the attempt, because an older copy was restored, the row is written whole.
    ///
    /// So it is over an older row, over a key that was [named](Self::lost) as one that may have been sent, and over later attempts
    /// that moved nothing. If a later attempt may have moved money, this is an earlier attempt that ends only now.
    pub fn end_of(begun: Intent, ending: Ending, at: SystemTime) -> Self {
        let (key, attempt) = (begun.key.clone(), begun.attempt.clone());
        Self::new(key, at, Kind::End { attempt, ending, begun: Some(begun.into()) })
    }

    /// The owner of this attempt is dead and has not recorded how it ended.
    pub fn orphan(key: IntentKey, attempt: AttemptId, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Orphan { attempt })
    }

    /// A person reports what happened to this intent, as the person read it. Card numbers in their text are masked.
    ///
    /// It is refused if the intent has changed since it was read, because the person decided about what they saw. A row that was
    /// only marked as a crash since then has not changed.
    pub fn resolve(read: &Intent, resolution: Resolution, at: SystemTime) -> Self {
        let (attempt, revision, resolution) = (read.attempt.clone(), read.revision, masked(resolution));
        Self::new(read.key.clone(), at, Kind::Resolve { attempt, revision, resolution })
    }

    /// A person allows it to be sent again, if it was rejected with one of these HTTP statuses.
    pub fn reopen(key: IntentKey, http_statuses: Vec<u16>, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Reopen { http_statuses: Some(http_statuses) })
    }

    /// A person names this key and allows it to be sent again, whatever it was rejected with. A key that was already reopened
    /// becomes one that was named.
    pub fn reopen_by_name(key: IntentKey, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Reopen { http_statuses: None })
    }

    /// The journal has lost its newest entries, and a person says that this key was, or may have been, sent since then. If it is
    /// not in the journal, or if a call could send it, it becomes unknown.
    pub fn lost(key: IntentKey, since: SystemTime, owner: OwnerId, at: SystemTime) -> Self {
        Self::new(
            key,
            at,
            Kind::Lost { attempt: AttemptId::new(), owner, since: milliseconds::rounded(since) },
        )
    }

    /// Whether it allows a rejected key to be sent again, so that it matters whether the row was last written before a person
    /// accepted that later entries are lost: see [`decide_after_loss`](Self::decide_after_loss).
    pub fn is_after_rejection(&self, found: &Intent) -> bool {
        let is_rejected = match &found.state {
            IntentState::Rejected(_) => true,
            IntentState::NotProcessed(failure) => failure.is_reopened(),
            _ => false,
        };
        is_rejected && matches!(self.kind, Kind::Begin { .. } | Kind::Reopen { .. })
    }

    /// Whether it allows something to be sent.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) const fn is_begin(&self) -> bool {
        matches!(self.kind, Kind::Begin { .. })
    }

    fn new(key: IntentKey, at: SystemTime, kind: Kind) -> Self {
        Self { key, at: milliseconds::rounded(at), kind }
    }

    /// The key of the row that it changes.
    pub fn key(&self) -> &IntentKey {
        &self.key
    }

    /// Whether it is refused if another intent already [holds](Intent::held_transactions) the same transaction: true for a
    /// person's resolution. What the service reported is always written.
    pub fn is_refused_if_taken(&self) -> bool {
        self.resolution().and_then(Resolution::transaction_id).is_some()
    }

    /// The transaction that no other intent may hold if this is written: the one that a person names, or that the service has
    /// returned.
    pub fn transaction_to_search(&self) -> Option<&TransactionId> {
        let id = match &self.kind {
            Kind::Resolve { resolution, .. } => resolution.transaction_id(),
            Kind::End { ending: Ending::Processed(id), .. } => Some(id),
            _ => None,
        };
        id.filter(|id| !id.is_redacted())
    }

    /// What a person says.
    pub(crate) fn resolution(&self) -> Option<&Resolution> {
        match &self.kind {
            Kind::Resolve { resolution, .. } => Some(resolution),
            _ => None,
        }
    }

    /// How the attempt ended, if this records that.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        let Kind::End { ending, .. } = &self.kind else { return None };
        Some(ending)
    }

    /// Whether the row is still the one that a person has read.
    pub(crate) fn is_as_read(&self, found: &Intent) -> bool {
        match &self.kind {
            Kind::Resolve { attempt, revision, .. } => {
                (attempt, *revision) == (&found.attempt, found.revision)
            }
            _ => true,
        }
    }

    /// Whether it records the end of an attempt that may have been sent. The outcome cannot be obtained again, so the write is
    /// worth retrying. A withdrawal is not, because the journal repeats it.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn is_final_outcome(&self) -> bool {
        self.ending().is_some_and(
            |ending| !matches!(ending, Ending::NotProcessed(failure) if failure.kind == Failure::WITHDRAWN),
        )
    }

    /// The row to write in place of `found`, or `None` if the row does not change.
    ///
    /// The [`revision`](Intent::revision) of the row to write is higher than that of `found`, or the same if the row is only
    /// marked as a crash.
    pub fn decide(&self, found: Option<&Intent>) -> Option<Intent> {
        if let Kind::Begin { service, request, attempt, owner, begin } = &self.kind {
            let may_begin = match (found, begin) {
                (None, begin) => *begin == Begin::First,
                (Some(found), _) if !found.is_of(service) => false,
                (Some(found), Begin::AfterRejection) => found.moved_nothing(),
                (Some(found), Begin::First) => found.may_be_sent() && found.differences(request).is_empty(),
            };
            return may_begin.then(|| Intent {
                key: self.key.clone(),
                service: service.clone(),
                request: request.clone(),
                state: IntentState::Sending,
                attempt: attempt.clone(),
                owner: owner.clone(),
                follows: match found.map(|found| &found.state) {
                    Some(IntentState::Rejected(failure)) => Some(failure.clone()),
                    _ => None,
                },
                attempts: found.map_or(0, |found| found.attempts).saturating_add(1),
                created_at: found.map_or(self.at, |found| found.created_at),
                begun_at: self.at,
                changed_at: self.at,
                revision: found.map_or(0, |found| found.revision) + 1,
                other_attempts: found.map_or_else(Vec::new, Intent::with_newest_attempt),
                resolutions: found.map_or_else(Vec::new, |found| found.resolutions.clone()),
                former_services: found.map_or_else(Vec::new, |found| found.former_services.clone()),
            });
        }
        if let Kind::Lost { attempt, owner, since } = &self.kind {
            return self.decide_lost(found, attempt, owner, *since);
        }
        let brought_back = match &self.kind {
            Kind::End { begun: Some(begun), .. } => begun.brought_back(found),
            _ => None,
        };
        let found = brought_back.as_ref().or(found)?;
        match (&self.kind, &found.state) {
            (Kind::End { attempt, ending: Ending::Processed(id), .. }, state)
                if *attempt != found.attempt =>
            {
                let number = found.number_of(attempt)?;
                let mut late = self.changed(found, state.clone());
                late.resolve(&Resolution::reported(id.clone()).of_attempt(number), self.at);
                Some(late)
            }
            (Kind::End { attempt, .. } | Kind::Orphan { attempt }, _) if *attempt != found.attempt => None,
            // A row that was marked as a crash still gets the real outcome, if its sender is alive after all. So does one about
            // which a person has decided meanwhile, if it was processed: that is the service's own word.
            (Kind::End { ending, .. }, state)
                if *state == IntentState::Sending
                    || is_unknown_by_crash(state)
                    || matches!(ending, Ending::Processed(_))
                        && (found.is_decided_by_a_person() || found.is_unknown_by_loss()) =>
            {
                let state = match ending.clone() {
                    Ending::Processed(transaction_id) => IntentState::Processed { transaction_id },
                    Ending::Rejected(failure) => IntentState::Rejected(failure),
                    Ending::NotProcessed(failure) => match &found.follows {
                        Some(rejection) => IntentState::Rejected(rejection.clone()),
                        None => IntentState::NotProcessed(failure),
                    },
                    Ending::Unknown(failure) => IntentState::Unknown(failure),
                };
                let mut ended = Intent { follows: None, ..self.changed(found, state) };
                ended.settle();
                Some(ended)
            }
            (Kind::Orphan { .. }, IntentState::Sending) => {
                let transaction_id = match &found.request.subject {
                    Subject::Transaction(to_look_up) => Some(to_look_up.clone()),
                    _ => None,
                };
                let failure = Failure { transaction_id, ..Failure::of_kind(Failure::CRASH) };
                let state = IntentState::Unknown(failure);
                Some(Intent { revision: found.revision, ..self.changed(found, state) })
            }
            (Kind::Resolve { resolution, .. }, _)
                if self.is_as_read(found) && found.refusal_of(resolution).is_none() =>
            {
                let mut resolved = self.changed(found, found.state.clone());
                resolved.resolve(resolution, self.at);
                Some(resolved)
            }
            (Kind::Reopen { http_statuses: Some(statuses) }, IntentState::Rejected(failure))
                if failure.http_status.is_some_and(|status| statuses.contains(&status)) =>
            {
                let reopened = Failure { kind: Failure::REOPENED.into(), ..failure.clone() };
                Some(self.changed(found, IntentState::NotProcessed(reopened)))
            }
            (
                Kind::Reopen { http_statuses: None },
                IntentState::Rejected(failure) | IntentState::NotProcessed(failure),
            ) if matches!(found.state, IntentState::Rejected(_)) || failure.kind == Failure::REOPENED => {
                let reopened = Failure { kind: Failure::REOPENED_BY_NAME.into(), ..failure.clone() };
                Some(self.changed(found, IntentState::NotProcessed(reopened)))
            }
            _ => None,
        }
    }

    /// As [`decide`](Self::decide). If later entries than `found` are lost, from `lost_since` on, the key may have been sent
    /// again in that time: what [follows a rejection](Self::is_after_rejection) makes it unknown and does not begin.
    pub fn decide_after_loss(
        &self,
        found: Option<&Intent>,
        lost_since: Option<SystemTime>,
    ) -> Option<Intent> {
        let written = self.decide(found)?;
        match (found, lost_since) {
            (Some(found), Some(since)) if self.is_after_rejection(found) => Some(self.unknown(found, since)),
            _ => Some(written),
        }
    }

    /// It may have been sent in the time whose entries are lost.
    fn unknown(&self, found: &Intent, since: SystemTime) -> Intent {
        let state = IntentState::Unknown(Failure::of_kind(Failure::LOST_HISTORY));
        Intent { begun_at: milliseconds::rounded(since), ..self.changed(found, state) }
    }

    fn decide_lost(
        &self,
        found: Option<&Intent>,
        attempt: &AttemptId,
        owner: &OwnerId,
        since: SystemTime,
    ) -> Option<Intent> {
        match found {
            None => Some(Intent {
                key: self.key.clone(),
                service: String::new(),
                request: IntentRequest::lost(),
                state: IntentState::Unknown(Failure::of_kind(Failure::LOST_HISTORY)),
                attempt: attempt.clone(),
                owner: owner.clone(),
                follows: None,
                attempts: 1,
                created_at: since,
                begun_at: since,
                changed_at: self.at,
                revision: 1,
                other_attempts: Vec::new(),
                resolutions: Vec::new(),
                former_services: Vec::new(),
            }),
            Some(found) => found.moved_nothing().then(|| self.unknown(found, since)),
        }
    }

    fn changed(&self, found: &Intent, state: IntentState) -> Intent {
        Intent { state, changed_at: self.at, revision: found.revision + 1, ..found.clone() }
    }
}

impl Intent {
    /// Whether its key takes this request once a person has [reopened](crate::Journal::reopen) it after a rejection with one of
    /// these HTTP statuses; without statuses, once they have reopened it [by name](crate::Journal::reopen_by_name).
    pub fn is_corrected_by(&self, request: &IntentRequest, http_statuses: Option<&[u16]>) -> bool {
        let reopen = Kind::Reopen { http_statuses: http_statuses.map(<[u16]>::to_vec) };
        let reopened = Change::new(self.key.clone(), self.changed_at, reopen).decide(Some(self));
        reopened.is_some_and(|reopened| reopened.differences(request).is_empty())
    }
}

/// Masks card numbers in a person's text.
fn masked(mut resolution: Resolution) -> Resolution {
    for text in iter::once(&mut resolution.by).chain(&mut resolution.note) {
        *text = mask(text, &[]).into_owned();
    }
    resolution
}

/// Whether the sender was considered dead.
fn is_unknown_by_crash(state: &IntentState) -> bool {
    matches!(state, IntentState::Unknown(failure) if failure.kind == Failure::CRASH)
}
