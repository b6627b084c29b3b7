//! The journal in a PostgreSQL database.
//!
//! Each change is one transaction that locks its key, over one of a few connections. One more connection holds the lock that
//! shows that this owner is alive.

mod address;
mod connection;
mod owners;
mod session;
mod tables;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::service_change::{ServiceChange, ServiceError};
use crate::store::{closed, only_read};
use crate::summary::Tally;
use crate::{
    Applied, Change, Intent, IntentKey, IntentStore, Journal, OwnerId, Purged, Rows, StateName, StoreError,
};
use address::Address;
use connection::{Access, Connection, MAX_WAIT, MAX_WAIT_FOR_TABLE, execute};
use owners::OwnerLock;
use session::{Session, Timelines, read};

/// A journal in a PostgreSQL database that several machines share: version 12 or newer.
///
/// ```no_run
/// use payments_journal::{Journal, PostgresStore};
///
/// # async fn example() -> Result<(), payments_journal::StoreError> {
/// let store = PostgresStore::connect("postgres://billing:secret@db.example/payments").await?;
/// let journal = Journal::open(store).await?;
/// # Ok(())
/// # }
/// ```
///
/// # The URL
///
/// `postgres://user:password@host:port/database?parameters`, with special characters percent-encoded. The database is required. A
/// host that is a directory, as in `%2Fvar%2Frun%2Fpostgresql`, is the directory of a Unix socket. These parameters of libpq are
/// accepted: `user`, `password`, `dbname`, `host`, `hostaddr`, `port`, `connect_timeout`, `tcp_user_timeout`, `keepalives`,
/// `keepalives_idle`, `keepalives_interval`, `keepalives_retries`, `application_name`, `options`, `target_session_attrs`,
/// `channel_binding`, `load_balance_hosts`, `sslnegotiation`, and
///
/// - `sslmode`: `disable`, `prefer` or `require`. Without it, TLS is required, except for a Unix socket, `localhost` or a
///   loopback address. With TLS, **the server's certificate and name are verified**, so `require` is what libpq
///   calls `verify-full`, which is accepted too. With `prefer`, an attacker in the network can switch TLS off.
/// - `sslrootcert`: a PEM file of the authorities to trust instead of those of Mozilla's program.
///
/// Neither environment variables nor a password file are read. No error and no `Debug` shows the password.
///
/// # What the server must guarantee
///
/// A journal is as durable as its server. Each connection checks the server and refuses it if it runs with `fsync` or
/// `full_page_writes` off, is a standby, or has an encoding other than UTF-8. `synchronous_commit` is switched on for the
/// connection.
///
/// **A failover to a standby that does not have every commit loses keys, as an old backup does, and a lost key would be sent
/// again.** So each begin observes the server's timeline, which a promotion changes, the id of the table, which a restored dump
/// changes, and the identifiers of the server's cluster and of the database, of which one is another if the dump was restored into
/// another server, or if the database was made from an older copy as its template. If one of them is not the one that the journal knows, nothing begins ([`StoreError::is_history_lost`]) until a person
/// [accepts](Journal::accept_history) it. If the server only fails over to synchronous standbys,
/// [say so in advance](PostgresOptions::fails_over_without_loss). A user who may not execute `pg_walfile_name` and
/// `pg_current_wal_lsn` observes no timeline, and the log has a warning; one who may not execute `pg_control_system` observes no
/// identifier. Such a user begins nothing if the journal knows what it may not observe. If the journal does not know something,
/// because the user who created it could not ask for it, the first begin of a user who may ask for it, and may update the column
/// `timeline` of `payments_journal.meta`, records it. It is compared from then on. A snapshot of the server's disk that is restored
/// is not noticed.
///
/// A connection pooler must give each connection its own session and reset it afterwards, as PgBouncer does in session mode. A
/// pooler that changes the session, as in transaction mode, is refused before anything is written: each transaction checks that it
/// is in the session whose settings were set. A store opens up to nine connections.
///
/// # Tables
///
/// They are created in the schema `payments_journal` when they are first needed. For that the user needs the right to create a
/// schema; later it only reads and writes. One database is one journal.
///
/// # Errors and timeouts
///
/// All addresses of all hosts share 10 seconds to connect, so that one that does not respond leaves time for the next. The
/// next connection first tries the address that responded, if the name still resolves to it. With `connect_timeout`, an address
/// gets at most that time.
///
/// If a connection breaks during COMMIT, or does not respond for 10 seconds, the change [may have been
/// made](StoreError::is_in_doubt). So it may if the server confirms the COMMIT with a warning, as it does when the wait for a
/// synchronous standby is canceled: a failover may lose that commit. A call that was about to begin then does not begin, and
/// nothing is sent. Until the server has ended that transaction, which takes seconds, the key is locked and nothing else begins
/// with it.
///
/// The write of an outcome is retried for half a minute over new connections, whatever the reason, unless the row or the tables
/// are damaged or of a newer version. So the server may be restarted, or fail over, while the program runs. The retries go on if
/// the caller leaves.
///
/// # Runtimes
///
/// The store needs a tokio runtime with I/O and time. Several runtimes can use it. Each prefers the connections that it has opened,
/// because its own tasks drive them, and takes one of another runtime only if no more may be opened. If that runtime is not running,
/// the call fails after 10 seconds. A connection that is closed while its runtime is not running stays open until that runtime runs
/// again or ends.
///
/// When the runtime that opened the store ends, the store counts as dead: other processes then show what it is sending as unknown
/// until the attempt has ended. Keep that runtime running until [`Journal::close`] has returned. If it does not run, `close` does
/// not wait for it for longer than 2 seconds, and the store counts as alive until that runtime runs again or ends.
///
/// `close` waits until no call uses the store, for at most 11 minutes. A call of a runtime that is not running does not end.
///
/// # Lists during writes
///
/// A row gets its position in a list when it is written, and is visible once it is committed. So a list of several pages may
/// lack rows that were being written while it ran, and no others.
pub struct PostgresStore(Arc<Shared>);

