use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use futures_util::TryStreamExt as _;
use tokio::sync::OnceCell;
use tokio::try_join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::connection::{Connection, LONG_TIMEOUT, execute, execute_long};
use super::tables;
use crate::apply::{RowTransaction, ServiceTransaction};
use crate::intent::base_url;
use crate::milliseconds;
use crate::row::{Columns, document, intent};
use crate::service_change::{NAMED, ServiceChange, ServiceError};
use crate::summary::Tally;
use crate::{Applied, Change, Intent, IntentKey, OwnerId, StateName, StateSummary, StoreError, events};

/// A connection with its statements prepared.
pub(super) struct Session {
    pub(super) connection: Connection,
    lock: Statement,
    find: Statement,
    write: Statement,
    other_holder: Statement,
    /// Observes the server's history. It is prepared with the first begin.
    observe: OnceCell<Statement>,
}

impl Session {
    pub(super) async fn new(connection: Connection) -> Result<Self, StoreError> {
        let preparing = async {
            let client = &connection.client;
            Ok(Self {
                lock: client.prepare(tables::LOCK_TEXT).await?,
                find: client.prepare(tables::FIND).await?,
                write: client.prepare(tables::WRITE).await?,
                other_holder: client.prepare(tables::OTHER_HOLDER).await?,
                observe: OnceCell::new(),
                connection,
            })
        };
        execute(preparing).await
    }

