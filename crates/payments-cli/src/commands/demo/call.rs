//! One call of the demonstration: what the client said of it, and what it changed in the sandbox's ledger.

use payments_core::{Error, LookupError, Success};
use payments_fake::{EntryKind, EntryState, Ledger};
use payments_model::{Amount, TransactionId};
use serde_json::{Value, json};

use crate::failure::{self, CallError, FailedOutcome};

#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) title: &'static str,
    /// The entry that the call is to bring about; none for a lookup.
    pub(super) asked: Option<Asked>,
    pub(super) expected: Expected,
    pub(super) said: Said,
    /// How many requests the sandbox received.
    pub(super) received: usize,
    /// What is new in the ledger, or in another state than before.
    pub(super) changed: Vec<Entry>,
}

/// What a call is to do to the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) kind: EntryKind,
    pub(super) state: EntryState,
    /// Of a payment.
    pub(super) amount: Option<Amount>,
    /// Of a void: the transaction to void.
    pub(super) id: Option<TransactionId>,
}

/// How a call is meant to end; a demonstration that shows something else has failed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Processed,
    Found,
    /// With this HTTP status.
    Rejected(u16),
    Unknown,
}

/// What the SDK returned. Made from that alone, never from the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The payment with this id was processed, or voided.
    Processed(TransactionId),
    Found {
        shows: String,
        /// Whether it is what the sandbox has on record.
        is_true: bool,
    },
    Rejected {
        http_status: Option<u16>,
        reason: String,
        /// A declined payment has an id all the same.
        id: Option<TransactionId>,
    },
    NotProcessed(String),
    Unknown {
        why: String,
        next_step: String,
    },
}

/// One payment of the sandbox's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: TransactionId,
    pub(super) kind: EntryKind,
    pub(super) state: EntryState,
    pub(super) amount: Amount,
}

/// Every payment of the ledger, in its order.
pub(super) fn entries(ledger: &Ledger) -> Vec<Entry> {
    let payments = ledger.entries().iter().filter(|entry| entry.kind != EntryKind::Void);
    let entry = |entry: &payments_fake::LedgerEntry| Entry {
        id: entry.transaction_id().clone(),
        kind: entry.kind,
        state: entry.state,
        amount: entry.amount,
    };
    payments.map(entry).collect()
}

/// The entries that are new, or in another state than before.
pub(super) fn changed(before: &[Entry], mut after: Vec<Entry>) -> Vec<Entry> {
    after.retain(|entry| !before.contains(entry));
    after
}

impl Asked {
    pub(super) fn sale(amount: Amount) -> Self {
        Self { kind: EntryKind::Sale, state: EntryState::Approved, amount: Some(amount), id: None }
    }

    pub(super) fn void(id: TransactionId) -> Self {
        Self { kind: EntryKind::Authorisation, state: EntryState::Voided, amount: None, id: Some(id) }
    }

    fn is(&self, entry: &Entry) -> bool {
        (self.kind, self.state) == (entry.kind, entry.state)
            && self.amount.is_none_or(|amount| amount == entry.amount)
            && self.id.as_ref().is_none_or(|id| *id == entry.id)
    }
}

impl Call {
    /// Whether the call ended as expected, reached the sandbox exactly once, and the ledger confirms what the client said.
    ///
    /// After an unknown outcome the sandbox may have done what was asked or not, but never twice.
    pub(super) fn agrees(&self) -> bool {
        let is_as_expected = match (self.expected, &self.said) {
            (Expected::Processed, Said::Processed(_))
            | (Expected::Found, Said::Found { .. })
            | (Expected::Unknown, Said::Unknown { .. }) => true,
            (Expected::Rejected(expected), Said::Rejected { http_status, .. }) => {
                *http_status == Some(expected)
            }
            _ => false,
        };
        is_as_expected && self.is_confirmed() && self.received == 1
    }

    fn is_confirmed(&self) -> bool {
        let is_asked = |entry| self.asked.as_ref().is_some_and(|asked| asked.is(entry));
        match (&self.said, self.changed.as_slice()) {
            (Said::Processed(id), [entry]) => entry.id == *id && is_asked(entry),
            (Said::Found { is_true, .. }, []) => *is_true,
            (Said::Rejected { .. } | Said::NotProcessed(_) | Said::Unknown { .. }, []) => true,
            (Said::Rejected { id, .. }, [entry]) => {
                entry.state == EntryState::Declined && id.as_ref().is_none_or(|id| *id == entry.id)
            }
            (Said::Unknown { .. }, [entry]) => is_asked(entry),
            _ => false,
        }
    }