/// Also held by each outcome that is being written: it is written even if its caller has left.
struct Shared {
    owner: OwnerId,
    address: Address,
    /// Connections are opened when needed. The server makes commits of several connections durable together. The one that was used
    /// last is at the end.
    idle: Mutex<Vec<Session>>,
    permits: Semaphore,
    /// `None` if the journal is only read.
    lock: Option<OwnerLock>,
    timelines: Timelines,
    was_created: bool,
}

impl PostgresStore {
    /// Connects, creates the tables if there are none, and becomes an owner. Tables of an older version are brought forward in one
    /// transaction. Older programs then refuse them.
    ///
    /// # Errors
    ///
    /// [Refused](StoreError::is_refused) if the URL cannot be read or has an unsupported parameter, if the server has no such
    /// database, rejects this user, wants a password that the URL lacks, cannot be used over TLS or its commits are not durable, or
    /// if there is a pooler that changes the session;
    /// [newer](StoreError::is_newer) if a newer version has created them;
    /// [unavailable](StoreError::is_unavailable) if the server cannot be reached within 10 seconds.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::options().connect(url).await
    }

    /// Options of the journal, with which it is opened.
    pub fn options() -> PostgresOptions {
        PostgresOptions { accepts_timelines: false }
    }

    /// Connects to an existing journal that is only read: nothing is written, so a user who may only read, or a standby, is
    /// enough. `None` if there are no tables: none are created. An empty database must not be mistaken for a journal without
    /// charges.
    ///
    /// ```no_run
    /// use payments_journal::{Journal, PostgresStore, StateName};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let url = "postgres://auditor:secret@standby.example/payments";
    /// if let Some(store) = PostgresStore::connect_to_read(url).await? {
    ///     let journal = Journal::read_only(store);
    ///     let unresolved = journal.pages(StateName::UNRESOLVED).next().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With several hosts, the one that can be written is read, else another one. A standby may lag behind, and it does not show
    /// who is alive: a row whose sender has died is shown as sending there, and not as unknown.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), but the server may be a standby, only let this user read, or lose commits.
    pub async fn connect_to_read(url: &str) -> Result<Option<Self>, StoreError> {
        let mut address = Address::parse(url)?;
        let connection = match Connection::open(&address, Access::Read).await {
            Err(_) if address.hosts().len() > 1 => {
                address = address.of_any_server();
                Connection::open(&address, Access::Read).await?
            }
            opened => opened?,
        };
        if tables::is_missing(&connection).await? {
            return Ok(None);
        }
        tables::check(&connection).await?;
        let first = Session::new(connection).await?;
        Ok(Some(Self(Arc::new(Shared::new(OwnerId::new(), address, first)))))
    }

    /// Whether this store created the journal. Tell a person in which database: a run that was expected to continue with an
    /// earlier journal knows none of its keys, and charges them again.
    pub fn was_created(&self) -> bool {
        self.0.was_created
    }
}

