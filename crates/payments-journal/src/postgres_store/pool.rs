use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::address::Address;
use super::fault::LONGEST_WAIT;
use super::link::Link;
use super::schema;
use super::session::Session;
use crate::StoreError;

/// A few connections, opened when they are needed. Commits of different ones reach the server's disk together.
#[derive(Debug)]
pub(super) struct Pool {
    address: Address,
    idle: Mutex<Vec<Session>>,
    permits: Semaphore,
}

/// A connection for as long as it is used. Unless it is [given back](Self::give_back) it is closed, and all that are idle
/// with it: what was left in the middle of a statement is of no use to the next, and where one connection has died in a
/// silent network, each of the others would cost its own time to find out.
#[derive(Debug)]
pub(super) struct Lease<'a> {
    pool: &'a Pool,
    session: Option<Session>,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(address: Address, first: Session) -> Self {
        Self { address, idle: Mutex::new(vec![first]), permits: Semaphore::new(CONNECTIONS as usize) }
    }

    pub(super) async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let Ok(permit) = timeout(LONGEST_WAIT, self.permits.acquire()).await else {
            return Err(StoreError::unavailable("every connection to the journal's database is busy"));
        };
        let permit =
            permit.map_err(|_| StoreError::unavailable("the journal was closed; nothing was changed"))?;
        let session = if let Some(session) = self.idle_session() {
            session
        } else {
            let link = Link::open(&self.address).await?;
            schema::check(&link).await?;
            Session::new(link).await?
        };
        Ok(Lease { pool: self, session: Some(session), _permit: permit })
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
        idle.retain(|session| !session.link.client.is_closed());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease<'_> {
    pub(super) fn give_back(mut self) {
        self.pool.idle().extend(self.session.take());
    }
}

impl Deref for Lease<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("it is only given back at the end")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.session.is_some() {
            self.pool.idle().clear();
        }
    }
}

/// Few enough that a dozen machines stay under the hundred connections that a server allows by default.
const CONNECTIONS: u32 = 8;
