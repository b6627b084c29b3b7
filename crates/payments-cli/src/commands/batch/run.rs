//! The run: rows become charges, a few at a time, until none is left or something says stop.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use payments_core::{Outcome, RetryAfter};
use payments_journal::{Error, Intent, IntentKey, IntentState, Journaled, JournaledClient, StoreError};
use payments_model::{Amount, TransactionReceipt};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::feed::Fed;
use super::pace::{OutOfPatience, Pace, Start, Ticket};
use super::progress::{HeldUp, Progress};
use super::results::Results;
use super::rows::Row;
use crate::batch_report::{self, Doubt, Repeated, Stop, Summary, Tally};
use crate::journaled_call;
use crate::report::{Processed, Report};
use crate::settings::Settings;

/// What a charge ended with.
pub(super) type Charged = Result<Journaled<TransactionReceipt>, Error>;

/// What a run needs of the world.
pub(super) trait World: Clone + Send + Sync + 'static {
    /// Sends the charge of the row, unless the journal is against it.
    fn charge(&self, row: &Row) -> impl Future<Output = Charged> + Send;

    /// Has the journal write down what it could not take before.
    fn settle(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// What the journal has of the key.
    fn find(&self, key: &IntentKey) -> impl Future<Output = Result<Option<Intent>, StoreError>> + Send;

    /// How it ended, as the file of `--results` has it.
    fn report(&self, row: &Row, charged: &Charged, at: SystemTime) -> Report;

    /// The row's own reference, as it may be shown.
    fn reference(&self, row: &Row) -> Option<String>;
}

/// A run under way.
pub(super) struct Run<W> {
    pub(super) world: W,
    pub(super) rows: mpsc::Receiver<Fed>,
    pub(super) pace: Pace,
    pub(super) max_rejected: Option<u64>,
    pub(super) results: Option<Results>,
    pub(super) progress: Progress,
    pub(super) summary: Summary,
}

/// Chosen by this command: how often a row is tried in one run where nothing of it has reached the service.
const MOST_TRIES: u32 = 10;

/// Chosen by this command: how long the end of a run waits for a journal that did not take how a charge ended. What it
/// has not taken then is listed.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Chosen by this command: how often the journal is asked for what other processes have in flight, once nothing else is left.
const ASK_OTHERS_EVERY: Duration = Duration::from_millis(500);

/// How often the progress is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl<W: World> Run<W> {
    /// Runs to the end; `interrupted` names each signal as it arrives.
    pub(super) async fn complete(self, mut interrupted: impl AsyncFnMut() -> &'static str) -> Summary {
        let mut state = State {
            run: self,
            in_flight: JoinSet::new(),
            flying: HashMap::new(),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            elsewhere: Vec::new(),
            nothing_left_since: None,
            ask_others_at: None,
            unwritten: Vec::new(),
            is_fed: false,
            quiet_since: Instant::now(),
        };
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = state.start_what_may();
            if state.is_over() {
                break;
            }
            tokio::select! {
                biased;
                signal = interrupted() => if state.interrupted(signal) { break },
                Some(ended) = state.in_flight.join_next(), if !state.in_flight.is_empty() => {
                    state.ended(ended);
                    while let Some(ended) = state.in_flight.try_join_next() {
                        state.ended(ended);
                    }
                    state.flush();
                }
                fed = state.run.rows.recv(), if next == Next::Row => state.fed(fed),
                () = sleep_until(next.instant()), if matches!(next, Next::Instant(_)) => {}
                _ = look.tick() => state.show(),
            }
        }
        state.count_what_waits();
        if !state.run.summary.is_given_up() {
            tokio::select! {
                biased;
                _ = interrupted() => {}
                _ = timeout(LAST_WRITES, state.settle()) => {}
            }
        }
        state.end()
    }
}

struct State<W> {
    run: Run<W>,
    in_flight: JoinSet<Ended>,
    /// The rows in flight, by their lines: what is left behind if the run is given up.
    flying: HashMap<u64, Arc<Row>>,
    /// Rows that were read.
    ready: VecDeque<Row>,
    /// Rows of which nothing has reached the service, to be tried again.
    waiting: VecDeque<Waiting>,
    /// Rows that another process is sending.
    elsewhere: Vec<Waiting>,
    /// Since when only those are left.
    nothing_left_since: Option<Instant>,
    ask_others_at: Option<Instant>,
    /// Rows whose known end the journal could not take.
    unwritten: Vec<Unwritten>,
    is_fed: bool,
    /// When a charge last ended, or the first of those in flight began.
    quiet_since: Instant,
}

/// A row, and how it went last.
struct Waiting {
    row: Arc<Row>,
    tries: u32,
    last: Charged,
    at: SystemTime,
}

/// A row whose known end the journal could not take.
struct Unwritten {
    line: u64,
    key: IntentKey,
    amount: Amount,
    ended: batch_report::Ended,
}

/// A charge that ended.
struct Ended {
    row: Arc<Row>,
    tries: u32,
    ticket: Ticket,
    charged: Charged,
    at: SystemTime,
}

/// What the run waits for, beside the end of what is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Row,
    Instant(Instant),
    Nothing,
}

impl Next {
    fn instant(self) -> Instant {
        match self {
            Self::Instant(instant) => instant,
            Self::Row | Self::Nothing => Instant::now(),
        }
    }
}

impl<W: World> State<W> {
    fn is_over(&self) -> bool {
        let is_stopped = self.run.summary.stop.is_some();
        self.in_flight.is_empty() && (is_stopped || !self.has_more())
    }

