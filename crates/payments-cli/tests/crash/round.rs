//! One round: a billing file, a service with faults, runs that are killed, and a person who reconciles.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;
use serde_json::Value;

use crate::billing::{self, Row};
use crate::command::{Workspace, results};
use crate::evidence::{Evidence, Known};
use crate::fault_plan::FaultPlan;
use crate::figures::Figures;
use crate::journal::{self, Intent};
use crate::kill_point::KillPoint;
use crate::restored::{Copy, Restores};
use crate::service::Service;

/// Runs a round, and prints its seed if it fails.
#[allow(clippy::print_stderr, reason = "the seed repeats the failure")]
pub(crate) fn run(seed: u64, restores: Restores, figures: &mut Figures) {
    if let Err(panic) = try_to_run(seed, restores, figures) {
        eprintln!("CRASH_TEST_SEED={seed} starts with the round that failed");
        resume_unwind(panic);
    }
}

/// Runs a round, and returns whether it has found a key that was sent twice. Any other failure is one of the test.
pub(crate) fn finds_a_duplicate(seed: u64, restores: Restores, figures: &mut Figures) -> bool {
    let Err(panic) = try_to_run(seed, restores, figures) else { return false };
    let message = panic.downcast_ref::<String>();
    if message.is_some_and(|message| message.contains(CHARGED_TWICE) || message.contains(SENT_AGAIN)) {
        return true;
    }
    resume_unwind(panic);
}

fn try_to_run(seed: u64, restores: Restores, figures: &mut Figures) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(|| Round::new(seed, restores).run(figures)))
}

pub(crate) struct Round {
    pub(crate) chance: Rng,
    pub(crate) service: Service,
    pub(crate) workspace: Workspace,
    pub(crate) rows: Vec<Row>,
    plan: FaultPlan,
    pub(crate) known: Known,
    pub(crate) restores: Restores,
    pub(crate) copies: Vec<Copy>,
    /// If a copy was put back and nobody has accepted that, how often the service had received each key when it was made.
    pub(crate) lacks_since: Option<HashMap<String, usize>>,
}

impl Round {
    fn new(seed: u64, restores: Restores) -> Self {
        let mut chance = Rng::with_seed(seed);
        let mut service = Service::start();
        let rows = billing::rows(&mut chance);
        let plan = FaultPlan::random(rows.len(), &mut chance);
        service.arm(&plan);
        let workspace = Workspace::new(&service.base_url, &service.api_key, "billing.csv");
        billing::write(&rows, &workspace.file, &mut chance);
        let known = Known::default();
        Self {
            chance,
            service,
            workspace,
            rows,
            plan,
            known,
            restores,
            copies: Vec::new(),
            lacks_since: None,
        }
    }

    fn run(mut self, figures: &mut Figures) {
        figures.rounds += 1;
        figures.rows += self.rows.len() as u64;
        let kills = self.chance.u32(2..6);
        self.run_and_kill(kills, figures);
        self.run_to_completion(figures);
        self.check_results(figures);
        // Kills interrupt the person's work too, but only twice.
        for pass in 0.. {
            let has_worked = self.reconcile(figures);
            let is_put_back = pass < 2 && self.put_back_a_copy(figures);
            if !has_worked && !is_put_back {
                break;
            }
            if pass < 2 {
                let kills = self.chance.u32(0..3);
                self.run_and_kill(kills, figures);
            }
            self.run_to_completion(figures);
        }
        self.check_final_state(figures);
    }

