use tokio_postgres::Statement;

use super::columns::{self, Kept, kept, values};
use super::fault::{Fault, ask};
use super::link::Link;
use crate::{IntentRow, StoreError};

/// A connection with its statements prepared. Each statement is a transaction of its own.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) link: Link,
    find: Statement,
    insert: Statement,
    update: Statement,
}

impl Session {
    pub(super) async fn new(link: Link) -> Result<Self, StoreError> {
        let preparing = async {
            let client = &link.client;
            let find = client.prepare(&columns::find()).await?;
            let insert = client.prepare(&columns::insert()).await?;
            Ok((find, insert, client.prepare(&columns::update()).await?))
        };
        let (find, insert, update) = ask(preparing).await.map_err(Fault::of_reading)?;
        Ok(Self { link, find, insert, update })
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
}
