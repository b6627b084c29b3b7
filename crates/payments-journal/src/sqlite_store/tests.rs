//! Failures that no disk produces on demand, injected into the commit. `tests/journal` tests real disks, locks and processes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use payments_fake::FakeGateway;
use payments_model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use rusqlite::{Connection, ffi};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::session::Commit;
use super::*;
use crate::{
    AttemptId, Begin, Ending, Failure, IntentState, Journal, JournaledClient, NewAttempt, Resolution,
};

/// How the next commits end.
#[derive(Clone)]
struct Disk(Arc<AtomicU8>);

const WORKS: u8 = 0;
/// The sync fails, and nothing was written.
const LOSES: u8 = 1;
/// The sync fails, and everything was written.
const KEEPS: u8 = 2;
/// There is no room for a write.
const FULL: u8 = 3;

impl Disk {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn set(&self, state: u8) {
        self.0.store(state, Ordering::SeqCst);
    }

    fn settings(&self) -> Settings {
        let Self(state) = self.clone();
        let failed = || sqlite_error(ffi::SQLITE_IOERR_FSYNC, "disk I/O error");
        let commit: Commit = Box::new(move |connection| match state.load(Ordering::SeqCst) {
            WORKS => connection.execute_batch("COMMIT"),
            KEEPS => connection.execute_batch("COMMIT").and_then(|()| Err(failed())),
            FULL => Err(sqlite_error(ffi::SQLITE_FULL, "database or disk is full")),
            _ => Err(failed()),
        });
        Settings { commit, ..Settings::default() }
    }
}

fn sqlite_error(code: i32, text: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(text.to_owned()))
}

fn open(path: &Path, settings: Settings) -> SqliteStore {
    SqliteStore::open_with(path, settings, Existing::OrCreated).unwrap().unwrap()
}

struct World {
    _directory: TempDir,
    path: PathBuf,
    disk: Disk,
    clock: TestClock,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        Self { _directory: directory, path, disk: Disk::new(), clock: TestClock::new() }
    }

    fn settings(&self) -> Settings {
        let clock = self.clock.clone();
        Settings { clock: Arc::new(move || clock.now()), ..self.disk.settings() }
    }

    /// Opens the journal as another process does.
    fn open(&self) -> SqliteStore {
        open(&self.path, self.settings())
    }

    fn open_with(&self, commit: Commit) -> SqliteStore {
        open(&self.path, Settings { commit, ..self.settings() })
    }

    fn log(&self) -> PathBuf {
        self.path.with_file_name("journal.db-wal")
    }

    fn log_length(&self) -> u64 {
        std::fs::metadata(self.log()).unwrap().len()
    }
}

/// A machine's clock that the test sets.
#[derive(Clone)]
struct TestClock(Arc<Mutex<SystemTime>>);

impl TestClock {
    /// Noon of day 10 000 after 1970.
    fn new() -> Self {
        Self(Arc::new(Mutex::new(SystemTime::UNIX_EPOCH + 10_000 * DAY + DAY / 2)))
    }

    fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }

    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }

    fn set(&self, to: SystemTime) {
        *self.0.lock().unwrap() = to;
    }
}

const DAY: Duration = Duration::from_hours(24);

fn key(text: &str) -> IntentKey {
    IntentKey::new(text).unwrap()
}

fn payment() -> TokenTransaction {
    let amount = Amount::from_cents(10_50);
    TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap()
}

fn begin(text: &str, store: &SqliteStore) -> Change {
    let (service, owner) = ("https://pay.example.com", store.owner().clone());
    let (attempt, now) = (AttemptId::new(), SystemTime::UNIX_EPOCH);
    Change::begin(
        key(text),
        NewAttempt {
            begin: Begin::Plain,
            service: service.to_owned(),
            request: (&payment()).into(),
            attempt_id: attempt,
            owner,
        },
        now,
    )
}

async fn begun(text: &str, store: &SqliteStore) -> AttemptId {
    store.apply(begin(text, store)).await.unwrap().written().unwrap().attempt_id
}

fn processed(text: &str, attempt: AttemptId) -> Change {
    let ending = Ending::Processed(TransactionId::from_response("txn_1").unwrap());
    Change::end(key(text), attempt, ending, SystemTime::UNIX_EPOCH)
}

