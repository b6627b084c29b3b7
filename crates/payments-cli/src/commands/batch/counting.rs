//! The counts of a run: where a row is counted is a function of the result of its charge.

use std::collections::HashMap;
use std::sync::Arc;
use std::{io, mem};

use payments_core::Outcome::{NotProcessed, Rejected, Unknown};
use payments_journal::{Cause, Error, Failure, Intent, IntentState, Journal, Journaled};
use payments_model::{Amount, TransactionReceipt};

use super::billing_file::BillingRow;
use super::charge_result::{ChargeResult, FinishedCharge};
use super::results::Results;
use crate::call::journaled::is_recorded;
use crate::report::advice::second_charge;
use crate::report::run::{
    DuplicateTransaction, MOST_LISTED, Phase, RowOutcome, Stop, Summary, Tallies, Tally,
};

/// The summary so far, and what is needed to complete it.
pub(super) struct Counting<'a> {
    pub(super) summary: Summary,
    pub(super) results: Option<Results<'a>>,
    pub(super) max_rejected: Option<u64>,
    /// The rows that were started and are not counted yet, by number: they are unknown if the run is abandoned.
    in_flight: HashMap<u64, Arc<BillingRow>>,
    /// Rows whose known outcome the journal could not record.
    unrecorded: Vec<(Arc<BillingRow>, RowOutcome)>,
}

impl<'a> Counting<'a> {
    pub(super) fn new(summary: Summary, results: Option<Results<'a>>, max_rejected: Option<u64>) -> Self {
        Self { summary, results, max_rejected, in_flight: HashMap::new(), unrecorded: Vec::new() }
    }

    /// The row is about to be sent.
    pub(super) fn begin(&mut self, row: &Arc<BillingRow>) {
        self.summary.phase = Phase::Charging;
        self.in_flight.insert(row.number, Arc::clone(row));
    }

    /// The row is no longer in flight.
    pub(super) fn end(&mut self, number: u64) {
        self.in_flight.remove(&number);
    }

    /// Counts the row. Returns why the run must stop, if it must.
    pub(super) fn count(&mut self, FinishedCharge { row, charged, .. }: &FinishedCharge) -> Option<Stop> {
        let (place, amount) = (Place::of(charged), row.payment.amount());
        place.count(amount, &mut self.summary.tallies);
        // From here on the row is counted, even if this panics.
        self.end(row.number);
        let (not_recorded, error) = match charged {
            Ok(journaled) => (journaled.write_error.as_ref(), None),
            Err(error) => (error.write_error(), Some(error)),
        };
        if let Ok(journaled) = charged
            && place.is_of_this_run()
        {
            self.list_duplicates(row, journaled);
        }
        let outcome = place.outcome();
        if not_recorded.is_some() && outcome != Some(Unknown) {
            self.summary.not_recorded.add(amount);
            self.unrecorded.push((Arc::clone(row), outcome));
            let id = match charged {
                Ok(journaled) => Some(&journaled.transaction_id),
                Err(error) => error.transaction_id(),
            };
            self.summary.unresolved.push(row.unresolved(id, outcome, "not_recorded"));
        } else if let Some(error) = error.filter(|_| outcome == Some(Unknown)) {
            let unresolved = row.unresolved(error.transaction_id(), outcome, error.kind());
            if not_recorded.is_some() {
                self.summary.unresolved.push(unresolved);
            } else {
                self.summary.list_unknown(unresolved);
            }
        }
        if outcome == Some(Rejected)
            && let Some(failure) = error.and_then(rejection)
        {
            self.summary.list_rejected(row.rejected(&failure));
        }
        // The journal failed before the row was sent, or afterwards.
        let journal_failure = match (not_recorded, error.map(Error::cause)) {
            (Some(store_error), _) | (None, Some(Cause::Store(store_error))) => {
                Some(format!("{store_error:#}"))
            }
            _ => None,
        };
        let rejected = self.summary.tallies.rejected.count;
        let too_many = self.max_rejected.filter(|limit| rejected > *limit);
        let taken = error.filter(|_| place == Place::NotStarted).map(|error| {
            let kind = if matches!(error.cause(), Cause::OtherService { .. }) {
                "other_service"
            } else {
                "key_reused"
            };
            let why = format!("line {}: {} was not sent by this run: {error:#}", row.line, row.key);
            Stop::NotSent { kind, why }
        });
        journal_failure.map(Stop::Journal).or(taken).or_else(|| too_many.map(Stop::TooManyRejected))
    }

    /// Writes the row's result into the file of `--results`. Returns why the run must stop, if it must.
    pub(super) fn write_result(&mut self, ended: &FinishedCharge) -> Option<Stop> {
        let results = self.results.as_mut().filter(|_| Place::of(&ended.charged).is_of_this_run())?;
        let written = results.write(ended);
        self.check_results(written)
    }