    pub(super) async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        execute(self.row(key.as_str())).await?.as_ref().map(read).transpose()
    }

    /// The server and the driver may log what is sent. So that is the last four characters, and the keys that end with them are
    /// compared here.
    pub(super) async fn find_secret(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        let key = key.as_str();
        let end = &key[key.len().saturating_sub(4)..];
        let finding = async {
            let mut rows = pin!(self.connection.client.query_raw(tables::FIND_BY_END, [end]).await?);
            while let Some(row) = rows.try_next().await? {
                if row.try_get::<_, &str>(0)? == key {
                    return Ok(Some(row));
                }
            }
            Ok(None)
        };
        execute(finding).await?.as_ref().map(read).transpose()
    }

    /// Makes the change in one transaction, at the isolation level READ COMMITTED. After an error the connection must be
    /// closed.
    ///
    /// The transaction locks the key, reads the row and writes it. It locks the key and not the row, because a new key has
    /// no row. The server holds the lock until the transaction ends, and COMMIT is only sent once it holds the lock. So if the
    /// connection is lost during COMMIT, the next transaction of the key waits until the server has ended this one, and then
    /// reads the result. If COMMIT never reaches the server, it ends this one after
    /// `idle_in_transaction_session_timeout`.
    ///
    /// `unconfirmed` is the row that an earlier attempt at this change may have written. This attempt sets it if its connection is
    /// lost during COMMIT.
    pub(super) async fn apply(
        &self,
        change: &Change,
        timelines: &Timelines,
        unconfirmed: &mut Option<Intent>,
    ) -> Result<Applied, StoreError> {
        let (found, observed) = self.begin(change).await?;
        let mut changed = ChangedRow { session: self, observed, timelines, unconfirmed };
        if let Some(row) = changed.unconfirmed.clone().filter(|written| found.as_ref() == Some(written)) {
            let same_transaction_as = changed.holder(change, &row).await?;
            self.commit_again(change.key()).await?;
            return Ok(Applied::Written { row, same_transaction_as });
        }
        let applied = change.apply_to(found, &mut changed).await?;
        match &applied {
            Applied::Written { .. } => {}
            // An outcome that the journal kept for later may have been written in doubt.
            Applied::Refused(..) if change.is_final_outcome() => self.commit_again(change.key()).await?,
            Applied::Refused(..) => self.roll_back().await?,
        }
        Ok(applied)
    }

    /// Begins a transaction that has locked the key. Returns its row, and what is observed of the server's history if something
    /// is to begin.
    async fn begin(&self, change: &Change) -> Result<(Option<Intent>, Option<Row>), StoreError> {
        let (client, key) = (&self.connection.client, change.key().as_str());
        // Outside the transaction, which a refusal would end.
        let observe = if change.is_begin() { Some(execute(self.observing()).await?) } else { None };
        let observing = async {
            match observe {
                Some(observe) => client.query_one(observe, &[]).await.map(Some),
                None => Ok(None),
            }
        };
        // Statements that are polled together are sent together and executed in this order.
        let reading = async {
            try_join!(biased; client.batch_execute("BEGIN"), self.lock(key, KEYS), self.row(key), observing)
        };
        let ((), locked, row, observed) = execute(reading).await?;
        self.connection.check_session(locked.get(1))?;
        Ok((row.as_ref().map(read).transpose()?, observed))
    }

    async fn roll_back(&self) -> Result<(), StoreError> {
        execute(self.connection.client.batch_execute("ROLLBACK")).await
    }

    /// Checks that the server does not lack commits. To who only reads, a standby tells nothing, nor does a server that this user
    /// may not ask for its timeline or its cluster.
    pub(super) async fn check_history(
        &self,
        timelines: &Timelines,
        only_reads: bool,
    ) -> Result<(), StoreError> {
        let client = &self.connection.client;
        if only_reads && execute(client.query_one(tables::IS_STANDBY, &[])).await?.get(0) {
            return Ok(());
        }
        let row = self.observed().await?;
        let observed = Observed::from(&row);
        let may_not_ask = observed.now.is_none() || observed.now == parts(observed.known).0;
        if only_reads && may_not_ask && observed.is_same_table {
            return Ok(());
        }
        timelines.loss(observed).map_or(Ok(()), |loss| Err(lost(&loss)))
    }

    /// Since when entries are lost, or were lost if a person has accepted that already.
    pub(super) async fn lost_since(&self, timelines: &Timelines) -> Result<SystemTime, StoreError> {
        let client = &self.connection.client;
        let observed = self.observed().await?;
        if timelines.loss(Observed::from(&observed)).is_none()
            && let Some(row) = execute(client.query_opt(tables::ACCEPTED_SINCE, &[])).await?
        {
            return Ok(row.get(0));
        }
        let newest = execute(client.query_opt(tables::NEWEST, &[])).await?;
        let newest = newest.as_ref().map(read).transpose()?;
        Ok(newest.map_or(SystemTime::UNIX_EPOCH, |intent| intent.created_at))
    }

    /// A person accepts the server's history as it is.
    pub(super) async fn accept(
        &self,
        by: &str,
        sent: Option<i64>,
        since: SystemTime,
    ) -> Result<(), StoreError> {
        let client = &self.connection.client;
        let (timeline, _) = execute(tables::timeline(client)).await?;
        execute(client.batch_execute("BEGIN")).await?;
        let accepting = async {
            client.execute(tables::ACCEPT, &[&timeline]).await?;
            client.execute(tables::RECORD_DECISION, &[&by, &sent, &since, &None::<&str>]).await?;
            client.batch_execute("COMMIT").await
        };
        self.connection.commit(accepting).await
    }

    /// Adds up the intents of this service, or all.
    pub(super) async fn summarize(&self, service: Option<&str>) -> Result<Vec<Tally>, StoreError> {
        let client = &self.connection.client;
        let summarizing = async {
            client.batch_execute("BEGIN").await?;
            client.batch_execute(LONG_TIMEOUT).await?;
            let rows = client.query(tables::SUMMARIZE, &[&service]).await?;
            client.batch_execute("COMMIT").await?;
            Ok(rows)
        };
        execute_long(summarizing).await?.iter().map(tally).collect()
    }

    /// Renames or removes the intents of a service in one transaction, or returns why not. After an error the connection must be
    /// closed.
    pub(super) async fn change_service(
        &self,
        change: &ServiceChange,
    ) -> Result<Option<ServiceError>, StoreError> {
        let client = &self.connection.client;
        let locking = async {
            client.batch_execute("BEGIN").await?;
            let locked = self.lock(change.service(), SERVICES).await?;
            client.batch_execute(tables::LOCK_TABLE).await?;
            client.batch_execute(LONG_TIMEOUT).await?;
            Ok(locked)
        };
        let locked = execute(locking).await?;
        self.connection.check_session(locked.get(1))?;
        let refusal = change.apply_to(&mut LockedTable { client }).await?;
        if refusal.is_some() {
            self.roll_back().await?;
        } else {
            self.connection.commit(client.batch_execute("COMMIT")).await?;
        }
        Ok(refusal)
    }

    async fn observed(&self) -> Result<Row, StoreError> {
        execute(async { self.connection.client.query_one(self.observing().await?, &[]).await }).await
    }

    /// The statement that observes the server's history, as far as this role may ask.
    async fn observing(&self) -> Result<&Statement, Error> {
        self.observe
            .get_or_try_init(async || {
                let client = &self.connection.client;
                let (_, observe) = tables::timeline(client).await?;
                client.prepare(&observe).await
            })
            .await
    }

    /// Ends the transaction with a commit of the unchanged row. An earlier commit of the row was visible, and may still not
    /// be where a failover needs it. It is there once the server confirms this one.
    async fn commit_again(&self, key: &IntentKey) -> Result<(), StoreError> {
        let client = &self.connection.client;
        let committing = async {
            client.execute(tables::WRITE_UNCHANGED, &[&key.as_str()]).await?;
            client.batch_execute("COMMIT").await
        };
        self.connection.commit(committing).await
    }

    async fn lock(&self, text: &str, of: i64) -> Result<Row, Error> {
        self.connection.client.query_one(&self.lock, &[&text, &of]).await
    }

    async fn row(&self, key: &str) -> Result<Option<Row>, Error> {
        self.connection.client.query_opt(&self.find, &[&key]).await
    }
}

