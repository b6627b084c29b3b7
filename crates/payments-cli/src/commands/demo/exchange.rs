//! One call of the demonstration: what was asked, what the client believed, and what the sandbox did.

use payments_model::{Amount, TransactionId};

use super::belief::Belief;
use super::truth::{Change, Fact, FactState};

/// One call with both sides of the story.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) title: &'static str,
    pub(super) asked: Asked,
    pub(super) scripted: Scripted,
    pub(super) belief: Belief,
    pub(super) change: Change,
}

/// What the call was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Take this amount.
    Sale(Amount),
    /// Hold this amount.
    Authorisation(Amount),
    /// Void this transaction.
    Void(TransactionId),
    /// Only look.
    LookUp,
}

/// How the call is meant to end; a demonstration that shows something else has failed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scripted {
    Processed,
    Found,
    /// With this HTTP status.
    Rejected(u16),
    Unknown,
}

impl Exchange {
    /// Whether the call ended as scripted and the sandbox's ledger bears out what the client believed.
    ///
    /// Every call must have reached the sandbox exactly once. An unknown outcome claims nothing, so the sandbox may have done what was asked or not; but never twice.
    pub(super) fn agrees(&self) -> bool {
        self.is_as_scripted() && self.is_borne_out() && self.change.received == 1
    }

    /// What the sandbox did, in a few words; `now` is its ledger at the end.
    pub(super) fn truth(&self, now: &[Fact]) -> String {
        let made = self.change.made.iter().map(|fact| {
            let became = now.iter().find(|other| other.id == fact.id).map(|fact| fact.state);
            let state = match (fact.state, became) {
                (FactState::Approved, Some(FactState::Voided)) => ", voided later",
                (FactState::Approved, _) => " approved",
                (FactState::Declined, _) => " declined",
                (FactState::Voided, _) => " voided",
                (FactState::Other, _) => " in another state",
            };
            format!("{}{state}", fact.kind)
        });
        let voided = self.change.voided.iter().map(|id| format!("{id} voided"));
        let changes: Vec<_> = made.chain(voided).collect();
        match (&self.asked, changes.is_empty()) {
            (_, false) => changes.join(" + "),
            (Asked::LookUp, true) => "no change".to_owned(),
            (_, true) => "nothing charged".to_owned(),
        }
    }

    fn is_as_scripted(&self) -> bool {
        match (self.scripted, &self.belief) {
            (Scripted::Processed, Belief::Paid(_) | Belief::Voided(_))
            | (Scripted::Found, Belief::Found { .. })
            | (Scripted::Unknown, Belief::Unknown { .. }) => true,
            (Scripted::Rejected(scripted), Belief::Rejected { http_status, .. }) => {
                *http_status == Some(scripted)
            }
            _ => false,
        }
    }

    fn is_borne_out(&self) -> bool {
        let Change { made, voided, received: _ } = &self.change;
        match (&self.belief, made.as_slice(), voided.as_slice()) {
            (Belief::Paid(id), [fact], []) => fact.id == *id && self.is_what_was_asked(fact),
            (Belief::Voided(id), [], [voided]) => voided == id && self.asked == Asked::Void(id.clone()),
            (Belief::Found { is_true, .. }, [], []) => *is_true,
            (Belief::Rejected { .. } | Belief::NotProcessed(_) | Belief::Unknown { .. }, [], []) => true,
            (Belief::Rejected { transaction_id, .. }, [fact], []) => {
                fact.state == FactState::Declined && transaction_id.as_ref().is_none_or(|id| *id == fact.id)
            }
            (Belief::Unknown { .. }, [fact], []) => self.is_what_was_asked(fact),
            (Belief::Unknown { .. }, [], [voided]) => self.asked == Asked::Void(voided.clone()),
            _ => false,
        }
    }

    fn is_what_was_asked(&self, fact: &Fact) -> bool {
        let (kind, amount) = match &self.asked {
            Asked::Sale(amount) => ("sale", *amount),
            Asked::Authorisation(amount) => ("authorisation", *amount),
            Asked::Void(_) | Asked::LookUp => return false,
        };
        fact.state == FactState::Approved && fact.kind == kind && fact.amount == amount
    }
}