    /// Flushes the results, so that few are missing if the process is killed. The journal has all of them.
    pub(super) fn flush_results(&mut self) -> Option<Stop> {
        let flushed = self.results.as_mut()?.flush();
        self.check_results(flushed)
    }

    pub(super) fn finish_results(&mut self) {
        if let Some(results) = self.results.take()
            && let Some(stop) = self.check_results(results.finish())
        {
            self.summary.stop(stop);
        }
    }

    fn check_results(&mut self, written: io::Result<()>) -> Option<Stop> {
        let why = written.err()?.to_string();
        self.results = None;
        self.summary.incomplete_results = Some(why.clone());
        Some(Stop::Results(why))
    }

    /// Lets the journal record outcomes that it could not record at first, and removes them from the summary.
    pub(super) async fn record_late(&mut self, journal: &Journal) {
        // One that cannot be recorded does not keep the journal from recording others.
        let _ = journal.flush().await;
        for (row, outcome) in mem::take(&mut self.unrecorded) {
            let Ok(Some(intent)) = journal.find(&row.key).await else { continue };
            if is_recorded(outcome, &intent.state) {
                let mut one = Tally::default();
                one.add(row.payment.amount());
                self.summary.not_recorded = self.summary.not_recorded.minus(one);
                self.summary.unresolved.retain(|listed| listed.row.number != row.number);
                self.summary.second_charges.extend(second_charge(&intent));
            }
        }
    }

    /// The run ends without the results of the rows in flight.
    pub(super) fn count_in_flight_as_unknown(&mut self) {
        for row in mem::take(&mut self.in_flight).into_values() {
            self.summary.tallies.unknown.add(row.payment.amount());
            self.summary.list_unknown(row.unresolved(None, Some(Unknown), "in_flight"));
        }
    }

    pub(super) fn into_summary(mut self) -> Summary {
        self.summary.unresolved.sort_by_key(|it| it.row.number);
        self.summary.rejected.sort_by_key(|it| it.row.number);
        self.summary
    }

    fn list_duplicates(&mut self, row: &BillingRow, journaled: &Journaled<TransactionReceipt>) {
        self.summary.second_charges.extend(journaled.second_charge.as_deref().and_then(second_charge));
        if let Some(other) = &journaled.same_transaction_as {
            self.summary.same_transaction_count += 1;
            let duplicate = DuplicateTransaction {
                line: row.line,
                key: row.key.clone(),
                transaction_id: journaled.transaction_id.to_string(),
                same_transaction_as: other.clone(),
            };
            let list = &mut self.summary.same_transaction;
            list.extend((list.len() < MOST_LISTED).then_some(duplicate));
        }
    }
}

/// Why the service, now or earlier, rejected the charge.
fn rejection(error: &Error) -> Option<Failure> {
    match (error.cause(), error.intent().map(|intent| &intent.state)) {
        (Cause::Call(error), _) => Some(error.into()),
        (_, Some(IntentState::Rejected(failure))) => Some(failure.clone()),
        _ => None,
    }
}

/// The one place of a row in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It ended, in this run or earlier, as the journal says.
    Ended {
        outcome: RowOutcome,
        /// Of a rejection that says nothing about the payment.
        status: Option<u16>,
        is_earlier: bool,
    },
    /// Another process is sending it.
    InProgress,
    /// The journal failed before the row was sent, or another payment has its key. An earlier run may have sent it.
    NotStarted,
}

impl Place {
    fn of(charged: &ChargeResult) -> Self {
        let error = match charged {
            Ok(journaled) => {
                let is_earlier = journaled.is_from_the_journal();
                return Self::Ended { outcome: None, status: None, is_earlier };
            }
            Err(error) => error,
        };
        let status = match error.cause() {
            Cause::InProgress { .. } => return Self::InProgress,
            // Whatever became of the payment that has the key, this one was not sent.
            Cause::Store(_) | Cause::NoRuntime | Cause::KeyReused { .. } | Cause::OtherService { .. } => {
                return Self::NotStarted;
            }
            Cause::Recorded(Intent { state: IntentState::Rejected(failure), .. }) => failure.http_status,
            Cause::Call(call) => call.http_status().map(|status| status.as_u16()),
            _ => None,
        };
        let status = status.filter(|_| error.outcome() == Rejected && !error.is_decline());
        Self::Ended { outcome: Some(error.outcome()), status, is_earlier: error.is_from_the_journal() }
    }

