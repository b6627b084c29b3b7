//! The rows of the journal as small numbers. Each is an [`Intent`] that the real [`Change::decide`] has returned.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_journal::internals::{Begin, Change, Ending, NewAttempt};
use payments_journal::{
    AttemptId, Failure, HistoryEvent, Intent, IntentKey, IntentRequest, IntentState, OwnerId,
    RecordedResolution, Resolution, Verdict,
};

use crate::search::QuickMap;

/// An attempt, as `decide` distinguishes them: it sees one row and one change, so it only sees whether both name the same
/// attempt. This is the canonical name of every attempt, so their number needs no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Attempt {
    /// The attempt that the row names.
    Current,
    /// An earlier one.
    Other,
    /// One that the row does not know: it was never written, or its row was purged.
    Gone,
}

/// How an attempt ended. `decide` reads the kind of a failure only to detect a crash, so one kind represents all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    Processed,
    Rejected,
    NotProcessed,
    Unknown,
}

/// What a person has found out: about the newest attempt, or about an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Finding {
    NotProcessed,
    Rejected,
    /// Processed, as the transaction that the service creates for this key.
    Processed,
    /// Processed, as the transaction that the service creates for the other key.
    ProcessedAsTheOther,
    /// An earlier attempt was processed.
    EarlierProcessed,
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
    /// By a person who has read a row with this attempt and revision.
    Resolve {
        attempt: Attempt,
        is_same_revision: bool,
        finding: Finding,
    },
    Reopen,
}

pub(crate) const OWN_ID: &str = "txn-of-this-key";
pub(crate) const OTHER_ID: &str = "txn-of-the-other-key";
pub(crate) const EARLIER_ID: &str = "txn-of-an-earlier-attempt";

impl Input {
    /// A person resolves the row as it is now.
    pub(crate) fn of_fresh_read(finding: Finding) -> Self {
        Self::Resolve { attempt: Attempt::Current, is_same_revision: true, finding }
    }

    pub(crate) fn change(self) -> Change {
        let (key, at, owner) = (key(), UNIX_EPOCH, OwnerId::from_kept("owner"));
        match self {
            Self::Begin { is_after_rejection, is_same_request } => {
                let begin = if is_after_rejection { Begin::AfterRejection } else { Begin::Plain };
                let cents = if is_same_request { 10_50 } else { 10_51 };
                Change::begin(
                    key,
                    NewAttempt {
                        begin,
                        service: "https://pay.example.com".to_owned(),
                        request: request(cents),
                        attempt_id: AttemptId::from_kept("new"),
                        owner,
                    },
                    at,
                )
            }
            Self::End { attempt: Attempt::Other, how: How::Processed } => {
                Change::end(key, Attempt::Other.id(), Ending::Processed(transaction(EARLIER_ID)), at)
            }
            Self::End { attempt, how } => Change::end(key, attempt.id(), how.ending(), at),
            Self::Orphan { attempt } => Change::orphan(key, attempt.id(), at),
            Self::Resolve { attempt, is_same_revision, finding } => {
                let begin = Change::begin(
                    key,
                    NewAttempt {
                        begin: Begin::Plain,
                        service: "https://pay.example.com".to_owned(),
                        request: request(10_50),
                        attempt_id: attempt.id(),
                        owner,
                    },
                    at,
                );
                let mut read = begin.decide(None).expect("there is no row");
                read.revision = if is_same_revision { REVISION } else { REVISION + 1 };
                Change::resolve(&read, finding.resolution(), at)
            }
            Self::Reopen => Change::reopen(key, Some(&[401, 403, 429]), "grace", None, at),
        }
    }
}

impl Attempt {
    fn id(self) -> AttemptId {
        AttemptId::from_kept(match self {
            Self::Current => "current",
            Self::Other => "other",
            Self::Gone => "gone",
        })
    }
}

impl Finding {
    pub(crate) fn resolution(self) -> Resolution {
        let processed_as = |id| Resolution::processed(transaction(id), "grace");
        match self {
            Self::NotProcessed => Resolution::not_processed("grace"),
            Self::Rejected => Resolution::rejected(None, "grace"),
            Self::Processed => processed_as(OWN_ID),
            Self::ProcessedAsTheOther => processed_as(OTHER_ID),
            Self::EarlierProcessed => processed_as(EARLIER_ID).of_attempt(1),
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
    input.change().decide(found).ok()
}

/// The number of a row in [`Rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row(u8);

/// Every row so far, and every decision of `decide`, which is called once for each row and change.
pub(crate) struct Rows {
    decide: Decide,
    /// Whether earlier attempts are kept, so that a person can find one processed.
    has_earlier: bool,
    seen: RefCell<Vec<Rc<Intent>>>,
    decisions: RefCell<QuickMap<(Option<Row>, Input), Decision>>,
}

/// What a store needs from a change.
#[derive(Clone, Copy)]
pub(crate) struct Decision {
    /// The row to write, if any.
    pub(crate) written: Option<Row>,
    pub(crate) is_refused_if_taken: bool,
    /// Whose transaction to search in other keys: this key's, or the other key's.
    pub(crate) to_search: Option<Whose>,
    /// Whether the row has another revision than before.
    pub(crate) is_counted: bool,
}

/// Whose transaction an id is, seen from the key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Own,
    Other,
}

/// No other key is resolved as the transaction of an earlier attempt.
pub(crate) fn whose(id: &TransactionId) -> Option<Whose> {
    match id.as_str() {
        OWN_ID => Some(Whose::Own),
        OTHER_ID => Some(Whose::Other),
        _ => None,
    }
}

impl Rows {
    pub(crate) fn new(decide: Decide, has_earlier: bool) -> Self {
        Self { decide, has_earlier, seen: RefCell::default(), decisions: RefCell::default() }
    }

