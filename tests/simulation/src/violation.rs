use std::fmt;

use clap::ValueEnum;

/// What must hold after every step of a simulation, and the deliberate bug of the client side that shows that the simulation
/// finds a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
#[non_exhaustive]
pub enum Invariant {
    /// The service receives at most one copy of a `POST`, over all calls of one intent. A caller resends a request only
    /// after `NotProcessed`. The bug: the transport resends a request that may have been lost.
    PostedAtMostOnce,
    /// The ledger shows at most one charge or one void for each intent, and a charge has the requested amount. The bug: a
    /// proxy repeats a charge at the service, unseen by the client and the simulation.
    ChargedAtMostOnce,
    /// A call that ended not processed never reaches the service and never appears in a ledger. The bug: the transport reports
    /// a lost response as a request that was not sent.
    NotProcessedIsTrue,
    /// A call that ended rejected never appears in a ledger as a charge or void, unless the service's rejection was false. The
    /// bug: the transport turns a lost response into a rejection.
    RejectedIsTrue,
    /// A call that succeeded is in the ledger, with the id that the caller received. The bug: the transport turns a lost
    /// response into a success.
    SuccessIsTrue,
    /// A call ends by its deadline plus the client's backstop, and sends nothing after its deadline. The bug: the client's
    /// deadline is twice the one that the caller set.
    EndsInTime,
    /// A lookup never ends unknown, and the observer sees no outcome for it. The bug: a failed lookup is reported with an
    /// unknown outcome.
    LookupsAreNeverUnknown,
    /// The observer sees each attempt start, and how it ended: with an outcome, or abandoned. The bug: the observer does not
    /// see abandoned attempts.
    AttemptsAreObserved,
    /// A call that failed before its first byte ends not processed. The bug: the transport reports a request that was not sent
    /// as unknown.
    UnsentIsNotProcessed,
    /// Each ending is one that the outcome table allows for what went wrong. The bug: the transport turns a proxy's 502 page
    /// into a rejection.
    EndingFollowsEvidence,
    /// The fake's final ledger equals the sum of the changes that the simulation saw. The bug: the simulation itself skips some
    /// changes of the ledger.
    LedgerMatchesChanges,
}

/// The name by which the command line knows it, such as `posted-at-most-once`.
impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("no value is hidden").get_name())
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
