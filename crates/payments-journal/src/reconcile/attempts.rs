//! What of an intent is compared with a report. Only this file reads [`Intent`].

use std::time::{Duration, SystemTime};

use payments_core::OperationName;
use payments_model::{Amount, ConvenienceFee, TransactionId, TransactionType};

use super::intervals::Interval;
use super::reconciliation::{ReconcileOptions, ReconciledAttempt, UndecidedReason};
use crate::{HistoryEvent, Intent, IntentRequest, IntentState, StateName, Subject, Verdict};

/// An intent with its attempts that can be compared, in order.
pub(super) struct Compared {
    /// The newest attempt, or the one that the intent was processed as.
    pub(super) shown: ReconciledAttempt,
    /// The service, if it is another merchant's: such an intent is only compared by its transactions.
    pub(super) other_service: Option<String>,
    /// Whether it was processed, as the service or a person says.
    pub(super) is_processed: bool,
    /// The id of an intent that is not processed: it can only be the row of this id.
    pub(super) id: Option<TransactionId>,
    /// Every transaction that it is known by, with the attempt: also one that a person has named and replaced since.
    pub(super) known: Vec<(TransactionId, u32)>,
    /// Whether a part of its id was replaced, so that no row can be recognized by it.
    pub(super) has_masked_id: bool,
    /// Ids of attempts that were rejected, as persons say.
    pub(super) rejected: Vec<(TransactionId, u32)>,
    pub(super) attempts: Vec<Attempt>,
}

#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) amount: Option<Amount>,
    pub(super) mark: Option<Mark>,
    pub(super) has_fee: bool,
    /// Whether it may have moved money, as far as the journal knows.
    pub(super) is_open: bool,
    /// Whether it may have moved money after all: its outcome is open, or only a person's word says that it moved none.
    pub(super) is_doubtful: bool,
    /// Whether no id is known that a row could have.
    pub(super) is_searched: bool,
    /// Whether it is open because the journal lost its entry, so that its card is not known, and perhaps nothing but its key.
    pub(super) is_lost: bool,
    pub(super) window: Interval,
    pub(super) request: IntentRequest,
    pub(super) begun_at: SystemTime,
}

/// By what a report shows a payment, besides the amount.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// Without white space.
    Reference(String),
    LastFour(String),
}

/// Chosen by this SDK: clocks that differ by more are wrong.
const BEFORE: Duration = Duration::from_mins(5);

/// Every transaction that this payment is known by, with its attempt; that of the state is of attempt `shown`. A void has the
/// transaction of another payment.
pub(super) fn known(intent: &Intent, shown: u32) -> impl Iterator<Item = (&TransactionId, u32)> {
    let said = intent.resolutions();
    let said = said.filter_map(|said| Some((said.resolution.verdict.transaction_id()?, said.attempt)));
    let of_state = intent.transaction_id().map(|id| (id, shown));
    let is_payment = !intent.is_void();
    said.chain(of_state).filter(move |(id, _)| is_payment && !id.is_redacted())
}

impl Compared {
    pub(super) fn of(intent: &Intent, options: &ReconcileOptions) -> Self {
        let is_processed = intent.processed_as().is_some();
        // The row may show the request of an earlier attempt.
        let number_shown = match &intent.state {
            IntentState::Resolved { resolution, .. } if is_processed => {
                resolution.attempt.unwrap_or(intent.attempts)
            }
            _ => intent.attempts,
        };
        let id = intent.transaction_id();
        let is_found = |number| {
            let decided = intent.decision_about(number).map(|decided| &decided.verdict);
            matches!(decided, Some(Verdict::Processed(id) | Verdict::Rejected(Some(id))) if !id.is_redacted())
        };
        let window = |begun_at: SystemTime, end: Option<SystemTime>| {
            let start = begun_at.checked_sub(BEFORE).unwrap_or(begun_at);
            let end = end.map(|end| end.max(begun_at));
            let end = end.map(|end| end.checked_add(options.within).unwrap_or(end));
            end.map_or_else(|| Interval::from(start), |end| Interval::between(start, end))
        };
        let attempt = |number: u32, request: &IntentRequest, begun_at, is_open, end| Attempt {
            number,
            amount: request.amount,
            mark: mark(request),
            has_fee: request.convenience_fee == Some(ConvenienceFee::Active),
            is_open,
            is_doubtful: is_open || intent.decision_about(number).is_some(),
            is_searched: !is_found(number),
            is_lost: is_open && intent.is_unknown_by_loss(),
            window: window(begun_at, end),
            request: request.clone(),
            begun_at,
        };
        let history = intent.history();
        let others = history.iter().filter_map(|event| match event {
            HistoryEvent::Begun { at, attempt: number, request, .. } if *number != number_shown => {
                Some(attempt(*number, request, *at, false, end_of(intent, *number, *at, options.deadline)))
            }
            _ => None,
        });
        let mut attempts: Vec<_> = others.collect();
        let end = end_of(intent, number_shown, intent.begun_at, options.deadline);
        let mut newest = attempt(number_shown, &intent.request, intent.begun_at, intent.is_unresolved(), end);
        // An attempt that follows a rejection and was not processed is recorded with that rejection, whose id is not its own.
        let may_be_of_another = matches!(intent.state, IntentState::Rejected(_)) && intent.attempts > 1;
        newest.is_searched &= may_be_of_another || id.is_none_or(TransactionId::is_redacted);
        attempts.push(newest);
        let held: Vec<_> = intent.held_transactions().collect();
        let rejected = intent.resolutions().filter_map(|said| match &said.resolution.verdict {
            Verdict::Rejected(Some(id)) if !id.is_redacted() && !held.contains(&id) => {
                Some((id.clone(), said.attempt))
            }
            _ => None,
        });
        let rejected = rejected.collect();
        if intent.is_void() {
            attempts.clear();
        }
        let known = known(intent, number_shown).map(|(id, number)| (id.clone(), number)).collect();
        let has_masked_id = id.is_some_and(TransactionId::is_redacted);
        let id = id.filter(|id| !is_processed && !id.is_redacted() && !intent.is_void()).cloned();
        let shown = ReconciledAttempt {
            key: intent.key.clone(),
            attempt: number_shown,
            revision: intent.revision,
            state: intent.state.name(),
            request: intent.request.clone(),
            begun_at: intent.begun_at,
        };
        Self { shown, other_service: None, is_processed, id, known, has_masked_id, rejected, attempts }
    }

