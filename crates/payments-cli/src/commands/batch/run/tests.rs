//! Runs over a fake service, a network with faults and journals that fail, in virtual time.

use std::future::{pending, ready};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;

use http::StatusCode;
use payments_core::{
    Client, OperationName, Outcome, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, FakeTransport, Fault, ScriptedTransport};
use payments_hyper::TokioTimer;
use payments_journal::internals::{IntentStore, Rows};
use payments_journal::{
    IntentKey, IntentState, Journal, JournaledClient, MemoryStore, StateName, StoreError,
};
use payments_model::{Amount, ConvenienceFee, TokenTransaction};
use tokio::task::JoinHandle;

use super::*;
use crate::args::journal::PlaceOptions;
use crate::call::journaled::tests::{Asked, Before, HookedStore};
use crate::call::same_payment::{EarlierCharges, Scope};
use crate::commands::batch::billing_file::BillingFile;
use crate::commands::batch::charge_result::ChargeResult;
use crate::commands::batch::charge_result::tests::DECLINED;
use crate::commands::batch::hashes::Hashes;
use crate::commands::batch::inspection::{Inspected, Rules, inspect};
use crate::commands::batch::newcomers::RecentPages;
use crate::commands::batch::results::Results;
use crate::failure::{Failure, Purpose};
use crate::report::run::{ListedRow, MOST_LISTED, Tallies, Tally, UnresolvedRow};
use crate::report::{ExitCode, Report};
use crate::rows::problems::MOST_KEPT;
use crate::settings::{JournalPlace, KnownKeys, PrintedCommands};
use crate::stderr::Item;
use crate::style::Style;

const TOKENS: OperationName = OperationName::TokenTransaction;

/// The fake behind a network that is sometimes down or slow.
struct TestTransport {
    transport: FakeTransport,
    /// How long a request takes, by its number from 1; `None` never ends.
    delay: Box<dyn Fn(u32) -> Option<Duration> + Send + Sync>,
    is_down: Box<dyn Fn(Instant) -> bool + Send + Sync>,
    sent: AtomicU32,
    failures: Arc<AtomicU32>,
}

impl Transport for TestTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        match (self.delay)(self.sent.fetch_add(1, Ordering::Relaxed) + 1) {
            Some(Duration::ZERO) => {}
            Some(delay) => tokio::time::sleep(delay).await,
            None => pending().await,
        }
        if (self.is_down)(Instant::now()) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            return Err(TransportError::not_processed(TransportErrorKind::Connect));
        }
        self.transport.send(request).await
    }
}

fn key(text: impl Into<String>) -> IntentKey {
    IntentKey::new(text.into()).unwrap()
}

/// A payment of 1.00. An empty reference is none.
fn payment(token: &str, reference: &str) -> TokenTransaction {
    let payment = TokenTransaction::builder(token, Amount::from_cents(1_00), ConvenienceFee::Inactive);
    let payment = if reference.is_empty() { payment } else { payment.reference_no(reference) };
    payment.build().unwrap()
}

fn unseen_progress() -> Progress {
    Progress::on(true, |_| {}, &Tallies::default(), Instant::now())
}

struct TestRun {
    gateway: FakeGateway,
    failures: Arc<AtomicU32>,
    client: JournaledClient,
}

impl TestRun {
    async fn new(is_down: impl Fn(Instant) -> bool + Send + Sync + 'static, store: impl IntentStore) -> Self {
        Self::delayed(|_| Some(Duration::ZERO), is_down, store).await
    }

    async fn delayed(
        delay: impl Fn(u32) -> Option<Duration> + Send + Sync + 'static,
        is_down: impl Fn(Instant) -> bool + Send + Sync + 'static,
        store: impl IntentStore,
    ) -> Self {
        let gateway = FakeGateway::new();
        let failures = Arc::new(AtomicU32::new(0));
        let transport = TestTransport {
            transport: gateway.transport(),
            delay: Box::new(delay),
            is_down: Box::new(is_down),
            sent: AtomicU32::new(0),
            failures: failures.clone(),
        };
        let client = Client::builder(gateway.endpoint(), transport, TokioTimer::new()).build();
        let journal = Journal::open(store).await.unwrap();
        Self { gateway, failures, client: JournaledClient::new(client, journal) }
    }

    async fn reliable() -> Self {
        Self::new(|_| false, MemoryStore::new()).await
    }

    /// Every request takes a second.
    async fn slow(store: impl IntentStore) -> Self {
        Self::delayed(|_| Some(Duration::from_secs(1)), |_| false, store).await
    }

    /// Another client with the same journal.
    fn client_over(&self, transport: impl Transport) -> JournaledClient {
        let client = Client::builder(self.gateway.endpoint(), transport, TokioTimer::new()).build();
        JournaledClient::new(client, self.client.journal().clone())
    }

    fn run<'a>(&self, rows: u64) -> Run<'a> {
        self.run_of("tok_approved", rows)
    }

    fn run_of<'a>(&self, token: &str, rows: u64) -> Run<'a> {
        let mut all = Vec::new();
        let mut tallies = Tallies::default();
        for line in 2..rows + 2 {
            tallies.total.add(Amount::from_cents(1_00));
            let key = key(format!("k{line}"));
            let payment = payment(token, key.as_str());
            all.push(BillingRow { number: line - 1, line, key, payment });
        }
        Run::new(
            self.client.clone(),
            all.into_iter(),
            Throttle::new(8, None, Duration::from_mins(5)),
            Counting::new(Summary { tallies, ..Summary::default() }, None, None),
            unseen_progress(),
        )
    }

