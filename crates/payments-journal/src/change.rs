use std::iter;
use std::time::SystemTime;

use payments_model::{TransactionId, mask};

use crate::row::milliseconds;
use crate::{
    AttemptId, Failure, Intent, IntentKey, IntentRequest, IntentState, OwnerId, Resolution, Subject,
};

/// One change of one row, and the only way a row ever changes.
///
/// All rules of the journal are in [`decide`](Self::decide), a function without clock, randomness or I/O. A store reads the
/// row, calls `decide`, writes the result and makes it durable, atomically. It decides nothing.
///
/// A [`Journal`](crate::Journal) makes the changes. You need them only to test your own store.
#[derive(Clone, Debug)]
pub struct Change {
    key: IntentKey,
    at: SystemTime,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Begin { request: IntentRequest, attempt: AttemptId, owner: OwnerId, is_after_rejection: bool },
    End { attempt: AttemptId, ending: Ending },
    Orphan { attempt: AttemptId },
    // With an attempt: only while the outcome of that attempt is unknown.
    Resolve { resolution: Resolution, attempt: Option<AttemptId> },
    Reopen { http_statuses: Vec<u16> },
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
    /// This attempt of this owner is about to send the intent.
    pub fn begin(
        key: IntentKey,
        request: IntentRequest,
        attempt: AttemptId,
        owner: OwnerId,
        at: SystemTime,
    ) -> Self {
        Self::new(key, at, Kind::Begin { request, attempt, owner, is_after_rejection: false })
    }

    /// As [`begin`](Self::begin), for a caller who knows that the key was rejected and asks for a new attempt, with any request.
    /// It begins only if there is a row that moved no money: rejected, not processed, or resolved as not processed.
    pub fn begin_after_rejection(
        key: IntentKey,
        request: IntentRequest,
        attempt: AttemptId,
        owner: OwnerId,
        at: SystemTime,
    ) -> Self {
        Self::new(key, at, Kind::Begin { request, attempt, owner, is_after_rejection: true })
    }

    /// This is how the attempt ended. If it [follows a rejection](Intent::follows) and was not processed, the key is rejected
    /// again.
    pub fn end(key: IntentKey, attempt: AttemptId, ending: Ending, at: SystemTime) -> Self {
        Self::new(key, at, Kind::End { attempt, ending })
    }

    /// The owner of this attempt is dead and has not recorded how it ended.
    pub fn orphan(key: IntentKey, attempt: AttemptId, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Orphan { attempt })
    }

    /// A person reports what happened. Card numbers in their text are masked.
    pub fn resolve(key: IntentKey, resolution: Resolution, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Resolve { resolution: masked(resolution), attempt: None })
    }

    /// As [`resolve`](Self::resolve), but only if the outcome of this attempt is still unknown. It does not replace the
    /// resolution of another person.
    pub fn resolve_attempt(
        key: IntentKey,
        attempt: AttemptId,
        resolution: Resolution,
        at: SystemTime,
    ) -> Self {
        Self::new(key, at, Kind::Resolve { resolution: masked(resolution), attempt: Some(attempt) })
    }

    /// A person allows it to be sent again, if it was rejected with one of these HTTP statuses.
    pub fn reopen(key: IntentKey, http_statuses: Vec<u16>, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Reopen { http_statuses })
    }

    /// With the time rounded as a row stores it.
    fn new(key: IntentKey, at: SystemTime, kind: Kind) -> Self {
        Self { key, at: milliseconds::time(milliseconds::of(at)).unwrap_or(at), kind }
    }

    /// The key of the row that it changes.
    pub fn key(&self) -> &IntentKey {
        &self.key
    }

    /// Whether it is refused if another intent is already [processed as](Intent::processed_as) the same transaction: true for
    /// a person's resolution. What the service reported is always written.
    pub fn is_refused_if_taken(&self) -> bool {
        self.resolved_as().is_some()
    }

    /// The transaction that a person names.
    pub(crate) fn resolved_as(&self) -> Option<&TransactionId> {
        match &self.kind {
            Kind::Resolve { resolution, .. } => resolution.processed_as(),
            _ => None,
        }
    }

    /// How the attempt ended, if this records that.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        let Kind::End { ending, .. } = &self.kind else { return None };
        Some(ending)
    }

    /// Whether it records the end of an attempt that may have been sent. The outcome cannot be obtained again, so the write is
    /// worth retrying. A withdrawal is not, because the journal repeats it.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_final_outcome(&self) -> bool {
        self.ending().is_some_and(
            |ending| !matches!(ending, Ending::NotProcessed(failure) if failure.kind == Failure::WITHDRAWN),
        )
    }

    /// The row to write in place of `found`, or `None` if the row does not change.
    ///
    /// The [`revision`](Intent::revision) of the row to write is one higher than that of `found`.
    pub fn decide(&self, found: Option<&Intent>) -> Option<Intent> {
        if let Kind::Begin { request, attempt, owner, is_after_rejection } = &self.kind {
            let may_begin = match found {
                None => !is_after_rejection,
                Some(found) if *is_after_rejection => found.moved_nothing(),
                Some(found) => found.may_be_sent() && found.request.differences(request).is_empty(),
            };
            return may_begin.then(|| Intent {
                key: self.key.clone(),
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
            });
        }
        let found = found?;
        match (&self.kind, &found.state) {
            (Kind::End { attempt, .. } | Kind::Orphan { attempt }, _) if *attempt != found.attempt => None,
            // A row that was marked as a crash still gets the real outcome, if its sender is alive after all.
            (Kind::End { ending, .. }, state)
                if *state == IntentState::Sending || is_unknown_by_crash(state) =>
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
                Some(Intent { follows: None, ..self.changed(found, state) })
            }
            (Kind::Orphan { .. }, IntentState::Sending) => {
                let transaction_id = match &found.request.subject {
                    Subject::Transaction(to_look_up) => Some(to_look_up.clone()),
                    _ => None,
                };
                let failure = Failure { transaction_id, ..Failure::of_kind(Failure::CRASH) };
                Some(self.changed(found, IntentState::Unknown(failure)))
            }
            (Kind::Resolve { attempt: Some(only), .. }, state)
                if *only != found.attempt || matches!(state, IntentState::Resolved { .. }) =>
            {
                None
            }
            (
                Kind::Resolve { resolution, .. },
                IntentState::Unknown(before) | IntentState::Resolved { before, .. },
            ) => {
                let (resolution, before) = (resolution.clone(), before.clone());
                let state = IntentState::Resolved { resolution, before };
                Some(Intent { follows: None, ..self.changed(found, state) })
            }
            (Kind::Reopen { http_statuses }, IntentState::Rejected(failure))
                if failure.http_status.is_some_and(|status| http_statuses.contains(&status)) =>
            {
                let reopened = Failure { kind: Failure::REOPENED.into(), ..failure.clone() };
                Some(self.changed(found, IntentState::NotProcessed(reopened)))
            }
            _ => None,
        }
    }

    fn changed(&self, found: &Intent, state: IntentState) -> Intent {
        Intent { state, changed_at: self.at, revision: found.revision + 1, ..found.clone() }
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
