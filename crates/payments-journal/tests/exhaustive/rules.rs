//! The rules, independent of `decide`.

use payments_journal::{IntentState, Verdict};

use crate::rows::{Attempt, Input, Rows};
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
    Stuck,
}

impl Broken {
    pub(crate) const ALL: [Self; 10] = [
        Self::SentTwice,
        Self::SentAfterRejection,
        Self::OtherRequest,
        Self::NotListed,
        Self::NotCharged,
        Self::Forgotten,
        Self::Purged,
        Self::NoResolver,
        Self::WrongAttempt,
        Self::Stuck,
    ];

    /// The last line of a trace.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::SentTwice => "two transmissions may have reached the service, and no person said otherwise",
            Self::SentAfterRejection => "a key that was rejected is sent again, and nobody asked for that",
            Self::OtherRequest => "a plain call begins another request with a used key",
            Self::NotListed => {
                "a payment that may have been charged is listed neither as unresolved nor as processed, and no person said so"
            }
            Self::NotCharged => "a payment that was not charged is listed as processed by the service",
            Self::Forgotten => "an outcome is lost, and neither a person nor a new attempt changed it",
            Self::Purged => "an unresolved key is purged",
            Self::NoResolver => "the row does not name the person who resolved it",
            Self::WrongAttempt => "a person's resolution of one attempt is written to another",
            Self::Stuck => "no step from here leads to an end",
        }
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

/// A plain call begins only the request that the key names.
pub(crate) fn check_begin(is_taken: bool, is_after_rejection: bool, is_same: bool) -> Result<(), Broken> {
    if is_taken && !is_after_rejection && !is_same { Err(Broken::OtherRequest) } else { Ok(()) }
}

/// Only a person or a new attempt changes the outcome of a key, and nothing changes what the service processed. A resolution of
/// one attempt changes only that attempt, and not after another resolution.
pub(crate) fn check_change(before: &IntentState, input: Input) -> Result<(), Broken> {
    if matches!(input, Input::ResolveAttempt { attempt: Attempt::Other, .. }) {
        return Err(Broken::WrongAttempt);
    }
    let is_forgotten = match before {
        IntentState::Sending | IntentState::Unknown(_) => false,
        IntentState::Processed { .. } => true,
        IntentState::Resolved { .. } if matches!(input, Input::ResolveAttempt { .. }) => true,
        _ => matches!(input, Input::End { .. } | Input::Orphan { .. }),
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
        if facts.transmission.is_some() && !is_listed {
            return Err(Broken::NotListed);
        }
        if matches!(state, Some(IntentState::Processed { .. }))
            && facts.transmission != Some(Transmission::Charged)
        {
            return Err(Broken::NotCharged);
        }
        if let Some(IntentState::Resolved { resolution, .. }) = state
            && resolution.by != "grace"
        {
            return Err(Broken::NoResolver);
        }
    }
    Ok(())
}
