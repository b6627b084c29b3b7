use std::fmt;

use clap::ValueEnum;

/// What must hold after every step of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
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

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name_of(self, f)
    }
}

/// Writes the name by which the command line knows it, such as `posted-at-most-once`.
pub(crate) fn name_of(value: &impl ValueEnum, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(value.to_possible_value().expect("no value is hidden").get_name())
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
