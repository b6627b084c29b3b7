//! The journal in a PostgreSQL database.
//!
//! A few connections carry the changes, each of which is one statement that writes only if what was read is still there.
//! The server puts the commits of several connections on its disk together. One more connection, with a thread of its own,
//! holds the lock that says that this owner lives.

mod address;
mod begun;
mod columns;
mod fault;
mod fence;
mod link;
mod owners;
mod pool;
mod schema;
mod session;
mod tls;

use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentRow, IntentStore, Journal, OwnerId, Page, Purged,
    StateName, StoreError,
};
use address::Address;
use begun::Begun;
use columns::Kept;
use fault::{Fault, ask};
use fence::Fence;
use link::Link;
use owners::Claim;
use pool::Pool;
use session::{Resolved, Session};

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
    fence: Fence,
    begun: Begun,
    /// The last to be dropped: what the pool has sent comes before the word that nobody lives here any more.
    _claim: Claim,
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
        Ok(Self {
            owner,
            pool: Pool::new(address, session),
            fence: Fence::default(),
            begun: Begun::default(),
            _claim: claim,
        })
    }

    /// Makes the change once.
    ///
    /// Why it is whole, at the isolation level READ COMMITTED: it is decided on what was read, and then written by one
    /// statement, which is a transaction of its own and writes only if what was read is still there. An `INSERT … ON
    /// CONFLICT DO NOTHING` waits for another one of the same key and writes nothing if that is kept. An `UPDATE` that
    /// waits for another one of the same row looks at what that has left, and finds another revision. So between the reading
    /// and the writing of a change that is made nobody has written the row; of two who try, one reads again.
    ///
    /// A person's resolution as processed is the one change that depends on other rows: see
    /// [`Session::update_unless_taken`].
    async fn attempt(&self, change: &Change, earlier: &mut Vec<Tried>) -> Result<Applied, StoreError> {
        self.fence.wait_for(change.key(), &self.pool).await?;
        let lease = self.pool.lease().await?;
        match self.attempt_over(&lease, change, earlier).await {
            Ok(mut applied) => {
                // After it was committed: of two who write the same transaction, the last sees the other. What is written
                // stays written, whatever becomes of this question.
                if let Some(written) = applied.written.as_ref().map(IntentRow::from) {
                    let Ok(other) = lease.other_holder(&written).await else { return Ok(applied) };
                    applied.same_transaction_as = other.and_then(|key| IntentKey::new(key).ok());
                }
                lease.give_back();
                Ok(applied)
            }
            Err(Stop::Reading(fault)) => Err(fault.of_reading()),
            Err(Stop::Writing(fault)) => {
                if !fault.is_undone() {
                    self.fence.raise(change.key().clone(), lease.link.backend);
                }
                Err(fault.of_writing())
            }
            Err(Stop::Store(error)) => Err(error),
        }
    }

    async fn attempt_over(
        &self,
        session: &Session,
        change: &Change,
        earlier: &mut Vec<Tried>,
    ) -> Result<Applied, Stop> {
        let key = change.key().as_str();
        // What can begin is mostly new, and what ends is mostly as this store has begun it: the reading is saved. If it is
        // not so, nothing is written, and it is read after all.
        let is_beginning = change.decide(None).is_some();
        let mut found = self.begun.take(change);
        let mut is_read = false;
        if found.is_none() && !is_beginning {
            found = session.find(key).await.map_err(Stop::Reading)?;
            is_read = true;
        }
        for _ in 0..MOST_TRIES {
            let intent = found.as_ref().map(|kept| Intent::try_from(kept.row.clone())).transpose()?;
            if let Some(tried) =
                earlier.iter().find(|tried| found.as_ref().is_some_and(|kept| kept.row == tried.row))
            {
                return Ok(tried.applied.clone());
            }
            let Some(written) = change.decide(intent.as_ref()) else {
                if is_read {
                    return Ok(Applied { found: intent, written: None, same_transaction_as: None });
                }
                found = session.find(key).await.map_err(Stop::Reading)?;
                is_read = true;
                continue;
            };
            let row = IntentRow::from(&written);
            let written = Some(Intent::try_from(row.clone())?);
            let mut applied = Applied { found: intent, written, same_transaction_as: None };
            let writing = match &found {
                None => session.insert(&row).await,
                Some(kept) if change.is_refused_if_taken() => {
                    let resolved = session.update_unless_taken(kept, &row).await.map_err(Stop::Reading)?;
                    if let Resolved::Taken(key) = resolved {
                        session.commit().await.map_err(Stop::Reading)?;
                        (applied.written, applied.same_transaction_as) = (None, IntentKey::new(key).ok());
                        return Ok(applied);
                    }
                    session.commit().await.map(|()| resolved.position())
                }
                Some(kept) => session.update(kept, &row).await,
            };
            match writing {
                Ok(Some(position)) => {
                    if is_beginning {
                        self.begun.remember(change.key().clone(), Kept { position, row });
                    }
                    return Ok(applied);
                }
                Ok(None) => {}
                Err(fault) => {
                    if !fault.is_undone() {
                        earlier.push(Tried { row, applied });
                    }
                    return Err(Stop::Writing(fault));
                }
            }
            found = session.find(key).await.map_err(Stop::Reading)?;
            is_read = true;
        }
        Err(Stop::Store(StoreError::unavailable("others change the same intent all the time")))
    }

    /// Makes a change that says what nobody can find out again, even if the server is restarted meanwhile.
    async fn insist(&self, change: &Change) -> Result<Applied, StoreError> {
        let began = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut earlier = Vec::new();
        loop {
            let error = match self.attempt(change, &mut earlier).await {
                Ok(applied) => return Ok(applied),
                Err(error) => error,
            };
            let may_pass = error.is_unavailable() || error.is_in_doubt();
            if !may_pass || began.elapsed() + pause > PATIENCE {
                return Err(if earlier.is_empty() || error.is_in_doubt() {
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
            self.attempt(&change, &mut Vec::new()).await
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
        self.read(async |session| owners::is_live(session, owner).await).await
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
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// What was written without anybody hearing whether it was kept.
struct Tried {
    row: IntentRow,
    applied: Applied,
}

/// Why an attempt came to no end.
enum Stop {
    Reading(Fault),
    Writing(Fault),
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// More than anybody meets: each needs another who changes the same key at that moment.
const MOST_TRIES: usize = 32;

/// How long the end of a charge is tried again.
const PATIENCE: Duration = Duration::from_secs(30);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// More than any row's age, and within the years that the server can count.
const OLDEST: Duration = Duration::from_hours(24 * 365 * 1000);

/// Rows that are removed by one statement.
const PURGED_AT_ONCE: i64 = 10_000;
