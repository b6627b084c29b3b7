//! The rules, independent of `decide`.

use payments_journal::{FailureKind, Intent, IntentState, Verdict};

use crate::rows::{Attempt, Finding, How, Input, Rows};
use crate::state::{Facts, KeyState, State, Transmission};

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    SentTwice,
    SentAfterRejection,
    OtherRequest,
    NotListed,
    NotCharged,
    Forgotten,
    Purged,
    NoResolver,
    WrongAttempt,
    NotSeen,
    SentAfterFound,
    Stuck,
}

impl Broken {
    /// Every rule and its text, in the same order.
    pub(crate) const ALL: [(Self, &str); 12] = [
        (Self::SentTwice, "two transmissions may have reached the service, and no person said otherwise"),
        (Self::SentAfterRejection, "a key that was rejected is sent again, and nobody asked for that"),
        (Self::OtherRequest, "a plain call begins another request with a used key"),
        (
            Self::NotListed,
            "a payment that may have been charged is listed neither as unresolved nor as processed, and no person said so",
        ),
        (Self::NotCharged, "a payment that was not charged is listed as processed by the service"),
        (Self::Forgotten, "an outcome is lost, and neither a person nor a new attempt changed it"),
        (Self::Purged, "an unresolved key is purged"),
        (Self::NoResolver, "the row does not name the person who resolved it"),
        (Self::WrongAttempt, "a person's resolution of one attempt is written to another"),
        (
            Self::NotSeen,
            "a person's resolution is written to a row that has changed since that person read it",
        ),
        (Self::SentAfterFound, "a key is begun again although an attempt of it was found processed"),
        (Self::Stuck, "no step from here leads to an end"),
    ];

    pub(crate) fn rule(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Allows at most one transmission that may have reached the service, unless a person said otherwise. A rejected one counts
/// too, unless the caller asks for a new attempt after it.
pub(crate) fn check_send(facts: Facts, is_after_rejection: bool) -> Result<(), Broken> {
    if facts.transmission.is_some() {
        return Err(Broken::SentTwice);
    }
    if facts.is_refused && !is_after_rejection {
        return Err(Broken::SentAfterRejection);
    }
    Ok(())
}

/// A plain call begins only the request that the key names, and no call begins a key that was found processed.
pub(crate) fn check_begin(
    facts: Facts,
    is_taken: bool,
    is_after_rejection: bool,
    is_same: bool,
) -> Result<(), Broken> {
    if is_taken && !is_after_rejection && !is_same {
        return Err(Broken::OtherRequest);
    }
    if facts.is_newest_found || facts.is_earlier_found { Err(Broken::SentAfterFound) } else { Ok(()) }
}

/// Only a person or a new attempt changes the outcome of a key, and nothing changes what the service processed. A person changes
/// only what that person has read. What a person has decided gives way to the service's own "processed", and nothing else that a
/// sender writes; what the service has decided gives way to a transaction that a person has found, and to a late "processed" of
/// an earlier attempt.
pub(crate) fn check_change(before: &Intent, input: Input, after: &Intent) -> Result<(), Broken> {
    if let Input::Resolve { attempt, is_same_revision, .. } = input {
        if attempt == Attempt::Other {
            return Err(Broken::WrongAttempt);
        }
        if !is_same_revision {
            return Err(Broken::NotSeen);
        }
    }
    let is_person = match &before.state {
        IntentState::Resolved { .. } => true,
        IntentState::Rejected(failure) => failure.kind == FailureKind::RESOLVED,
        IntentState::NotProcessed(failure) => {
            [FailureKind::REOPENED, FailureKind::REOPENED_BY_NAME].contains(&failure.kind)
        }
        _ => false,
    };
    let is_forgotten = match (&before.state, input) {
        (IntentState::Processed { .. }, _) => before.state != after.state,
        (IntentState::Sending | IntentState::Unknown(_), _)
        | (_, Input::End { attempt: Attempt::Other, how: How::Processed }) => false,
        (
            _,
            Input::End { how: How::Processed, .. }
            | Input::Resolve { finding: Finding::NotProcessed | Finding::Rejected, .. },
        ) => !is_person,
        (_, Input::End { .. } | Input::Orphan { .. }) => true,
        _ => false,
    };
    if is_forgotten { Err(Broken::Forgotten) } else { Ok(()) }
}

/// A purge removes no unresolved key.
pub(crate) fn check_purge(row: &IntentState) -> Result<(), Broken> {
    let is_unresolved = matches!(row, IntentState::Sending | IntentState::Unknown(_));
    if is_unresolved { Err(Broken::Purged) } else { Ok(()) }
}

/// Rules for every key in every state.
pub(crate) fn check_state<const K: usize, const S: usize>(
    rows: &Rows,
    state: &State<K, S>,
) -> Result<(), Broken> {
    for key_state in &state.keys {
        let KeyState { row, facts } = *key_state;
        let row = row.map(|row| rows.intent(row));
        let state = row.as_ref().map(|row| &row.state);
        let is_listed = match state {
            Some(IntentState::Sending | IntentState::Unknown(_) | IntentState::Processed { .. }) => true,
            Some(IntentState::Resolved { resolution, .. }) => {
                matches!(resolution.verdict, Verdict::Processed(_))
            }
            _ => false,
        };
        let Facts { transmission, is_newest_found, is_earlier_found, .. } = facts;
        if (transmission.is_some() || is_newest_found || is_earlier_found) && !is_listed {
            return Err(Broken::NotListed);
        }
        if matches!(state, Some(IntentState::Processed { .. })) && transmission != Some(Transmission::Charged)
        {
            return Err(Broken::NotCharged);
        }
        if let Some(IntentState::Resolved { resolution, .. }) = state
            && resolution.by != "grace"
            && !resolution.is_reported
        {
            return Err(Broken::NoResolver);
        }
    }
    Ok(())
}