    fn count(self, amount: Amount, tallies: &mut Tallies) {
        let tally = match self {
            Self::Ended { outcome, status, is_earlier } => {
                if outcome == Some(Rejected) {
                    tallies.add_rejected(status, amount);
                }
                match (outcome, is_earlier) {
                    (None, false) => &mut tallies.processed,
                    (None, true) => &mut tallies.earlier.processed,
                    (Some(Rejected), false) => &mut tallies.rejected,
                    (Some(Rejected), true) => &mut tallies.earlier.rejected,
                    (Some(Unknown), false) => &mut tallies.unknown,
                    (Some(Unknown), true) => &mut tallies.earlier.unknown,
                    (Some(NotProcessed), _) => &mut tallies.not_processed,
                }
            }
            Self::InProgress => &mut tallies.in_progress,
            Self::NotStarted => return,
        };
        tally.add(amount);
    }

    /// Whether this run has the result, which belongs into the file of `--results`.
    const fn is_of_this_run(self) -> bool {
        matches!(self, Self::Ended { is_earlier: false, .. })
    }

    const fn outcome(self) -> RowOutcome {
        match self {
            Self::Ended { outcome, .. } => outcome,
            Self::InProgress | Self::NotStarted => Some(NotProcessed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use payments_core::{TransportError, TransportErrorKind};
    use payments_fake::ScriptedTransport;
    use payments_journal::IntentKey;
    use payments_model::{ConvenienceFee, TokenTransaction};
    use tokio::time::Instant;

    use super::super::charge_result::tests::{DECLINED, PAGE, PAID, charge_over, charge_twice};
    use super::super::throttle::Throttle;
    use super::*;

    /// Where the result is counted, and why a person must look at its row, if anybody must.
    fn counted(charged: ChargeResult) -> (Place, Option<String>) {
        let (amount, place) = (Amount::from_cents(1_00), Place::of(&charged));
        let mut counting = Counting::new(Summary::default(), None, None);
        counting.summary.tallies.total.add(amount);
        let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build();
        let (key, payment) = (IntentKey::new("k1").expect("a key"), payment.expect("a payment"));
        let row = Arc::new(BillingRow { number: 1, line: 2, key, payment });
        let ticket = Throttle::new(1, None, Duration::ZERO).start(Instant::now());
        let stop = counting.count(&FinishedCharge { row, ticket, charged, at: SystemTime::now() });
        assert!(stop.is_none() && counting.unrecorded.is_empty());
        (place, counting.summary.unresolved.pop().map(|row| row.kind))
    }

    const fn ended(outcome: RowOutcome, is_earlier: bool) -> Place {
        Place::Ended { outcome, status: None, is_earlier }
    }

    const fn unrelated(status: u16, is_earlier: bool) -> Place {
        Place::Ended { outcome: Some(Rejected), status: Some(status), is_earlier }
    }

    #[tokio::test(start_paused = true)]
    async fn every_result_has_one_place() {
        let answer = |status, body| ScriptedTransport::new().respond_json(status, body);
        let lost = || ScriptedTransport::new().fail(TransportError::unknown(TransportErrorKind::Closed));
        let unreached =
            || ScriptedTransport::new().fail(TransportError::not_processed(TransportErrorKind::Connect));
        for (transport, first, kind) in [
            (answer(200, PAID), ended(None, false), None),
            (answer(400, DECLINED), ended(Some(Rejected), false), None),
            (answer(400, PAGE), unrelated(400, false), None),
            (answer(404, DECLINED), unrelated(404, false), None),
            (unreached(), ended(Some(NotProcessed), false), None),
            (lost(), ended(Some(Unknown), false), Some("closed")),
        ] {
            let charged = charge_over(transport).await;
            assert_eq!(counted(charged), (first, kind.map(str::to_owned)));
            assert!(first.is_of_this_run());
        }
        for (transport, again, kind) in [
            (answer(200, PAID), ended(None, true), None),
            (answer(400, DECLINED), ended(Some(Rejected), true), None),
            (answer(400, PAGE), unrelated(400, true), None),
            (answer(404, DECLINED), unrelated(404, true), None),
            (lost(), ended(Some(Unknown), true), Some("closed")),
            (ScriptedTransport::new().hang(), Place::InProgress, None),
        ] {
            let charged = charge_twice(transport).await;
            assert_eq!(counted(charged), (again, kind.map(str::to_owned)));
            assert!(!again.is_of_this_run());
        }
    }

    #[test]
    fn every_place_is_in_one_tally_or_not_started() {
        let amount = Amount::from_cents(1);
        let outcomes = [None, Some(Rejected), Some(NotProcessed), Some(Unknown)];
        let ended = [false, true].map(|is_earlier| outcomes.map(|outcome| ended(outcome, is_earlier)));
        let started = ended.as_flattened().iter().chain([&Place::InProgress]).map(|place| (place, 0));
        for (place, not_started) in started.chain([(&Place::NotStarted, 1)]) {
            let mut tallies = Tallies::default();
            tallies.total.add(amount);
            place.count(amount, &mut tallies);
            assert_eq!(tallies.not_started().count, not_started, "{place:?}");
        }
    }
}