    /// An intent of another merchant at the same base URL.
    pub(super) fn of_another_merchant(intent: &Intent, options: &ReconcileOptions) -> Self {
        let mut this = Self::of(intent, options);
        // What a person has taken back may be anybody's.
        let own: Vec<_> = intent.transaction_id().into_iter().chain(intent.held_transactions()).collect();
        this.known.retain(|(id, _)| own.contains(&id));
        Self {
            other_service: intent.service.clone(),
            id: None,
            rejected: Vec::new(),
            attempts: Vec::new(),
            ..this
        }
    }

    /// Whether its outcome is open.
    pub(super) fn is_open(&self) -> bool {
        StateName::UNRESOLVED.contains(&self.shown.state)
    }

    /// Whether it can only be the row of its id: it was processed at once, and the id is known.
    pub(super) fn is_settled(&self) -> bool {
        let is_searched = self.attempts.iter().any(|attempt| attempt.is_searched);
        self.is_processed && !is_searched && self.rejected.is_empty()
    }

    /// The newest attempt, if it is open and searched. Of one that is not searched the id is known.
    pub(super) fn searched(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.is_open && attempt.is_searched)
    }

    /// The same, if it is searched by this reference.
    pub(super) fn searched_by_reference(&self) -> Option<(&Attempt, &str)> {
        let attempt = self.searched()?;
        match &attempt.mark {
            Some(Mark::Reference(reference)) => Some((attempt, reference)),
            _ => None,
        }
    }

    /// Why nothing is ever proposed for it.
    pub(super) fn never_proposed(&self, request: &IntentRequest) -> Option<UndecidedReason> {
        let reasons = [
            (self.shown.state == StateName::Sending, UndecidedReason::Sending),
            (request.subject == Subject::Lost, UndecidedReason::Lost),
            (request.operation() == Some(OperationName::Void), UndecidedReason::Void),
            (request.subject == Subject::Account, UndecidedReason::Ach),
            (request.convenience_fee != Some(ConvenienceFee::Inactive), UndecidedReason::Fee),
            (self.has_masked_id, UndecidedReason::MaskedId),
        ];
        reasons.into_iter().find_map(|(applies, why)| applies.then_some(why))
    }

    /// Whether it certainly asked for a charge. What a card payment without a type does is not documented.
    pub(super) fn is_sale(&self) -> bool {
        let request = &self.shown.request;
        let is_sale = request.transaction_type == Some(TransactionType::Sale)
            || matches!(request.subject, Subject::Token(_));
        is_sale && request.operation() != Some(OperationName::Void)
    }
}

pub(super) fn mark(request: &IntentRequest) -> Option<Mark> {
    match &request.subject {
        Subject::Card { last_four } => Some(Mark::LastFour(last_four.clone())),
        _ => request.reference_without_white_space().map(Mark::Reference),
    }
}

/// When an attempt ended, at the latest; `None` while it is being sent. If nothing has recorded that, as of a crash that is not
/// marked yet, it took no longer than its deadline.
fn end_of(intent: &Intent, number: u32, begun_at: SystemTime, deadline: Duration) -> Option<SystemTime> {
    if number == intent.attempts && intent.state == IntentState::Sending {
        return None;
    }
    let recorded = intent.history().iter().rev().find_map(|event| match event {
        HistoryEvent::Ended { at, attempt, .. } | HistoryEvent::Lost { at, attempt, .. }
            if *attempt == number =>
        {
            Some(*at)
        }
        _ => None,
    });
    Some(recorded.unwrap_or_else(|| begun_at.checked_add(deadline).unwrap_or(begun_at)))
}
