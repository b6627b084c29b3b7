use std::fmt;
use std::str::FromStr;

/// What must hold after every step of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Invariant {
    /// The service receives at most one copy of a `POST`, over all calls of one intent. A caller sends again only what
    /// was not processed.
    PostedAtMostOnce,
    /// The ledger shows at most one charge, or one void, of one intent, and a charge is of the amount that was asked for.
    ChargedAtMostOnce,
    /// A call that ended not processed was not received by the service and is in no ledger, then or later.
    NotProcessedIsTrue,
    /// A call that ended rejected is in no ledger as a charge or void, then or later, unless the service itself lied.
    RejectedIsTrue,
    /// A call that succeeded is in the ledger, under the id that the caller was given.
    SuccessIsTrue,
    /// A call has ended when its deadline and the client's backstop have passed, and sends nothing after its deadline.
    EndsInTime,
    /// A lookup never ends unknown, and the observer is told no outcome of it.
    LookupsAreNeverUnknown,
    /// The observer is told of each attempt, and how it ended: by an outcome, or abandoned.
    AttemptsAreTold,
    /// What failed before the first byte ends not processed.
    UnsentIsNotProcessed,
    /// An ending is one that the table of outcomes allows for what went wrong.
    EndingFollowsEvidence,
    /// What the simulation has seen grow is what the fake's ledger holds in the end.
    LedgerIsWhatWasSeen,
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
        Self::AttemptsAreTold,
        Self::UnsentIsNotProcessed,
        Self::EndingFollowsEvidence,
        Self::LedgerIsWhatWasSeen,
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
            Self::AttemptsAreTold => "attempts-are-told",
            Self::UnsentIsNotProcessed => "unsent-is-not-processed",
            Self::EndingFollowsEvidence => "ending-follows-evidence",
            Self::LedgerIsWhatWasSeen => "ledger-is-what-was-seen",
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
            format!("there is no such invariant; there are {}", Self::ALL.map(Self::as_str).join(", "))
        })
    }
}

/// An invariant that did not hold, and where.
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
