//! What must hold, said without asking `decide`.

use payments_journal::{IntentState, Verdict};

use crate::rows::{Asked, Attempt, Rows};
use crate::state::{Book, Fate, State, Truth};

/// A rule that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    SentTwice,
    SentAfterRejection,
    OtherRequest,
    NotListed,
    NotCharged,
    Forgotten,
    Purged,
    NobodySaidSo,
    SaidOfAnother,
    NoWayOut,
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
        Self::NobodySaidSo,
        Self::SaidOfAnother,
        Self::NoWayOut,
    ];

    /// The rule, in the words of a story's last line.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::SentTwice => "two transmissions may have reached the service, and no person said otherwise",
            Self::SentAfterRejection => "a key that was rejected is sent again, and nobody asked for that",
            Self::OtherRequest => "a plain call begins another request under a key that is taken",
            Self::NotListed => {
                "what may have been charged is listed neither as unresolved nor as processed, and no person said so"
            }
            Self::NotCharged => "what was not charged is listed as processed by the service's word",
            Self::Forgotten => "how it ended is forgotten, and neither a person nor a new attempt did that",
            Self::Purged => "what is unresolved is purged",
            Self::NobodySaidSo => "the row does not name the person who resolved it",
            Self::SaidOfAnother => "what a person said of one attempt is written down of another",
            Self::NoWayOut => "from here no step leads to an end",
        }
    }
}

/// At most one transmission that may have reached the service, unless a person said otherwise. A rejected one counts too,
/// unless the caller asks for a new attempt after it.
pub(crate) fn hold_at_send(truth: Truth, is_after_rejection: bool) -> Result<(), Broken> {
    if truth.transmission.is_some() {
        return Err(Broken::SentTwice);
    }
    if truth.is_refused && !is_after_rejection {
        return Err(Broken::SentAfterRejection);
    }
    Ok(())
}

/// A plain call begins nothing but the request that the key stands for.
pub(crate) fn hold_at_begin(is_taken: bool, is_after_rejection: bool, is_same: bool) -> Result<(), Broken> {
    if is_taken && !is_after_rejection && !is_same { Err(Broken::OtherRequest) } else { Ok(()) }
}

/// How a key ended is changed by a person or a new attempt alone; what the service processed, by nobody. Of a person who
/// speaks of one attempt, the word is taken for that one alone, and not after another person's.
pub(crate) fn hold_at_change(before: &IntentState, asked: Asked) -> Result<(), Broken> {
    if matches!(asked, Asked::ResolveAttempt { attempt: Attempt::Other, .. }) {
        return Err(Broken::SaidOfAnother);
    }
    let is_forgotten = match before {
        IntentState::Sending | IntentState::Unknown(_) => false,
        IntentState::Processed { .. } => true,
        IntentState::Resolved { .. } if matches!(asked, Asked::ResolveAttempt { .. }) => true,
        _ => matches!(asked, Asked::End { .. } | Asked::Orphan { .. }),
    };
    if is_forgotten { Err(Broken::Forgotten) } else { Ok(()) }
}

/// A purge removes nothing that is unresolved.
pub(crate) fn hold_at_purge(row: &IntentState) -> Result<(), Broken> {
    let is_unresolved = matches!(row, IntentState::Sending | IntentState::Unknown(_));
    if is_unresolved { Err(Broken::Purged) } else { Ok(()) }
}

/// The books are right: in every state, of every key.
pub(crate) fn hold_in<const K: usize, const S: usize>(
    rows: &Rows,
    state: &State<K, S>,
) -> Result<(), Broken> {
    for book in &state.books {
        let Book { row, truth } = *book;
        let row = row.map(|row| rows.intent(row));
        let state = row.as_ref().map(|row| &row.state);
        let is_listed = match state {
            Some(IntentState::Sending | IntentState::Unknown(_) | IntentState::Processed { .. }) => true,
            Some(IntentState::Resolved { resolution, .. }) => {
                matches!(resolution.verdict, Verdict::Processed(_))
            }
            _ => false,
        };
        if truth.transmission.is_some() && !is_listed {
            return Err(Broken::NotListed);
        }
        if matches!(state, Some(IntentState::Processed { .. })) && truth.transmission != Some(Fate::Charged) {
            return Err(Broken::NotCharged);
        }
        if let Some(IntentState::Resolved { resolution, .. }) = state
            && resolution.by != "grace"
        {
            return Err(Broken::NobodySaidSo);
        }
    }
    Ok(())
}