    /// Starts runs and kills them.
    fn run_and_kill(&mut self, kills: u32, figures: &mut Figures) {
        for _ in 0..kills {
            // Sometimes two runs on one file, or no service.
            let (is_pair, is_outage) = match self.chance.u8(..8) {
                0 => (true, false),
                1 => (false, true),
                _ => (false, false),
            };
            self.workspace.is_service_reachable = !is_outage;
            let count = if is_pair { 2 } else { 1 };
            let concurrency = *self.chance.choice(&[1, 1, 2, 4, 16, 64]).unwrap();
            let mut batches: Vec<_> = (0..count).map(|_| self.workspace.batch(concurrency)).collect();
            let kill_point = if is_outage {
                KillPoint::during_outage(&mut self.chance)
            } else {
                KillPoint::random(self.rows.len() / 3, &mut self.chance)
            };
            kill_point.wait(&mut self.service, &self.workspace, &mut batches);
            let killed = batches.into_iter().map(|batch| u64::from(batch.kill())).sum::<u64>();
            self.workspace.is_service_reachable = true;
            // The second of a pair may have marked rows as crashed before it was killed itself.
            self.known.killed.extend(journal::in_flight(&self.workspace, is_pair));
            figures.runs += count;
            figures.kills += killed;
            figures.kills_in_pairs += if is_pair { killed } else { 0 };
            figures.runs_without_service += u64::from(is_outage);
            if self.chance.bool() {
                figures.late += self.service.deliver_late();
            }
            self.put_back_a_copy(figures);
        }
    }

    /// Runs until every row has ended, and compares the journal with the ledger.
    fn run_to_completion(&mut self, figures: &mut Figures) {
        // A run stops at a 401 or 403, and the next one continues.
        for _ in 0..9 {
            let concurrency = *self.chance.choice(&[1, 8, 64]).unwrap();
            let received = self.service.received();
            let ended = self.workspace.batch(concurrency).end();
            figures.runs += 1;
            if self.accept_history_if_refused(&ended, figures) {
                assert_eq!(self.service.received(), received, "a refused run has sent something: {ended:?}");
                continue;
            }
            let journal = journal::export(&self.workspace);
            if journal.len() == self.rows.len() && !has_rows_to_send(&journal) {
                let expected = match () {
                    () if journal.values().any(|intent| intent.state == "unknown") => 5,
                    () if journal.values().any(|intent| intent.state == "rejected") => 4,
                    () => 0,
                };
                // The last row may have got the 401 that stops a run. An unknown row takes precedence over that.
                let is_unauthorized = ended.code == Some(6) && expected != 5;
                assert!(ended.code == Some(expected) || is_unauthorized, "{ended:?}: {journal:?}");
                let evidence =
                    Evidence::collect(&mut self.service, &self.rows, &self.plan, journal, &self.known);
                evidence.check(figures);
                return;
            }
            assert!(matches!(ended.code, Some(3..=6)), "not the code of an unfinished run: {ended:?}");
        }
        panic!("no run finished the file");
    }

    /// What a person does: looks up each unknown key in the service's ledger, and reopens the refused ones. Returns
    /// whether there was anything to do.
    fn reconcile(&mut self, figures: &mut Figures) -> bool {
        figures.late += self.service.deliver_late();
        let journal = journal::export(&self.workspace);
        // A billing run skips unknown rows. The journal itself must refuse a charge with the key of one.
        let unknown = self.rows.iter().find(|row| journal[&row.key].state == "unknown");
        if let Some(row) = unknown {
            let received = self.service.received();
            let ended = self.workspace.charge_row(row);
            assert_eq!((ended.code, self.service.received()), (Some(5), received), "{row:?}: {ended:?}");
        }
        let evidence = Evidence::collect(&mut self.service, &self.rows, &self.plan, journal, &self.known);
        let (mut resolved, mut may_be_sent) = (Vec::new(), Vec::new());
        for (key, intent) in evidence.journal.iter().filter(|(_, intent)| intent.state == "unknown") {
            resolved.push(key.clone());
            let verdict = if let Some(charge) = evidence.charge(key) {
                format!("--processed {}", charge.transaction_id)
            } else {
                may_be_sent.push(key.clone());
                "--not-processed --note 'not in the ledger'".to_owned()
            };
            let attempt = intent.attempts;
            let line = format!("journal resolve {key} --by ada --attempt {attempt} {verdict}");
            self.workspace.payments(line).exits(0);
        }
        let is_refused = |intent: &Intent| {
            intent.state == "rejected"
                && intent.http_status.is_some_and(|status| [401, 403, 429].contains(&status))
        };
        let refused = evidence.journal.iter().filter(|(_, intent)| is_refused(intent));
        let refused: Vec<_> = refused.map(|(key, _)| key.clone()).collect();
        let has_work = !(refused.is_empty() && resolved.is_empty());
        if !refused.is_empty() {
            let ended = self.workspace.payments("journal retry --status 401,403,429 --by ada");
            // A key that may have been charged in the lost time becomes unknown instead.
            let became_unknown = self.restores != Restores::Never && ended.code == Some(5);
            assert!(ended.code == Some(0) || became_unknown, "{ended:?}");
        }
        figures.reopened += (refused.len() + may_be_sent.len()) as u64;
        let received = |key: &str| evidence.transmissions.get(key).map_or(0, Vec::len);
        let again = refused.into_iter().chain(may_be_sent);
        let again: Vec<_> = again.map(|key| (key.clone(), received(&key))).collect();
        self.known.reopened.extend(again);
        for key in resolved {
            self.known.killed.remove(&key);
            self.known.lost.remove(&key);
        }
        has_work
    }

