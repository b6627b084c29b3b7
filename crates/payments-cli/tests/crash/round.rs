//! One round: a billing file, a service on which anything may go wrong, runs that are killed, and a person who clears up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;
use serde_json::Value;

use crate::billing::{self, Row};
use crate::books::{self, Intent};
use crate::command::{Desk, results};
use crate::figures::Figures;
use crate::gate::Gate;
use crate::service::Service;
use crate::verdict::Evidence;
use crate::weather::Weather;

/// Runs it, and says its seed if it fails.
#[allow(clippy::print_stderr, reason = "the seed is for the person who reads of the failure")]
pub(crate) fn run(seed: u64, figures: &mut Figures) {
    let round = AssertUnwindSafe(|| Round::new(seed).run(figures));
    if let Err(panic) = catch_unwind(round) {
        eprintln!("CRASH_TEST_SEED={seed} begins with the round that failed");
        resume_unwind(panic);
    }
}

struct Round {
    chance: Rng,
    service: Service,
    desk: Desk,
    rows: Vec<Row>,
    weather: Weather,
    /// What was being sent when a run was killed.
    killed: BTreeSet<String>,
    /// Of the keys of which a person said that they may be sent again, how often each had been received by then.
    reopened: HashMap<String, usize>,
}

impl Round {
    fn new(seed: u64) -> Self {
        let mut chance = Rng::with_seed(seed);
        let mut service = Service::start();
        let rows = billing::rows(&mut chance);
        let weather = Weather::of(rows.len(), &mut chance);
        service.arm(&weather);
        let file = if chance.bool() { "billing.csv" } else { "billing.jsonl" };
        let desk = Desk::new(&service.base_url, &service.api_key, file);
        billing::write(&rows, &desk.file, &mut chance);
        Self { chance, service, desk, rows, weather, killed: BTreeSet::new(), reopened: HashMap::new() }
    }

    fn run(mut self, figures: &mut Figures) {
        figures.rounds += 1;
        figures.rows += self.rows.len() as u64;
        let kills = self.chance.u32(2..6);
        self.storm(kills, figures);
        self.settle(figures);
        self.check_results(figures);
        // The person's work is interrupted by kills too, but not for ever.
        for storm in 0.. {
            if !self.clear_up(figures) {
                break;
            }
            if storm < 2 {
                let kills = self.chance.u32(0..3);
                self.storm(kills, figures);
            }
            self.settle(figures);
        }
        self.check_the_end(figures);
    }

    /// Runs that are killed.
    fn storm(&mut self, kills: u32, figures: &mut Figures) {
        for _ in 0..kills {
            // Two at work on one file, or nobody there to send to.
            let (is_pair, is_outage) = match self.chance.u8(..8) {
                0 => (true, false),
                1 => (false, true),
                _ => (false, false),
            };
            let nowhere = NOWHERE.to_owned();
            let base_url = is_outage.then(|| std::mem::replace(&mut self.desk.base_url, nowhere));
            let count = if is_pair { 2 } else { 1 };
            let concurrency = *self.chance.choice(&[1, 1, 2, 4, 16, 64]).unwrap();
            let mut batches: Vec<_> = (0..count).map(|_| self.desk.batch(concurrency)).collect();
            let gate = if is_outage {
                Gate::of_an_outage(&mut self.chance)
            } else {
                Gate::any(self.rows.len() / 3, &mut self.chance)
            };
            gate.wait(&mut self.service, &self.desk, &mut batches);
            let killed = batches.into_iter().map(|batch| u64::from(batch.kill())).sum::<u64>();
            self.desk.base_url = base_url.unwrap_or_else(|| std::mem::take(&mut self.desk.base_url));
            self.notice_what_was_killed(is_pair);
            figures.runs += count;
            figures.kills += killed;
            figures.kills_of_two += if is_pair { killed } else { 0 };
            figures.runs_without_a_service += u64::from(is_outage);
            if self.chance.bool() {
                figures.late += self.service.deliver_late();
            }
        }
    }

    /// Whoever opens the journal next calls it unknown. The second of a pair may have noticed before it was killed itself.
    fn notice_what_was_killed(&mut self, of_a_pair: bool) {
        let in_flight = books::in_flight(&self.desk, of_a_pair);
        self.killed.extend(in_flight);
    }

    /// Runs to the end, and holds the journal against the books.
    fn settle(&mut self, figures: &mut Figures) {
        // A run that is told 401 or 403 stops, and another goes on.
        for _ in 0..8 {
            let concurrency = *self.chance.choice(&[1, 8, 64]).unwrap();
            let ended = self.desk.batch(concurrency).end();
            figures.runs += 1;
            let journal = books::export(&self.desk);
            if journal.len() == self.rows.len() && !is_left(&journal) {
                let expected = match () {
                    () if journal.values().any(|intent| intent.state == "unknown") => 5,
                    () if journal.values().any(|intent| intent.state == "rejected") => 4,
                    () => 0,
                };
                // The last row may have been the one that was told to stop, which hides nothing that is unknown.
                let is_told_to_stop = ended.code == 6 && expected != 5;
                assert!(ended.code == expected || is_told_to_stop, "{ended:?}: {journal:?}");
                let evidence = Evidence::take(
                    &mut self.service,
                    &self.rows,
                    &self.weather,
                    journal,
                    &self.killed,
                    &self.reopened,
                );
                evidence.check(figures);
                return;
            }
            assert!([3, 4, 5, 6].contains(&ended.code), "it says that it is not finished: {ended:?}");
        }
        panic!("no run comes to an end");
    }

