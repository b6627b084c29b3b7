//! Sends the rows of a billing run, a few at a time, until none is left or the run must stop. [`StopRules`] say what each result
//! means for its row and for the run.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use payments_core::Outcome;
use payments_journal::JournaledClient;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::billing_file::BillingRow;
use super::charge_result::FinishedCharge;
use super::counting::Counting;
use super::newcomers::Newcomers;
use super::progress::{Progress, WaitState};
use super::row_queue::{Next, RowQueue};
use super::stop_rules::{RowGoesOn, StopRules};
use super::throttle::{Start, Throttle};
use crate::call::journaled::LAST_WRITES;
use crate::call::same_payment::{Compared, Likeness};
use crate::format::counted;
use crate::process::run_to_report::catch_panic;
use crate::report::run::{Stop, Summary};

/// A run, with its rows to send, in flight and counted.
pub(super) struct Run<'a> {
    client: JournaledClient,
    queue: RowQueue<'a>,
    throttle: Throttle,
    rules: StopRules,
    in_flight: JoinSet<FinishedCharge>,
    counting: Counting<'a>,
    progress: Progress,
    newcomers: Option<&'a mut Newcomers>,
    /// Why the service was last found to have problems, in one or two words.
    last_problem: &'static str,
    /// When a charge last ended, or the first of those in flight started.
    quiet_since: Instant,
}

/// How often the progress is updated.
const SHOW_EVERY: Duration = Duration::from_millis(200);

impl<'a> Run<'a> {
    /// Sends the rows in their order.
    pub(super) fn new(
        client: JournaledClient,
        rows: impl Iterator<Item = BillingRow> + 'a,
        throttle: Throttle,
        counting: Counting<'a>,
        progress: Progress,
    ) -> Self {
        Self {
            client,
            queue: RowQueue::new(Box::new(rows)),
            throttle,
            rules: StopRules::default(),
            in_flight: JoinSet::new(),
            counting,
            progress,
            newcomers: None,
            last_problem: "",
            quiet_since: Instant::now(),
        }
    }

    /// Stops before a row that another process has charged in another spelling since the file was checked.
    pub(super) fn compared_with(self, newcomers: &'a mut Newcomers) -> Self {
        Self { newcomers: Some(newcomers), ..self }
    }

    /// Runs to the end, even after a panic. `interrupted` waits for a signal and returns its name.
    pub(super) async fn complete(mut self, mut interrupted: impl AsyncFnMut() -> &'static str) -> Summary {
        if catch_panic(self.send_all(&mut interrupted)).await.is_none() {
            self.wait_after_panic(&mut interrupted).await;
        }
        self.unless_it_panics(Self::count_waiting);
        if self.counting.summary.given_up.is_none() {
            let recording = self.counting.record_late(self.client.journal());
            let recorded = tokio::select! {
                biased;
                _ = interrupted() => Some(()),
                recorded = timeout(LAST_WRITES, catch_panic(recording)) => recorded.unwrap_or(Some(())),
            };
            if recorded.is_none() {
                self.counting.summary.stop(Stop::Internal);
            }
        }
        self.counting.count_in_flight_as_unknown();
        self.unless_it_panics(|this| this.counting.finish_results());
        self.unless_it_panics(|this| this.progress.end());
        self.counting.into_summary()
    }

