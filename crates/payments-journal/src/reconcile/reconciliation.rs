use std::time::{Duration, SystemTime};

use crate::{IntentKey, IntentRequest, StateName, Verdict};

/// How [`Journal::reconcile`](crate::Journal::reconcile) compares the journal with a report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconcileOptions {
    /// The [service](crate::Intent::service) that the report is from; `None` if the journal has the payments of one service only.
    pub service: Option<String>,
    /// How long after the end of its attempt the report may show a payment: 24 hours by default.
    pub within: Duration,
    /// How long an attempt takes at most of which the journal has not recorded the end: 60 seconds by default.
    pub deadline: Duration,
    /// The times from and to which the report has every payment; both are past. Without them, no key is
    /// [missing](Reconciliation::missing).
    pub complete: Option<(SystemTime, SystemTime)>,
}

impl Default for ReconcileOptions {
    fn default() -> Self {
        let (within, deadline) = (Duration::from_hours(24), Duration::from_mins(1));
        Self { service: None, within, deadline, complete: None }
    }
}

/// What a report says about the unresolved keys of a journal. Nothing was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciliation {
    /// The service that was compared; `None` if the journal is empty.
    pub service: Option<String>,
    /// What a person can resolve after having read it: the key has exactly one candidate row, and the row exactly one candidate
    /// key.
    pub proposals: Vec<Proposal>,
    /// The other keys that stay unknown, with their candidates.
    pub undecided: Vec<Undecided>,
    /// Unknown keys that the report should show and does not. That is no proof: nothing is proposed for them.
    pub missing: Vec<ReconciledAttempt>,
    /// Charged rows that the journal cannot explain: somebody may have been charged twice, or for nothing. A row with the amount
    /// and the reference of a processed key whose own row is in the report is among them. So is what contradicts a processed key:
    /// several of its transactions were charged, or one is also another key's, or its own row is declined, has another amount, or
    /// has the reference of another key.
    pub unexplained: Vec<Unexplained>,
    /// The lines of rows that would be unexplained if they were charged, and whose status decides nothing.
    pub doubtful: Vec<u64>,
    /// The lines of charged rows that belong to no key of the journal.
    pub foreign: Vec<u64>,
    /// Rows that are the payment of another merchant's key: this may be the report of the wrong merchant.
    pub other_merchants: Vec<OfAnotherMerchant>,
    /// The lines of rows that cannot be read completely.
    pub unreadable: Vec<u64>,
}

/// An attempt of an intent that was compared with the report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconciledAttempt {
    /// The key.
    pub key: IntentKey,
    /// The number of the attempt.
    pub attempt: u32,
    /// The [revision](crate::Intent::revision) of the intent.
    pub revision: u64,
    /// The state of the intent.
    pub state: StateName,
    /// The request of the attempt.
    pub request: IntentRequest,
    /// When it was written, just before it was sent.
    pub begun_at: SystemTime,
}

/// What a person may say about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proposal {
    /// The attempt.
    pub attempt: ReconciledAttempt,
    /// The lines of the row; a report may show one transaction several times.
    pub lines: Vec<u64>,
    /// [`Processed`](Verdict::Processed) or [`Rejected`](Verdict::Rejected).
    pub verdict: Verdict,
}

/// A key that stays unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undecided {
    /// Its newest attempt.
    pub attempt: ReconciledAttempt,
    /// Why nothing is proposed.
    pub why: UndecidedReason,
    /// The rows that may be this payment, at most 10.
    pub candidates: Vec<Candidate>,
}

/// A row that may be a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The lines of the row.
    pub lines: Vec<u64>,
    /// The other keys that it may be, at most 10.
    pub other_keys: Vec<IntentKey>,
}

/// Why nothing is proposed for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UndecidedReason {
    /// It is being sent now.
    Sending,
    /// A void is never proposed.
    Void,
    /// An ACH payment is never proposed: nothing about its account is stored.
    Ach,
    /// A payment with an active fee is never proposed: the charged amount may differ from the requested one.
    Fee,
    /// The journal has masked a part of its transaction's id, so that no row can be recognized by it.
    MaskedId,
    /// The journal has lost its entry, so that nothing but its key can be compared. The candidates are rows of no key with a
    /// reference like it.
    Lost,
    /// A row has its amount, and there is neither a reference nor a card to compare: that is never enough.
    AmountOnly,
    /// No row agrees with it. The candidates are rows of no key with its amount and time.
    NoRow,
    /// A row agrees in amount and time, and its reference is written in another way, or may be.
    OtherReference,
    /// A row of no key has its reference and amount, and another time. Its clock or zone may be wrong, or it is the time of settlement.
    OtherTime,
    /// A row of no key has its reference, and another amount.
    OtherAmount,
    /// A row that agrees, as far as it can be read, cannot be read completely, or the rows of one transaction differ.
    UnreadableRow,
    /// Several rows agree with it.
    SeveralRows,
    /// The row may be another key's payment, or that of a key of which the journal has lost what was sent.
    SeveralKeys,
    /// The row may be another attempt of the key.
    SeveralAttempts,
    /// The row has the transaction's id, and another amount, reference or card.
    Contradiction,
    /// The status of the row decides nothing, or the row [contradicts](super::ReportRow::is_contradicted) it.
    Status,
}

/// Money that the journal cannot explain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unexplained {
    /// The attempts that may have been charged: several of one key if there are several charges for it, or of several keys if it
    /// is not known which of them was charged.
    pub attempts: Vec<ReconciledAttempt>,
    /// The lines of each charged row.
    pub rows: Vec<Vec<u64>>,
    /// What a person may say, if one row and one attempt belong together.
    pub proposal: Option<Proposal>,
}

/// A row that is the payment of a key of another merchant at the same base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfAnotherMerchant {
    /// The lines of the row.
    pub lines: Vec<u64>,
    /// The key.
    pub key: IntentKey,
    /// Its [service](crate::Intent::service).
    pub service: String,
}

impl Reconciliation {
    /// Whether keys stay unknown after every proposal is accepted.
    pub const fn leaves_unknown(&self) -> bool {
        !self.undecided.is_empty() || !self.missing.is_empty()
    }

    /// Everything that a person may say: the proposals, and what the journal knows otherwise. At most one for each key.
    pub fn all_proposals(&self) -> impl Iterator<Item = &Proposal> {
        let late = self.unexplained.iter().filter_map(|unexplained| unexplained.proposal.as_ref());
        self.proposals.iter().chain(late)
    }
}