/// The row of one change, in a transaction that has locked its key. Writing it also commits.
struct ChangedRow<'a> {
    session: &'a Session,
    /// What something that is to begin has observed of the server's history.
    observed: Option<Row>,
    timelines: &'a Timelines,
    unconfirmed: &'a mut Option<Intent>,
}

impl ChangedRow<'_> {
    /// Records what the journal does not know yet. Before that, nobody could notice a loss.
    async fn record_history(&self) -> Result<(), StoreError> {
        let Some(observed) = self.observed.as_ref().map(Observed::from) else { return Ok(()) };
        let client = &self.session.connection.client;
        match observed.unknown() {
            Some(now) if observed.may_record => {
                execute(client.execute(tables::RECORD_TIMELINE, &[&observed.known, &now])).await?;
            }
            Some(_) if self.timelines.is_first_to_log("not recorded") => events::timeline_not_recorded(),
            None if observed.now.is_none() && self.timelines.is_first_to_log("not observed") => {
                events::timeline_not_observed();
            }
            _ => {}
        }
        Ok(())
    }
}

impl RowTransaction for ChangedRow<'_> {
    type Error = StoreError;

    async fn check_history(&mut self) -> Result<(), StoreError> {
        let observed = self.observed.as_ref().map(Observed::from);
        let loss = observed.and_then(|observed| self.timelines.loss(observed));
        loss.map_or(Ok(()), |loss| Err(lost(&loss)))
    }

    async fn holder(&mut self, change: &Change, row: &Intent) -> Result<Option<IntentKey>, StoreError> {
        let Some(id) = change.transaction_to_search() else { return Ok(None) };
        let Session { connection, other_holder, .. } = self.session;
        let (id, key, is_void) = (stored(id.as_str()), row.key.as_str(), row.is_void());
        // Two changes with the same transaction search one after the other, and from here to the commit no service is renamed.
        let searching = async {
            let values: [&(dyn ToSql + Sync); 4] = [&id, &key, &is_void, &base_url(row.stored_service())];
            let keep_services = connection.client.batch_execute(tables::KEEP_SERVICES);
            let holder = connection.client.query_opt_scalar::<String, _>(other_holder, &values);
            try_join!(biased; keep_services, self.session.lock(&id, TRANSACTIONS), holder)
        };
        let (.., holder) = execute(searching).await?;
        Ok(holder.map(IntentKey::from_kept))
    }

    async fn write(&mut self, found: Option<&Intent>, row: &Intent) -> Result<(), StoreError> {
        self.check_history().await?;
        self.record_history().await?;
        let Session { connection, write, .. } = self.session;
        let columns = Columns::of(row);
        let processed_as = columns.processed_as.map(stored);
        let also_held: Vec<_> = columns.also_held.into_iter().map(stored).collect();
        let values: [&(dyn ToSql + Sync); 9] = [
            &columns.key,
            &columns.state,
            &processed_as,
            &columns.is_void,
            &columns.service,
            &row.revision.cast_signed(),
            &columns.document,
            &found.map_or(0, |found| found.revision.cast_signed()),
            &also_held,
        ];
        let client = &connection.client;
        let writing =
            async { try_join!(biased; client.execute(write, &values), client.batch_execute("COMMIT")) };
        let written = connection.commit(writing).await;
        if written.as_ref().is_err_and(StoreError::is_in_doubt) {
            *self.unconfirmed = Some(row.clone());
        }
        match written? {
            (1, ()) => Ok(()),
            _ => Err(StoreError::unavailable(
                "another program changed the intent at the same moment without taking its lock",
            )
            .unchanged("")),
        }
    }
}