/// All changes in the commit get the error, all later ones are refused, and the next store finds complete rows or none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_commit_is_in_doubt_and_stops_the_store() {
    for (failure, is_kept) in [(LOSES, false), (KEEPS, true)] {
        let world = World::new();
        let store = Arc::new(world.open());
        store.apply(begin("before", &store)).await.unwrap();

        world.disk.set(failure);
        let mut calls = JoinSet::new();
        for number in 0..8 {
            let store = store.clone();
            calls.spawn(async move {
                let name = format!("during-{number}");
                (store.apply(begin(&name, &store)).await.unwrap_err(), name)
            });
        }
        let errors = calls.join_all().await;
        assert!(errors.iter().any(|(error, _)| error.is_in_doubt()), "{errors:?}");
        assert!(errors.iter().all(|(error, _)| error.is_in_doubt() || error.is_poisoned()), "{errors:?}");

        // A disk that works again is not trusted.
        world.disk.set(WORKS);
        let error = store.apply(begin("after", &store)).await.unwrap_err();
        assert!(error.is_poisoned(), "{error:?}");
        assert!(error.to_string().contains("disk I/O error"), "{error}");
        assert!(store.find(&key("before")).await.unwrap_err().is_poisoned());
        assert!(store.list(StateName::ALL, None, 9).await.unwrap_err().is_poisoned());
        assert!(store.purge(Duration::ZERO).await.unwrap_err().is_poisoned());

        drop(store);
        assert!(world.log_length() > 0, "after a failed sync the log is not moved");
        let store = world.open();
        assert_eq!(world.log_length(), 0, "everything was written and synced once more");
        let kept = async |name: &str| store.find(&key(name)).await.unwrap().is_some();
        assert!(kept("before").await);
        assert!(!kept("after").await);
        for (error, name) in errors {
            assert_eq!(kept(&name).await, is_kept && error.is_in_doubt(), "{name}: {error}");
        }
        store.apply(begin("again", &store)).await.unwrap();
    }
}

#[tokio::test]
async fn changes_during_a_sync_share_the_next_commit_and_readers_do_not_wait() {
    const CALLERS: usize = 64;
    let (world, commits) = (World::new(), Arc::new(AtomicU8::new(0)));
    let (begun, is_begun) = mpsc::channel();
    let (sync, synced) = mpsc::channel::<()>();
    let counter = commits.clone();
    let store = Arc::new(world.open_with(Box::new(move |connection| {
        counter.fetch_add(1, Ordering::SeqCst);
        begun.send(()).unwrap();
        synced.recv().unwrap();
        connection.execute_batch("COMMIT")
    })));
    let mut calls = JoinSet::new();
    let apply = |name: String| {
        let store = store.clone();
        async move { store.apply(begin(&name, &store)).await.unwrap() }
    };
    calls.spawn(apply("first".to_owned()));
    tokio::task::yield_now().await;
    is_begun.recv().unwrap();
    for number in 0..CALLERS {
        calls.spawn(apply(format!("key-{number}")));
    }
    // All tasks run on this thread, so each of them has sent its job by now.
    for _ in 0..CALLERS {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.find(&key("first")).await.unwrap(), None);
    assert_eq!(store.list(StateName::ALL, None, 9).await.unwrap(), []);

    sync.send(()).unwrap();
    sync.send(()).unwrap();
    let written = calls.join_all().await;
    assert_eq!(written.len(), CALLERS + 1);
    assert_eq!(commits.load(Ordering::SeqCst), 2);
    assert_eq!(store.list(StateName::ALL, None, 99).await.unwrap().len(), CALLERS + 1);
}

/// A commit to a removed file is lost.
#[cfg(unix)]
#[tokio::test]
async fn log_removed_during_a_commit_leaves_the_change_in_doubt() {
    let world = World::new();
    let log = world.log();
    let store = world.open_with(Box::new(move |connection| {
        connection.execute_batch("COMMIT")?;
        std::fs::remove_file(&log).unwrap();
        Ok(())
    }));
    let error = store.apply(begin("invoice-17", &store)).await.unwrap_err();
    assert!(error.is_in_doubt(), "{error:?}");
    assert!(error.to_string().contains("was removed, moved or replaced"), "{error}");
}

