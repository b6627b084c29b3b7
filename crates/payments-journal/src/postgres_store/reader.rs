use std::fmt;
use std::time::Duration;

use super::address::Address;
use super::connection::{Access, Connection};
use super::session::Session;
use super::{PostgresStore, tables};
use crate::read_only::refused;
use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, OwnerId, Page, Purged, StateName, StoreError,
};

/// A journal in a PostgreSQL database that is only read: nothing is written, so that a user who may only read, or a standby, is
/// enough.
///
/// ```no_run
/// use payments_journal::{Journal, PostgresReader, StateName};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let url = "postgres://auditor:secret@standby.example/payments";
/// if let Some(reader) = PostgresReader::connect(url).await? {
///     let unresolved = Journal::read_only(reader).list(StateName::UNRESOLVED, None, 100).await?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// The URL is that of a [`PostgresStore`]. With several hosts, the one that can be written is read, else another one. A standby
/// may lag behind, and it does not show who is alive: a row whose sender has died is shown as sending there, and not as unknown.
pub struct PostgresReader(PostgresStore);

impl PostgresReader {
    /// Connects to an existing journal. `None` if there are no tables: none are created. An empty database must not be mistaken
    /// for a journal without charges.
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`], but the server may be a standby, only let this user read, or lose commits.
    pub async fn connect(url: &str) -> Result<Option<Self>, StoreError> {
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
        let session = Session::new(connection).await?;
        Ok(Some(Self(PostgresStore::new(OwnerId::new(), address, session, None, false))))
    }
}

impl IntentStore for PostgresReader {
    fn owner(&self) -> &OwnerId {
        self.0.owner()
    }

    async fn apply(&self, _: Change) -> Result<Applied, StoreError> {
        Err(refused())
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.0.find(key).await
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.0.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.0.is_live(owner).await
    }

    async fn purge(&self, _: Duration) -> Result<Purged, StoreError> {
        Err(refused())
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

impl fmt::Debug for PostgresReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresReader").finish_non_exhaustive()
    }
}