    fn start_what_may(&mut self) -> Next {
        while self.run.summary.stop.is_none() {
            match self.run.pace.may_start(Instant::now(), self.in_flight.len()) {
                Start::At(instant) if self.has_more() => return Next::Instant(instant),
                Start::At(_) | Start::WhenOneEnds => return Next::Nothing,
                Start::Now => {}
            }
            if let Some(Waiting { row, tries, .. }) = self.waiting.pop_front() {
                self.start(row, tries + 1);
                continue;
            }
            if let Some(row) = self.ready.pop_front() {
                self.start(Arc::new(row), 1);
                continue;
            }
            match self.run.rows.try_recv() {
                Ok(fed) => self.fed(Some(fed)),
                Err(TryRecvError::Empty) => return Next::Row,
                Err(TryRecvError::Disconnected) => {
                    self.is_fed = true;
                    if let Some(next) = self.wait_for_others() {
                        return next;
                    }
                }
            }
        }
        Next::Nothing
    }

    /// What to wait for once every row has been started here or elsewhere; `None` if those of others are to be asked for now.
    fn wait_for_others(&mut self) -> Option<Next> {
        if !self.in_flight.is_empty() || self.elsewhere.is_empty() {
            return Some(Next::Nothing);
        }
        let now = Instant::now();
        if self.nothing_left_since.is_none() {
            let count = self.elsewhere.len();
            self.run
                .progress
                .tell(&format!("asking how {count} rows have ended that other processes were sending"));
        }
        let since = *self.nothing_left_since.get_or_insert(now);
        if now >= since + self.run.pace.patience() {
            self.count_what_waits();
            return Some(Next::Nothing);
        }
        let ask_at = *self.ask_others_at.get_or_insert(now + ASK_OTHERS_EVERY);
        if ask_at > now {
            return Some(Next::Instant(ask_at));
        }
        self.ask_others_at = None;
        self.waiting.extend(self.elsewhere.drain(..));
        None
    }

    fn has_more(&self) -> bool {
        let is_all_started = self.is_fed && self.ready.is_empty() && self.waiting.is_empty();
        !is_all_started || !self.elsewhere.is_empty()
    }

    fn fed(&mut self, fed: Option<Fed>) {
        match fed {
            Some(Fed::Rows(rows)) => self.ready.extend(rows),
            Some(Fed::Stop(stop)) => self.stop(stop),
            None => self.is_fed = true,
        }
    }

    fn start(&mut self, row: Arc<Row>, tries: u32) {
        let now = Instant::now();
        if self.in_flight.is_empty() {
            self.quiet_since = now;
        }
        let ticket = self.run.pace.start(now);
        let world = self.run.world.clone();
        self.flying.insert(row.line, row.clone());
        self.in_flight.spawn(async move {
            let at = SystemTime::now();
            let charged = world.charge(&row).await;
            Ended { row, tries, ticket, charged, at }
        });
    }

    fn ended(&mut self, ended: Result<Ended, JoinError>) {
        let Ok(Ended { row, tries, ticket, charged, at }) = ended else {
            // Its row stays among those in flight.
            return self.stop(Stop::Internal);
        };
        self.quiet_since = Instant::now();
        self.flying.remove(&row.line);
        if charged.as_ref().is_err_and(Error::is_in_progress) {
            // It was not sent here, so it is not a try.
            return self.elsewhere.push(Waiting { row, tries: tries - 1, last: charged, at });
        }
        self.nothing_left_since = None;
        let is_to_be_tried_again = self.pace(&charged, ticket);
        if is_to_be_tried_again && tries < MOST_TRIES {
            self.waiting.push_back(Waiting { row, tries, last: charged, at });
        } else {
            self.count(&row, &charged, at);
        }
    }

    /// Lets the pace know, and says whether the row may be tried again in this run: only if it provably did not leave this
    /// machine, and only because of the network.
    fn pace(&mut self, charged: &Charged, ticket: Ticket) -> bool {
        let now = Instant::now();
        let pace = &mut self.run.pace;
        let error = match charged {
            Ok(journaled) => {
                if !journaled.is_from_the_journal() {
                    pace.answered(ticket);
                }
                return false;
            }
            Err(error) => error,
        };
        let Some(call) = error.call_error() else { return false };
        let status = call.http_status().map(|status| status.as_u16());
        match (call.outcome(), status) {
            (_, Some(401)) => self.stop(Stop::Unauthorized),
            (outcome, Some(403)) => self.stop(Stop::Forbidden(outcome)),
            (Outcome::Rejected, Some(429)) => {
                let asked = call.retry_after().and_then(pause_asked_for);
                if let Err(OutOfPatience { .. }) = pace.throttled(ticket, now, asked) {
                    self.stop(Stop::Throttled(asked));
                }
            }
            (Outcome::Rejected, _) => pace.answered(ticket),
            (Outcome::Unknown, _) => {
                if pace.unknown(ticket, now).is_err() {
                    self.stop(Stop::Outage(format!("the last outcomes are unknown ({})", call.code())));
                }
            }
            (Outcome::NotProcessed, _) if call.is_validation() || call.is_configuration() => {}
            (Outcome::NotProcessed, _) => {
                if pace.not_reached(ticket, now).is_err() {
                    self.stop(Stop::Outage(call.to_string()));
                }
                return true;
            }
        }
        false
    }

