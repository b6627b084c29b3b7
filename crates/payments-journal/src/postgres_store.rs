//! The journal in a PostgreSQL database.
//!
//! Each change is one transaction that locks its key, over one of a few connections. One more connection holds the lock that
//! shows that this owner lives.

mod address;
mod connection;
mod owner;
mod session;
mod tables;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, OwnerId, Page, Purged, StateName,
    StoreError,
};
use address::Address;
use connection::{Connection, LONGEST_WAIT, ask, commit};
use owner::OwnerLock;
use session::{Session, read};

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
/// `postgres://user:password@host:port/database?parameters`, with special characters percent-encoded. A host that is a
/// directory, as in `%2Fvar%2Frun%2Fpostgresql`, is the directory of a Unix socket. These parameters of libpq are accepted:
/// `user`, `password`, `dbname`, `host`, `hostaddr`, `port`, `connect_timeout`, `tcp_user_timeout`, `keepalives`,
/// `keepalives_idle`, `keepalives_interval`, `keepalives_retries`, `application_name`, `options`, `target_session_attrs`,
/// `channel_binding`, `load_balance_hosts`, `sslnegotiation`, and
///
/// - `sslmode`: `disable`, `prefer` or `require`. Without it, TLS is required, except for a Unix socket, `localhost` or a
///   loopback address. Wherever TLS is used, **the server's certificate and name are verified**, so `require` is what libpq
///   calls `verify-full`, which is accepted too. With `prefer`, an attacker in the network can switch TLS off.
/// - `sslrootcert`: a PEM file of the authorities to trust in place of those of Mozilla's programme.
///
/// Neither environment variables nor a password file are read. The password is in no error and in no `Debug`.
///
/// # What the server must keep
///
/// A journal is as durable as its server. Each connection checks the server. It is refused if it runs with `fsync` or
/// `full_page_writes` off, is a standby, or encodes in anything but UTF-8. `synchronous_commit` is switched on for the
/// connection.
///
/// One thing cannot be checked: **a fail-over to a standby that does not have every commit forgets keys, as an old backup
/// does, and a forgotten key may be sent again.** Let a journal fail over only to a synchronous standby.
///
/// A pooler in between must give each connection a session of its own and reset it afterwards, as PgBouncer does in session
/// mode. A store opens up to nine connections.
///
/// # Tables
///
/// They are made in the schema `payments_journal` when they are first needed. For that the user needs the right to create a
/// schema; later it only reads and writes. One database is one journal.
///
/// # Errors and time
///
/// If a connection breaks during COMMIT, or does not respond for 10 seconds, the change
/// [may have been made](StoreError::is_in_doubt). A call that was to begin then counts as not begun, and nothing is sent.
/// Until the server has ended that transaction, which takes seconds, the key is locked and nothing else begins with it. How a
/// charge ended is tried again for half a minute over new connections, so a server may be restarted under a running
/// program.
///
/// # Runtimes
///
/// The store needs a tokio runtime with I/O and time. It can be used in another runtime than the one that opened it. When the
/// runtime that opened it ends, the store counts as dead: others then show what it is sending as unknown until it has ended.
///
/// Keep the runtime that opened the store running until [`Journal::close`] has returned. If it stands still, `close` returns
/// after 2 seconds, and the store counts as alive until that runtime runs again or ends.
///
/// # Lists beside writers
///
/// A row gets its place in a list when it is written, and is visible once it is committed. So a list of several pages may
/// lack rows that were being written while it ran, and no others.
pub struct PostgresStore {
    owner: OwnerId,
    address: Address,
    /// Connections are opened when they are needed. The server makes commits of several connections durable together.
    idle: Mutex<Vec<Session>>,
    permits: Semaphore,
    lock: OwnerLock,
}

