//! The rows of the journal, as small numbers: each is an [`Intent`] that the real [`Change::decide`] has returned.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_journal::{
    AttemptId, Change, Ending, Failure, Intent, IntentKey, IntentRequest, OwnerId, Resolution,
};

use crate::search::QuickMap;

/// An attempt, as `decide` can tell one from another: it sees one row and one change, and so nothing but whether both name
/// the same attempt. This is the canonical name of every attempt, and why no bound on their number is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Attempt {
    /// The one that the row names.
    Current,
    /// Any other: an earlier one, or one that was never written.
    Other,
}

/// How an attempt ended. `decide` reads the kind of a failure only to see whether somebody gave the sender up, so one kind
/// stands for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    Processed,
    Rejected,
    NotProcessed,
    Unknown,
}

/// What a person says about an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    NotProcessed,
    /// Processed, as the transaction that the service makes of this key.
    Processed,
    /// Processed, as the transaction that the service makes of the other key.
    ProcessedAsTheOther,
}

/// What is asked of `decide`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
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
    Resolve(Word),
    /// If the outcome of this attempt is still unknown.
    ResolveAttempt {
        attempt: Attempt,
        word: Word,
    },
    Reopen,
}

pub(crate) const OWN_ID: &str = "txn-of-this-key";
pub(crate) const OTHER_ID: &str = "txn-of-the-other-key";

impl Asked {
    pub(crate) fn change(self) -> Change {
        let (key, at, owner) = (key(), UNIX_EPOCH, OwnerId::from_kept("owner"));
        match self {
            Self::Begin { is_after_rejection, is_same_request } => {
                let begin = if is_after_rejection { Change::begin_after_rejection } else { Change::begin };
                let cents = if is_same_request { 10_50 } else { 10_51 };
                begin(key, request(cents), AttemptId::from_kept("new"), owner, at)
            }
            Self::End { attempt, how } => Change::end(key, attempt.id(), how.ending(), at),
            Self::Orphan { attempt } => Change::orphan(key, attempt.id(), at),
            Self::Resolve(word) => Change::resolve(key, word.resolution(), at),
            Self::ResolveAttempt { attempt, word } => {
                Change::resolve_attempt(key, attempt.id(), word.resolution(), at)
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

impl Word {
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

    /// Every rejection is one that a person may reopen: a key whose rejection cannot be reopened does less.
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

/// The rule under test: [`honest`], or a sabotage of it.
pub(crate) type Decide = fn(Asked, Option<&Intent>) -> Option<Intent>;

/// `Change::decide`, as it is.
pub(crate) fn honest(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    asked.change().decide(found)
}

/// The number of a row in [`Rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row(u8);

/// Every row that was met, and every answer of `decide`, which is asked once for each row and change.
pub(crate) struct Rows {
    decide: Decide,
    met: RefCell<Vec<Rc<Intent>>>,
    answers: RefCell<QuickMap<(Option<Row>, Asked), Answer>>,
}

/// What a store reads from a change.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    /// The row to write, if any.
    pub(crate) written: Option<Row>,
    pub(crate) is_refused_if_taken: bool,
}

impl Rows {
    pub(crate) fn new(decide: Decide) -> Self {
        Self { decide, met: RefCell::default(), answers: RefCell::default() }
    }

    pub(crate) fn decide(&self, found: Option<Row>, asked: Asked) -> Answer {
        *self.answers.borrow_mut().entry((found, asked)).or_insert_with(|| {
            let before = found.map(|row| self.intent(row));
            let is_refused_if_taken = asked.change().is_refused_if_taken();
            let written = (self.decide)(asked, before.as_deref()).map(|intent| {
                let revision = before.map_or(0, |intent| intent.revision);
                assert_eq!(intent.revision, revision + 1, "every change counts one revision");
                let mut met = self.met.borrow_mut();
                let canonical = canonical(intent);
                let position = met.iter().position(|row| **row == canonical).unwrap_or_else(|| {
                    met.push(Rc::new(canonical));
                    met.len() - 1
                });
                Row(u8::try_from(position).unwrap())
            });
            Answer { written, is_refused_if_taken }
        })
    }

    pub(crate) fn intent(&self, row: Row) -> Rc<Intent> {
        self.met.borrow()[usize::from(row.0)].clone()
    }

    pub(crate) fn all(&self) -> Vec<Rc<Intent>> {
        self.met.borrow().clone()
    }
}

/// Without revision, times and counts, the attempt and the request under the names that they have from now on.
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