    /// Counts the row where it belongs, and writes its result down.
    fn count(&mut self, row: &Row, charged: &Charged, at: SystemTime) {
        let Summary { tallies, not_recorded, repeated, .. } = &mut self.run.summary;
        let amount = row.payment.amount();
        let mut doubt = None;
        let mut is_of_this_run = true;
        match charged {
            Ok(journaled) if journaled.is_from_the_journal() => {
                tallies.earlier.processed.add(amount);
                is_of_this_run = false;
            }
            Ok(journaled) => {
                tallies.processed.add(amount);
                if let Some(other) = journaled.same_transaction_as.as_ref()
                    && repeated.len() < Doubt::MOST_LISTED
                {
                    repeated.push(Repeated {
                        line: row.line,
                        key: row.key.to_string(),
                        transaction_id: journaled.transaction_id.to_string(),
                        same_transaction_as: other.to_string(),
                    });
                }
            }
            Err(error) if error.is_in_progress() => {
                tallies.in_progress.add(amount);
                is_of_this_run = false;
            }
            Err(error) if error.is_recorded() => {
                is_of_this_run = false;
                match error.intent().map(|intent| &intent.state) {
                    Some(IntentState::Rejected(failure)) => {
                        tallies.refused.add(failure.http_status, amount);
                        tallies.earlier.rejected.add(amount);
                    }
                    Some(IntentState::NotProcessed(_)) => tallies.not_processed.add(amount),
                    _ => {
                        tallies.earlier.unknown.add(amount);
                        doubt = Some(error.kind().to_owned());
                    }
                }
            }
            // The row stays among those that were not started: an earlier run may have sent it.
            Err(error) if error.is_journal() => is_of_this_run = false,
            Err(error) => match error.outcome() {
                Outcome::NotProcessed => tallies.not_processed.add(amount),
                Outcome::Rejected => {
                    let status = error.call_error().and_then(payments_core::Error::http_status);
                    tallies.refused.add(status.map(|status| status.as_u16()), amount);
                    tallies.rejected.add(amount);
                }
                Outcome::Unknown => {
                    tallies.unknown.add(amount);
                    doubt = Some(error.kind().to_owned());
                }
            },
        }
        let unwritten = match charged {
            Ok(journaled) => journaled.not_recorded.as_ref(),
            Err(error) => error.not_recorded(),
        };
        let not_begun = || charged.as_ref().err().filter(|error| error.is_journal());
        let stop = match unwritten.or_else(|| not_begun()?.store_error()) {
            Some(error) => Some(format!("{error:#}")),
            None => not_begun().map(|error| format!("{error:#}")),
        };
        let ended = unwritten.filter(|_| doubt.is_none()).map(|_| match charged {
            Ok(_) => batch_report::Ended::Processed,
            Err(error) if error.outcome() == Outcome::Rejected => batch_report::Ended::Rejected,
            Err(_) => batch_report::Ended::NotProcessed,
        });
        if let Some(ended) = ended {
            not_recorded.add(amount);
            self.unwritten.push(Unwritten { line: row.line, key: row.key.clone(), amount, ended });
            doubt = Some("not_recorded".to_owned());
        }
        if let Some(kind) = doubt {
            let transaction_id = match charged {
                Ok(journaled) => Some(&journaled.transaction_id),
                Err(error) => error.transaction_id(),
            };
            self.doubt(row, transaction_id.map(ToString::to_string), ended, kind);
        }
        if let Some(why) = stop {
            self.stop(Stop::Journal(why));
        }
        let rejected = self.run.summary.tallies.rejected.count;
        if let Some(limit) = self.run.max_rejected.filter(|limit| rejected > *limit) {
            self.stop(Stop::TooManyRejected(limit));
        }
        if is_of_this_run {
            self.write(row, charged, at);
        }
    }

    fn doubt(
        &mut self,
        row: &Row,
        transaction_id: Option<String>,
        unwritten: Option<batch_report::Ended>,
        kind: String,
    ) {
        let doubts = &mut self.run.summary.doubts;
        let is_alike = |doubt: &&Doubt| doubt.unwritten.is_some() == unwritten.is_some();
        if doubts.iter().filter(is_alike).count() < Doubt::MOST_LISTED {
            let (line, key, amount) = (row.line, row.key.to_string(), row.payment.amount());
            doubts.push(Doubt { line, key, amount, transaction_id, unwritten, kind });
        }
    }

    fn write(&mut self, row: &Row, charged: &Charged, at: SystemTime) {
        let Run { world, results, .. } = &mut self.run;
        let Some(results) = results else { return };
        let (report, reference) = (world.report(row, charged, at), world.reference(row));
        let written = results.write(row, reference.as_deref(), &report);
        self.check_results(written);
    }

    /// So that little is missing there if the process is killed; the journal has it all.
    fn flush(&mut self) {
        if let Some(results) = &mut self.run.results {
            let flushed = results.flush();
            self.check_results(flushed);
        }
    }