impl Asked {
    /// The money in question.
    pub(super) fn amount(&self) -> Option<Amount> {
        match self {
            Self::Sale(amount) | Self::Authorisation(amount) => Some(*amount),
            Self::Void(_) | Self::LookUp => None,
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

    fn fact(text: &str, state: FactState) -> Fact {
        Fact { id: id(text), kind: "sale", amount: AMOUNT, state }
    }

    fn sale(scripted: Scripted, belief: Belief, made: Vec<Fact>) -> Exchange {
        let change = Change { received: 1, made, voided: Vec::new() };
        Exchange { title: "sale", asked: Asked::Sale(AMOUNT), scripted, belief, change }
    }

    fn paid(made: Vec<Fact>) -> Exchange {
        sale(Scripted::Processed, Belief::Paid(id("txn_1")), made)
    }

    #[test]
    fn a_payment_agrees_with_exactly_its_own_charge() {
        assert!(paid(vec![fact("txn_1", FactState::Approved)]).agrees());
        assert!(!paid(vec![]).agrees(), "not charged at all");
        assert!(!paid(vec![fact("txn_2", FactState::Approved)]).agrees(), "another id");
        assert!(!paid(vec![fact("txn_1", FactState::Declined)]).agrees());
        assert!(!paid(vec![fact("txn_1", FactState::Other)]).agrees());
        let twice = vec![fact("txn_1", FactState::Approved), fact("txn_2", FactState::Approved)];
        assert!(!paid(twice).agrees(), "charged twice");
        let other_amount = Fact { amount: Amount::from_cents(10_51), ..fact("txn_1", FactState::Approved) };
        assert!(!paid(vec![other_amount]).agrees());
        let only_held = Fact { kind: "authorisation", ..fact("txn_1", FactState::Approved) };
        assert!(!paid(vec![only_held]).agrees());
    }

    #[test]
    fn a_call_that_arrives_twice_or_never_agrees_with_nothing() {
        for received in [0, 2] {
            let mut exchange = paid(vec![fact("txn_1", FactState::Approved)]);
            exchange.change.received = received;
            assert!(!exchange.agrees(), "{received}");
        }
    }

    #[test]
    fn a_refusal_agrees_with_nothing_or_its_own_declined_payment() {
        let refused = |transaction_id, made| {
            let belief = Belief::Rejected { http_status: Some(400), reason: String::new(), transaction_id };
            sale(Scripted::Rejected(400), belief, made)
        };
        assert!(refused(None, vec![]).agrees());
        assert!(refused(Some(id("txn_1")), vec![fact("txn_1", FactState::Declined)]).agrees());
        assert!(!refused(Some(id("txn_1")), vec![fact("txn_2", FactState::Declined)]).agrees());
        assert!(!refused(None, vec![fact("txn_1", FactState::Approved)]).agrees(), "charged after all");
        let other_status = Exchange { scripted: Scripted::Rejected(401), ..refused(None, vec![]) };
        assert!(!other_status.agrees(), "not what the demonstration is to show");
    }

    #[test]
    fn an_unknown_outcome_agrees_with_one_charge_or_none_and_never_with_two() {
        let unknown = |made| {
            sale(
                Scripted::Unknown,
                Belief::Unknown { why: String::new(), to_look_up: None, search_by: "time" },
                made,
            )
        };
        assert!(unknown(vec![]).agrees());
        assert!(unknown(vec![fact("txn_1", FactState::Approved)]).agrees());
        assert!(
            !unknown(vec![fact("txn_1", FactState::Approved), fact("txn_2", FactState::Approved)]).agrees()
        );
    }

    #[test]
    fn what_was_not_processed_agrees_with_nothing_alone() {
        let nothing = |made| sale(Scripted::Unknown, Belief::NotProcessed(String::new()), made);
        assert!(nothing(vec![]).is_borne_out());
        assert!(!nothing(vec![fact("txn_1", FactState::Approved)]).is_borne_out());
        assert!(!nothing(vec![]).agrees(), "not what the demonstration is to show");
    }

    #[test]
    fn a_void_agrees_with_the_void_of_that_transaction() {
        let void = |voided: &[&str]| Exchange {
            title: "void",
            asked: Asked::Void(id("txn_1")),
            scripted: Scripted::Processed,
            belief: Belief::Voided(id("txn_1")),
            change: Change {
                received: 1,
                made: Vec::new(),
                voided: voided.iter().map(|text| id(text)).collect(),
            },
        };
        assert!(void(&["txn_1"]).agrees());
        assert!(!void(&[]).agrees());
        assert!(!void(&["txn_2"]).agrees());
        assert!(!void(&["txn_1", "txn_2"]).agrees());
    }

    #[test]
    fn a_look_up_agrees_if_it_told_the_truth_and_changed_nothing() {
        let look = |is_true, made| Exchange {
            title: "look",
            asked: Asked::LookUp,
            scripted: Scripted::Found,
            belief: Belief::Found { shows: String::new(), is_true },
            change: Change { received: 1, made, voided: Vec::new() },
        };
        assert!(look(true, vec![]).agrees());
        assert!(!look(false, vec![]).agrees());
        assert!(!look(true, vec![fact("txn_1", FactState::Approved)]).agrees());
    }

    #[test]
    fn a_change_is_what_is_new_and_what_is_newly_voided() {
        let before = [fact("txn_1", FactState::Approved), fact("txn_2", FactState::Voided)];
        let after = [fact("txn_1", FactState::Voided), before[1].clone(), fact("txn_3", FactState::Approved)];
        let change = Change::between(&before, &after, 1);
        assert_eq!(change, Change { received: 1, made: vec![after[2].clone()], voided: vec![id("txn_1")] });
        assert_eq!(Change::between(&after, &after, 0), Change::default());
    }
}
