//! The journal in a PostgreSQL database.
//!
//! Each change is one transaction that locks its key, over one of a few connections. One more connection holds the lock that
//! shows that this owner lives.

mod address;
mod connection;
mod owner;
mod pool;
mod session;
mod tables;

use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, OwnerId, Page, Purged, StateName,
    StoreError,
};
use address::Address;
use connection::{Connection, ask, commit};
use owner::OwnerLock;
use pool::Pool;
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
    pool: Pool,
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
        Ok(Self { owner, pool: Pool::new(address, session), lock })
    }

    async fn attempt(&self, change: &Change, unheard: &mut Option<Applied>) -> Result<Applied, StoreError> {
        self.pool.with(async |session| session.apply(change, unheard).await).await
    }

    /// Makes a change that nobody could make later, even if the server is restarted meanwhile.
    async fn insist(&self, change: &Change) -> Result<Applied, StoreError> {
        let began = Instant::now();
        let (mut pause, mut unheard) = (SHORTEST_PAUSE, None);
        loop {
            let error = match self.attempt(change, &mut unheard).await {
                Ok(applied) => return Ok(applied),
                Err(error) => error,
            };
            let may_pass = error.is_unavailable() || error.is_in_doubt();
            if may_pass && began.elapsed() + pause < PATIENCE {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            if unheard.is_none() || error.is_in_doubt() {
                return Err(error);
            }
            let lost = "the connection to the journal's database was lost, and cannot be had again";
            return Err(StoreError::in_doubt(lost).because(error));
        }
    }
}

impl IntentStore for PostgresStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        if change.is_last_word() {
            self.insist(&change).await
        } else {
            self.attempt(&change, &mut None).await
        }
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.pool.with(async |session| session.find(key).await).await
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
        let listing = async |session: &Session| {
            ask(async { session.connection.client.query(&statement, &[&after, &one_more]).await }).await
        };
        let mut rows = self.pool.with(listing).await?;
        let is_last = rows.len() <= limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| !is_last).map(|row| Cursor::new(row.get("position")));
        Ok(Page { intents: rows.iter().map(read).collect::<Result<_, _>>()?, next })
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if *owner == self.owner {
            return Ok(true);
        }
        self.pool.with(async |session| owner::is_live(session, owner).await).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        let ended: Vec<_> =
            StateName::ALL.iter().copied().filter(|state| !StateName::UNRESOLVED.contains(state)).collect();
        let statement = tables::purge(&ended);
        let age = age.max(Journal::YOUNGEST_TO_PURGE).as_secs().min(OLDEST.as_secs()).cast_signed();
        let mut purged = Purged::default();
        loop {
            let removing = async |session: &Session| {
                let client = &session.connection.client;
                commit(async { client.query_one(&statement, &[&age, &PURGED_AT_ONCE]).await }).await
            };
            let removed = self.pool.with(removing).await?;
            let rows: i64 = removed.get(0);
            purged.intents += rows.unsigned_abs();
            purged.newest = purged.newest.max(removed.get(1));
            if rows < PURGED_AT_ONCE {
                return Ok(purged);
            }
        }
    }

    async fn close(&self) {
        self.pool.close().await;
        self.lock.release().await;
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// How long the end of a charge is tried again.
const PATIENCE: Duration = Duration::from_secs(30);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// More than any row's age, and within the years that the server can count.
const OLDEST: Duration = Duration::from_hours(24 * 365 * 1000);

/// Rows that are removed by one statement.
const PURGED_AT_ONCE: i64 = 10_000;