    fn check_results(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.run.results = None;
            self.run.summary.incomplete_results = Some(error.to_string());
            self.stop(Stop::Results(error.to_string()));
        }
    }

    /// The first reason counts, but for what decides how the process ends.
    fn stop(&mut self, stop: Stop) {
        let Self { run: Run { summary, progress, .. }, in_flight, .. } = self;
        match &summary.stop {
            None => {
                let in_flight = in_flight.len();
                if in_flight > 0 {
                    let (why, signal) = match &stop {
                        Stop::Interrupted(signal) => ((*signal).to_owned(), "Once more"),
                        stop => (format!("stopped ({})", stop.reason()), "Ctrl-C"),
                    };
                    progress.tell(&format!(
                        "{why}: no new charge is begun; waiting for {in_flight} in flight. \
                         {signal} ends at once, and what is in flight is unknown then"
                    ));
                }
                summary.stop = Some(stop);
            }
            Some(_) if matches!(stop, Stop::Unauthorized) => summary.stop = Some(stop),
            Some(_) => {}
        }
    }

    /// Says whether the run is given up: whatever has stopped it, nobody waits any longer.
    fn interrupted(&mut self, signal: &'static str) -> bool {
        if let Some(stop) = self.run.summary.stop.take() {
            self.run.summary.stop = Some(Stop::GivenUp { signal, after: Box::new(stop) });
            return true;
        }
        self.stop(Stop::Interrupted(signal));
        false
    }

    fn show(&mut self) {
        let Run { progress, summary, pace, .. } = &mut self.run;
        let held_up = HeldUp {
            paused_until: pace.paused_until(),
            in_flight: self.in_flight.len(),
            quiet_since: self.quiet_since,
        };
        progress.show(&summary.tallies, Instant::now(), held_up);
    }

    fn count_what_waits(&mut self) {
        let elsewhere = std::mem::take(&mut self.elsewhere);
        for Waiting { row, last, at, .. } in std::mem::take(&mut self.waiting).into_iter().chain(elsewhere) {
            self.count(&row, &last, at);
        }
    }

    /// Has the journal take what it could not take at first, and tells no more of what it has then.
    async fn settle(&mut self) {
        if self.run.world.settle().await.is_err() {
            return;
        }
        for Unwritten { line, key, amount, ended } in std::mem::take(&mut self.unwritten) {
            let Ok(Some(intent)) = self.run.world.find(&key).await else { continue };
            let is_written = matches!(
                (ended, intent.state),
                (batch_report::Ended::Processed, IntentState::Processed { .. })
                    | (batch_report::Ended::Rejected, IntentState::Rejected(_))
                    | (batch_report::Ended::NotProcessed, IntentState::NotProcessed(_))
            );
            if is_written {
                let summary = &mut self.run.summary;
                let mut one = Tally::default();
                one.add(amount);
                summary.not_recorded = summary.not_recorded.minus(one);
                summary.doubts.retain(|doubt| doubt.line != line);
            }
        }
    }

    fn end(mut self) -> Summary {
        for row in std::mem::take(&mut self.flying).into_values() {
            self.run.summary.tallies.unknown.add(row.payment.amount());
            self.doubt(&row, None, None, "in_flight".to_owned());
        }
        if let Some(results) = self.run.results.take() {
            let finished = results.finish();
            self.check_results(finished);
        }
        let Run { mut summary, progress, .. } = self.run;
        summary.doubts.sort_by_key(|doubt| doubt.line);
        progress.end();
        summary
    }
}

fn pause_asked_for(retry_after: RetryAfter) -> Option<Duration> {
    match retry_after {
        RetryAfter::Delay(pause) => Some(pause),
        RetryAfter::Date(date) => date.duration_since(SystemTime::now()).ok(),
        _ => None,
    }
}

/// Sends charges.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) client: JournaledClient,
    pub(super) settings: Arc<Settings>,
}

impl World for Service {
    async fn charge(&self, row: &Row) -> Charged {
        self.client.process_token(&row.key, &row.payment).await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.client.journal().settle().await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.client.journal().find(key).await
    }

    fn report(&self, row: &Row, charged: &Charged, at: SystemTime) -> Report {
        let Self { settings, .. } = self;
        match charged {
            Ok(journaled) => {
                Report::Processed(Processed::journaled(journaled.clone(), &row.key, |success| {
                    Processed::moved(success, success.to_json(), &success.transaction_id)
                }))
            }
            Err(error) => journaled_call::failed(error, &row.payment, settings, at).into(),
        }
    }

    fn reference(&self, row: &Row) -> Option<String> {
        row.payment.reference_no().map(|text| self.settings.without_key(text))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use http::StatusCode;
    use payments_core::{
        Client, OperationName, Transport, TransportError, TransportErrorKind, TransportRequest,
        TransportResponse,
    };
    use payments_fake::{FakeGateway, FakeTransport, Fault, ScriptedTransport};
    use payments_hyper::TokioTimer;
    use payments_journal::{
        Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, JournaledClient, MemoryStore,
        OwnerId, Page, Purged, StateName, StoreError,
    };
    use payments_model::{Amount, ConvenienceFee, TokenTransaction};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::batch_report::Tallies;
    use crate::exit_code::ExitCode;
    use crate::failure::Failure;
    use crate::style::Style;

    const TOKENS: OperationName = OperationName::TokenTransaction;

    /// The fake behind a network that is down at times.
    struct Weather {
        fair: FakeTransport,
        down: Box<dyn Fn(Instant) -> bool + Send + Sync>,
        lost: Arc<AtomicU32>,
    }

    impl Transport for Weather {
        async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
            if (self.down)(Instant::now()) {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return Err(TransportError::not_processed(TransportErrorKind::Connect));
            }
            self.fair.send(request).await
        }
    }

    /// The fake, after a while.
    struct Slow {
        transport: FakeTransport,
        by: Duration,
    }

