//! The journal held against the service's own books.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::billing::Row;
use crate::books::Intent;
use crate::figures::Figures;
use crate::service::{Entry, Service};
use crate::weather::{Told, Weather};

/// Everything that is known of a round once a run has ended by itself.
pub(crate) struct Evidence<'a> {
    pub(crate) rows: &'a [Row],
    pub(crate) weather: &'a Weather,
    pub(crate) journal: BTreeMap<String, Intent>,
    pub(crate) ledger: BTreeMap<String, Vec<Entry>>,
    pub(crate) transmissions: HashMap<String, Vec<usize>>,
    /// What was being sent when a run was killed.
    pub(crate) killed: &'a BTreeSet<String>,
    /// Of the keys of which a person said that they may be sent again, how often each had been received by then.
    pub(crate) reopened: &'a HashMap<String, usize>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn take(
        service: &mut Service,
        rows: &'a [Row],
        weather: &'a Weather,
        journal: BTreeMap<String, Intent>,
        killed: &'a BTreeSet<String>,
        reopened: &'a HashMap<String, usize>,
    ) -> Self {
        let (ledger, transmissions) = (service.ledger(), service.transmissions());
        Self { rows, weather, journal, ledger, transmissions, killed, reopened }
    }

    /// The one entry of this key that moved money. More than one is what all this is about.
    pub(crate) fn charge(&self, key: &str) -> Option<&Entry> {
        let entries = self.ledger.get(key).into_iter().flatten();
        let charges: Vec<_> = entries.filter(|entry| !entry.is_declined).collect();
        assert!(charges.len() <= 1, "{key} was charged twice: {}", self.describe(key));
        charges.first().copied()
    }

    /// Everything that must hold whenever a run has ended by itself.
    pub(crate) fn check(&self, figures: &mut Figures) {
        let keys: BTreeSet<_> = self.rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(
            self.journal.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            keys,
            "every row is in the journal, and nothing else"
        );
        assert!(self.ledger.keys().all(|key| keys.contains(key.as_str())), "nothing else was charged");
        self.rows.iter().for_each(|row| self.check_row(row, figures));
        self.check_sums();
    }

    fn check_row(&self, row: &Row, figures: &mut Figures) {
        let key = row.key.as_str();
        let (intent, charge) = (&self.journal[key], self.charge(key));
        let what = || self.describe(key);
        assert_eq!(intent.cents, row.cents, "{}", what());
        if let Some(charge) = charge {
            assert_eq!(charge.cents, row.cents, "{}", what());
        }
        let earlier = self.reopened.get(key).copied().unwrap_or(0);
        let sent = self.transmissions.get(key).map_or(&[][..], |sent| &sent[earlier..]);
        assert!(sent.len() <= 1, "sent again, though it may have arrived: {}", what());
        let told = sent.last().map(|number| self.weather.told(*number));
        match intent.state.as_str() {
            "processed" => {
                assert_eq!(told, Some(Told::Truth), "nobody could know that: {}", what());
                let charge = charge.unwrap_or_else(|| panic!("processed, and not charged: {}", what()));
                assert_eq!(Some(&charge.transaction_id), intent.transaction_id.as_ref(), "{}", what());
            }
            "rejected" => {
                assert!(charge.is_none(), "rejected, and charged: {}", what());
                // No fault says 400, and its head is enough even where the rest of the answer is lost.
                let is_no = match told {
                    Some(Told::Refusal) => true,
                    Some(Told::Truth) => !row.is_good(),
                    _ => !row.is_good() && intent.http_status == Some(400),
                };
                assert!(is_no, "nobody has said no: {}", what());
            }
            "unknown" if intent.is_crash() => {
                assert!(self.killed.contains(key), "its sender was not killed: {}", what());
                if sent.is_empty() {
                    figures.killed_before_it_arrived += 1;
                    assert!(charge.is_none(), "{}", what());
                } else {
                    figures.killed_after_it_arrived += 1;
                }
            }
            "unknown" => {
                figures.unknown_by_an_answer += 1;
                let is_slow = intent.kind == "timeout" && told.is_some_and(|told| told != Told::Nothing);
                figures.unknown_by_slowness += u64::from(is_slow);
                assert!(is_slow || told == Some(Told::Nothing), "it could be known: {}", what());
            }
            "resolved" => {
                let is_processed = intent.is_processed();
                assert_eq!(is_processed, charge.is_some(), "as the books say: {}", what());
            }
            _ => panic!("a run that ended by itself left a row behind: {}", what()),
        }
        if intent.state == "unknown" {
            let count = match charge {
                Some(_) => &mut figures.unknown_and_charged,
                None => &mut figures.unknown_and_not_charged,
            };
            *count += 1;
        }
    }

    /// To the cent: what the journal calls processed, and what of the unknown was charged, is what the service took.
    fn check_sums(&self) {
        let taken: u64 =
            self.ledger.values().flatten().filter(|entry| !entry.is_declined).map(|entry| entry.cents).sum();
        let sum = |is_counted: &dyn Fn(&str, &Intent) -> bool| -> u64 {
            let counted = self.journal.iter().filter(|(key, intent)| is_counted(key, intent));
            counted.map(|(_, intent)| intent.cents).sum()
        };
        let processed = sum(&|_, intent| intent.is_processed());
        let unknown = sum(&|key, intent| intent.state == "unknown" && self.charge(key).is_some());
        assert_eq!(processed + unknown, taken, "{processed} processed, {unknown} unknown and charged");
    }

    /// For a person who reads of a broken promise.
    fn describe(&self, key: &str) -> String {
        let requests = self.transmissions.get(key).into_iter().flatten();
        let requests: Vec<_> = requests.map(|number| self.weather.describe(*number)).collect();
        format!(
            "{key}: the journal says {:?}; {requests:?}; the books say {:?}; killed while it was sent: {}; reopened: {:?}",
            self.journal.get(key),
            self.ledger.get(key),
            self.killed.contains(key),
            self.reopened.get(key)
        )
    }
}