    /// Checks a file of these rows.
    async fn inspect(&self, rows: &str) -> (BillingFile, Inspected) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, format!("Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n{rows}"))
            .unwrap();
        let file = BillingFile::read(&path, Vec::new(), &journal_beside(&path)).unwrap();
        let (api_keys, commands) = (KnownKeys::default(), PrintedCommands::default());
        let service = self.gateway.endpoint().service().to_owned();
        let rules = Rules { api_keys, ids_are_not_cards: false, service, commands };
        let inspected = inspect(&file, &rules, Some(self.client.journal())).await.unwrap();
        (file, inspected)
    }

    /// Keeps the payment with this key in flight elsewhere for so many seconds.
    async fn hold(&self, text: &str, seconds: u64) -> JoinHandle<ChargeResult> {
        let client = self.client_over(TestTransport {
            transport: self.gateway.transport(),
            delay: Box::new(move |_| Some(Duration::from_secs(seconds))),
            is_down: Box::new(|_| false),
            sent: AtomicU32::new(0),
            failures: Arc::default(),
        });
        let (payment, key) = (payment("tok_approved", text), key(text));
        let held = tokio::spawn({
            let key = key.clone();
            async move { client.process_token(&key, &payment).await }
        });
        while self.client.journal().find(&key).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        held
    }

    /// What others charge after now, beside a file with these keys.
    fn newcomers<const N: usize>(&self, keys: [&str; N], charges: EarlierCharges) -> Newcomers {
        let mut hashes = Hashes::default();
        for text in keys {
            hashes.add(&key(text));
        }
        let journal = self.client.journal().clone();
        let pages = RecentPages::of(journal.pages(StateName::ALL));
        Newcomers::new(journal, pages, hashes, charges)
    }

    fn no_charges(&self) -> EarlierCharges {
        EarlierCharges::of_service(self.gateway.endpoint().service())
    }

    fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    #[track_caller]
    fn assert_charged(&self, count: u64) {
        let cents = i64::try_from(count * 100).expect("a few");
        self.gateway.ledger().assert_charged_total(Amount::from_cents(cents));
        let requests = self.gateway.requests();
        assert!(requests.len() as u64 >= count);
    }
}

fn journal_beside(file: &Path) -> JournalPlace {
    let place = PlaceOptions { journal: Some(file.with_extension("db").into()), witness: None };
    JournalPlace::require(&place, Purpose::MoveMoney).unwrap()
}

impl Run<'_> {
    fn throttled(self, most_in_flight: usize, patience: Duration) -> Self {
        Self { throttle: Throttle::new(most_in_flight, None, patience), ..self }
    }

    fn one_by_one(self) -> Self {
        self.throttled(1, Duration::from_mins(5))
    }
}

fn document(summary: Summary) -> serde_json::Value {
    serde_json::to_value(Report::Batch(Box::new(summary))).unwrap()
}

/// The charges in flight when an outage starts, and one after each pause in five minutes.
const FEW: u64 = 8 + 18;

async fn never() -> &'static str {
    pending().await
}

/// A signal after each of these times from now, in milliseconds.
fn signals_after(times: &'static [u64]) -> impl AsyncFnMut() -> &'static str {
    let (begun, mut signalled) = (Instant::now(), 0);
    async move || {
        let Some(time) = times.get(signalled) else { return never().await };
        sleep_until(begun + Duration::from_millis(*time)).await;
        signalled += 1;
        "SIGINT"
    }
}

#[tokio::test(start_paused = true)]
async fn rows_of_a_short_outage_are_sent_in_the_same_run() {
    let (from, to) = (Instant::now(), Instant::now() + Duration::from_secs(100));
    let setup = TestRun::new(move |now| now < to, MemoryStore::new()).await;
    let summary = setup.run(200).complete(never).await;
    assert_eq!((ExitCode::of_run(&summary), summary.tallies.processed.count), (ExitCode::Processed, 200));
    assert!(summary.stop.is_none());
    assert!(from.elapsed() < Duration::from_secs(200), "{:?}", from.elapsed());
    assert!(u64::from(setup.failures()) <= FEW, "{}", setup.failures());
    setup.assert_charged(200);
}

#[tokio::test(start_paused = true)]
async fn outage_longer_than_patience_ends_the_run_unfinished() {
    let begun = Instant::now();
    let setup = TestRun::new(|_| true, MemoryStore::new()).await;
    let summary = setup.run(200).complete(never).await;
    assert_eq!(ExitCode::of_run(&summary), ExitCode::NotProcessed);
    assert!(matches!(summary.stop, Some(Stop::Outage(_))), "{:?}", summary.stop);
    let tallies = summary.tallies;
    assert!(tallies.not_processed.count <= 8, "{tallies:?}");
    assert_eq!(tallies.not_processed.plus(tallies.not_started()).count, 200);
    assert!(begun.elapsed() <= Duration::from_mins(5), "{:?}", begun.elapsed());
    assert!(begun.elapsed() >= Duration::from_mins(3), "{:?}", begun.elapsed());
    setup.gateway.ledger().assert_nothing_charged();
}

/// As before the run: instalments look the same.
#[tokio::test(start_paused = true)]
async fn payment_that_another_run_made_meanwhile_under_another_key_is_warned_about() {
    let setup = TestRun::slow(MemoryStore::new()).await;
    let mut newcomers = setup.newcomers(["k2", "k3", "k4", "k5", "k6"], setup.no_charges());
    let payment = |line: u64| payment("tok_approved", &format!("rent {line}"));
    let mut run = setup.run(5).one_by_one().compared_with(&mut newcomers);
    let rows = run.queue.rows.map(move |row| BillingRow { payment: payment(row.line), ..row });
    run.queue = RowQueue::new(Box::new(rows));
    let (shown, lines) = mpsc::channel();
    let screen = move |item| {
        if let Item::Text(line) = item {
            shown.send(line).unwrap();
        }
    };
    run.progress = Progress::on(true, screen, &Tallies::default(), Instant::now());
    let other = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let client = setup.client_over(setup.gateway.transport());
        client.process_token(&key("other"), &payment(4)).await.unwrap();
    };
    let (summary, ()) = tokio::join!(run.complete(never), other);
    assert_eq!((ExitCode::of_run(&summary), summary.tallies.processed.count), (ExitCode::Processed, 5));
    let lines: Vec<_> = lines.iter().collect();
    let warning =
        "WARNING: line 4: k4 has the token, amount and ReferenceNo of other, which another process has just";
    assert!(matches!(&lines[..], [line] if line.starts_with(warning)), "{lines:?}");
    setup.assert_charged(6);
}

