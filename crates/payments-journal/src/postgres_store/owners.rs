use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::address::Address;
use super::connection::{Access, Connection, execute};
use super::session::Session;
use crate::{OwnerId, StoreError};

/// The lock that shows that an owner is alive. A separate session holds it, so the server releases it when that session ends for
/// any reason.
///
/// When the connection is lost, a task takes the lock again. The task runs in the runtime that opened the store. While the
/// lock is not held, other processes show what the owner is sending as unknown. The outcome is still recorded.
pub(super) struct OwnerLock(watch::Sender<()>);

impl OwnerLock {
    /// Takes the lock. It is released shortly after this is dropped.
    pub(super) async fn take(address: Address, owner: &OwnerId) -> Result<Self, StoreError> {
        let number = number(owner).expect("a new owner is a number in hexadecimal");
        let connection = lock(&address, number).await?;
        let (this, released) = watch::channel(());
        tokio::spawn(hold(connection, address, number, released));
        Ok(Self(this))
    }

    /// Releases the lock and waits for it. If the runtime that opened the store does not run, the lock is released when it runs
    /// again or ends, and this does not wait for that.
    pub(super) async fn release(&self) {
        self.0.send_replace(());
        let _ = timeout(2 * MAX_UNLOCK_TIME, self.0.closed()).await;
    }
}

/// Whether a session holds the lock of this owner, or may hold it, as far as a standby can tell. The lock is tried in shared mode
/// and only for this statement, so that concurrent checks do not mistake each other for the owner.
pub(super) async fn is_live(session: &Session, owner: &OwnerId) -> Result<bool, StoreError> {
    // An owner of another store has no lock here.
    let Some(number) = number(owner) else { return Ok(false) };
    // A standby does not have the locks of its primary.
    let is_locked = "SELECT pg_is_in_recovery() OR NOT pg_try_advisory_xact_lock_shared($1)";
    execute(session.connection.client.query_one_scalar(is_locked, &[&number])).await
}

/// Holds the lock, over as many connections as it takes, until it is released.
async fn hold(mut connection: Connection, address: Address, number: i64, mut released: watch::Receiver<()>) {
    let holding = async {
        loop {
            connection.closed().await;
            connection = loop {
                sleep(PAUSE).await;
                if let Ok(connection) = lock(&address, number).await {
                    break connection;
                }
            };
        }
    };
    tokio::select! {
        _ = released.changed() => {}
        () = holding => {}
    }
    // Closing the connection would also release it, but later.
    let unlock = "SELECT pg_advisory_unlock($1)";
    let _ = timeout(MAX_UNLOCK_TIME, connection.client.execute(unlock, &[&number])).await;
}

/// Fails while the server has not noticed that an earlier connection of this owner is broken. Until then that connection shows
/// that the owner is alive.
async fn lock(address: &Address, number: i64) -> Result<Connection, StoreError> {
    let connection = Connection::open(address, Access::Write).await?;
    let lock = "SELECT pg_advisory_lock($1), current_setting('payments_journal.session', true)";
    let row = execute(connection.client.query_one(lock, &[&number])).await?;
    connection.check_session(row.get(1))?;
    Ok(connection)
}

/// Half of the owner's random bits. If two owners shared a number, a dead one would look live.
fn number(owner: &OwnerId) -> Option<i64> {
    let digits = owner.as_str().get(..16)?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}

const PAUSE: Duration = Duration::from_millis(500);

/// How long the task that holds the lock may wait for the server when a store is closed.
const MAX_UNLOCK_TIME: Duration = Duration::from_secs(1);