/// How a [`PostgresStore`] is opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `connect` is called"]
pub struct PostgresOptions {
    accepts_timelines: bool,
}

impl PostgresOptions {
    /// The server only fails over to synchronous standbys, which have every commit, so a failover is accepted without a person. The
    /// log says so. **If a standby lacks commits after all, their keys are charged again.**
    pub fn fails_over_without_loss(self) -> Self {
        Self { accepts_timelines: true }
    }

    /// As [`PostgresStore::connect`].
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`].
    #[expect(clippy::missing_panics_doc, reason = "missing tables are created")]
    pub async fn connect(&self, url: &str) -> Result<PostgresStore, StoreError> {
        Ok(self.open(url, false).await?.expect("missing tables are created"))
    }

    /// Connects to an existing journal. Returns `None` if there are no tables, and does not create them.
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`].
    pub async fn connect_to_existing(&self, url: &str) -> Result<Option<PostgresStore>, StoreError> {
        self.open(url, true).await
    }

    async fn open(&self, url: &str, must_exist: bool) -> Result<Option<PostgresStore>, StoreError> {
        let address = Address::parse(url)?;
        let mut connection = Connection::open(&address, Access::Write).await?;
        if must_exist && tables::is_missing(&connection).await? {
            return Ok(None);
        }
        let was_created = tables::create(&mut connection).await?;
        let (first, owner) = (Session::new(connection).await?, OwnerId::new());
        let lock = Some(OwnerLock::take(address.clone(), &owner).await?);
        let timelines = Timelines { accepts_timelines: self.accepts_timelines, ..Timelines::default() };
        let shared = Shared { lock, timelines, was_created, ..Shared::new(owner, address, first) };
        Ok(Some(PostgresStore(Arc::new(shared))))
    }
}

impl Shared {
    /// Of a journal that is only read.
    fn new(owner: OwnerId, address: Address, first: Session) -> Self {
        let (idle, permits) = (Mutex::new(vec![first]), Semaphore::new(CONNECTIONS as usize));
        Self {
            owner,
            address,
            idle,
            permits,
            lock: None,
            timelines: Timelines::default(),
            was_created: false,
        }
    }

