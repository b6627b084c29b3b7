//! The journal in a PostgreSQL database.
//!
//! A few connections carry the changes, each of which is one transaction that holds a lock of its key. The server puts the
//! commits of several connections on its disk together. One more connection holds the lock that says that this owner lives.

mod address;
mod columns;
mod fault;
mod link;
mod owner;
mod pool;
mod schema;
mod session;

use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, OwnerId, Page, Purged, StateName,
    StoreError,
};
use address::Address;
use columns::Kept;
use fault::{Fault, ask};
use link::Link;
use owner::Claim;
use pool::Pool;
use session::Session;

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
/// `postgres://user:password@host:port/database?parameters`, with special characters percent-encoded. A directory as host,
/// as in `%2Fvar%2Frun%2Fpostgresql`, is that of a Unix socket. Of libpq's parameters these count: `user`, `password`,
/// `dbname`, `host`, `hostaddr`, `port`, `connect_timeout`, `tcp_user_timeout`, `keepalives`, `keepalives_idle`,
/// `keepalives_interval`, `keepalives_retries`, `application_name`, `options`, `target_session_attrs`, `channel_binding`,
/// `load_balance_hosts`, `sslnegotiation`, and
///
/// - `sslmode`: `disable`, `prefer` or `require`. Without it, TLS is required, except to the own machine: a Unix socket,
///   `localhost` or a loopback address. Where TLS is spoken, **the server's certificate and name are always verified**, so
///   `require` is what libpq calls `verify-full`, which is understood too. `prefer` lets whoever sits in between switch
///   TLS off.
/// - `sslrootcert`: a PEM file of the authorities to trust in place of those of Mozilla's programme.
///
/// Neither environment variables nor a password file are read. The password is in no error and in no `Debug`.
///
/// # What the server must keep
///
/// A journal is as durable as its server. With every connection the server is asked, and refused if it runs with `fsync` or
/// `full_page_writes` off, is a standby, or encodes in anything but UTF-8; `synchronous_commit` is switched on for the
/// connection.
///
/// What cannot be asked: **a fail-over to a standby that does not have every commit forgets keys, as an old backup does,
/// and a key that is forgotten may be sent again.** Let a journal fail over only to a synchronous standby. A pooler in
/// between must give each connection a session of its own (PgBouncer's session mode). A store opens up to nine connections.
///
/// # Tables
///
/// They are made in the schema `payments_journal` when they are first needed; then the user needs the right to create a
/// schema, and later only to read and write. One database is one journal.
///
/// # Errors and time
///
/// A connection that breaks, or does not answer for 10 seconds, while a change is being made leaves
/// [doubt](StoreError::is_in_doubt): a call that was to begin then counts as not begun, and nothing is sent. How a charge
/// ended is tried again for half a minute over new connections, so that a server may be restarted under a running program.
///
/// # Lists beside writers
///
/// A row takes its place in a list when it is being written, and is seen once it is kept. So a list of several pages that
/// runs beside writers may lack rows that were being written while it ran, and no others.
///
/// It needs a tokio runtime with I/O and time.
pub struct PostgresStore {
    owner: OwnerId,
    pool: Pool,
    claim: Claim,
}

impl PostgresStore {
    /// Connects, makes the tables if there are none, and becomes an owner.
    ///
    /// # Errors
    ///
    /// [Refused](StoreError::is_refused) if the URL cannot be read or the server lets nobody in or does not keep what it
    /// says; [newer](StoreError::is_newer) if a newer version of this crate has made the tables;
    /// [unavailable](StoreError::is_unavailable) if the server cannot be reached within 10 seconds.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let link = Link::open(&address).await?;
        Self::over(address, link).await
    }

    /// The same, or `None` if there are no tables, which are not made then: for whoever only looks, and must not take an
    /// empty database for a journal without charges.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_to_existing(url: &str) -> Result<Option<Self>, StoreError> {
        let address = Address::parse(url)?;
        let link = Link::open(&address).await?;
        if schema::is_missing(&link).await? {
            return Ok(None);
        }
        Self::over(address, link).await.map(Some)
    }

    async fn over(address: Address, mut link: Link) -> Result<Self, StoreError> {
        schema::bring_up(&mut link).await?;
        let session = Session::new(link).await?;
        let owner = OwnerId::new();
        let claim = Claim::take(address.clone(), &owner).await?;
        Ok(Self { owner, pool: Pool::new(address, session), claim })
    }

    /// Makes the change once.
    async fn attempt(&self, change: &Change, unheard: &mut Option<Applied>) -> Result<Applied, StoreError> {
        let lease = self.pool.lease().await?;
        let applied = lease.apply(change, unheard).await?;
        lease.give_back();
        Ok(applied)
    }

    /// Makes a change that says what nobody can find out again, even if the server is restarted meanwhile.
    async fn insist(&self, change: &Change) -> Result<Applied, StoreError> {
        let began = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut unheard = None;
        loop {
            let error = match self.attempt(change, &mut unheard).await {
                Ok(applied) => return Ok(applied),
                Err(error) => error,
            };
            let may_pass = error.is_unavailable() || error.is_in_doubt();
            if !may_pass || began.elapsed() + pause > PATIENCE {
                return Err(if unheard.is_none() || error.is_in_doubt() {
                    error
                } else {
                    StoreError::in_doubt(
                        "the connection to the journal's database was lost, and cannot be had again",
                    )
                    .because(error)
                });
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Asks what changes nothing.
    async fn read<T>(
        &self,
        question: impl AsyncFnOnce(&Session) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let lease = self.pool.lease().await?;
        let answer = question(&lease).await.map_err(Fault::of_reading)?;
        lease.give_back();
        Ok(answer)
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
        let kept = self.read(async |session| session.find(key.as_str()).await).await?;
        kept.map(|kept| Intent::try_from(kept.row)).transpose()
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
        let after = after.map_or(i64::MIN, Cursor::position);
        let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let statement = columns::list(states);
        let rows = self
            .read(async |session| ask(session.link.client.query(&statement, &[&after, &one_more])).await)
            .await?;
        let kept: Result<Vec<Kept>, _> = rows.iter().take(limit).map(columns::kept).collect();
        let kept = kept.map_err(Fault::of_reading)?;
        let next = kept.last().filter(|_| rows.len() > limit).map(|last| Cursor::new(last.position));
        let intents = kept.into_iter().map(|kept| Intent::try_from(kept.row)).collect::<Result<_, _>>()?;
        Ok(Page { intents, next })
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if *owner == self.owner {
            return Ok(true);
        }
        self.read(async |session| owner::is_live(session, owner).await).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        let ended: Vec<_> =
            StateName::ALL.iter().copied().filter(|state| !StateName::UNRESOLVED.contains(state)).collect();
        let statement = columns::purge(&ended);
        let age = age.max(Journal::YOUNGEST_TO_PURGE).as_secs().min(OLDEST.as_secs()).cast_signed();
        let mut purged = Purged::default();
        loop {
            let lease = self.pool.lease().await?;
            let removing = ask(lease.link.client.query_one(&statement, &[&age, &PURGED_AT_ONCE])).await;
            let removed = removing.map_err(Fault::of_writing)?;
            lease.give_back();
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
        self.claim.release().await;
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
