use payments_core::OperationName;
use tokio::try_join;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use super::columns::{self, Kept, kept, values};
use super::fault::{Fault, ask};
use super::link::Link;
use crate::{Applied, Change, Intent, IntentKey, IntentRow, StoreError};

/// A value that a statement is given.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A connection with its statements prepared.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) link: Link,
    lock: Statement,
    find: Statement,
    insert: Statement,
    update: Statement,
    other_holder: Statement,
}

impl Session {
    pub(super) async fn new(link: Link) -> Result<Self, StoreError> {
        let preparing = async {
            let client = &link.client;
            let lock = client.prepare(LOCK).await?;
            let find = client.prepare(&columns::find()).await?;
            let insert = client.prepare(&columns::insert()).await?;
            let update = client.prepare(&columns::update()).await?;
            Ok((lock, find, insert, update, client.prepare(&columns::other_holder()).await?))
        };
        let (lock, find, insert, update, other_holder) = ask(preparing).await.map_err(Fault::of_reading)?;
        Ok(Self { link, lock, find, insert, update, other_holder })
    }

    pub(super) async fn find(&self, key: &str) -> Result<Option<Kept>, Fault> {
        let row = ask(self.link.client.query_opt(&self.find, &[&key])).await?;
        row.as_ref().map(kept).transpose()
    }

    /// Makes the change in one transaction, at the isolation level READ COMMITTED. After an error the connection must be
    /// closed.
    ///
    /// The transaction locks the key, reads the row, and writes it. The lock is of the key and not of the row, because a new
    /// key has no row. It is held until the transaction ends, and COMMIT is only sent to a server that holds it. So if nobody
    /// hears how the COMMIT ended, whoever locks the key next waits for that, and then reads what is true. The server itself
    /// ends a transaction that gets no statement any more: see `idle_in_transaction_session_timeout`.
    ///
    /// `unheard` is what an earlier attempt at the same change has written if it was committed, and is set where that is not
    /// known of this one.
    pub(super) async fn apply(
        &self,
        change: &Change,
        unheard: &mut Option<Applied>,
    ) -> Result<Applied, StoreError> {
        let client = &self.link.client;
        let key = change.key().as_str();
        // Statements that are asked for together are sent together, and the server executes them one after the other.
        let (lock, find) = (&[&key as Parameter<'_>, &KEYS], &[&key as Parameter<'_>]);
        let reading = async {
            try_join!(
                biased;
                client.batch_execute("BEGIN"),
                client.execute(&self.lock, lock),
                client.query_opt(&self.find, find)
            )
        };
        let (.., row) = ask(reading).await.map_err(Fault::of_reading)?;
        let kept = row.as_ref().map(kept).transpose().map_err(Fault::of_reading)?;
        let found = kept.as_ref().map(|kept| Intent::try_from(kept.row.clone())).transpose()?;
        if let Some(earlier) = unheard.as_ref().filter(|earlier| earlier.written == found) {
            self.roll_back().await?;
            return Ok(earlier.clone());
        }
        let Some(written) = change.decide(found.as_ref()) else {
            self.roll_back().await?;
            return Ok(Applied { found, written: None, same_transaction_as: None });
        };
        let row = IntentRow::from(&written);
        let same_transaction_as = self.other_holder(&row).await?;
        if same_transaction_as.is_some() && change.is_refused_if_taken() {
            self.roll_back().await?;
            return Ok(Applied { found, written: None, same_transaction_as });
        }

        let mut parameters = values(&row).to_vec();
        let statement = if let Some(kept) = &kept {
            parameters.push(&kept.position);
            parameters.push(&kept.row.revision);
            &self.update
        } else {
            &self.insert
        };
        let writing = async {
            try_join!(biased; client.execute(statement, &parameters), client.batch_execute("COMMIT"))
        };
        let applied = Applied { found, written: Some(row.clone().try_into()?), same_transaction_as };
        match ask(writing).await {
            Ok((1, ())) => Ok(applied),
            Ok(_) => Err(StoreError::unavailable(
                "the intent was purged or changed at the same moment; nothing was changed, so call again",
            )),
            Err(fault) => {
                if !fault.is_undone() {
                    *unheard = Some(applied);
                }
                Err(fault.of_writing())
            }
        }
    }

    /// Another intent that is processed as the row's transaction. Its lock, which is held until this transaction ends, keeps
    /// two who write the same one from missing each other.
    async fn other_holder(&self, row: &IntentRow) -> Result<Option<IntentKey>, StoreError> {
        let Some(id) = row.processed_as() else { return Ok(None) };
        let client = &self.link.client;
        let is_void = row.operation == OperationName::Void.as_str();
        let lock = &[&id as Parameter<'_>, &TRANSACTIONS];
        let other = &[&id as Parameter<'_>, &row.key, &is_void];
        let asking = async {
            try_join!(
                biased;
                client.execute(&self.lock, lock),
                client.query_opt(&self.other_holder, other)
            )
        };
        let (_, holder) = ask(asking).await.map_err(Fault::of_reading)?;
        Ok(holder.and_then(|holder| IntentKey::new(holder.get::<_, String>(0)).ok()))
    }

    async fn roll_back(&self) -> Result<(), StoreError> {
        ask(self.link.client.batch_execute("ROLLBACK")).await.map_err(Fault::of_reading)
    }
}

/// The server computes the number that is locked, so that programs of every version lock the same one. Two texts with one
/// number would only wait for each other.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))";

/// What is locked by its text: intent keys, and ids of transactions.
const KEYS: i64 = 1;
const TRANSACTIONS: i64 = 2;