    /// Runs the work over a connection. If the work fails, its connection and all idle ones are closed: if one connection has
    /// died in a silent network, each of the others would need its own timeout.
    async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Ok(permit) = timeout(MAX_WAIT, self.permits.acquire()).await else {
            return Err(StoreError::unavailable("every connection to the journal's database is busy"));
        };
        let _permit = permit.map_err(|_| closed())?;
        let session = if let Some(session) = self.idle_session() {
            session
        } else {
            let access = if self.lock.is_some() { Access::Write } else { Access::Read };
            let connection = Connection::open(&self.address, access).await?;
            tables::check(&connection).await?;
            Session::new(connection).await?
        };
        let result = work(&session).await;
        if result.is_ok() && !self.permits.is_closed() {
            self.idle().push(session);
        } else {
            self.idle().clear();
        }
        result
    }

    /// An idle session that the current runtime drives. If there is none, a new one will be opened, unless there would be too many:
    /// then the one that was used last, whose runtime most probably runs.
    fn idle_session(&self) -> Option<Session> {
        let mut idle = self.idle();
        // By the server, or by the end of their runtime.
        idle.retain(|session| !session.connection.client.is_closed());
        match idle.iter().rposition(|session| session.connection.is_driven_here()) {
            Some(index) => Some(idle.remove(index)),
            None if idle.len() > self.permits.available_permits() => idle.pop(),
            None => None,
        }
    }

    /// Writes an outcome, which cannot be obtained again. So everything but damage is retried for a while, over new connections:
    /// during a failover a server can be read-only, reject its users, or have moved.
    async fn apply_persistently(&self, change: &Change) -> Result<Applied, StoreError> {
        let (began, mut pause, mut unconfirmed) = (Instant::now(), MIN_PAUSE, None);
        loop {
            let error = match self
                .with(async |session| {
                    Box::pin(session.apply(change, &self.timelines, &mut unconfirmed)).await
                })
                .await
            {
                Ok(applied) => return Ok(applied),
                Err(error) => error,
            };
            let is_permanent = error.is_damaged() || error.is_newer() || self.permits.is_closed();
            if is_permanent || began.elapsed() + pause >= RETRY_TIME {
                return Err(if unconfirmed.is_some() && !error.is_in_doubt() {
                    let lost =
                        "the connection to the journal's database was lost and could not be opened again";
                    StoreError::in_doubt(lost).because(error)
                } else if error.is_refused() {
                    // It may still be accepted later.
                    error.into_unavailable()
                } else {
                    error
                });
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl IntentStore for PostgresStore {
    fn owner(&self) -> &OwnerId {
        &self.0.owner
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        if self.0.lock.is_some() { Ok(()) } else { Err(only_read()) }
    }

    /// The write of an outcome is a task, so that it goes on if this future is dropped.
    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        self.check_writable()?;
        if !change.is_final_outcome() {
            return self
                .0
                .with(async |session| Box::pin(session.apply(&change, &self.0.timelines, &mut None)).await)
                .await;
        }
        let shared = self.0.clone();
        let writing = tokio::spawn(async move { shared.apply_persistently(&change).await });
        writing.await.unwrap_or_else(|_| {
            Err(StoreError::in_doubt("the runtime ended while the journal's database was being written"))
        })
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.0.with(async |session| session.find(key).await).await
    }

    async fn find_secret(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.0.with(async |session| session.find_secret(key).await).await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        if states.is_empty() {
            return Ok(Vec::new());
        }
        let statement = tables::list(states);
        let (after, limit) = (after.unwrap_or(i64::MIN), i64::try_from(limit).unwrap_or(i64::MAX));
        let listing = async |Session { connection, .. }: &Session| {
            execute(connection.client.query(&statement, &[&after, &limit])).await
        };
        let rows = self.0.with(listing).await?;
        rows.iter().map(|row| Ok((row.get("position"), read(row)?))).collect()
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if *owner == self.0.owner {
            return Ok(true);
        }
        self.0.with(async |session| owners::is_live(session, owner).await).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.check_writable()?;
        let age = age.max(Journal::YOUNGEST_TO_PURGE).as_secs().min(OLDEST.as_secs()).cast_signed();
        let (statement, mut purged) = (tables::purge(), Purged::default());
        loop {
            let removing = async |Session { connection, .. }: &Session| {
                connection.commit(connection.client.query_one(&statement, &[&age, &PURGE_BATCH])).await
            };
            let removed = self.0.with(removing).await?;
            let rows: i64 = removed.get(0);
            purged.intents += rows.unsigned_abs();
            purged.newest = purged.newest.max(removed.get(1));
            if rows < PURGE_BATCH {
                return Ok(purged);
            }
        }
    }

    async fn summarize(&self, service: Option<&str>) -> Result<Vec<Tally>, StoreError> {
        self.0.with(async |session| session.summarize(service).await).await
    }

    async fn change_service(&self, change: ServiceChange) -> Result<Option<ServiceError>, StoreError> {
        self.check_writable()?;
        self.0.with(async |session| session.change_service(&change).await).await
    }

    async fn check_history(&self) -> Result<(), StoreError> {
        let only_reads = self.0.lock.is_none();
        self.0.with(async |session| session.check_history(&self.0.timelines, only_reads).await).await
    }

    async fn lost_since(&self) -> Result<Option<SystemTime>, StoreError> {
        Ok(Some(self.0.with(async |session| session.lost_since(&self.0.timelines).await).await?))
    }

    async fn accept_history(&self, by: &str, sent: Option<u64>, since: SystemTime) -> Result<(), StoreError> {
        self.check_writable()?;
        self.0.with(async |session| session.accept(by, sent.map(u64::cast_signed), since).await).await
    }

    async fn close(&self) {
        // Wait until no connection is in use. A runtime that is not running keeps those of its calls.
        let all = timeout(MAX_WAIT_FOR_TABLE, self.0.permits.acquire_many(CONNECTIONS)).await;
        self.0.permits.close();
        drop(all);
        self.0.idle().clear();
        if let Some(lock) = &self.0.lock {
            lock.release().await;
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("owner", &self.0.owner).finish_non_exhaustive()
    }
}

/// A dozen machines stay below the hundred connections that a server allows by default.
const CONNECTIONS: u32 = 8;

/// How long the write of an outcome is retried.
const RETRY_TIME: Duration = Duration::from_secs(30);
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// More than the age of any row, and within the server's range of dates.
const OLDEST: Duration = Duration::from_hours(24 * 365 * 1000);

/// Rows that one statement removes.
const PURGE_BATCH: i64 = 10_000;