    /// What the sandbox did; `now` is its ledger at the end.
    pub(super) fn truth(&self, now: &[Entry]) -> String {
        let change = |entry: &Entry| {
            let is_voided_now = now.iter().any(|it| it.id == entry.id && it.state == EntryState::Voided);
            match entry.state {
                EntryState::Voided => format!("{} voided", entry.id),
                EntryState::Approved if is_voided_now => format!("{}, voided later", entry.kind.as_str()),
                state => format!("{} {}", entry.kind.as_str(), state.as_str()),
            }
        };
        match (self.changed.as_slice(), &self.asked) {
            ([], None) => "no change".to_owned(),
            ([], Some(_)) => "nothing charged".to_owned(),
            (changed, _) => changed.iter().map(change).collect::<Vec<_>>().join(" + "),
        }
    }

    pub(super) fn amount(&self) -> String {
        let amount = self.asked.as_ref().and_then(|asked| asked.amount);
        amount.map(|amount| amount.to_string()).unwrap_or_default()
    }

    pub(super) fn to_json(&self, now: &[Entry]) -> Value {
        let amount = Some(self.amount()).filter(|amount| !amount.is_empty());
        json!({
            "call": self.title,
            "amount": amount,
            "client_said": self.said.outcome(),
            "details": self.said.details(),
            "sandbox_has": self.truth(now),
            "agree": self.agrees(),
        })
    }
}

impl Said {
    pub(super) fn of(result: Result<TransactionId, Error>) -> Self {
        result.map_or_else(|error| Self::of_error(&error), Self::Processed)
    }

    /// `read` returns some of the record for people, and whether it is the sandbox's own.
    pub(super) fn of_lookup<T>(
        result: Result<Success<T>, LookupError>,
        read: impl FnOnce(&Success<T>) -> (String, bool),
    ) -> Self {
        match result {
            Ok(record) => {
                let (shows, is_true) = read(&record);
                Self::Found { shows, is_true }
            }
            Err(error) => Self::of_error(&error),
        }
    }

    fn of_error(error: &impl CallError) -> Self {
        match error.failed_outcome() {
            FailedOutcome::Invalid | FailedOutcome::NotProcessed => Self::NotProcessed(error.to_string()),
            FailedOutcome::Rejected => Self::Rejected {
                http_status: error.http_status().map(|status| status.as_u16()),
                reason: error.reason().unwrap_or("no reason given").to_owned(),
                id: error.transaction_id().cloned(),
            },
            FailedOutcome::Unknown => Self::Unknown {
                why: match error.transport_error() {
                    Some(error) => error.kind().description().to_owned(),
                    None => error.to_string(),
                },
                next_step: failure::after_unknown(
                    failure::to_look_up(error).as_ref(),
                    error.search_by().unwrap_or("time"),
                ),
            },
        }
    }