    /// Sends rows until none is left or the run has stopped, and waits for those in flight.
    async fn send_all(&mut self, interrupted: &mut impl AsyncFnMut() -> &'static str) {
        let mut show = interval(SHOW_EVERY);
        show.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.counting.summary.stop.is_none()
                && self.queue.has_more()
                && let Some(newcomers) = self.newcomers.as_mut()
            {
                tokio::select! {
                    biased;
                    signal = interrupted() => if self.interrupted(signal) { break },
                    looked = newcomers.look() => {
                        let failed = looked.err().map(|error| Stop::Journal(format!("{error:#}")));
                        self.stop_if(failed);
                    }
                }
            }
            let wake_at = self.start_ready();
            if self.is_over() {
                break;
            }
            tokio::select! {
                biased;
                signal = interrupted() => if self.interrupted(signal) { break },
                Some(ended) = self.in_flight.join_next(), if !self.in_flight.is_empty() => {
                    self.ended(ended);
                    while let Some(ended) = self.in_flight.try_join_next() {
                        self.ended(ended);
                    }
                    let stop = self.counting.flush_results();
                    self.stop_if(stop);
                }
                () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => {}
                _ = show.tick() => self.show(),
            }
        }
    }

    /// Waits only for the charges in flight, and counts them: whatever has panicked may panic again.
    async fn wait_after_panic(&mut self, interrupted: &mut impl AsyncFnMut() -> &'static str) {
        self.unless_it_panics(|this| this.stop_if(Some(Stop::Internal)));
        loop {
            let ended = tokio::select! {
                biased;
                signal = catch_panic(interrupted()) => {
                    self.interrupted(signal.unwrap_or("a signal"));
                    break;
                }
                ended = self.in_flight.join_next() => ended,
            };
            match ended {
                Some(Ok(ended)) => self.unless_it_panics(|this| this.count(&ended)),
                // Its row stays in flight, and is counted as unknown.
                Some(Err(_)) => {}
                None => break,
            }
        }
    }

    fn unless_it_panics(&mut self, step: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| step(self))).is_err() {
            self.counting.summary.stop(Stop::Internal);
        }
    }

    fn is_over(&mut self) -> bool {
        self.in_flight.is_empty() && (self.counting.summary.stop.is_some() || !self.queue.has_more())
    }

    /// Starts as many rows as the throttle allows. Returns when to try again, if not only after a charge in flight has ended.
    fn start_ready(&mut self) -> Option<Instant> {
        while self.counting.summary.stop.is_none() {
            match self.throttle.may_start(Instant::now(), self.in_flight.len()) {
                Start::At(instant) if self.queue.has_more() => return Some(instant),
                Start::At(_) | Start::WhenOneEnds => return None,
                Start::Now => {}
            }
            let (now, patience) = (Instant::now(), self.throttle.patience());
            match self.queue.next(now, self.in_flight.is_empty(), patience) {
                Next::Row(row) => match self.newcomers.as_ref().map(|others| others.compare(&row)) {
                    Some(Compared::Refuse([what, advice])) => {
                        let (line, key) = (row.line, &row.key);
                        let why = format!("line {line}: {key} was not sent, because {what}: {advice}");
                        self.stop_if(Some(Stop::NotSent { kind: "same_payment", why }));
                    }
                    Some(Compared::Warn(other, likeness)) => {
                        let same = match likeness {
                            Likeness::KeyAlone => "in another spelling the key, and the token and amount",
                            _ => "the token, amount and ReferenceNo",
                        };
                        self.progress.print_line(&format!(
                            "WARNING: line {}: {} has {same} of {other}, which another process has just charged: unless it is a \
                             payment of its own, such as an instalment, somebody is charged twice",
                            row.line, row.key
                        ));
                        self.start(row);
                    }
                    Some(Compared::Send) | None => self.start(row),
                },
                Next::At(instant) => return Some(instant),
                Next::Nothing => return None,
                Next::OthersAreSending(count) => {
                    let others = if count == 1 { "another process is" } else { "other processes are" };
                    let rows = counted(count as u64, "row");
                    self.progress.print_line(&format!("waiting for {rows} that {others} sending"));
                }
                Next::OthersTakeTooLong => {
                    self.count_waiting();
                    return None;
                }
            }
        }
        None
    }

    fn start(&mut self, row: Arc<BillingRow>) {
        let now = Instant::now();
        if self.in_flight.is_empty() {
            self.quiet_since = now;
        }
        let ticket = self.throttle.start(now);
        let client = self.client.clone();
        self.counting.begin(&row);
        self.in_flight.spawn(async move {
            let at = SystemTime::now();
            let charged = client.process_token(&row.key, &row.payment).await;
            FinishedCharge { row, ticket, charged, at }
        });
    }

    fn ended(&mut self, ended: Result<FinishedCharge, JoinError>) {
        let Ok(ended) = ended else {
            // Its row stays in flight, and is counted as unknown.
            return self.stop_if(Some(Stop::Internal));
        };
        let (now, number) = (Instant::now(), ended.row.number);
        self.quiet_since = now;
        let decision = self.rules.decide(&ended.charged, &mut self.throttle, ended.ticket, now);
        self.last_problem = decision.problem.unwrap_or(self.last_problem);
        // With nothing left to send, there is nothing to wait for.
        let is_last = decision.row == RowGoesOn::Count && !self.queue.has_more();
        self.stop_if(decision.stop.filter(|stop| !(is_last && stop.is_of_patience())));
        match decision.row {
            RowGoesOn::AskAgain => self.queue.ask_again(ended),
            RowGoesOn::TryAgain => self.queue.try_again(ended),
            RowGoesOn::Count => {
                self.queue.one_has_ended();
                if let Some(newcomers) = &mut self.newcomers
                    && ended.charged.as_ref().is_err_and(|error| error.outcome() == Outcome::Unknown)
                {
                    newcomers.became_unknown(&ended.row);
                }
                return self.count(&ended);
            }
        }
        // Only once the row is in the queue: if this panics before, it is still counted as unknown.
        self.counting.end(number);
    }

    fn count(&mut self, ended: &FinishedCharge) {
        let stop = self.counting.count(ended);
        self.stop_if(stop);
        let stop = self.counting.write_result(ended);
        self.stop_if(stop);
    }

    fn count_waiting(&mut self) {
        for ended in self.queue.drain() {
            self.count(&ended);
        }
    }

    fn stop_if(&mut self, stop: Option<Stop>) {
        let Some(stop) = stop else { return };
        let (why, signal) = match &stop {
            Stop::Interrupted(signal) => ((*signal).to_owned(), "A second signal"),
            stop => (format!("stopped ({})", stop.reason()), "Ctrl-C"),
        };
        let in_flight = self.in_flight.len();
        if self.counting.summary.stop(stop) && in_flight > 0 {
            self.progress.print_line(&format!(
                "{why}: no new charge is started; waiting for {in_flight} in flight. \
                 {signal} ends at once and leaves them unknown"
            ));
        }
    }

    /// A signal has arrived. Returns whether the run is abandoned: it had already stopped, for whatever reason.
    fn interrupted(&mut self, signal: &'static str) -> bool {
        if self.counting.summary.stop.is_some() {
            self.counting.summary.given_up = Some(signal);
            return true;
        }
        self.stop_if(Some(Stop::Interrupted(signal)));
        false
    }

    fn show(&mut self) {
        let wait_state = WaitState {
            paused_until: self.throttle.paused_until(),
            last_problem: self.last_problem,
            in_flight: self.in_flight.len(),
            quiet_since: self.quiet_since,
        };
        self.progress.show(&self.counting.summary.tallies, Instant::now(), wait_state);
    }
}