/// As in PostgreSQL, where a row has its position before its transaction ends.
#[tokio::test]
async fn row_that_becomes_visible_late_is_read() {
    let is_hidden = Arc::new(AtomicBool::new(true));
    let hides = Arc::clone(&is_hidden);
    let listed = move |mut rows: Rows| {
        rows.retain(|(_, intent)| intent.key.as_str() != "k4" || !hides.load(Ordering::Relaxed));
        rows
    };
    let store = HookedStore { listed: Box::new(listed), ..HookedStore::changing(|_| Ok(())) };
    let setup = TestRun::new(|_| false, store).await;
    let mut pages = RecentPages::of(setup.client.journal().pages(StateName::ALL));
    let mut read = async || {
        let mut keys = Vec::new();
        while let Some(intents) = pages.next().await.unwrap() {
            keys.extend(intents.into_iter().map(|intent| intent.key.to_string()));
        }
        keys
    };
    for key in ["k3", "k4", "k5"] {
        setup.hold(key, 0).await.await.unwrap().unwrap();
    }
    assert_eq!(read().await, ["k3", "k5"]);
    setup.hold("k6", 0).await.await.unwrap().unwrap();
    assert_eq!(read().await, ["k6"]);
    is_hidden.store(false, Ordering::Relaxed);
    assert_eq!(read().await, ["k4"]);
    assert!(read().await.is_empty());
}

/// Another run, of the same file as a spreadsheet has saved it, began after this one had checked its rows. Or a person or another run
/// sends a key again that had moved no money when the file was checked.
#[tokio::test(start_paused = true)]
async fn payment_that_another_run_made_meanwhile_is_not_sent() {
    let unreached = TransportError::not_processed(TransportErrorKind::Connect);
    for (other_key, reference, first) in [
        ("K4", "k4", None),
        ("K4", "k4", Some(ScriptedTransport::new().fail(unreached))),
        ("r4", "r4", Some(ScriptedTransport::new().respond_json(400, DECLINED))),
    ] {
        let setup = TestRun::slow(MemoryStore::new()).await;
        let (key, payment, is_new) = (key(other_key), payment("tok_approved", reference), first.is_none());
        if let Some(first) = first {
            setup.client_over(first).process_token(&key, &payment).await.unwrap_err();
        }

        let row = |line: u64| {
            let reference = if line == 4 { reference.to_owned() } else { format!("k{line}") };
            format!("k{line},tok_approved,1.00,false,{reference}\n")
        };
        let (file, inspected) = setup.inspect(&(2..7).map(row).collect::<String>()).await;
        let Inspected { fates, summary, keys, newer, watched, .. } = inspected;
        let api_keys = KnownKeys::default();
        let run = Run::new(
            setup.client.clone(),
            file.to_send(fates, &api_keys),
            Throttle::new(1, None, Duration::from_mins(5)),
            Counting::new(summary, None, None),
            unseen_progress(),
        );
        let journal = setup.client.journal().clone();
        let newer = newer.unwrap_or_else(|| RecentPages::of(journal.pages(StateName::ALL)));
        let mut newcomers = Newcomers::new(journal, newer, keys, watched);
        let other = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let client = setup.client_over(setup.gateway.transport());
            if is_new {
                client.process_token(&key, &payment).await.unwrap();
            } else {
                client.after_rejection(&key).process_token(&payment).await.unwrap();
            }
        };
        let (summary, ()) = tokio::join!(run.compared_with(&mut newcomers).complete(never), other);
        let message = summary.stop_message().expect("it has stopped");
        let expected = "line 4: k4 was not sent, because a charge with this ReferenceNo";
        assert!(message.contains(expected), "{other_key}, new: {is_new}: {message}");
        assert_eq!((summary.tallies.processed.count, summary.tallies.not_started().count), (2, 3));
        assert_eq!(ExitCode::of_run(&summary), ExitCode::NotProcessed);
        setup.assert_charged(3);
    }
}

