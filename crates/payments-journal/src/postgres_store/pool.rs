use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::address::Address;
use super::connection::{Connection, LONGEST_WAIT};
use super::session::Session;
use super::tables;
use crate::StoreError;

/// A few connections, opened when they are needed. The server makes commits of several connections durable together.
#[derive(Debug)]
pub(super) struct Pool {
    address: Address,
    idle: Mutex<Vec<Session>>,
    permits: Semaphore,
}

impl Pool {
    pub(super) fn new(address: Address, first: Session) -> Self {
        Self { address, idle: Mutex::new(vec![first]), permits: Semaphore::new(CONNECTIONS as usize) }
    }

    /// Does the work over a connection. If the work fails, its connection is closed, and all that are idle with it: where one
    /// connection has died in a silent network, each of the others would cost its own time to find out.
    pub(super) async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Ok(permit) = timeout(LONGEST_WAIT, self.permits.acquire()).await else {
            return Err(StoreError::unavailable("every connection to the journal's database is busy"));
        };
        let _permit = permit.map_err(|_| {
            StoreError::unavailable("the journal was closed by this program; nothing was changed")
        })?;
        let session = if let Some(session) = self.idle_session() {
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

    /// Waits until no connection is in use, and lends none any more.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(CONNECTIONS).await;
        self.permits.close();
        drop(all);
        self.idle().clear();
    }

    fn idle_session(&self) -> Option<Session> {
        let mut idle = self.idle();
        // The server may have gone since.
        idle.retain(|session| !session.connection.client.is_closed());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Few enough that a dozen machines stay under the hundred connections that a server allows by default.
const CONNECTIONS: u32 = 8;
