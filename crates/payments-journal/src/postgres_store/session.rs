use payments_core::OperationName;
use tokio_postgres::Statement;

use super::columns::{self, Kept, kept, values};
use super::fault::{Fault, ask};
use super::link::Link;
use crate::{IntentRow, StoreError};

/// Any number; this one is "resolves" as text. One for all transactions, because people resolve few.
const LOCK_OF_RESOLUTIONS: i64 = 0x7265_736f_6c76_6573;

/// A connection with its statements prepared. Each statement is a transaction of its own.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) link: Link,
    find: Statement,
    insert: Statement,
    update: Statement,
    other_holder: Statement,
}

/// What became of a change that another intent can be in the way of.
#[derive(Debug)]
pub(super) enum Resolved {
    Written(i64),
    /// Somebody has changed or removed what was read.
    Stale,
    /// By the intent with this key.
    Taken(String),
}

impl Resolved {
    pub(super) const fn position(&self) -> Option<i64> {
        match self {
            Self::Written(position) => Some(*position),
            Self::Stale | Self::Taken(_) => None,
        }
    }
}

impl Session {
    pub(super) async fn new(link: Link) -> Result<Self, StoreError> {
        let preparing = async {
            let client = &link.client;
            let find = client.prepare(&columns::find()).await?;
            let insert = client.prepare(&columns::insert()).await?;
            let update = client.prepare(&columns::update()).await?;
            Ok((find, insert, update, client.prepare(&columns::other_holder()).await?))
        };
        let (find, insert, update, other_holder) = ask(preparing).await.map_err(Fault::of_reading)?;
        Ok(Self { link, find, insert, update, other_holder })
    }

    pub(super) async fn find(&self, key: &str) -> Result<Option<Kept>, Fault> {
        let row = ask(self.link.client.query_opt(&self.find, &[&key])).await?;
        row.as_ref().map(kept).transpose()
    }

    /// Its position if it was written: not if the key is there.
    pub(super) async fn insert(&self, row: &IntentRow) -> Result<Option<i64>, Fault> {
        let position = ask(self.link.client.query_opt(&self.insert, &values(row))).await?;
        position.map(|row| row.try_get(0).map_err(Fault::from)).transpose()
    }

    /// Its position if it was written: not if somebody has changed or removed what was read.
    pub(super) async fn update(&self, read: &Kept, row: &IntentRow) -> Result<Option<i64>, Fault> {
        let mut values = values(row).to_vec();
        values
            .extend::<[&(dyn tokio_postgres::types::ToSql + Sync); 2]>([&read.position, &read.row.revision]);
        let changed = ask(self.link.client.execute(&self.update, &values)).await?;
        Ok((changed == 1).then_some(read.position))
    }

    /// The key of another intent that is processed as the row's transaction.
    pub(super) async fn other_holder(&self, row: &IntentRow) -> Result<Option<String>, Fault> {
        let Some(id) = row.processed_as() else { return Ok(None) };
        let is_void = row.operation == OperationName::Void.as_str();
        let found = ask(self.link.client.query_opt(&self.other_holder, &[&id, &row.key, &is_void])).await?;
        found.map(|found| found.try_get(0).map_err(Fault::from)).transpose()
    }

    /// The same as [`update`](Self::update), unless another intent holds the row's transaction. It opens a transaction:
    /// until [`commit`](Self::commit), nothing is changed, and a connection that is closed changes nothing.
    pub(super) async fn update_unless_taken(&self, read: &Kept, row: &IntentRow) -> Result<Resolved, Fault> {
        let client = &self.link.client;
        ask(client.batch_execute("BEGIN")).await?;
        // Two people who resolve look one after the other. Each statement sees what was committed before it began.
        ask(client.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK_OF_RESOLUTIONS])).await?;
        if let Some(key) = self.other_holder(row).await? {
            return Ok(Resolved::Taken(key));
        }
        Ok(self.update(read, row).await?.map_or(Resolved::Stale, Resolved::Written))
    }

    pub(super) async fn commit(&self) -> Result<(), Fault> {
        ask(self.link.client.batch_execute("COMMIT")).await
    }
}