    pub(crate) fn decide(&self, found: Option<Row>, input: Input) -> Decision {
        *self.decisions.borrow_mut().entry((found, input)).or_insert_with(|| {
            let before = found.map(|row| self.intent(row));
            let change = input.change();
            let is_refused_if_taken = change.taken_by(Some(change.key())).is_some();
            let written = (self.decide)(input, before.as_deref());
            let (mut to_search, mut is_counted) = (None, true);
            let written = written.map(|intent| {
                to_search = change.transaction_to_search().and_then(whose);
                if let Some(before) = &before {
                    is_counted = intent.revision != before.revision;
                    let is_mark = matches!(input, Input::Orphan { .. });
                    let is_next = intent.revision == before.revision + 1;
                    assert!(is_next || is_mark && !is_counted, "every other change counts one revision");
                    assert!(
                        intent.history().starts_with(&before.history()),
                        "every event is kept: {intent:?}"
                    );
                }
                let mut seen = self.seen.borrow_mut();
                let canonical = canonical(intent, self.has_earlier);
                let position = seen.iter().position(|row| **row == canonical).unwrap_or_else(|| {
                    seen.push(Rc::new(canonical));
                    seen.len() - 1
                });
                Row(u8::try_from(position).unwrap())
            });
            Decision { written, is_refused_if_taken, to_search, is_counted }
        })
    }

    pub(crate) fn intent(&self, row: Row) -> Rc<Intent> {
        self.seen.borrow()[usize::from(row.0)].clone()
    }

    pub(crate) fn all(&self) -> Vec<Rc<Intent>> {
        self.seen.borrow().clone()
    }
}

/// Without times and counts, and with canonical names of the attempts and the request. All earlier attempts are one: they moved
/// no money, or a begin would not have followed. Of the history, `decide` reads the names of the attempts. Of what persons have said, `decide` reads only the last about the newest attempt
/// and whether an earlier one was found processed, and it only copies the failure before that.
fn canonical(intent: Intent, has_earlier: bool) -> Intent {
    let mut intent = intent;
    let newest = std::mem::replace(&mut intent.attempts, 1);
    (intent.attempt_id, intent.request, intent.revision) = (Attempt::Current.id(), request(10_50), REVISION);
    if let IntentState::Resolved { before, .. } = &mut intent.state {
        *before = Failure::of_kind("before");
    }
    let events = std::mem::take(&mut intent.events);
    let begun = |attempt: u32, id: Attempt| HistoryEvent::Begun {
        at: UNIX_EPOCH,
        attempt,
        attempt_id: id.id(),
        request: request(10_50),
    };
    let is_earlier =
        |event: &HistoryEvent| matches!(event, HistoryEvent::Begun { attempt, .. } if *attempt < newest);
    if has_earlier && events.iter().any(is_earlier) {
        intent.attempts = 2;
        intent.events.push(begun(1, Attempt::Other));
    }
    intent.events.push(begun(intent.attempts, Attempt::Current));
    let resolutions = || {
        events.iter().filter_map(|event| match event {
            HistoryEvent::Resolved(said) => Some(said),
            _ => None,
        })
    };
    let is_said = !matches!(intent.state, IntentState::Processed { .. });
    let said = resolutions().rfind(|said| said.attempt == newest && is_said);
    let is_found = |it: &&RecordedResolution| matches!(it.resolution.verdict, Verdict::Processed(_));
    let found = resolutions().filter(|it| it.attempt < newest).rfind(is_found);
    let at = |number: u32, recorded: &RecordedResolution| {
        let mut recorded = recorded.clone();
        (recorded.attempt, recorded.before) = (number, None);
        HistoryEvent::Resolved(recorded)
    };
    let attempts = intent.attempts;
    intent.events.extend(found.map(|it| at(1, it)).into_iter().chain(said.map(|it| at(attempts, it))));
    if intent.events.len() == 1 {
        intent.events.clear();
    }
    intent
}

/// Of every canonical row.
const REVISION: u64 = 1;

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
