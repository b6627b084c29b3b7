use std::fmt;
use std::str::FromStr;

/// What must hold after every step of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Invariant {
    /// The service receives at most one copy of a `POST`, over all calls of one intent. A caller resends a request only
    /// after `NotProcessed`.
    PostedAtMostOnce,
    /// The ledger shows at most one charge or one void for each intent, and a charge has the requested amount.
    ChargedAtMostOnce,
    /// A call that ended not processed never reaches the service and never appears in a ledger.
    NotProcessedIsTrue,
    /// A call that ended rejected never appears in a ledger as a charge or void, unless the service's rejection was false.
    RejectedIsTrue,
    /// A call that succeeded is in the ledger, with the id that the caller received.
    SuccessIsTrue,
    /// A call ends by its deadline plus the client's backstop, and sends nothing after its deadline.
    EndsInTime,
    /// A lookup never ends unknown, and the observer sees no outcome for it.
    LookupsAreNeverUnknown,
    /// The observer sees each attempt start, and how it ended: with an outcome, or abandoned.
    AttemptsAreObserved,
    /// A call that failed before its first byte ends not processed.
    UnsentIsNotProcessed,
    /// Each ending is one that the outcome table allows for what went wrong.
    EndingFollowsEvidence,
    /// The fake's final ledger equals the sum of the changes that the simulation saw.
    LedgerMatchesChanges,
}

impl Invariant {
    /// Every invariant.
    pub const ALL: [Self; 11] = [
        Self::PostedAtMostOnce,
        Self::ChargedAtMostOnce,
        Self::NotProcessedIsTrue,
        Self::RejectedIsTrue,
        Self::SuccessIsTrue,
        Self::EndsInTime,
        Self::LookupsAreNeverUnknown,
        Self::AttemptsAreObserved,
        Self::UnsentIsNotProcessed,
        Self::EndingFollowsEvidence,
        Self::LedgerMatchesChanges,
    ];

    /// The invariant's name, such as `posted-at-most-once`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PostedAtMostOnce => "posted-at-most-once",
            Self::ChargedAtMostOnce => "charged-at-most-once",
            Self::NotProcessedIsTrue => "not-processed-is-true",
            Self::RejectedIsTrue => "rejected-is-true",
            Self::SuccessIsTrue => "success-is-true",
            Self::EndsInTime => "ends-in-time",
            Self::LookupsAreNeverUnknown => "lookups-are-never-unknown",
            Self::AttemptsAreObserved => "attempts-are-observed",
            Self::UnsentIsNotProcessed => "unsent-is-not-processed",
            Self::EndingFollowsEvidence => "ending-follows-evidence",
            Self::LedgerMatchesChanges => "ledger-matches-changes",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Invariant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|own| own.as_str() == text);
        found.ok_or_else(|| {
            format!("unknown invariant; use one of {}", Self::ALL.map(Self::as_str).join(", "))
        })
    }
}

/// A violated invariant, with the intent and what was seen.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) intent: usize,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(invariant: Invariant, intent: usize, what: impl Into<String>) -> Self {
        Self { invariant, intent, what: what.into() }
    }
}