/// A transaction that has locked the whole table.
struct LockedTable<'a> {
    client: &'a Client,
}

impl ServiceTransaction for LockedTable<'_> {
    type Error = StoreError;

    async fn tallies(&mut self, service: &str) -> Result<Vec<Tally>, StoreError> {
        let tallies = execute_long(self.client.query(tables::SUMMARIZE, &[&service])).await?;
        tallies.iter().map(tally).collect()
    }

    async fn same_transactions(&mut self, service: &str, at: &str) -> Result<Vec<String>, StoreError> {
        let named = i64::from(NAMED);
        let values: [&(dyn ToSql + Sync); 3] = [&service, &at, &named];
        let same = execute_long(self.client.query(tables::SAME_TRANSACTIONS, &values)).await?;
        Ok(same.iter().map(|row| row.get(0)).collect())
    }

    async fn rename(&mut self, change: &ServiceChange, to: &str) -> Result<(), StoreError> {
        let (client, service, mut done) = (self.client, change.service(), i64::MIN);
        loop {
            let rows = execute_long(client.query(tables::OF_SERVICE, &[&service, &done])).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            done = last.get("position");
            let positions: Vec<i64> = rows.iter().map(|row| row.get("position")).collect();
            let renamed = rows.iter().map(|row| read(row).map(|found| change.renamed(&found)));
            let renamed = renamed.collect::<Result<Vec<_>, _>>()?;
            let revisions: Vec<_> = renamed.iter().map(|intent| intent.revision.cast_signed()).collect();
            let documents: Vec<_> = renamed.iter().map(document).collect();
            let values: [&(dyn ToSql + Sync); 4] = [&to, &positions, &revisions, &documents];
            execute(client.execute(tables::RENAME, &values)).await?;
        }
    }

    async fn forget(&mut self, service: &str) -> Result<(), StoreError> {
        execute_long(self.client.execute(tables::FORGET, &[&service])).await.map(drop)
    }

    async fn record(&mut self, change: &ServiceChange) -> Result<(), StoreError> {
        let (by, count, done) = (change.by(), Some(change.count().cast_signed()), Some(change.done()));
        let values: [&(dyn ToSql + Sync); 4] = [&by, &count, &None::<SystemTime>, &done];
        execute(self.client.execute(tables::RECORD_DECISION, &values)).await.map(drop)
    }
}

/// Compares the timeline and the cluster of the server with those that the journal knows.
#[derive(Debug, Default)]
pub(super) struct Timelines {
    /// The caller knows that a new timeline has lost nothing.
    pub(super) accepts_timelines: bool,
    /// What the log says already: each timeline that was accepted, and what is not observed.
    pub(super) logged: Mutex<HashSet<String>>,
}

impl Timelines {
    fn is_first_to_log(&self, what: &str) -> bool {
        self.logged.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned())
    }

    /// Why the server may lack commits.
    fn loss(&self, observed: Observed<'_>) -> Option<String> {
        let ((was, was_in), (is, is_in)) = (parts(observed.known), parts(observed.now));
        let is_another = was_in.zip(is_in).is_some_and(|(was_in, is_in)| was_in != is_in);
        let is_hidden = was_in.is_some() && is_in.is_none();
        match (was, is) {
            _ if !observed.is_same_table => Some("its table was restored from a dump".to_owned()),
            _ if is_another => Some("it was restored into another server or database".to_owned()),
            (Some(was), Some(is)) if was == is && !is_hidden => None,
            (Some(was), is) if self.accepts_timelines && !is_hidden => {
                if self.is_first_to_log(is.unwrap_or("no timeline")) {
                    events::new_timeline(was, is);
                }
                None
            }
            (Some(was), Some(is)) if was != is => {
                Some(format!("the server was promoted or restored: its timeline is {is}, and was {was}"))
            }
            (Some(_), Some(_)) => Some(
                "this user may not ask for the identifier of the server's cluster, which the journal knows: GRANT EXECUTE ON \
                 FUNCTION pg_control_system() to it, because accept-history by this user does not help"
                    .to_owned(),
            ),
            (Some(_), None) => Some("this user may no longer ask for the server's timeline".to_owned()),
            (None, _) => None,
        }
    }
}