    /// What a person does: looks into the service's books for each unknown key, and lets refused ones be sent again. Says
    /// whether there was anything to do.
    fn clear_up(&mut self, figures: &mut Figures) -> bool {
        figures.late += self.service.deliver_late();
        let journal = books::export(&self.desk);
        // A billing run passes over what is unknown. Whoever asks for it by name is refused by the journal itself.
        let unknown = self.rows.iter().find(|row| journal[&row.key].state == "unknown");
        if let Some(row) = unknown {
            let received = self.service.received();
            let ended = self.desk.charge_by_hand(row);
            assert_eq!((ended.code, self.service.received()), (5, received), "{row:?}: {ended:?}");
        }
        let evidence = Evidence::take(
            &mut self.service,
            &self.rows,
            &self.weather,
            journal,
            &self.killed,
            &self.reopened,
        );
        let (mut resolved, mut may_be_sent) = (Vec::new(), Vec::new());
        for (key, _) in evidence.journal.iter().filter(|(_, intent)| intent.state == "unknown") {
            resolved.push(key.clone());
            let ended = if let Some(charge) = evidence.charge(key) {
                self.desk.payments(&[
                    "journal",
                    "resolve",
                    key,
                    "--by",
                    "ada",
                    "--processed",
                    &charge.transaction_id,
                ])
            } else {
                may_be_sent.push(key.clone());
                let verdict = ["--not-processed", "--note", "not in the books"];
                self.desk.payments(&[&["journal", "resolve", key, "--by", "ada"][..], &verdict].concat())
            };
            assert_eq!(ended.code, 0, "{key}: {ended:?}");
        }
        let is_refused = |intent: &Intent| {
            intent.state == "rejected"
                && intent.http_status.is_some_and(|status| [401, 403, 429].contains(&status))
        };
        let refused = evidence.journal.iter().filter(|(_, intent)| is_refused(intent));
        let refused: Vec<_> = refused.map(|(key, _)| key.clone()).collect();
        let is_anything = !(refused.is_empty() && resolved.is_empty());
        if !refused.is_empty() {
            let ended = self.desk.payments(&["journal", "retry", "--status", "401,403,429"]);
            assert_eq!(ended.code, 0, "{ended:?}");
        }
        figures.reopened += (refused.len() + may_be_sent.len()) as u64;
        let received = |key: &str| evidence.transmissions.get(key).map_or(0, Vec::len);
        let again = refused.into_iter().chain(may_be_sent);
        let again: Vec<_> = again.map(|key| (key.clone(), received(&key))).collect();
        self.reopened.extend(again);
        for key in resolved {
            self.killed.remove(&key);
        }
        is_anything
    }

    /// No key has two results, a torn line is followed by whole ones, and they say what the journal says.
    fn check_results(&self, figures: &mut Figures) {
        let (lines, torn) = results(&self.desk.results());
        figures.torn_results += torn as u64;
        let journal = books::export(&self.desk);
        let mut outcomes: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for line in &lines {
            let outcome = line["outcome"].as_str().unwrap_or_else(|| panic!("{line}"));
            if outcome != "not_processed" {
                outcomes.entry(line["key"].as_str().unwrap()).or_default().insert(outcome);
            }
            if let Some(id) = line["data"]["TransactionId"].as_str() {
                let intent = &journal[line["key"].as_str().unwrap()];
                assert_eq!(Some(id), intent.transaction_id.as_deref(), "{line}: {intent:?}");
            }
        }
        for (key, outcomes) in outcomes {
            assert_eq!(
                Vec::from_iter(outcomes),
                [journal[key].state.as_str()],
                "{key}: {}",
                of_key(key, &lines)
            );
        }
    }

    /// Every good row is charged once, the others not at all, and nothing is left to be found out.
    fn check_the_end(&mut self, figures: &mut Figures) {
        let journal = books::export(&self.desk);
        let evidence = Evidence::take(
            &mut self.service,
            &self.rows,
            &self.weather,
            journal,
            &self.killed,
            &self.reopened,
        );
        for row in &self.rows {
            let intent = &evidence.journal[&row.key];
            let charge = evidence.charge(&row.key);
            assert_eq!(charge.is_some(), row.is_good(), "{row:?}: {intent:?}");
            assert_eq!(intent.is_processed(), row.is_good(), "{row:?}: {intent:?}");
            assert!(intent.attempts >= 1, "{row:?}: {intent:?}");
            figures.charged += u64::from(charge.is_some());
            figures.charged_cents += charge.map_or(0, |charge| charge.cents);
        }
        let unresolved = self.desk.payments(&["journal", "list", "--unresolved", "--output", "json"]);
        assert_eq!((unresolved.code, unresolved.stdout.trim()), (0, "[]"), "{unresolved:?}");
        let numbers: Vec<_> = evidence.transmissions.values().flatten().copied().collect();
        figures.transmissions += numbers.len() as u64;
        figures.faults += numbers.iter().filter(|number| self.weather.is_bad(**number)).count() as u64;
    }
}

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1/api/v1/public";

/// Whether another run has something to send.
fn is_left(journal: &BTreeMap<String, Intent>) -> bool {
    journal.values().any(|intent| intent.may_be_sent() || intent.state == "sending")
}

fn of_key(key: &str, lines: &[Value]) -> String {
    let lines = lines.iter().filter(|line| line["key"] == key).map(Value::to_string);
    lines.collect::<Vec<_>>().join("\n")
}