impl PostgresStore {
    /// Connects, makes the tables if there are none, and becomes an owner.
    ///
    /// # Errors
    ///
    /// [Refused](StoreError::is_refused) if the URL cannot be read, if the server does not let this user in or does not keep
    /// what it has committed, or if an older version of this crate has made the tables;
    /// [newer](StoreError::is_newer) if a newer version has made them;
    /// [unavailable](StoreError::is_unavailable) if the server cannot be reached within 10 seconds.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let connection = Connection::open(&address).await?;
        Self::over(address, connection).await
    }

    /// Connects to a journal that exists. Returns `None` if there are no tables, and does not make them: a program that only
    /// reads must not take an empty database for a journal without charges.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_to_existing(url: &str) -> Result<Option<Self>, StoreError> {
        let address = Address::parse(url)?;
        let connection = Connection::open(&address).await?;
        if tables::is_missing(&connection).await? {
            return Ok(None);
        }
        Self::over(address, connection).await.map(Some)
    }

    async fn over(address: Address, mut connection: Connection) -> Result<Self, StoreError> {
        tables::make(&mut connection).await?;
        let session = Session::new(connection).await?;
        let owner = OwnerId::new();
        let lock = OwnerLock::take(address.clone(), &owner).await?;
        let (idle, permits) = (Mutex::new(vec![session]), Semaphore::new(CONNECTIONS as usize));
        Ok(Self { owner, address, idle, permits, lock })
    }

    /// Does the work over a connection. If the work fails, its connection is closed, and all that are idle with it: where one
    /// connection has died in a silent network, each of the others would cost its own time to find out.
    async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Ok(permit) = timeout(LONGEST_WAIT, self.permits.acquire()).await else {
            return Err(StoreError::unavailable("every connection to the journal's database is busy"));
        };
        let _permit = permit.map_err(|_| {
            StoreError::unavailable("the journal was closed by this program; nothing was changed")
        })?;
        let idle = {
            let mut idle = self.idle();
            // The server may have gone since.
            idle.retain(|session| !session.connection.client.is_closed());
            idle.pop()
        };
        let session = if let Some(session) = idle {
            session
        } else {
            let connection = Connection::open(&self.address).await?;
            tables::check(&connection).await?;
            Session::new(connection).await?
        };
        let result = work(&session).await;
        if result.is_ok() {
            self.idle().push(session);
        } else {
            self.idle().clear();
        }
        result
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IntentStore for PostgresStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    /// An end that nobody could write later is tried again, even if the server is restarted meanwhile.
    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let patience = if change.is_last_word() { PATIENCE } else { Duration::ZERO };
        let (began, mut pause, mut unheard) = (Instant::now(), SHORTEST_PAUSE, None);
        loop {
            match self.with(async |session| session.apply(&change, &mut unheard).await).await {
                Err(error)
                    if (error.is_unavailable() || error.is_in_doubt())
                        && began.elapsed() + pause < patience => {}
                Err(error) if unheard.is_some() && !error.is_in_doubt() => {
                    let lost = "the connection to the journal's database was lost, and cannot be had again";
                    return Err(StoreError::in_doubt(lost).because(error));
                }
                result => return result,
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.with(async |session| session.find(key).await).await
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        if states.is_empty() {
            return Ok(Page { intents: Vec::new(), next: None });
        }
        let statement = tables::list(states);
        let after = after.map_or(i64::MIN, Cursor::position);
        let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let listing = async |Session { connection, .. }: &Session| {
            ask(connection.client.query(&statement, &[&after, &one_more])).await
        };
        let mut rows = self.with(listing).await?;
        let next = Cursor::after_page(&mut rows, limit, |row| row.get("position"));
        Ok(Page { intents: rows.iter().map(read).collect::<Result<_, _>>()?, next })
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if *owner == self.owner {
            return Ok(true);
        }
        self.with(async |session| owner::is_live(session, owner).await).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        let age = age.max(Journal::YOUNGEST_TO_PURGE).as_secs().min(OLDEST.as_secs()).cast_signed();
        let (statement, mut purged) = (tables::purge(), Purged::default());
        loop {
            let removing = async |Session { connection, .. }: &Session| {
                commit(connection.client.query_one(&statement, &[&age, &PURGED_AT_ONCE])).await
            };
            let removed = self.with(removing).await?;
            let rows: i64 = removed.get(0);
            purged.intents += rows.unsigned_abs();
            purged.newest = purged.newest.max(removed.get(1));
            if rows < PURGED_AT_ONCE {
                return Ok(purged);
            }
        }
    }

    async fn close(&self) {
        // Until no connection is in use.
        let all = self.permits.acquire_many(CONNECTIONS).await;
        self.permits.close();
        drop(all);
        self.idle().clear();
        self.lock.release().await;
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// Few enough that a dozen machines stay under the hundred connections that a server allows by default.
const CONNECTIONS: u32 = 8;

/// How long the end of a charge is tried again.
const PATIENCE: Duration = Duration::from_secs(30);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// More than any row's age, and within the years that the server can count.
const OLDEST: Duration = Duration::from_hours(24 * 365 * 1000);

/// Rows that are removed by one statement.
const PURGED_AT_ONCE: i64 = 10_000;