/// The timeline and the cluster that the journal knows and those of now, as far as this user may ask, as the statement of
/// [`tables::timeline`] reads them.
#[derive(Clone, Copy)]
struct Observed<'a> {
    known: Option<&'a str>,
    now: Option<&'a str>,
    is_same_table: bool,
    may_record: bool,
}

impl<'a> From<&'a Row> for Observed<'a> {
    fn from(row: &'a Row) -> Self {
        Self { known: row.get(0), now: row.get(1), is_same_table: row.get(2), may_record: row.get(3) }
    }
}

impl<'a> Observed<'a> {
    /// What is observed now, if the journal does not know all of it and nothing contradicts it.
    fn unknown(self) -> Option<&'a str> {
        let ((was, was_in), (is, is_in)) = (parts(self.known), parts(self.now));
        let is_more = was.is_none() || was == is && was_in.is_none() && is_in.is_some();
        self.now.filter(|_| is_more)
    }
}

/// The timeline and the cluster, as far as they are known.
fn parts(observed: Option<&str>) -> (Option<&str>, Option<&str>) {
    match observed.map(|observed| observed.split_once(' ').ok_or(observed)) {
        Some(Ok((timeline, cluster))) => (Some(timeline), Some(cluster)),
        Some(Err(timeline)) => (Some(timeline), None),
        None => (None, None),
    }
}

fn lost(why: &str) -> StoreError {
    StoreError::history_lost(format!(
        "the journal's database may lack its newest entries ({why}): what they charged would be charged again; use the server \
         that has them, or find out which keys were sent since, and accept the loss with them: payments journal accept-history, \
         see \"A restored copy\" in docs/journal-operations.md"
    ))
}

/// An id as it is stored and searched for. PostgreSQL cannot store NUL, which is escaped in the document.
fn stored(id: &str) -> String {
    id.replace('\0', "\u{fffd}")
}

/// The intent of a row that begins with the columns of [`tables::FIND`].
pub(super) fn read(row: &Row) -> Result<Intent, StoreError> {
    let columns = (|| {
        let searched = (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
        Ok::<_, Error>((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, searched))
    })();
    let (key, state, document, searched) = columns.map_err(|error| {
        StoreError::damaged("the table payments_journal.intents has unexpected columns")
            .because(error.to_string())
    })?;
    intent(key, state, document, searched)
}

/// A row of [`tables::SUMMARIZE`].
fn tally(row: &Row) -> Result<Tally, StoreError> {
    let read = (|| {
        let (state, sum): (&str, &str) = (row.try_get(0).ok()?, row.try_get(3).ok()?);
        let (sender, count): (Option<&str>, i64) = (row.try_get(1).ok()?, row.try_get(2).ok()?);
        let lost: i64 = row.try_get(5).ok()?;
        let of = StateSummary {
            state: StateName::from_name(state)?,
            count: count.unsigned_abs(),
            // An amount that was stored is one. Only the sum can be too large.
            sum: sum.parse().ok(),
            lost: lost.unsigned_abs(),
            oldest: Some(milliseconds::time(row.try_get(4).ok()?)?),
        };
        Some(Tally { of, sender: sender.map(OwnerId::from_kept) })
    })();
    read.ok_or_else(|| {
        StoreError::damaged("the table payments_journal.intents has rows that this version cannot read")
    })
}

/// The kinds of locked text: intent keys, transaction ids, and services.
const KEYS: i64 = 1;
const TRANSACTIONS: i64 = 2;
const SERVICES: i64 = 3;