    /// The outcome in the words of the exit codes.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::Processed(_) => "processed",
            Self::Found { .. } => "found",
            Self::Rejected { .. } => "rejected",
            Self::NotProcessed(_) => "not processed",
            Self::Unknown { .. } => "UNKNOWN",
        }
    }

    /// What is known beside the outcome.
    pub(super) fn details(&self) -> String {
        match self {
            Self::Processed(id) => id.to_string(),
            Self::Found { shows, .. } => shows.clone(),
            Self::Rejected { http_status, reason, id } => {
                let status = http_status.map(|status| format!("HTTP {status}: ")).unwrap_or_default();
                let id = id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
                format!("{status}{reason}{id}")
            }
            Self::NotProcessed(why) | Self::Unknown { why, .. } => why.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNT: Amount = Amount::from_cents(10_50);

    fn id(text: &str) -> TransactionId {
        TransactionId::new(text).unwrap()
    }

    fn entry(text: &str, state: EntryState) -> Entry {
        Entry { id: id(text), kind: EntryKind::Sale, state, amount: AMOUNT }
    }

    fn approved(text: &str) -> Entry {
        entry(text, EntryState::Approved)
    }

    fn sale(expected: Expected, said: Said, changed: Vec<Entry>) -> Call {
        Call { title: "sale", asked: Some(Asked::sale(AMOUNT)), expected, said, received: 1, changed }
    }

    fn paid(changed: Vec<Entry>) -> Call {
        sale(Expected::Processed, Said::Processed(id("txn_1")), changed)
    }

    #[test]
    fn a_payment_agrees_with_exactly_its_own_charge() {
        assert!(paid(vec![approved("txn_1")]).agrees());
        assert!(!paid(vec![]).agrees(), "not charged at all");
        assert!(!paid(vec![approved("txn_2")]).agrees(), "another id");
        assert!(!paid(vec![entry("txn_1", EntryState::Declined)]).agrees());
        assert!(!paid(vec![approved("txn_1"), approved("txn_2")]).agrees(), "charged twice");
        let other_amount = Entry { amount: Amount::from_cents(10_51), ..approved("txn_1") };
        assert!(!paid(vec![other_amount]).agrees());
        let only_held = Entry { kind: EntryKind::Authorisation, ..approved("txn_1") };
        assert!(!paid(vec![only_held]).agrees());
    }

    #[test]
    fn a_call_that_arrives_twice_or_never_agrees_with_nothing() {
        for received in [0, 2] {
            assert!(!Call { received, ..paid(vec![approved("txn_1")]) }.agrees(), "{received}");
        }
    }

    #[test]
    fn a_refusal_agrees_with_nothing_or_its_own_declined_payment() {
        let refused = |id, changed| {
            let said = Said::Rejected { http_status: Some(400), reason: String::new(), id };
            sale(Expected::Rejected(400), said, changed)
        };
        assert!(refused(None, vec![]).agrees());
        assert!(refused(Some(id("txn_1")), vec![entry("txn_1", EntryState::Declined)]).agrees());
        assert!(!refused(Some(id("txn_1")), vec![entry("txn_2", EntryState::Declined)]).agrees());
        assert!(!refused(None, vec![approved("txn_1")]).agrees(), "charged after all");
        let other_status = Call { expected: Expected::Rejected(401), ..refused(None, vec![]) };
        assert!(!other_status.agrees(), "not what the demonstration is to show");
    }

    #[test]
    fn an_unknown_outcome_agrees_with_one_charge_or_none_and_never_with_two() {
        let unknown = |changed| {
            let said = Said::Unknown { why: String::new(), next_step: String::new() };
            sale(Expected::Unknown, said, changed)
        };
        assert!(unknown(vec![]).agrees());
        assert!(unknown(vec![approved("txn_1")]).agrees());
        assert!(!unknown(vec![approved("txn_1"), approved("txn_2")]).agrees());
    }

    #[test]
    fn what_was_not_processed_agrees_with_nothing_alone() {
        let nothing = |changed| sale(Expected::Unknown, Said::NotProcessed(String::new()), changed);
        assert!(nothing(vec![]).is_confirmed());
        assert!(!nothing(vec![approved("txn_1")]).is_confirmed());
        assert!(!nothing(vec![]).agrees(), "not what the demonstration is to show");
    }

    #[test]
    fn a_void_agrees_with_the_void_of_that_transaction() {
        let void = |voided: &[&str]| Call {
            title: "void",
            asked: Some(Asked::void(id("txn_1"))),
            expected: Expected::Processed,
            said: Said::Processed(id("txn_1")),
            received: 1,
            changed: voided
                .iter()
                .map(|text| Entry { kind: EntryKind::Authorisation, ..entry(text, EntryState::Voided) })
                .collect(),
        };
        assert!(void(&["txn_1"]).agrees());
        assert!(!void(&[]).agrees());
        assert!(!void(&["txn_2"]).agrees());
        assert!(!void(&["txn_1", "txn_2"]).agrees());
    }

    #[test]
    fn a_lookup_agrees_if_it_told_the_truth_and_changed_nothing() {
        let look = |is_true, changed| Call {
            title: "look",
            asked: None,
            expected: Expected::Found,
            said: Said::Found { shows: String::new(), is_true },
            received: 1,
            changed,
        };
        assert!(look(true, vec![]).agrees());
        assert!(!look(false, vec![]).agrees());
        assert!(!look(true, vec![approved("txn_1")]).agrees());
    }

    #[test]
    fn a_change_is_what_is_new_or_in_another_state() {
        let before = [approved("txn_1"), entry("txn_2", EntryState::Voided)];
        let after = vec![entry("txn_1", EntryState::Voided), before[1].clone(), approved("txn_3")];
        assert_eq!(changed(&before, after.clone()), [after[0].clone(), after[2].clone()]);
        assert_eq!(changed(&after, after.clone()), []);
    }
}