/// No caller may wait for a thread that has ended.
#[tokio::test]
async fn panic_of_the_writer_leaves_the_change_in_doubt_and_stops_the_store() {
    let world = World::new();
    let store = world.open_with(Box::new(|_| panic!("for the test")));
    let error = store.apply(begin("invoice-17", &store)).await.unwrap_err();
    assert!(error.is_in_doubt(), "{error:?}");
    drop(store);
    assert_eq!(world.open().list(StateName::ALL, None, 9).await.unwrap(), []);
}

async fn charged(text: &str, store: &SqliteStore) {
    let attempt = begun(text, store).await;
    store.apply(processed(text, attempt)).await.unwrap();
}

async fn keys(store: &SqliteStore) -> Vec<String> {
    let page = store.list(StateName::ALL, None, 99).await.unwrap();
    page.into_iter().map(|(_, intent)| intent.key.to_string()).collect()
}

#[tokio::test]
async fn clock_that_jumps_ahead_purges_nothing_d45() {
    let world = World::new();
    let clock = &world.clock;
    charged("yesterday", &world.open()).await;
    clock.advance(DAY);
    charged("before", &world.open()).await;
    let right = clock.now();

    let store = world.open();
    clock.set(right + 400 * DAY);
    charged("ahead", &store).await;
    clock.advance(400 * DAY);
    assert_eq!(store.purge(90 * DAY).await.unwrap(), Purged::default());
    drop(store);
    // A process that starts while the clock is ahead.
    let world = World::new();
    charged("before", &world.open()).await;
    world.clock.set(right + 400 * DAY);
    let store = world.open();
    assert_eq!(store.purge(90 * DAY).await.unwrap(), Purged::default());
    assert_eq!(keys(&store).await, ["before"]);
}

#[tokio::test]
async fn clock_that_is_behind_purges_nothing_d45() {
    let world = World::new();
    let clock = &world.clock;
    let oldest = clock.now();
    charged("old", &world.open()).await;
    clock.advance(100 * DAY);
    charged("young", &world.open()).await;
    let right = clock.now();

    clock.set(right - Duration::from_millis(1));
    let store = world.open();
    assert_eq!(store.purge(30 * DAY).await.unwrap(), Purged::default());
    clock.set(right);
    let purged = store.purge(30 * DAY).await.unwrap();
    assert_eq!(purged, Purged { intents: 1, newest: Some(oldest) });
    assert_eq!(keys(&store).await, ["young"]);
}

/// Once the clock is right again, its rows would look decades old.
#[tokio::test]
async fn rows_written_while_the_clock_is_behind_are_not_old_d45() {
    let world = World::new();
    let clock = &world.clock;
    let right = clock.now();
    let other = world.open();
    clock.set(SystemTime::UNIX_EPOCH);
    let store = world.open();
    // The newest time counts even if another store has written it.
    clock.set(right);
    charged("before", &other).await;
    clock.set(SystemTime::UNIX_EPOCH);
    charged("behind", &store).await;
    drop((store, other));

    clock.set(right + 2 * DAY);
    charged("after", &world.open()).await;
    let store = world.open();
    assert_eq!(store.purge(30 * DAY).await.unwrap(), Purged::default());
    assert_eq!(store.purge(DAY).await.unwrap(), Purged { intents: 2, newest: Some(right) });
}

#[tokio::test]
async fn failed_purge_removes_no_part_of_a_batch() {
    let world = World::new();
    let clock = &world.clock;
    let store = world.open();
    for name in ["one", "two"] {
        charged(name, &store).await;
    }
    clock.advance(100 * DAY);
    charged("three", &store).await;
    drop(store);
    let store = world.open();
    world.disk.set(LOSES);
    assert!(store.purge(DAY).await.unwrap_err().is_in_doubt());
    drop(store);
    world.disk.set(WORKS);
    assert_eq!(keys(&world.open()).await, ["one", "two", "three"]);
}