    /// Each key has one result, which agrees with the journal, and complete lines follow a torn one.
    fn check_results(&self, figures: &mut Figures) {
        let (lines, torn) = results(&self.workspace.results());
        figures.torn_results += torn as u64;
        let journal = journal::export(&self.workspace);
        let mut outcomes: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for line in &lines {
            let outcome = line["outcome"].as_str().unwrap_or_else(|| panic!("{line}"));
            let key = line["key"].as_str().unwrap();
            if self.known.lost.contains(key) || journal[key].is_lost() {
                continue;
            }
            if outcome != "not_processed" {
                outcomes.entry(key).or_default().insert(outcome);
            }
            if let Some(id) = line["data"]["TransactionId"].as_str() {
                let intent = &journal[key];
                assert_eq!(Some(id), intent.transaction_id.as_deref(), "{line}: {intent:?}");
            }
        }
        for (key, outcomes) in outcomes {
            assert_eq!(
                Vec::from_iter(outcomes),
                [journal[key].state.as_str()],
                "{key}: {}",
                lines_of_key(key, &lines)
            );
        }
    }

    /// Every good row is charged once, the others are not charged, and nothing is unresolved.
    fn check_final_state(&mut self, figures: &mut Figures) {
        let journal = journal::export(&self.workspace);
        let evidence = Evidence::collect(&mut self.service, &self.rows, &self.plan, journal, &self.known);
        for row in &self.rows {
            let intent = &evidence.journal[&row.key];
            let charge = evidence.charge(&row.key);
            assert_eq!(charge.is_some(), row.is_good(), "{row:?}: {intent:?}");
            assert_eq!(intent.is_processed(), row.is_good(), "{row:?}: {intent:?}");
            assert!(intent.attempts >= 1, "{row:?}: {intent:?}");
            figures.charged += u64::from(charge.is_some());
            figures.charged_cents += charge.map_or(0, |charge| charge.cents);
        }
        let unresolved = self.workspace.payments("journal list --unresolved").exits(0);
        assert_eq!(unresolved.stdout, "[]\n");
        let faults: Vec<_> = evidence.transmissions.values().flatten().copied().collect();
        figures.transmissions += faults.len() as u64;
        figures.faults += faults.iter().flatten().count() as u64;
    }
}

/// What a failed check says of it.
pub(crate) const CHARGED_TWICE: &str = "was charged twice";
pub(crate) const SENT_AGAIN: &str = "sent again, though it may have arrived";

/// Whether another run has rows to send.
fn has_rows_to_send(journal: &BTreeMap<String, Intent>) -> bool {
    journal.values().any(|intent| intent.may_be_sent() || intent.state == "sending")
}

fn lines_of_key(key: &str, lines: &[Value]) -> String {
    let lines = lines.iter().filter(|line| line["key"] == key).map(Value::to_string);
    lines.collect::<Vec<_>>().join("\n")
}
