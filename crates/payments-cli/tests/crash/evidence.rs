//! Compares the journal with the service's ledger.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::billing::Row;
use crate::fault_plan::{FaultPlan, ResponseKind};
use crate::figures::Figures;
use crate::journal::Intent;
use crate::round::{CHARGED_TWICE, SENT_AGAIN};
use crate::service::{Entry, Service};

/// Everything known about a round once a run has ended without being killed.
pub(crate) struct Evidence<'a> {
    pub(crate) rows: &'a [Row],
    pub(crate) plan: &'a FaultPlan,
    pub(crate) journal: BTreeMap<String, Intent>,
    pub(crate) ledger: BTreeMap<String, Vec<Entry>>,
    pub(crate) transmissions: HashMap<String, Vec<Option<usize>>>,
    pub(crate) known: &'a Known,
}

/// What the test knows of some keys.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// In flight when a run was killed.
    pub(crate) killed: BTreeSet<String>,
    /// For each key that a person reopened, how often the service had received it by then.
    pub(crate) reopened: HashMap<String, usize>,
    /// What the journal has of it may be older than its last attempt, because an older copy was put back.
    pub(crate) lost: BTreeSet<String>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn collect(
        service: &mut Service,
        rows: &'a [Row],
        plan: &'a FaultPlan,
        journal: BTreeMap<String, Intent>,
        known: &'a Known,
    ) -> Self {
        let (ledger, transmissions) = (service.ledger(), service.transmissions());
        Self { rows, plan, journal, ledger, transmissions, known }
    }

    /// The only entry of this key that moved money. Panics if there is more than one.
    pub(crate) fn charge(&self, key: &str) -> Option<&Entry> {
        let entries = self.ledger.get(key).into_iter().flatten();
        let charges: Vec<_> = entries.filter(|entry| !entry.is_declined).collect();
        assert!(charges.len() <= 1, "{key} {CHARGED_TWICE}: {}", self.describe(key));
        charges.first().copied()
    }

    /// Checks everything that must hold after a run that was not killed.
    pub(crate) fn check(&self, figures: &mut Figures) {
        let keys: BTreeSet<_> = self.rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(
            self.journal.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            keys,
            "the journal has other keys than the file"
        );
        assert!(self.ledger.keys().all(|key| keys.contains(key.as_str())), "something else was charged");
        self.rows.iter().for_each(|row| self.check_row(row, figures));
        self.check_sums();
    }

    fn check_row(&self, row: &Row, figures: &mut Figures) {
        let key = row.key.as_str();
        let (intent, charge) = (&self.journal[key], self.charge(key));
        let what = || self.describe(key);
        let is_lost = intent.is_lost() || self.known.lost.contains(key);
        assert!(intent.cents.is_none_or(|cents| cents == row.cents), "{}", what());
        if let Some(charge) = charge {
            assert_eq!(charge.cents, row.cents, "{}", what());
        }
        let earlier = self.known.reopened.get(key).copied().unwrap_or(0);
        let sent = self.transmissions.get(key).map_or(&[][..], |sent| &sent[earlier..]);
        assert!(sent.len() <= 1, "{SENT_AGAIN}: {}", what());
        let response = sent.last().map(|fault| self.plan.response_kind(*fault));
        match intent.state.as_str() {
            // The attempt that the ledger knows may be one that the journal lacks.
            "unknown" | "rejected" if is_lost => {}
            "processed" => {
                assert_eq!(response, Some(ResponseKind::Truthful), "processed without proof: {}", what());
                let charge = charge.unwrap_or_else(|| panic!("processed, and not charged: {}", what()));
                assert_eq!(Some(&charge.transaction_id), intent.transaction_id.as_ref(), "{}", what());
            }
            "rejected" => {
                assert!(charge.is_none(), "rejected, and charged: {}", what());
                // No fault has the status 400, and the head alone is proof, even if the body is lost.
                let is_refused = match response {
                    Some(ResponseKind::Refusal) => true,
                    Some(ResponseKind::Truthful) => !row.is_good(),
                    _ => !row.is_good() && intent.http_status == Some(400),
                };
                assert!(is_refused, "rejected without proof: {}", what());
            }
            "unknown" if intent.is_crash() => {
                assert!(self.known.killed.contains(key), "its sender was not killed: {}", what());
                if sent.is_empty() {
                    figures.killed_before_arrival += 1;
                    assert!(charge.is_none(), "{}", what());
                } else {
                    figures.killed_after_arrival += 1;
                }
            }
            "unknown" => {
                figures.unknown_by_response += 1;
                let is_late = intent.kind == "timeout"
                    && response.is_some_and(|kind| kind != ResponseKind::Inconclusive);
                figures.unknown_by_late_response += u64::from(is_late);
                assert!(
                    is_late || response == Some(ResponseKind::Inconclusive),
                    "unknown despite proof: {}",
                    what()
                );
            }
            "resolved" => {
                let is_processed = intent.is_processed();
                assert_eq!(is_processed, charge.is_some(), "the ledger differs: {}", what());
            }
            _ => panic!("a finished run left a row behind: {}", what()),
        }
        if intent.state == "unknown" {
            let count = match charge {
                Some(_) => &mut figures.unknown_and_charged,
                None => &mut figures.unknown_and_not_charged,
            };
            *count += 1;
        }
    }

    /// To the cent, what the journal calls processed, plus the unknown rows that were charged, is what the service charged.
    fn check_sums(&self) {
        let charged: u64 =
            self.ledger.values().flatten().filter(|entry| !entry.is_declined).map(|entry| entry.cents).sum();
        let sum = |is_counted: &dyn Fn(&str, &Intent) -> bool| -> u64 {
            let counted = self.rows.iter().filter(|row| is_counted(&row.key, &self.journal[&row.key]));
            counted.map(|row| row.cents).sum()
        };
        let processed = sum(&|_, intent| intent.is_processed());
        let is_open = |key: &str, intent: &Intent| {
            intent.state == "unknown" || (intent.state == "rejected" && self.known.lost.contains(key))
        };
        let unknown = sum(&|key, intent| is_open(key, intent) && self.charge(key).is_some());
        assert_eq!(processed + unknown, charged, "{processed} processed, {unknown} unknown and charged");
    }

    /// For the message of a failed assertion.
    fn describe(&self, key: &str) -> String {
        let requests = self.transmissions.get(key).into_iter().flatten();
        let requests: Vec<_> = requests.map(|fault| self.plan.describe(*fault)).collect();
        format!(
            "{key}: journal {:?}; {requests:?}; ledger {:?}; killed in flight: {}; reopened: {:?}",
            self.journal.get(key),
            self.ledger.get(key),
            self.known.killed.contains(key),
            self.known.reopened.get(key)
        )
    }
}
