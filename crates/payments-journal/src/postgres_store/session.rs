use payments_core::OperationName;
use tokio::try_join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::connection::{Connection, ask, commit};
use super::tables;
use crate::row::intent;
use crate::{Applied, Change, Intent, IntentKey, IntentRow, StoreError};

/// A connection with its statements prepared.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    lock: Statement,
    find: Statement,
    insert: Statement,
    update: Statement,
    other_holder: Statement,
}

impl Session {
    pub(super) async fn new(connection: Connection) -> Result<Self, StoreError> {
        let client = &connection.client;
        let preparing = async {
            Ok((
                client.prepare(tables::LOCK_TEXT).await?,
                client.prepare(tables::FIND).await?,
                client.prepare(tables::INSERT).await?,
                client.prepare(tables::UPDATE).await?,
                client.prepare(&tables::other_holder()).await?,
            ))
        };
        let (lock, find, insert, update, other_holder) = ask(preparing).await?;
        Ok(Self { connection, lock, find, insert, update, other_holder })
    }

    pub(super) async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        ask(self.row(key.as_str())).await?.as_ref().map(read).transpose()
    }

    /// Makes the change in one transaction, at the isolation level READ COMMITTED. After an error the connection must be
    /// closed.
    ///
    /// The transaction locks the key, reads the row and writes it. It locks the key and not the row, because a new key has
    /// no row. The server holds the lock until the transaction ends, and COMMIT is only sent once it holds the lock. So if the
    /// connection is lost during COMMIT, the next transaction of the key waits until the server has ended this one, and then
    /// reads what became of it. If COMMIT never reaches the server, it ends this one after
    /// `idle_in_transaction_session_timeout`.
    ///
    /// `unheard` is what an earlier attempt at this change may have written. This attempt sets it if its connection is lost
    /// during COMMIT.
    pub(super) async fn apply(
        &self,
        change: &Change,
        unheard: &mut Option<Applied>,
    ) -> Result<Applied, StoreError> {
        let (client, key) = (&self.connection.client, change.key().as_str());
        // Statements that are polled together are sent together and executed in this order.
        let reading =
            async { try_join!(biased; client.batch_execute("BEGIN"), self.lock(key, KEYS), self.row(key)) };
        let (.., row) = ask(reading).await?;
        let found = row.as_ref().map(read).transpose()?;
        if let Some(earlier) = unheard.as_ref().filter(|earlier| earlier.written == found) {
            ask(client.batch_execute("ROLLBACK")).await?;
            return Ok(earlier.clone());
        }
        let Some(written) = change.decide(found.as_ref()) else {
            ask(client.batch_execute("ROLLBACK")).await?;
            return Ok(Applied { found, written: None, same_transaction_as: None });
        };
        let row = IntentRow::from(&written);
        let same_transaction_as = match row.processed_as.as_deref() {
            Some(id) => {
                // Two who write the same transaction look one after the other.
                let looking =
                    async { try_join!(biased; self.lock(id, TRANSACTIONS), self.other_holder(id, &row)) };
                let (_, holder) = ask(looking).await?;
                holder.map(|holder| IntentKey::from_kept(holder.get::<_, String>(0)))
            }
            None => None,
        };
        if same_transaction_as.is_some() && change.is_refused_if_taken() {
            ask(client.batch_execute("ROLLBACK")).await?;
            return Ok(Applied { found, written: None, same_transaction_as });
        }
        // Before COMMIT is sent: a document that cannot be read is then written nowhere.
        let written = intent(&row.key, &row.state, &row.document)?;
        let writing =
            async { try_join!(biased; self.write(&row, found.as_ref()), client.batch_execute("COMMIT")) };
        let writing = commit(writing).await;
        let applied = Applied { found, written: Some(written), same_transaction_as };
        match writing {
            Ok((1, ())) => Ok(applied),
            Ok(_) => Err(StoreError::unavailable(
                "the intent was purged, or changed without its lock, at the same moment; nothing was changed",
            )),
            Err(error) => {
                if error.is_in_doubt() {
                    *unheard = Some(applied);
                }
                Err(error)
            }
        }
    }

    async fn lock(&self, text: &str, of: i64) -> Result<u64, Error> {
        self.connection.client.execute(&self.lock, &[&text, &of]).await
    }

    async fn row(&self, key: &str) -> Result<Option<Row>, Error> {
        self.connection.client.query_opt(&self.find, &[&key]).await
    }

    /// The key of another intent that is processed as the transaction of the row.
    async fn other_holder(&self, id: &str, row: &IntentRow) -> Result<Option<Row>, Error> {
        let is_void = row.operation == OperationName::Void.as_str();
        self.connection.client.query_opt(&self.other_holder, &[&id, &row.key, &is_void]).await
    }

    /// Returns how many rows were written: none if the row has been changed since it was found.
    async fn write(&self, row: &IntentRow, found: Option<&Intent>) -> Result<u64, Error> {
        let client = &self.connection.client;
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![
            &row.key,
            &row.state,
            &row.operation,
            &row.amount,
            &row.transaction_id,
            &row.processed_as,
            &row.created_at,
            &row.begun_at,
            &row.changed_at,
            &row.revision,
            &row.document,
        ];
        let Some(found) = found.map(|found| found.revision.cast_signed()) else {
            return client.execute(&self.insert, &values).await;
        };
        values.push(&found);
        client.execute(&self.update, &values).await
    }
}

/// The intent of a row that begins with key, state and document.
pub(super) fn read(row: &Row) -> Result<Intent, StoreError> {
    let columns = (|| Ok::<_, Error>((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))();
    let (key, state, document) = columns.map_err(|error| {
        StoreError::damaged("the table payments_journal.intents has other columns").because(error.to_string())
    })?;
    intent(key, state, document)
}

/// The kinds of text that are locked: intent keys, and ids of transactions.
const KEYS: i64 = 1;
const TRANSACTIONS: i64 = 2;