#[tokio::test(start_paused = true)]
async fn run_waits_for_rows_of_other_processes_at_most_for_patience() {
    for (held, patience, earlier, in_progress, code) in
        [(20, 300, 1, 0, ExitCode::Processed), (40, 7, 0, 1, ExitCode::NotProcessed)]
    {
        let begun = Instant::now();
        let setup = TestRun::reliable().await;
        let run = setup.run(3).throttled(8, Duration::from_secs(patience));
        let other = setup.hold("k4", held).await;
        let summary = run.complete(never).await;
        let tallies = &summary.tallies;
        let counts = (tallies.processed.count, tallies.earlier.processed.count, tallies.in_progress.count);
        assert_eq!(counts, (2, earlier, in_progress), "{summary:?}");
        assert_eq!(ExitCode::of_run(&summary), code, "{summary:?}");
        assert!(in_progress == 0 || begun.elapsed().as_secs() == patience, "{:?}", begun.elapsed());
        setup.assert_charged(2 + earlier);
        other.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn one_row_waits_for_the_service_as_long_as_many_do() {
    let begun = Instant::now();
    let setup = TestRun::new(|_| true, MemoryStore::new()).await;
    let summary = setup.run(1).throttled(1, Duration::from_mins(30)).complete(never).await;
    assert!(matches!(summary.stop, Some(Stop::Outage(_))), "{:?}", summary.stop);
    assert_eq!(summary.tallies.not_processed.count, 1);
    // The next pause, of at most a minute, would end after half an hour.
    assert_eq!(begun.elapsed().as_secs() / 60, 29);
}

/// A date is measured by the clock of the service. Of a response that cannot be read, the head counts.
#[tokio::test(start_paused = true)]
async fn run_pauses_as_a_429_requests_d10_d54() {
    let refused = r#"{"status":"failed","status_code":429,"msg":"slow down"}"#;
    let paid = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1"}}"#;
    for (header, retry_after, unknown) in [
        // Far behind this machine's clock, and far ahead.
        (("date", "Fri, 31 Dec 1999 23:59:20 GMT"), "Fri, 31 Dec 1999 23:59:27 GMT", 0),
        (("date", "Tue, 31 Dec 2199 23:59:20 GMT"), "Tue, 31 Dec 2199 23:59:27 GMT", 0),
        (("content-encoding", "gzip"), "7", 1),
    ] {
        let begun = Instant::now();
        let setup = TestRun::reliable().await;
        let response = http::Response::builder().status(429).header(header.0, header.1);
        let response = response.header("retry-after", retry_after).body(refused.into()).unwrap();
        let script = ScriptedTransport::new().respond(response).respond_json(200, paid);
        let run = Run { client: setup.client_over(script), ..setup.run(2) };
        let summary = run.throttled(1, Duration::from_mins(1)).complete(never).await;
        assert_eq!(begun.elapsed().as_secs(), 7, "{retry_after}");
        let tallies = &summary.tallies;
        let counts = (tallies.processed.count, tallies.rejected.count, tallies.unknown.count);
        assert_eq!(counts, (1, 1 - unknown, unknown), "{retry_after}");
        let code = if unknown == 0 { ExitCode::Rejected } else { ExitCode::Unknown };
        assert_eq!(ExitCode::of_run(&summary), code);
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_beyond_patience_ends_the_run_with_its_summary_d20_d54() {
    for (seconds, rejected, in_flight, patience, said) in [
        (2, 3, 1, 5, "a pause of 2 s, and the 1.0 s left of --patience are not enough"),
        (i64::MAX as u64, 1, 8, 300, "a pause of 9223372036854775807 s, "),
        (u64::MAX, 1, 8, 300, "a pause of 18446744073709551615 s, "),
    ] {
        let setup = TestRun::reliable().await;
        let busy = Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
        setup.gateway.arm(busy.retry_after(&seconds.to_string()).times(rejected));
        let run = setup.run(50).throttled(in_flight, Duration::from_secs(patience));
        let summary = run.complete(never).await;
        let asked = Duration::from_secs(seconds);
        let stop = summary.stop.as_ref();
        assert!(matches!(stop, Some(Stop::Throttled { asked: Some(it), .. }) if *it == asked), "{stop:?}");
        let seen = (ExitCode::of_run(&summary), summary.tallies.rejected.count);
        assert_eq!(seen, (ExitCode::NotProcessed, u64::from(rejected)), "{seconds}");
        let text = summary.lines(Style::Plain);
        assert!(text.contains(&format!("the service asks for {said}")), "{text}");
    }
}

/// After so many of them the run pauses, and a pause follows each further one.
#[tokio::test(start_paused = true)]
async fn problem_with_every_charge_stops_the_run_early() {
    let [refused, lost] = [
        Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS),
        Fault::on(TOKENS).after_commit().status(StatusCode::BAD_GATEWAY),
    ];
    for (fault, code) in [(refused, ExitCode::NotProcessed), (lost, ExitCode::Unknown)] {
        let setup = TestRun::reliable().await;
        setup.gateway.arm(fault.times(1000));
        let summary = setup.run(200).complete(never).await;
        assert_eq!(ExitCode::of_run(&summary), code, "{summary:?}");
        let stop = summary.stop.as_ref();
        let is_named = match code {
            ExitCode::Unknown => matches!(stop, Some(Stop::Outage(_))),
            _ => matches!(stop, Some(Stop::Throttled { asked: None, .. })),
        };
        assert!(is_named, "{stop:?}");
        let Tallies { rejected, unknown, .. } = summary.tallies;
        assert!(rejected.count + unknown.count <= FEW, "{:?}", summary.tallies);
        setup.assert_charged(unknown.count);
    }
}

#[tokio::test(start_paused = true)]
async fn single_lost_responses_do_not_pause_the_run() {
    let begun = Instant::now();
    let setup = TestRun::reliable().await;
    for number in 1..=10 {
        setup.gateway.arm(Fault::response_lost(TOKENS).skip(number * 17));
    }
    let summary = setup.run(200).complete(never).await;
    assert_eq!((summary.tallies.unknown.count, summary.tallies.processed.count), (10, 190));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn last_row_is_followed_by_no_pause_and_stops_nothing() {
    // Within `--patience`, and beyond it.
    for asked in ["7", "7000"] {
        let begun = Instant::now();
        let setup = TestRun::reliable().await;
        let busy = Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
        setup.gateway.arm(busy.retry_after(asked).skip(2));
        let summary = setup.run(3).one_by_one().complete(never).await;
        assert_eq!((summary.tallies.processed.count, summary.tallies.rejected.count), (2, 1));
        assert!(summary.stop.is_none(), "{:?}", summary.stop);
        assert_eq!((ExitCode::of_run(&summary), begun.elapsed()), (ExitCode::Rejected, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn signal_ends_a_pause_at_once() {
    let setup = TestRun::new(|_| true, MemoryStore::new()).await;
    let begun = Instant::now();
    let summary = setup.run(200).complete(signals_after(&[1000])).await;
    assert!(matches!(summary.stop, Some(Stop::Interrupted("SIGINT"))), "{:?}", summary.stop);
    assert!(begun.elapsed() < Duration::from_millis(1100), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn max_rejected_stops_each_run_alone() {
    for (limit, rejected) in [(0, 1), (2, 3), (20, 20)] {
        let setup = TestRun::reliable().await;
        let mut run = setup.run_of("tok_declined", 20).one_by_one();
        run.counting.max_rejected = Some(limit);
        // Those of earlier runs do not count, because a person who starts it again wants to continue.
        for tally in
            [&mut run.counting.summary.tallies.earlier.rejected, &mut run.counting.summary.tallies.total]
        {
            tally.add(Amount::from_cents(1));
        }
        let summary = run.complete(never).await;
        let stopped_by = match summary.stop {
            Some(Stop::TooManyRejected(limit)) => Some(limit),
            ref other => other.as_ref().map(|_| u64::MAX),
        };
        let (expected, code) = match rejected {
            20 => (None, ExitCode::Rejected),
            _ => (Some(limit), ExitCode::NotProcessed),
        };
        let seen = (summary.tallies.rejected.count, stopped_by, ExitCode::of_run(&summary));
        assert_eq!(seen, (rejected, expected, code), "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn signal_after_any_stop_ends_at_once_and_leaves_charges_in_flight_unknown() {
    for (status, patience, reason) in [
        (Some(StatusCode::UNAUTHORIZED), 300, "unauthorized"),
        (Some(StatusCode::TOO_MANY_REQUESTS), 0, "throttled"),
        (None, 0, "outage"),
    ] {
        let only_first = |number| (number == 1).then_some(Duration::ZERO);
        let setup = TestRun::delayed(only_first, move |_| status.is_none(), MemoryStore::new()).await;
        if let Some(status) = status {
            setup.gateway.arm(Fault::on(TOKENS).before_commit().status(status));
        }
        let run = setup.run(50).throttled(4, Duration::from_secs(patience));
        let begun = Instant::now();
        let ended = timeout(Duration::from_hours(1), run.complete(signals_after(&[1000]))).await;
        let summary = ended.expect("it ends");
        assert!(begun.elapsed() < Duration::from_millis(1100), "{:?}", begun.elapsed());
        let stop = summary.stop.as_ref().expect("it was stopped");
        assert_eq!((stop.reason(), ExitCode::of_run(&summary)), (reason, ExitCode::Unknown));
        let message = summary.stop_message().expect("it was stopped");
        assert!(summary.given_up.is_some() && message.contains("abandoned at SIGINT"), "{message}");
        assert!((1..=4).contains(&summary.tallies.unknown.count), "{:?}", summary.tallies);
        assert!(summary.unresolved.iter().all(|row| row.kind == "in_flight"), "{:?}", summary.unresolved);
    }
}

/// A reader that counts no line ends gives every row the same line. Each row is still reported.
#[tokio::test(start_paused = true)]
async fn rows_in_flight_are_told_apart_by_number_and_not_by_line() {
    let setup = TestRun::delayed(|_| None, |_| false, MemoryStore::new()).await;
    let mut run = setup.run(50).throttled(4, Duration::from_mins(5));
    run.queue = RowQueue::new(Box::new(run.queue.rows.map(|row| BillingRow { line: 1, ..row })));
    let summary = run.complete(signals_after(&[1000, 1000])).await;
    assert_eq!((summary.tallies.unknown.count, summary.tallies.not_started().count), (4, 46));
    let keys: Vec<_> = summary.unresolved.iter().map(|it| it.row.key.as_str()).collect();
    assert_eq!(keys, ["k2", "k3", "k4", "k5"]);
}

#[tokio::test(start_paused = true)]
async fn end_of_a_run_does_not_wait_for_a_dead_journal() {
    for (signals, most) in [(&[][..], LAST_WRITES), (&[1000], Duration::from_secs(1))] {
        // The third outcome cannot be recorded.
        let setup = TestRun::new(|_| false, failing_once_after(5, || Box::pin(pending()))).await;
        let run = setup.run(50).one_by_one();
        let begun = Instant::now();
        let ended = timeout(Duration::from_hours(1), run.complete(signals_after(signals))).await;
        let summary = ended.expect("it ends");
        assert!(begun.elapsed() <= most, "{:?}", begun.elapsed());
        assert_eq!((ExitCode::of_run(&summary), summary.not_recorded.count), (ExitCode::Unknown, 1));
    }
}

/// A new file of results. `before` is called with the line of each row before its result is written.
fn results(path: &Path, before: impl Fn(u64) + 'static) -> Results<'static> {
    let describe = move |ended: &FinishedCharge| {
        before(ended.row.line);
        (Failure::invalid("test", "it is not read").into(), None)
    };
    Results::open(path, Path::new("billing.csv"), &journal_beside(path), describe).expect("it can be created")
}

/// Where a bug is. Each is met once, in the third row if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    Transport,
    Describe,
    Signal,
    Progress,
    /// The first row cannot be started.
    Rate,
    JournalAtBegin,
    JournalAtEnd,
}

const THIRD_LINE: u64 = 4;

/// A store that panics at the third begin, or at the third end.
fn buggy_store(bug: Bug) -> impl IntentStore {
    let left = |is_here: bool| AtomicU32::new(if is_here { 2 } else { u32::MAX });
    let (begins, ends) = (left(bug == Bug::JournalAtBegin), left(bug == Bug::JournalAtEnd));
    HookedStore::changing(move |change| {
        let left = if format!("{change:?}").contains("Begin") { &begins } else { &ends };
        // Only once: the count wraps.
        assert_ne!(left.fetch_sub(1, Ordering::Relaxed), 0, "a bug");
        Ok(())
    })
}

/// The summary of a run of six rows, all in flight at once, that meets a bug, and these signals.
async fn with_a_bug(bug: Bug, signals: &'static [u64]) -> (TestRun, Summary) {
    // Each row takes as many seconds as the number of its line.
    let delay = move |number| {
        assert!(bug != Bug::Transport || number != 3, "a bug");
        Some(Duration::from_secs(u64::from(number) + 1))
    };
    let setup = TestRun::delayed(delay, |_| false, buggy_store(bug)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = setup.run(6);
    let now = Instant::now();
    let rate = (bug == Bug::Rate).then_some(Duration::MAX);
    run.throttle = Throttle::new(8, rate, Duration::from_mins(5));
    run.counting.results = Some(results(&folder.path().join("results.jsonl"), move |line| {
        assert!(bug != Bug::Describe || line != THIRD_LINE, "a bug");
    }));
    if bug == Bug::Progress {
        let screen = |shown| assert!(!matches!(shown, Item::Bar { .. }), "a bug");
        run.progress = Progress::on(true, screen, &Tallies::default(), now);
    }
    let mut signal = signals_after(signals);
    let signal_or_bug = async || {
        if bug == Bug::Signal {
            sleep_until(now + Duration::from_secs(THIRD_LINE)).await;
            unreachable!("a bug");
        }
        signal().await
    };
    (setup, run.complete(signal_or_bug).await)
}

/// Checks that each row is counted once, and that no more was charged than is reported.
#[track_caller]
fn assert_complete(setup: &TestRun, summary: &Summary, code: ExitCode, what: &str) {
    let Tallies { processed, unknown, total, .. } = summary.tallies;
    assert_eq!(total.count, 6);
    assert!(summary.stop.as_ref().is_some_and(Stop::is_internal), "{what}: {summary:?}");
    assert_eq!(ExitCode::of_run(summary), code, "{what}: {summary:?}");
    assert_eq!(processed.plus(unknown).plus(summary.tallies.not_started()).count, 6, "{what}: {summary:?}");
    assert_eq!(summary.unresolved.len() as u64, unknown.count, "{what}: {summary:?}");
    let ledger = setup.gateway.ledger();
    let charged = ledger.charged().count() as u64;
    assert!(
        (processed.count..=processed.plus(unknown).count).contains(&charged),
        "{what}: {charged}: {summary:?}"
    );
    let text = summary.lines(Style::Plain);
    assert!(text.contains("stopped: ") && text.contains("internal error"), "{what}: {text}");
    assert!(text.contains(&format!("(exit code {})", code.number())), "{what}: {text}");
}

#[tokio::test(start_paused = true)]
async fn any_panic_ends_with_a_report_and_5_or_before_the_first_charge_3_d54() {
    use ExitCode::{NotProcessed, Unknown};

    for (bug, signals, code, unknown) in [
        (Bug::Transport, &[][..], Unknown, &[THIRD_LINE][..]),
        (Bug::JournalAtBegin, &[], Unknown, &[THIRD_LINE]),
        (Bug::JournalAtEnd, &[], Unknown, &[THIRD_LINE]),
        (Bug::Describe, &[], Unknown, &[]),
        // Charges in flight are abandoned.
        (Bug::Describe, &[1000 * THIRD_LINE + 500], Unknown, &[5, 6, 7]),
        (Bug::Progress, &[], Unknown, &[]),
        // Which signal would come cannot be known any more, so the run ends at once.
        (Bug::Signal, &[], Unknown, &[4, 5, 6, 7]),
        (Bug::Rate, &[], NotProcessed, &[]),
    ] {
        let (setup, summary) = with_a_bug(bug, signals).await;
        assert_complete(&setup, &summary, code, &format!("{bug:?} {signals:?}"));
        let unresolved = summary.unresolved.iter();
        let lines: Vec<_> = unresolved.clone().map(|it| it.row.line).collect();
        let not_started = if bug == Bug::Rate { 6 } else { 0 };
        assert_eq!((&*lines, summary.tallies.not_started().count), (unknown, not_started), "{bug:?}");
        if !signals.is_empty() {
            assert!(summary.given_up.is_some() && unresolved.clone().all(|it| it.kind == "in_flight"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn row_whose_task_panics_is_unknown_d54() {
    let setup = TestRun::reliable().await;
    let mut run = setup.run(6);
    let row = run.queue.next(Instant::now(), true, Duration::ZERO);
    let Next::Row(row) = row else { panic!("there are rows") };
    run.counting.begin(&row);
    run.in_flight.spawn(async { unreachable!("a bug") });
    let summary = run.complete(never).await;
    assert_complete(&setup, &summary, ExitCode::Unknown, "a row");
    let rows: Vec<_> = summary.unresolved.iter().map(|it| (it.row.line, &*it.kind)).collect();
    assert_eq!(rows, [(2, "in_flight")]);
}

#[tokio::test(start_paused = true)]
async fn panic_at_the_end_of_a_run_keeps_its_report_d54() {
    // The third outcome cannot be recorded, and trying it again panics.
    let setup = TestRun::new(|_| false, failing_once_after(5, || unreachable!("a bug"))).await;
    let summary = setup.run(3).one_by_one().complete(never).await;
    assert!(summary.stop.as_ref().is_some_and(Stop::is_internal), "{summary:?}");
    assert_eq!((ExitCode::of_run(&summary), summary.not_recorded.count), (ExitCode::Unknown, 1));
    setup.assert_charged(3);
}

#[tokio::test(start_paused = true)]
async fn row_that_the_journal_cannot_record_is_not_started_d43() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.jsonl");
    // The third charge cannot be started.
    let setup = TestRun::new(|_| false, failing_after(4)).await;
    let mut run = setup.run(50).one_by_one();
    run.counting.results = Some(results(&path, |_| {}));
    let summary = run.complete(never).await;
    assert!(matches!(&summary.stop, Some(Stop::Journal(why)) if why.contains("the disk is full")));
    let tallies = &summary.tallies;
    assert_eq!((tallies.processed.count, tallies.not_processed.count), (2, 0));
    assert_eq!((tallies.not_started().count, ExitCode::of_run(&summary)), (48, ExitCode::NotProcessed));
    assert_eq!(std::fs::read_to_string(&path).expect("results").lines().count(), 2);
    let text = summary.lines(Style::Plain);
    assert!(text.contains("an earlier run may have paid"), "{text}");
    setup.assert_charged(2);
}

#[tokio::test(start_paused = true)]
async fn key_taken_by_another_request_during_the_run_is_reported_by_its_outcome_d43() {
    for token in ["tok_approved", "tok_declined"] {
        let setup = TestRun::reliable().await;
        let run = setup.run(4);
        let other = TokenTransaction::builder(token, Amount::from_cents(7_00), ConvenienceFee::Inactive);
        let paid = setup.client.process_token(&key("k4"), &other.build().unwrap()).await;
        let summary = run.complete(never).await;
        // It was not sent, so nobody has to search for it.
        let tallies = &summary.tallies;
        assert_eq!(
            (tallies.processed.count, tallies.all_unknown().count, tallies.not_processed.count),
            (3, 0, 0)
        );
        assert_eq!((tallies.not_started().count, ExitCode::of_run(&summary)), (1, ExitCode::NotProcessed));
        assert_eq!(summary.stop.as_ref().map(Stop::reason), Some("key_reused"));
        let text = summary.lines(Style::Plain);
        assert!(text.contains("k4 was not sent by this run: "), "{text}");
        let id = paid.ok().map(|paid| paid.transaction_id.to_string()).unwrap_or_default();
        assert!(text.contains(&id), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn transaction_returned_twice_is_reported_with_both_keys() {
    let setup = TestRun::reliable().await;
    let processed = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_same"}}"#;
    let script = ScriptedTransport::new().respond_json(200, processed).respond_json(200, processed);
    let run = Run { client: setup.client_over(script), ..setup.run(2) };
    let summary = run.one_by_one().complete(never).await;
    assert_eq!((ExitCode::of_run(&summary), summary.tallies.processed.count), (ExitCode::SecondCharge, 2));
    let text = summary.lines(Style::Plain);
    let line = "line 3: k3 and k2 are both processed as transaction txn_same\n";
    assert!(text.contains(line) && !text.contains(" more"), "{text}");
    let document = document(summary);
    assert_eq!(document["same_transaction"][0]["same_transaction_as"], "k2", "{document}");
    assert_eq!(document["same_transaction_count"], 1, "{document}");
}

/// A store that fails after some writes.
fn failing_after(writes: u32) -> HookedStore {
    failing(writes, u32::MAX, None)
}

fn counts_down(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// A store that fails after some writes, a number of times. After these writes it also refuses the damaged row.
fn failing(writes: u32, failures: u32, damaged: Option<&'static str>) -> HookedStore {
    let (writes_left, failures_left) = (AtomicU32::from(writes), AtomicU32::from(failures));
    HookedStore::changing(move |change| {
        if counts_down(&writes_left) {
            Ok(())
        } else if counts_down(&failures_left) {
            Err(StoreError::poisoned("the disk is full"))
        } else if damaged == Some(change.key().as_str()) {
            Err(StoreError::damaged("the row is damaged"))
        } else {
            Ok(())
        }
    })
}

/// A store that fails after some writes, and then does worse.
fn failing_once_after(writes: u32, then: fn() -> Before) -> HookedStore {
    let (writes_left, failures_left) = (AtomicU32::from(writes), AtomicU32::from(1));
    HookedStore::new(move |asked| match asked {
        Asked::Change(_) if !counts_down(&writes_left) => {
            if counts_down(&failures_left) {
                Box::pin(ready(Err(StoreError::poisoned("the disk is full"))))
            } else {
                then()
            }
        }
        _ => Box::pin(ready(Ok(()))),
    })
}

#[tokio::test(start_paused = true)]
async fn outcome_that_cannot_be_recorded_is_reported() {
    for (token, word) in [("tok_approved", "PROCESSED"), ("tok_declined", "rejected")] {
        // The third outcome cannot be recorded.
        let store = failing_after(5);
        let setup = TestRun::new(|_| false, store).await;
        let mut run = setup.run_of(token, 4).one_by_one();
        // The list of earlier unknown rows is full.
        let earlier = UnresolvedRow {
            row: ListedRow { number: 8, line: 9, key: key("before"), amount: Amount::from_cents(1) },
            transaction_id: None,
            outcome: Some(Outcome::Unknown),
            kind: "crash".to_owned(),
        };
        // So is the journal: nothing else will have the transaction.
        let not_recorded = UnresolvedRow { outcome: None, ..earlier.clone() };
        run.counting.summary.unresolved =
            [vec![earlier; MOST_LISTED], vec![not_recorded; MOST_LISTED]].concat();
        let summary = run.complete(never).await;
        assert_eq!(ExitCode::of_run(&summary), ExitCode::Unknown);
        let text = summary.lines(Style::Plain);
        for part in [
            "1 outcome NOT RECORDED in the journal: keep this list (exit code 5)",
            "outcome known, but not recorded in the journal, which lists it as unknown:\n",
            &format!("line 4: k4, 1.00 ({word}, TransactionId "),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("OUTCOME UNKNOWN"), "{text}");
        let document = document(summary);
        assert_eq!(document["unresolved"][0]["outcome"], word.to_lowercase());
        assert_eq!(document["not_recorded"]["count"], 1);
        assert_eq!(document["not_recorded"]["sum"].to_string(), "1.0");
    }
}

#[tokio::test(start_paused = true)]
async fn row_that_was_not_reached_is_tried_again_only_if_that_is_recorded() {
    let setup = TestRun::new(|_| true, failing_after(1)).await;
    let summary = setup.run(1).complete(never).await;
    assert!(matches!(summary.stop, Some(Stop::Journal(_))), "{:?}", summary.stop);
    assert_eq!((setup.failures(), summary.not_recorded.count), (1, 1));
    let document = document(summary);
    assert_eq!(document["unresolved"][0]["outcome"], "not_processed");
    setup.assert_charged(0);
}

#[tokio::test(start_paused = true)]
async fn outcome_recorded_at_the_last_moment_is_not_unresolved() {
    for token in ["tok_approved", "tok_declined"] {
        // The third outcome cannot be recorded at first, and can be a moment later.
        let setup = TestRun::new(|_| false, failing(5, 1, None)).await;
        let summary = setup.run_of(token, 4).one_by_one().complete(never).await;
        assert!(matches!(summary.stop, Some(Stop::Journal(_))), "{:?}", summary.stop);
        assert_eq!(
            (ExitCode::of_run(&summary), summary.not_recorded),
            (ExitCode::NotProcessed, Tally::default())
        );
        assert_eq!((summary.unresolved, summary.tallies.not_started().count), (vec![], 1));
        let kept = setup.client.journal().find(&key("k4")).await.unwrap().expect("it is there");
        assert!(matches!(kept.state, IntentState::Processed { .. } | IntentState::Rejected(_)), "{kept:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn outcome_recorded_at_the_last_moment_is_not_unresolved_although_another_is_damaged() {
    let store = failing(2, 2, Some("k2"));
    let setup = TestRun::new(|_| false, store).await;
    let gate = setup.gateway.gate_after_commit(TOKENS);
    let responses = async {
        gate.arrivals(2).await;
        gate.release();
    };
    let (summary, ()) = tokio::join!(setup.run(2).complete(never), responses);
    assert_eq!((ExitCode::of_run(&summary), summary.not_recorded.count), (ExitCode::Unknown, 1));
    assert_eq!(summary.unresolved.iter().map(|it| it.row.line).collect::<Vec<_>>(), [2]);
}

/// They are new tries of payments that moved no money.
#[tokio::test]
async fn many_rows_whose_keys_are_references_of_rejected_charges_are_valid() {
    let (setup, mut rows) = (TestRun::reliable().await, String::new());
    for number in 0..MOST_KEPT {
        let payment = payment("tok_declined", &format!("ref{number}x"));
        setup.client.process_token(&key(format!("first{number}x")), &payment).await.unwrap_err();
        rows.extend([format!("ref{number}x,tok_declined,1.00,false,ref{number}x\n")]);
    }
    let (_, inspected) = setup.inspect(&rows).await;
    assert_eq!(inspected.fates.len(), MOST_KEPT);
}

/// A row may be like several charges, and only so many charges are compared.
#[tokio::test]
async fn count_of_rows_to_warn_of_is_exact_or_says_that_there_may_be_more() {
    let parts = |number| [1 + number / 900, 100 + number % 900];
    // Each charge in the journal stands for many, which a store would take long to write.
    let listed = move |rows: Rows| {
        let alike = rows.into_iter().flat_map(|(_, charge)| {
            let references = (0..=MOST_KEPT / 2).flat_map(move |number| {
                let [whole, rest] = parts(number);
                [format!("{whole}.{rest}"), format!("{whole}{rest}")]
            });
            references.zip(1..).map(move |(reference, position)| {
                let mut charge = charge.clone();
                charge.key = key(format!("first-{reference}"));
                charge.request.reference = Some(reference);
                (position, charge)
            })
        });
        alike.collect()
    };
    let store = HookedStore { listed: Box::new(listed), ..HookedStore::changing(|_| Ok(())) };
    let setup = TestRun::new(|_| false, store).await;
    setup.client.process_token(&key("k1"), &payment("tok_approved", "")).await.unwrap();
    let like_charges = (0..=MOST_KEPT / 2).map(|number| {
        let [whole, rest] = parts(number);
        format!("next{number}x,tok_approved,1.00,false,{whole}.{rest}\n")
    });
    let alike = (0..=MOST_KEPT).map(|number| format!("row{number}x,tok_approved,2.00,false,rent\n"));
    for (rows, expected) in [
        (
            like_charges.collect::<Vec<_>>(),
            format!("of a processed charge, under another key: {} or more;", MOST_KEPT / 2),
        ),
        (alike.collect(), format!("of an earlier row, under another key: {MOST_KEPT};")),
    ] {
        let (_, inspected) = setup.inspect(&rows.concat()).await;
        assert!(inspected.warnings.iter().any(|it| it.contains(&expected)), "{:?}", inspected.warnings);
    }
}

#[tokio::test]
async fn first_run_looks_up_no_row() {
    let looked_up = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&looked_up);
    let store = HookedStore::new(move |asked| {
        seen.fetch_or(matches!(asked, Asked::Lookup), Ordering::Relaxed);
        Box::pin(async { Ok(()) })
    });
    let setup = TestRun::new(|_| false, store).await;
    let (_, inspected) = setup.inspect("k1,tok_approved,1.00,false,rent\n").await;
    assert_eq!((inspected.fates.len(), looked_up.load(Ordering::Relaxed)), (1, false));
}

/// A database has few connections: the charges of the run need them too, and give up after ten seconds.
#[tokio::test(start_paused = true)]
async fn earlier_keys_are_looked_up_again_a_few_at_once() {
    let (waiting, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let store = HookedStore::new({
        let most = most.clone();
        move |asked| {
            let is_lookup = matches!(asked, Asked::Lookup);
            let (waiting, most) = (waiting.clone(), most.clone());
            Box::pin(async move {
                if is_lookup {
                    most.fetch_max(waiting.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    waiting.fetch_sub(1, Ordering::Relaxed);
                }
                Ok(())
            })
        }
    });
    let setup = TestRun::new(|_| true, store).await;
    let journal = setup.client.journal();
    let mut charges = setup.no_charges();
    for number in 0..1000 {
        let key = key(format!("old{number}"));
        setup.client.process_token(&key, &payment("tok_approved", "")).await.unwrap_err();
        charges.add(journal.find(&key).await.unwrap().unwrap(), Scope::Run);
    }
    setup.newcomers([], charges).look().await.unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 256);
}

#[tokio::test(start_paused = true)]
async fn signals_end_a_run_whose_journal_hangs_while_it_looks_for_charges_of_others() {
    let hangs = Arc::new(AtomicBool::new(false));
    let is_hanging = hangs.clone();
    // As on a disk that hangs.
    let store = HookedStore::new(move |asked| {
        if !matches!(asked, Asked::Lookup) && is_hanging.load(Ordering::Relaxed) {
            return Box::pin(pending());
        }
        Box::pin(ready(Ok(())))
    });
    let setup = TestRun::slow(store).await;
    let mut newcomers = setup.newcomers([], setup.no_charges());
    let run = setup.run(20).one_by_one().compared_with(&mut newcomers);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        hangs.store(true, Ordering::Relaxed);
    });
    let ended = timeout(Duration::from_hours(1), run.complete(signals_after(&[10_000, 20_000]))).await;
    let summary = ended.expect("two signals end it");
    assert!(matches!(summary.stop, Some(Stop::Interrupted(_))), "{:?}", summary.stop);
}