    impl Transport for Slow {
        async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
            tokio::time::sleep(self.by).await;
            self.transport.send(request).await
        }
    }

    #[derive(Clone)]
    struct Shop(JournaledClient);

    impl World for Shop {
        async fn charge(&self, row: &Row) -> Charged {
            self.0.process_token(&row.key, &row.payment).await
        }

        async fn settle(&self) -> Result<(), StoreError> {
            self.0.journal().settle().await
        }

        async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
            self.0.journal().find(key).await
        }

        fn report(&self, _row: &Row, _charged: &Charged, _at: SystemTime) -> Report {
            Failure::invalid("test", "no results are written").into()
        }

        fn reference(&self, _row: &Row) -> Option<String> {
            None
        }
    }

    struct Scene {
        gateway: FakeGateway,
        lost: Arc<AtomicU32>,
        shop: Shop,
    }

    impl Scene {
        async fn new(
            down: impl Fn(Instant) -> bool + Send + Sync + 'static,
            store: impl IntentStore,
        ) -> Self {
            let gateway = FakeGateway::new();
            let lost = Arc::new(AtomicU32::new(0));
            let weather = Weather { fair: gateway.transport(), down: Box::new(down), lost: lost.clone() };
            let client = Client::builder(gateway.endpoint(), weather, TokioTimer::new()).build();
            let journal = Journal::open(store).await.expect("it opens");
            Self { gateway, lost, shop: Shop(JournaledClient::new(client, journal)) }
        }

        async fn fair() -> Self {
            Self::new(|_| false, MemoryStore::new()).await
        }

        fn run(&self, rows: u64) -> Run<Shop> {
            self.run_of("tok_approved", rows)
        }

        fn run_of(&self, token: &str, rows: u64) -> Run<Shop> {
            let (to, fed) = mpsc::channel(usize::try_from(rows).expect("a few"));
            let mut tallies = Tallies::default();
            let amount = Amount::from_cents(1_00);
            for line in 2..rows + 2 {
                tallies.total.add(amount);
                let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive);
                let key = IntentKey::new(format!("k{line}")).expect("a key");
                let payment = payment.reference_no(key.to_string()).build().expect("a payment");
                to.try_send(Fed::Rows(vec![Row { line, key, payment }])).expect("there is room");
            }
            Run {
                world: self.shop.clone(),
                rows: fed,
                pace: Pace::new(8, None, Duration::from_mins(5)),
                max_rejected: None,
                results: None,
                progress: Progress::hidden(Instant::now()),
                summary: Summary { tallies, ..Summary::default() },
            }
        }

        /// Has the payment with this key in flight elsewhere for so long.
        async fn hold(&self, key: &str, time: Duration) -> JoinHandle<Charged> {
            let slow = Slow { transport: self.gateway.transport(), by: time };
            let client = Client::builder(self.gateway.endpoint(), slow, TokioTimer::new()).build();
            let shop = Shop(JournaledClient::new(client, self.shop.0.journal().clone()));
            let payment =
                TokenTransaction::builder("tok_approved", Amount::from_cents(1_00), ConvenienceFee::Inactive);
            let payment = payment.reference_no(key).build().expect("a payment");
            let row = Row { line: 4, key: IntentKey::new(key).expect("a key"), payment };
            let elsewhere = row.clone();
            let held = tokio::spawn(async move { shop.charge(&elsewhere).await });
            while self.shop.find(&row.key).await.expect("it can be asked").is_none() {
                tokio::task::yield_now().await;
            }
            held
        }

        fn lost(&self) -> u32 {
            self.lost.load(Ordering::Relaxed)
        }

        #[track_caller]
        fn has_charged(&self, count: u64) {
            let cents = i64::try_from(count * 100).expect("a few");
            self.gateway.ledger().assert_charged_total(Amount::from_cents(cents));
            let requests = self.gateway.requests();
            assert!(requests.len() as u64 >= count);
        }
    }

    /// In flight when the trouble begins, and one after each pause of five minutes.
    const FEW: u64 = 8 + 18;

    async fn never() -> &'static str {
        std::future::pending().await
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_waited_out_and_its_rows_are_sent_in_the_same_run() {
        let (from, to) = (Instant::now(), Instant::now() + Duration::from_secs(100));
        let scene = Scene::new(move |now| now < to, MemoryStore::new()).await;
        let summary = scene.run(200).complete(never).await;
        assert_eq!((summary.exit_code(), summary.tallies.processed.count), (ExitCode::Processed, 200));
        assert!(summary.stop.is_none());
        assert!(from.elapsed() < Duration::from_secs(200), "{:?}", from.elapsed());
        assert!(u64::from(scene.lost()) <= FEW, "{}", scene.lost());
        scene.has_charged(200);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_that_outlasts_the_patience_ends_the_run_and_not_the_file() {
        let begun = Instant::now();
        let scene = Scene::new(|_| true, MemoryStore::new()).await;
        let summary = scene.run(200).complete(never).await;
        assert_eq!(summary.exit_code(), ExitCode::NotProcessed);
        assert!(matches!(summary.stop, Some(Stop::Outage(_))), "{:?}", summary.stop);
        let tallies = summary.tallies;
        assert!(tallies.not_processed.count <= 8, "{tallies:?}");
        assert_eq!(tallies.not_processed.plus(tallies.not_started()).count, 200);
        assert!(begun.elapsed() <= Duration::from_mins(5), "{:?}", begun.elapsed());
        assert!(begun.elapsed() >= Duration::from_mins(3), "{:?}", begun.elapsed());
        scene.gateway.ledger().assert_nothing_charged();
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_are_sending_is_waited_for() {
        let scene = Scene::fair().await;
        let run = scene.run(3);
        let held = scene.hold("k4", Duration::from_secs(20)).await;
        let summary = run.complete(never).await;
        held.await.expect("it ends").expect("it is processed");
        let Tallies { processed, earlier, in_progress, .. } = summary.tallies;
        assert_eq!((processed.count, earlier.processed.count, in_progress.count), (2, 1, 0));
        assert_eq!(summary.exit_code(), ExitCode::Processed);
        scene.has_charged(3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_are_sending_is_waited_for_no_longer_than_the_patience() {
        let begun = Instant::now();
        let scene = Scene::fair().await;
        let mut run = scene.run(3);
        run.pace = Pace::new(8, None, Duration::from_secs(7));
        let held = scene.hold("k4", Duration::from_secs(40)).await;
        let summary = run.complete(never).await;
        assert_eq!(
            (summary.tallies.processed.count, summary.tallies.in_progress.count),
            (2, 1),
            "{summary:?}"
        );
        assert_eq!(summary.exit_code(), ExitCode::NotProcessed);
        assert_eq!(begun.elapsed().as_secs(), 7);
        held.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_row_is_not_tried_for_ever() {
        let scene = Scene::new(|_| true, MemoryStore::new()).await;
        let mut run = scene.run(1);
        run.pace = Pace::new(1, None, Duration::from_hours(24));
        let summary = run.complete(never).await;
        assert!(summary.stop.is_none(), "{:?}", summary.stop);
        assert_eq!(summary.tallies.not_processed.count, 1);
        assert_eq!(scene.lost(), MOST_TRIES);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_that_a_busy_service_asks_for_is_kept() {
        let begun = Instant::now();
        let scene = Scene::fair().await;
        let busy = Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
        scene.gateway.arm(busy.retry_after("7").skip(20));
        let summary = scene.run(50).complete(never).await;
        assert_eq!((summary.tallies.processed.count, summary.tallies.rejected.count), (49, 1));
        assert_eq!(begun.elapsed().as_secs(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_is_always_busy_is_not_given_the_whole_file() {
        let scene = Scene::fair().await;
        let busy = Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
        scene.gateway.arm(busy.times(1000));
        let summary = scene.run(200).complete(never).await;
        assert!(matches!(summary.stop, Some(Stop::Throttled(None))), "{:?}", summary.stop);
        assert_eq!(summary.exit_code(), ExitCode::NotProcessed);
        assert!(summary.tallies.rejected.count <= FEW, "{:?}", summary.tallies);
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_never_says_what_it_did_is_not_given_the_whole_file() {
        let scene = Scene::fair().await;
        scene.gateway.arm(Fault::on(TOKENS).after_commit().status(StatusCode::BAD_GATEWAY).times(1000));
        let summary = scene.run(200).complete(never).await;
        assert!(matches!(summary.stop, Some(Stop::Outage(_))), "{:?}", summary.stop);
        assert_eq!(summary.exit_code(), ExitCode::Unknown);
        assert!(summary.tallies.unknown.count <= FEW, "{:?}", summary.tallies);
        scene.has_charged(summary.tallies.unknown.count);
    }

    #[tokio::test(start_paused = true)]
    async fn one_lost_answer_holds_nothing_up() {
        let begun = Instant::now();
        let scene = Scene::fair().await;
        for number in 1..=10 {
            scene.gateway.arm(Fault::response_lost(TOKENS).skip(number * 17));
        }
        let summary = scene.run(200).complete(never).await;
        assert_eq!((summary.tallies.unknown.count, summary.tallies.processed.count), (10, 190));
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_waits_hears_a_signal_at_once() {
        let scene = Scene::new(|_| true, MemoryStore::new()).await;
        let begun = Instant::now();
        let signal = async || {
            sleep_until(begun + Duration::from_secs(1)).await;
            "SIGINT"
        };
        let summary = scene.run(200).complete(signal).await;
        assert!(matches!(summary.stop, Some(Stop::Interrupted("SIGINT"))), "{:?}", summary.stop);
        assert!(begun.elapsed() < Duration::from_millis(1100), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_key_decides_the_end_even_after_a_signal() {
        let scene = Scene::fair().await;
        scene.gateway.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED).times(8));
        let gate = scene.gateway.gate(TOKENS);
        let mut gate = Some(gate);
        let signal = async || match gate.take() {
            Some(gate) => {
                gate.arrivals(8).await;
                "SIGTERM"
            }
            None => never().await,
        };
        let summary = scene.run(200).complete(signal).await;
        assert!(matches!(summary.stop, Some(Stop::Unauthorized)), "{:?}", summary.stop);
        assert_eq!(summary.exit_code(), ExitCode::Unauthorized);
        assert_eq!((summary.tallies.rejected.count, summary.tallies.not_started().count), (8, 192));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unknown_charge_is_told_by_the_exit_code_also_where_the_key_was_refused() {
        let scene = Scene::fair().await;
        scene.gateway.arm(Fault::response_lost(TOKENS).skip(2));
        scene.gateway.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED).skip(4));
        let mut run = scene.run(50);
        run.pace = Pace::new(1, None, Duration::from_mins(5));
        let summary = run.complete(never).await;
        assert!(matches!(summary.stop, Some(Stop::Unauthorized)), "{:?}", summary.stop);
        assert_eq!((summary.tallies.unknown.count, summary.tallies.rejected.count), (1, 1));
        assert_eq!(summary.exit_code(), ExitCode::Unknown);
        let text = summary.lines(Style::Plain);
        assert!(text.starts_with("OUTCOME UNKNOWN of 1 charge") && text.contains("HTTP 401"), "{text}");
    }

    /// A world in which some charges never end, or nothing more is written down.
    #[derive(Clone)]
    struct Stuck {
        shop: Shop,
        /// The last row whose charge ends.
        last_line: u64,
        settles: bool,
    }

    impl World for Stuck {
        async fn charge(&self, row: &Row) -> Charged {
            if row.line > self.last_line {
                std::future::pending::<()>().await;
            }
            self.shop.charge(row).await
        }

        async fn settle(&self) -> Result<(), StoreError> {
            if self.settles { self.shop.settle().await } else { std::future::pending().await }
        }

        async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
            self.shop.find(key).await
        }

        fn report(&self, row: &Row, charged: &Charged, at: SystemTime) -> Report {
            self.shop.report(row, charged, at)
        }

        fn reference(&self, row: &Row) -> Option<String> {
            self.shop.reference(row)
        }
    }

    impl Stuck {
        fn run(self, scene: &Scene, pace: Pace) -> Run<Self> {
            let Run { rows, max_rejected, results, progress, summary, .. } = scene.run(50);
            Run { world: self, rows, pace, max_rejected, results, progress, summary }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_signal_after_any_stop_ends_at_once_and_what_was_in_flight_is_unknown() {
        for (status, patience, reason) in [
            (Some(StatusCode::UNAUTHORIZED), 300, "unauthorized"),
            (Some(StatusCode::TOO_MANY_REQUESTS), 0, "throttled"),
            (None, 0, "outage"),
        ] {
            let scene = Scene::new(move |_| status.is_none(), MemoryStore::new()).await;
            if let Some(status) = status {
                scene.gateway.arm(Fault::on(TOKENS).before_commit().status(status));
            }
            let world = Stuck { shop: scene.shop.clone(), last_line: 2, settles: true };
            let run = world.run(&scene, Pace::new(4, None, Duration::from_secs(patience)));
            let begun = Instant::now();
            let mut is_signalled = false;
            let signal = async || {
                if is_signalled {
                    never().await;
                }
                sleep_until(begun + Duration::from_secs(1)).await;
                is_signalled = true;
                "SIGINT"
            };
            let ended = timeout(Duration::from_hours(1), run.complete(signal)).await;
            let summary = ended.expect("it ends");
            assert!(begun.elapsed() < Duration::from_millis(1100), "{:?}", begun.elapsed());
            let stop = summary.stop.as_ref().expect("it was stopped");
            assert_eq!((stop.reason(), summary.exit_code()), (reason, ExitCode::Unknown));
            assert!(summary.is_given_up() && stop.to_string().contains("given up at SIGINT"), "{stop}");
            assert!((1..=4).contains(&summary.tallies.unknown.count), "{:?}", summary.tallies);
            assert!(summary.doubts.iter().all(|doubt| doubt.kind == "in_flight"), "{:?}", summary.doubts);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_run_waits_for_no_dead_journal() {
        for signal_after in [None, Some(Duration::from_secs(1))] {
            // The third end cannot be written.
            let scene = Scene::new(|_| false, FailingStore::after(5)).await;
            let world = Stuck { shop: scene.shop.clone(), last_line: u64::MAX, settles: false };
            let run = world.run(&scene, Pace::new(1, None, Duration::from_mins(5)));
            let begun = Instant::now();
            let signal = async || match signal_after {
                Some(after) => {
                    sleep_until(begun + after).await;
                    "SIGINT"
                }
                None => never().await,
            };
            let ended = timeout(Duration::from_hours(1), run.complete(signal)).await;
            let summary = ended.expect("it ends");
            assert!(begun.elapsed() <= signal_after.unwrap_or(LAST_WRITES), "{:?}", begun.elapsed());
            assert_eq!((summary.exit_code(), summary.not_recorded.count), (ExitCode::Unknown, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_row_that_the_journal_did_not_take_is_not_started_and_has_no_outcome_d43() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        // The third charge cannot begin.
        let scene = Scene::new(|_| false, FailingStore::after(4)).await;
        let mut run = scene.run(50);
        run.pace = Pace::new(1, None, Duration::from_mins(5));
        run.results = Some(Results::for_tests(&path));
        let summary = run.complete(never).await;
        assert!(matches!(&summary.stop, Some(Stop::Journal(why)) if why.contains("the disk is full")));
        let tallies = summary.tallies;
        assert_eq!((tallies.processed.count, tallies.not_processed.count), (2, 0));
        assert_eq!((tallies.not_started().count, summary.exit_code()), (48, ExitCode::NotProcessed));
        assert_eq!(std::fs::read_to_string(&path).expect("results").lines().count(), 2);
        let text = summary.lines(Style::Plain);
        assert!(text.contains("an earlier run may have paid"), "{text}");
        scene.has_charged(2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_another_request_takes_during_the_run_is_told_by_what_became_of_that_d43() {
        for (token, unknown, not_processed) in [("tok_approved", 1, 0), ("tok_declined", 0, 1)] {
            let scene = Scene::fair().await;
            let run = scene.run(4);
            let other = TokenTransaction::builder(token, Amount::from_cents(7_00), ConvenienceFee::Inactive);
            let (key, other) = (IntentKey::new("k4").expect("a key"), other.build().expect("a payment"));
            let paid = scene.shop.0.process_token(&key, &other).await;
            let summary = run.complete(never).await;
            assert_eq!(summary.tallies.processed.count, 3);
            assert_eq!(
                (summary.tallies.unknown.count, summary.tallies.not_processed.count),
                (unknown, not_processed)
            );
            let doubts: Vec<_> =
                summary.doubts.iter().map(|it| (&*it.key, &*it.kind, it.transaction_id.clone())).collect();
            let paid = paid.ok().map(|paid| ("k4", "key_reused", Some(paid.transaction_id.to_string())));
            assert_eq!(doubts, Vec::from_iter(paid));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_that_the_service_gives_twice_is_told_with_both_keys() {
        let scene = Scene::fair().await;
        let processed = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_same"}}"#;
        let script = ScriptedTransport::new().answer(200, processed).answer(200, processed);
        let client = Client::builder(scene.gateway.endpoint(), script, TokioTimer::new()).build();
        let journal = Journal::open(MemoryStore::new()).await.expect("it opens");
        let mut run = scene.run(2);
        run.world = Shop(JournaledClient::new(client, journal));
        run.pace = Pace::new(1, None, Duration::from_mins(5));
        let summary = run.complete(never).await;
        assert_eq!((summary.exit_code(), summary.tallies.processed.count), (ExitCode::Processed, 2));
        let text = summary.lines(Style::Plain);
        let line = "line 3: k3 and k2 are both processed as transaction txn_same\n";
        assert!(text.contains(line), "{text}");
        let document = serde_json::to_value(&summary).expect("a document");
        assert_eq!(document["same_transaction"][0]["same_transaction_as"], "k2", "{document}");
    }

    /// A disk that fails after some writes, and for some.
    struct FailingStore {
        kept: MemoryStore,
        left: AtomicU32,
        failures: AtomicU32,
    }

    impl FailingStore {
        fn after(writes: u32) -> Self {
            Self::once(writes, u32::MAX)
        }

        fn once(writes: u32, failures: u32) -> Self {
            Self { kept: MemoryStore::new(), left: writes.into(), failures: failures.into() }
        }
    }

    impl IntentStore for FailingStore {
        fn owner(&self) -> &OwnerId {
            self.kept.owner()
        }

        async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
            let has_room = |left: u32| left.checked_sub(1);
            let count_down = |count: &AtomicU32| {
                count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_room).is_ok()
            };
            if !count_down(&self.left) && count_down(&self.failures) {
                return Err(StoreError::poisoned("the disk is full"));
            }
            self.kept.apply(change).await
        }

        async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
            self.kept.find(key).await
        }

        async fn list(
            &self,
            states: &[StateName],
            after: Option<Cursor>,
            limit: usize,
        ) -> Result<Page, StoreError> {
            self.kept.list(states, after, limit).await
        }

        async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
            self.kept.is_live(owner).await
        }

        async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
            self.kept.purge(age).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_journal_that_fails_stops_the_run_and_what_it_does_not_know_is_in_doubt() {
        // The third charge cannot begin; or it has begun, and its end cannot be written.
        for (writes, charged, code) in [(4, 2, ExitCode::NotProcessed), (5, 3, ExitCode::Unknown)] {
            let store = FailingStore::after(writes);
            let scene = Scene::new(|_| false, store).await;
            let mut run = scene.run(50);
            run.pace = Pace::new(1, None, Duration::from_mins(5));
            let summary = run.complete(never).await;
            assert!(matches!(&summary.stop, Some(Stop::Journal(why)) if why.contains("the disk is full")));
            assert_eq!((summary.exit_code(), summary.tallies.processed.count), (code, charged));
            assert_eq!(summary.doubts.len() as u64, charged - 2);
            assert!(summary.doubts.iter().all(|doubt| doubt.transaction_id.is_some()));
            scene.has_charged(charged);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_answered_and_could_not_be_written_is_told_by_its_answer() {
        for (token, word) in [("tok_approved", "PROCESSED"), ("tok_declined", "rejected")] {
            // The third end cannot be written.
            let store = FailingStore::after(5);
            let scene = Scene::new(|_| false, store).await;
            let mut run = scene.run_of(token, 4);
            run.pace = Pace::new(1, None, Duration::from_mins(5));
            // As many as are listed were unknown before.
            let doubt = Doubt {
                line: 9,
                key: "before".to_owned(),
                amount: Amount::from_cents(1),
                transaction_id: None,
                unwritten: None,
                kind: "crash".to_owned(),
            };
            run.summary.doubts = vec![doubt; Doubt::MOST_LISTED];
            let summary = run.complete(never).await;
            assert_eq!(summary.exit_code(), ExitCode::Unknown);
            let text = summary.lines(Style::Plain);
            for part in [
                "1 answer NOT WRITTEN to the journal: keep this list (exit code 5)",
                "answered, but not written to the journal, which has it as unknown:\n",
                &format!("line 4: k4, 1.00 ({word}, TransactionId "),
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(!text.contains("OUTCOME UNKNOWN"), "{text}");
            let document = serde_json::to_value(&summary).expect("a document");
            assert_eq!(document["unresolved"][0]["outcome"], word.to_lowercase());
            assert_eq!(document["not_recorded"]["count"], 1);
            assert_eq!(document["not_recorded"]["sum"].to_string(), "1.0");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_journal_takes_at_the_last_moment_is_in_no_doubt() {
        for token in ["tok_approved", "tok_declined"] {
            // The third end cannot be written when it comes, and can a moment later.
            let scene = Scene::new(|_| false, FailingStore::once(5, 1)).await;
            let mut run = scene.run_of(token, 4);
            run.pace = Pace::new(1, None, Duration::from_mins(5));
            let summary = run.complete(never).await;
            assert!(matches!(summary.stop, Some(Stop::Journal(_))), "{:?}", summary.stop);
            assert_eq!(
                (summary.exit_code(), summary.not_recorded),
                (ExitCode::NotProcessed, Tally::default())
            );
            assert_eq!((summary.doubts, summary.tallies.not_started().count), (vec![], 1));
            let third = IntentKey::new("k4").expect("a key");
            let kept = scene.shop.find(&third).await.expect("it is readable").expect("it is there");
            assert!(
                matches!(kept.state, IntentState::Processed { .. } | IntentState::Rejected(_)),
                "{kept:?}"
            );
        }
    }
}
