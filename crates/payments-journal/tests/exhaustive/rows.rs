//! The rows of the journal as small numbers. Each is an [`Intent`] that the real [`Change::decide`] has returned.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_journal::{
    AttemptId, Change, Ending, Failure, Intent, IntentKey, IntentRequest, OwnerId, Resolution,
};

use crate::search::QuickMap;

/// An attempt, as `decide` distinguishes them: it sees one row and one change, so it only sees whether both name the same
/// attempt. This is the canonical name of every attempt, so their number needs no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Attempt {
    /// The attempt that the row names.
    Current,
    /// Any other: an earlier one, or one that was never written.
    Other,
}

/// How an attempt ended. `decide` reads the kind of a failure only to detect a crash, so one kind represents all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    Processed,
    Rejected,
    NotProcessed,
    Unknown,
}

/// What a person has found out about an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Finding {
    NotProcessed,
    /// Processed, as the transaction that the service creates for this key.
    Processed,
    /// Processed, as the transaction that the service creates for the other key.
    ProcessedAsTheOther,
}

/// The change passed to `decide`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    Begin {
        is_after_rejection: bool,
        is_same_request: bool,
    },
    End {
        attempt: Attempt,
        how: How,
    },
    Orphan {
        attempt: Attempt,
    },
    Resolve(Finding),
    /// If the outcome of this attempt is still unknown.
    ResolveAttempt {
        attempt: Attempt,
        finding: Finding,
    },
    Reopen,
}

pub(crate) const OWN_ID: &str = "txn-of-this-key";
pub(crate) const OTHER_ID: &str = "txn-of-the-other-key";

impl Input {
    pub(crate) fn change(self) -> Change {
        let (key, at, owner) = (key(), UNIX_EPOCH, OwnerId::from_kept("owner"));
        match self {
            Self::Begin { is_after_rejection, is_same_request } => {
                let begin = if is_after_rejection { Change::begin_after_rejection } else { Change::begin };
                let cents = if is_same_request { 10_50 } else { 10_51 };
                begin(key, "https://pay.example.com", request(cents), AttemptId::from_kept("new"), owner, at)
            }
            Self::End { attempt, how } => Change::end(key, attempt.id(), how.ending(), at),
            Self::Orphan { attempt } => Change::orphan(key, attempt.id(), at),
            Self::Resolve(finding) => Change::resolve(key, finding.resolution(), at),
            Self::ResolveAttempt { attempt, finding } => {
                Change::resolve_attempt(key, attempt.id(), finding.resolution(), at)
            }
            Self::Reopen => Change::reopen(key, vec![401, 403, 429], at),
        }
    }
}

impl Attempt {
    fn id(self) -> AttemptId {
        AttemptId::from_kept(if self == Self::Current { "current" } else { "other" })
    }
}

impl Finding {
    fn resolution(self) -> Resolution {
        let processed_as = |id| Resolution::processed(transaction(id), "grace");
        match self {
            Self::NotProcessed => Resolution::not_processed("grace"),
            Self::Processed => processed_as(OWN_ID),
            Self::ProcessedAsTheOther => processed_as(OTHER_ID),
        }
    }
}

impl How {
    pub(crate) const ALL: [Self; 4] = [Self::Processed, Self::Rejected, Self::NotProcessed, Self::Unknown];

    /// A person may reopen every rejection here. A key whose rejection cannot be reopened has fewer steps.
    pub(crate) fn ending(self) -> Ending {
        match self {
            Self::Processed => Ending::Processed(transaction(OWN_ID)),
            Self::Rejected => {
                let mut failure = Failure::of_kind("rejected");
                failure.http_status = Some(429);
                Ending::Rejected(failure)
            }
            Self::NotProcessed => Ending::NotProcessed(Failure::of_kind("not_connected")),
            Self::Unknown => Ending::Unknown(Failure::of_kind("timeout")),
        }
    }
}

/// The function under test: [`real_decide`], or a sabotage of it.
pub(crate) type Decide = fn(Input, Option<&Intent>) -> Option<Intent>;

/// `Change::decide`, unchanged.
pub(crate) fn real_decide(input: Input, found: Option<&Intent>) -> Option<Intent> {
    input.change().decide(found)
}

/// The number of a row in [`Rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row(u8);

/// Every row so far, and every decision of `decide`, which is called once for each row and change.
pub(crate) struct Rows {
    decide: Decide,
    seen: RefCell<Vec<Rc<Intent>>>,
    decisions: RefCell<QuickMap<(Option<Row>, Input), Decision>>,
}

/// What a store needs from a change.
#[derive(Clone, Copy)]
pub(crate) struct Decision {
    /// The row to write, if any.
    pub(crate) written: Option<Row>,
    pub(crate) is_refused_if_taken: bool,
}

impl Rows {
    pub(crate) fn new(decide: Decide) -> Self {
        Self { decide, seen: RefCell::default(), decisions: RefCell::default() }
    }

    pub(crate) fn decide(&self, found: Option<Row>, input: Input) -> Decision {
        *self.decisions.borrow_mut().entry((found, input)).or_insert_with(|| {
            let before = found.map(|row| self.intent(row));
            let is_refused_if_taken = input.change().is_refused_if_taken();
            let written = (self.decide)(input, before.as_deref()).map(|intent| {
                let revision = before.map_or(0, |intent| intent.revision);
                assert_eq!(intent.revision, revision + 1, "every change counts one revision");
                let mut seen = self.seen.borrow_mut();
                let canonical = canonical(intent);
                let position = seen.iter().position(|row| **row == canonical).unwrap_or_else(|| {
                    seen.push(Rc::new(canonical));
                    seen.len() - 1
                });
                Row(u8::try_from(position).unwrap())
            });
            Decision { written, is_refused_if_taken }
        })
    }

    pub(crate) fn intent(&self, row: Row) -> Rc<Intent> {
        self.seen.borrow()[usize::from(row.0)].clone()
    }

    pub(crate) fn all(&self) -> Vec<Rc<Intent>> {
        self.seen.borrow().clone()
    }
}

/// Without revision, times and counts, and with canonical names of the attempt and the request.
fn canonical(intent: Intent) -> Intent {
    let mut intent = intent;
    (intent.attempt, intent.request) = (Attempt::Current.id(), request(10_50));
    (intent.revision, intent.attempts) = (1, 1);
    intent
}

fn key() -> IntentKey {
    IntentKey::new("key").unwrap()
}

fn request(cents: i64) -> IntentRequest {
    let amount = Amount::from_cents(cents);
    (&TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build().unwrap()).into()
}

fn transaction(id: &str) -> TransactionId {
    TransactionId::new(id).unwrap()
}