#[tokio::test]
async fn position_is_never_reused() {
    let world = World::new();
    let clock = &world.clock;
    let mut last = 0;
    for name in ["one", "two", "three"] {
        let store = world.open();
        charged(name, &store).await;
        assert_eq!(keys(&store).await.len(), 1);
        let reader = connection::to_read(&store.place).unwrap();
        let position = reader.query_row("SELECT max(position) FROM intent", [], |row| row.get(0)).unwrap();
        assert!(position > last, "{position}");
        last = position;
        clock.advance(2 * DAY);
        // The journal must have held a newer time before the purge.
        let newer = Connection::open(&world.path).unwrap();
        let newest = milliseconds::of(clock.now());
        newer.execute("UPDATE meta SET newest_stored_at = ?1", [newest]).unwrap();
        drop(store);
        assert_eq!(world.open().purge(DAY).await.unwrap().intents, 1);
    }
}

/// A process that stops in the middle of a transaction must not block the others forever or stop their stores.
#[tokio::test]
async fn locked_journal_is_unavailable_and_works_again_later() {
    let world = World::new();
    let max_wait = Duration::from_millis(50);
    let store = open(&world.path, Settings { max_wait, ..Settings::default() });
    let other = Connection::open(&world.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let error = store.apply(begin("invoice-17", &store)).await.unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    assert!(error.to_string().starts_with("database locked: "), "{error}");
    assert_eq!(store.find(&key("invoice-17")).await.unwrap(), None, "reading is not locked");
    // Opening it writes nothing.
    open(&world.path, Settings { max_wait, ..Settings::default() });

    other.execute_batch("ROLLBACK").unwrap();
    let applied = store.apply(begin("invoice-17", &store)).await.unwrap();
    assert_eq!(applied.written().unwrap().state, IntentState::Sending);
}

/// Applies this outcome while nothing can be written, and waits until it was tried.
async fn write_that_is_retried(
    store: &Arc<SqliteStore>,
    outcome: Change,
) -> tokio::task::JoinHandle<Result<Applied, StoreError>> {
    let writing = tokio::spawn({
        let store = store.clone();
        async move { store.apply(outcome).await }
    });
    tokio::task::yield_now().await;
    // What is refused together with it, or after it.
    let error = store.apply(begin("another", store)).await.unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    assert!(!writing.is_finished());
    writing
}

#[tokio::test]
async fn outcome_is_retried_while_another_process_has_the_file_or_the_disk_is_full() {
    for is_full in [false, true] {
        let world = World::new();
        let settings = Settings { max_wait: Duration::from_millis(20), ..world.settings() };
        let store = Arc::new(open(&world.path, settings));
        let attempt = begun("invoice-17", &store).await;
        let other = Connection::open(&world.path).unwrap();
        if is_full {
            world.disk.set(FULL);
        } else {
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
        }
        let writing = write_that_is_retried(&store, processed("invoice-17", attempt)).await;
        if is_full {
            world.disk.set(WORKS);
        } else {
            other.execute_batch("ROLLBACK").unwrap();
        }
        assert!(writing.await.unwrap().unwrap().written().is_some());
        assert!(store.find(&key("another")).await.unwrap().is_none(), "it was rolled back");
        charged("another", &store).await;
    }
}

/// A statement of the change finds no room, and not its commit.
#[tokio::test]
async fn change_that_finds_no_room_is_unavailable_and_the_store_continues() {
    let world = World::new();
    let store = world.open_with(Box::new(|connection| {
        connection.execute_batch("COMMIT")?;
        // SQLite raises it to the size of the database.
        connection.pragma_update(None, "max_page_count", 1)
    }));
    charged("before", &store).await;
    let error = loop {
        if let Err(error) = store.apply(begin(&AttemptId::new().to_string(), &store)).await {
            break error;
        }
    };
    assert!(error.is_unavailable() && error.to_string().contains("disk is full"), "{error:?}");
    assert_eq!(store.list(&[StateName::Processed], None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn closing_ends_the_retries_of_an_outcome() {
    let world = World::new();
    let store = Arc::new(world.open());
    let attempt = begun("invoice-17", &store).await;
    world.disk.set(FULL);
    let writing = write_that_is_retried(&store, processed("invoice-17", attempt)).await;
    let began = Instant::now();
    store.close().await;
    assert!(began.elapsed() < Settings::default().retry_time / 2, "{:?}", began.elapsed());
    assert!(writing.await.unwrap().unwrap_err().is_unavailable());
}

#[tokio::test]
async fn retries_of_an_outcome_end() {
    let world = World::new();
    let settings = Settings { retry_time: Duration::from_millis(150), ..world.settings() };
    let store = open(&world.path, settings);
    let attempt = begun("invoice-17", &store).await;
    world.disk.set(FULL);
    assert!(store.apply(processed("invoice-17", attempt)).await.unwrap_err().is_unavailable());
}

#[tokio::test]
async fn store_stops_if_another_process_changes_the_schema_version() {
    let world = World::new();
    let store = world.open();
    store.apply(begin("before", &store)).await.unwrap();
    let newer = Connection::open(&world.path).unwrap();
    newer.pragma_update(None, "user_version", tables::VERSION + 1).unwrap();
    let error = store.apply(begin("after", &store)).await.unwrap_err();
    assert!(error.is_poisoned(), "{error:?}");
    let newer = format!("schema to version {}", tables::VERSION + 1);
    assert!(error.to_string().contains(&newer), "{error}");
    drop(store);
    let error = SqliteStore::open(&world.path).unwrap_err();
    assert!(error.is_newer(), "{error:?}");
}

/// Earlier versions could lose a commit if the log was reset at the same moment.
#[test]
fn bundled_sqlite_resets_its_log_safely() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn every_commit_is_synced() {
    let world = World::new();
    drop(world.open());
    let place = Place::prepare(&world.path, None).unwrap();
    let (connection, _) = connection::to_write(&place, Existing::Required).unwrap().unwrap();
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
    let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    assert_eq!(mode.unwrap(), "wal");
    assert_eq!(number("synchronous"), 2, "2 is FULL");
    assert_eq!((number("fullfsync"), number("checkpoint_fullfsync")), (1, 1));
    assert_eq!(number("wal_autocheckpoint"), 0, "the writer does it, and sees it fail");
}

/// The store's own thread waits for other stores that open or close the journal.
#[tokio::test]
async fn dropping_a_store_does_not_wait() {
    let world = World::new();
    let store = world.open();
    store.apply(begin("invoice-17", &store)).await.unwrap();
    let (place, owner) = (store.place.clone(), store.owner().clone());
    let running = store.writer.running.clone();
    let lock = OwnersLock::acquire(&place).unwrap();
    let since = Instant::now();
    drop(store);
    assert!(since.elapsed() < Settings::default().max_wait / 2, "{:?}", since.elapsed());
    assert!(!owners::is_live(&place, &owner).unwrap(), "it sends nothing more");
    assert!(world.log().exists());

    drop(lock);
    // Fails when the thread has ended.
    assert!(running.await.is_err());
    assert!(!world.log().exists(), "the log is removed");
    assert_eq!(std::fs::read_dir(place.owners()).unwrap().count(), 1, "the witness stays");
}

/// A dropped store may still commit earlier jobs. Until it has ended, the database needs its log.
#[tokio::test]
async fn dropped_store_that_still_writes_keeps_the_open_flag() {
    let world = World::new();
    let (begun, is_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let dropped = world.open_with(Box::new(move |connection| {
        connection.execute_batch("COMMIT")?;
        begun.send(()).unwrap();
        may_go_on.recv().unwrap();
        Ok(())
    }));
    let other = world.open();
    for name in ["first", "second"] {
        // The job is sent, and its caller leaves.
        tokio::select! {
            biased;
            _ = dropped.apply(begin(name, &dropped)) => unreachable!("the commit is held"),
            () = async {} => {}
        }
        if name == "first" {
            is_begun.recv().unwrap();
        }
    }
    let (place, owner) = (dropped.place.clone(), dropped.owner().clone());
    let running = dropped.writer.running.clone();
    drop(dropped);
    other.close().await;
    assert!(!owners::is_live(&place, &owner).unwrap(), "it sends nothing more");
    let reader = connection::to_read(&place).unwrap();
    let is_open = || reader.query_row(tables::IS_OPEN, [], |row| row.get::<_, bool>(0)).unwrap();
    assert!(is_open(), "the second row is still to be written");

    go_on.send(()).unwrap();
    is_begun.recv().unwrap();
    assert!(is_open(), "the rows may be only in the log");
    drop(reader);
    go_on.send(()).unwrap();
    // Fails when the thread has ended.
    assert!(running.await.is_err());
    assert!(!world.log().exists(), "the last store to close removes the log");
    assert_eq!(keys(&world.open()).await, ["first", "second"]);
}

#[tokio::test]
async fn store_opened_after_a_drop_finds_every_confirmed_change() {
    let (world, mut closing) = (World::new(), Vec::new());
    for number in 0..50 {
        let store = world.open();
        let found = keys(&store).await;
        assert_eq!(found.len(), number, "{found:?}");
        charged(&format!("invoice-{number}"), &store).await;
        closing.push(store.writer.running.clone());
    }
    for running in closing {
        assert!(running.await.is_err());
    }
    assert!(!world.log().exists(), "the last store to close removes the log");
}

#[tokio::test]
async fn closed_journal_is_one_file_and_makes_no_more_changes() {
    let (world, gateway) = (World::new(), FakeGateway::new());
    let journal = Journal::open(world.open()).await.unwrap();
    let client = JournaledClient::new(gateway.client(), journal.clone());
    client.process_token(&key("before"), &payment()).await.unwrap();
    journal.close().await;
    journal.close().await;
    assert!(!world.log().exists());
    client.process_token(&key("after"), &payment()).await.unwrap_err();
    assert!(journal.find(&key("before")).await.unwrap_err().is_poisoned());
    gateway.ledger().assert_charged_once(Amount::from_cents(10_50));
    drop((client, journal));
    assert_eq!(keys(&world.open()).await, ["before"]);
}

/// A store in this folder whose witness becomes that of another journal during each commit while the number is 1.
fn store_with_a_witness_that_breaks(folder: &Path) -> (SqliteStore, Arc<AtomicU8>) {
    let (path, is_broken) = (folder.join("journal.db"), Arc::new(AtomicU8::new(0)));
    let witness = folder.join("journal.db-owners").join("witness");
    let commit: Commit = Box::new({
        let is_broken = is_broken.clone();
        move |connection| {
            if is_broken.load(Ordering::SeqCst) == 1 {
                let foreign = Witnesses::open("f".repeat(32), vec![witness.clone()]).reset(1);
                foreign.expect("it can be written");
            }
            connection.execute_batch("COMMIT")
        }
    });
    (open(&path, Settings { commit, ..Settings::default() }), is_broken)
}

/// An attempt that was about to begin is not sent, because its later loss would not be noticed.
#[tokio::test]
async fn witness_that_cannot_be_written_withdraws_begins_and_ends_go_on_d49() {
    let folder = tempfile::tempdir().unwrap();
    let (store, is_broken) = store_with_a_witness_that_breaks(folder.path());
    let attempt = begun("sent", &store).await;
    is_broken.store(1, Ordering::SeqCst);
    assert!(store.apply(begin("withdrawn", &store)).await.unwrap_err().is_in_doubt());
    assert!(store.apply(processed("sent", attempt)).await.unwrap().written().is_some());
    is_broken.store(0, Ordering::SeqCst);
    let error = store.apply(begin("later", &store)).await.unwrap_err();
    assert!(error.is_history_lost(), "the end has noticed it: {error}");
}

/// A key that may be sent is found processed. An older copy would send it, and nobody would notice.
#[tokio::test]
async fn resolution_that_its_witness_has_not_seen_is_reported_d49() {
    for (ending, may_be_sent) in [
        (Ending::Rejected(Failure::of_kind("rejected")), true),
        (Ending::NotProcessed(Failure::of_kind("connect")), true),
        (Ending::Unknown(Failure::of_kind("timeout")), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (store, is_broken) = store_with_a_witness_that_breaks(folder.path());
        let attempt = begun("found", &store).await;
        let now = SystemTime::now();
        store.apply(Change::end(key("found"), attempt, ending, now)).await.unwrap();
        let read = store.find(&key("found")).await.unwrap().unwrap();
        is_broken.store(1, Ordering::SeqCst);
        let said = Resolution::processed(TransactionId::new("txn_found").unwrap(), "ada");
        let resolved = store.apply(Change::resolve(&read, said, now)).await;
        assert_eq!(resolved.is_err_and(|error| error.is_in_doubt()), may_be_sent);
        let resolved = store.find(&key("found")).await.unwrap().unwrap();
        assert!(resolved.processed_as().is_some(), "it is written anyway");
    }
}
