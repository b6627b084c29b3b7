use std::cmp::Ordering;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, GenericClient, Transaction};

use super::connection::{Connection, LONG_TIMEOUT, execute, execute_long};
use crate::row::{ended, names};
use crate::{StateName, StoreError};

/// Creates the tables if there are none, and returns whether it did. Tables of an older version are brought forward. Of many
/// processes that do this at once, one does it and the others wait.
pub(super) async fn create(connection: &mut Connection) -> Result<bool, StoreError> {
    let mut was_created = false;
    if is_missing(connection).await? {
        let creating = async {
            let mut transaction = locked(connection).await?;
            let is_missing = transaction.query_one(IS_MISSING, &[]).await?.get(0);
            if is_missing {
                if transaction.query_one(HAS_NO_SCHEMA, &[]).await?.get(0) {
                    transaction.batch_execute("CREATE SCHEMA payments_journal").await?;
                }
                transaction.batch_execute(CREATE).await?;
                let observing = transaction.savepoint("timeline").await?;
                let (timeline, _) = timeline(&observing).await?;
                // Also if it was refused, which has ended the transaction up to here.
                observing.rollback().await?;
                let insert = "INSERT INTO payments_journal.meta
                    VALUES ($1, $2, 'payments_journal.intents'::regclass)";
                transaction.execute(insert, &[&VERSION, &timeline]).await?;
            }
            transaction.commit().await?;
            Ok(is_missing)
        };
        was_created = execute_long(creating).await?;
    }
    bring_forward(connection, MIGRATIONS).await?;
    check(connection).await?;
    Ok(was_created)
}

/// A transaction in which no other process changes the tables.
async fn locked(connection: &mut Connection) -> Result<Transaction<'_>, Error> {
    let transaction = connection.client.transaction().await?;
    // The other processes may wait longer than a statement may take.
    transaction.batch_execute(LONG_TIMEOUT).await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    Ok(transaction)
}

/// Makes the version after the last migration out of an older one, in one transaction. Other tables stay as they are.
async fn bring_forward(connection: &mut Connection, migrations: &[&str]) -> Result<(), StoreError> {
    let migrate = async {
        let mut version = 1;
        let found: i32 = connection.client.query_one(FOUND_VERSION, &[]).await?.get(0);
        if usize::try_from(found).is_ok_and(|found| found == 0 || found > migrations.len()) {
            return Ok(());
        }
        let transaction = locked(connection).await?;
        // Read again, because another process may have done it meanwhile.
        let found: i32 = transaction.query_one(FOUND_VERSION, &[]).await?.get(0);
        if usize::try_from(found).is_ok_and(|found| found > migrations.len()) {
            return transaction.rollback().await;
        }
        for migration in migrations {
            if version >= found {
                transaction.batch_execute(migration).await?;
            }
            version += 1;
        }
        transaction.execute("UPDATE payments_journal.meta SET version = $1", &[&version]).await?;
        transaction.commit().await
    };
    execute_long(migrate).await
}

/// Whether the tables do not exist. Those before version 1 are refused.
pub(super) async fn is_missing(connection: &Connection) -> Result<bool, StoreError> {
    let row = execute(connection.client.query_one(IS_MISSING, &[])).await?;
    if row.get(1) {
        return Err(StoreError::refused(
            "the journal's tables were made by a version that was never released, and no other version reads them; they were left \
             unchanged",
        ));
    }
    Ok(row.get(0))
}

/// Checks that the tables have this version.
pub(super) async fn check(connection: &Connection) -> Result<(), StoreError> {
    if is_missing(connection).await? {
        return Err(StoreError::damaged(
            "the journal's tables are missing, and a new journal would charge their keys again: find out why before you charge anything",
        ));
    }
    let row = execute(connection.client.query_one(VERSION_AND_IS_LOGGED, &[])).await?;
    let found: i32 = row.get(0);
    match (found.cmp(&VERSION), row.get(1)) {
        (Ordering::Greater, _) => Err(StoreError::newer(format!(
            "the journal's tables have version {found}, and this program knows {VERSION}: use a newer program"
        ))),
        (Ordering::Less, _) => Err(StoreError::refused(format!(
            "the journal's tables have version {found}, and this program reads {VERSION}; they were left unchanged: connect once \
             with a program that charges, which brings them forward"
        ))),
        (Ordering::Equal, Some(true)) => Ok(()),
        (Ordering::Equal, Some(false)) => Err(StoreError::refused(
            "the table payments_journal.intents is UNLOGGED: a crash empties it, and every key would be sent twice; run \
             ALTER TABLE payments_journal.intents SET LOGGED",
        )),
        (Ordering::Equal, None) => Err(StoreError::damaged(
            "the table payments_journal.intents is missing, and a new one would charge its keys again: find out why before you \
             charge anything",
        )),
    }
}

/// The server's timeline, followed by the identifier of its cluster, as far as this user may ask for them; and the statement that
/// [observes](OBSERVE) them.
pub(super) async fn timeline(client: &impl GenericClient) -> Result<(Option<String>, String), Error> {
    let may_ask_more = client.query_one(MAY_ASK_FOR_CLUSTER, &[]).await?.get(0);
    let asked = if may_ask_more { TIMELINE_AND_CLUSTER } else { TIMELINE };
    let (timeline, asked) = match client.query_one(&format!("SELECT {asked}"), &[]).await {
        Ok(row) => (row.try_get(0)?, asked),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => (None, "NULL::text"),
        Err(error) => return Err(error),
    };
    Ok((timeline, OBSERVE.replace("$now", asked)))
}

/// The version of the tables, and of the documents in them, that this crate writes and reads.
const VERSION: i32 = 1;

/// The statements that make the next version of each version, from 1 on. A program of the older version may be connected: they
/// must also make its statements fail, for example by another name of a column.
///
/// A new version also needs a dump in `tests/fixtures`: see `tests/journal/fixtures.rs`.
const MIGRATIONS: &[&str] = &[];

const FOUND_VERSION: &str = "SELECT version FROM payments_journal.meta";

/// Any number; this one is "payments" as text.
const LOCK: i64 = 0x7061_796d_656e_7473;

// These read the catalog tables, because `to_regclass` and similar functions may return what this connection knew before it
// waited for the lock.
const IS_MISSING: &str = "
    SELECT count(*) FILTER (WHERE relname = 'meta') = 0, bool_or(relname = 'version') IS TRUE
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'payments_journal'";
const HAS_NO_SCHEMA: &str = "SELECT NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'payments_journal')";
const VERSION_AND_IS_LOGGED: &str = "
    SELECT version, (
        SELECT relpersistence = 'p' FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = 'payments_journal' AND relname = 'intents'
    ) FROM payments_journal.meta";

/// The schema's name is fixed, because with two values of `search_path` one journal would become two.
///
/// The key is compared byte by byte, because an index in a language's collation breaks with a new version of the operating
/// system's library, and then the same key can be inserted twice. `stored_at` is the server's time. `processed_as` is indexed by
/// hash, because other index types refuse long values, and the outcome of a charge must never be refused. It is the first
/// transaction that the intent holds; `also_held` has the hashes of the others, of which few intents have any. `was_lost` means that
/// the row was not added by a begin, as all others: its begin was lost, and it was added by the end, or by a person who named the key.
const CREATE: &str = r#"
    CREATE TABLE payments_journal.meta (version integer NOT NULL, timeline text, intents oid NOT NULL);
    CREATE TABLE payments_journal.accepted (
        at timestamptz NOT NULL,
        by text NOT NULL,
        sent bigint,
        since timestamptz,
        what text
    );
    CREATE TABLE payments_journal.intents (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key text COLLATE "C" NOT NULL UNIQUE,
        state text NOT NULL,
        processed_as text COLLATE "C",
        is_void boolean NOT NULL,
        service text COLLATE "C" NOT NULL,
        revision bigint NOT NULL,
        document text NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT now(),
        also_held bigint[],
        was_lost boolean NOT NULL DEFAULT false
    );
    CREATE INDEX intents_unresolved ON payments_journal.intents (position) WHERE state IN ('sending', 'unknown');
    CREATE INDEX intents_processed ON payments_journal.intents USING hash (processed_as);
    CREATE INDEX intents_also_held ON payments_journal.intents USING gin (also_held) WITH (fastupdate = off)
        WHERE also_held IS NOT NULL"#;

/// Locks a text of a kind until the transaction ends, and returns the id of the session. The server computes the number, so that
/// programs of every version lock the same one. Two texts with the same number only wait for each other.
pub(super) const LOCK_TEXT: &str = "
    SELECT pg_advisory_xact_lock(hashtextextended($1, $2)), current_setting('payments_journal.session', true)";

/// The server's timeline. A promoted standby has a new one.
const TIMELINE: &str = "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

/// Its cluster has an identifier, made by `initdb`, which a standby shares. A dump that is restored into a new server may find the
/// timeline and the table's number of the server before it, but never this. A database that is made from another one as its
/// template has the same table's number, but another number of its own, which stays if it is renamed.
const TIMELINE_AND_CLUSTER: &str = "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' ' || \
     (SELECT system_identifier FROM pg_control_system()) || '/' || \
     (SELECT oid FROM pg_database WHERE datname = current_database())";

const MAY_ASK_FOR_CLUSTER: &str = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')";

pub(super) const IS_STANDBY: &str = "SELECT pg_is_in_recovery()";

/// The timeline and the table that the journal knows, and those of now, and whether this user may record the timeline. A table that
/// was restored from a dump is another one; after VACUUM FULL it is the same.
const OBSERVE: &str = "
    SELECT timeline, $now, intents = 'payments_journal.intents'::regclass::oid,
        has_column_privilege('payments_journal.meta', 'timeline', 'UPDATE')
    FROM payments_journal.meta";

/// Records the timeline `$2` if the journal still knows `$1`.
pub(super) const RECORD_TIMELINE: &str =
    "UPDATE payments_journal.meta SET timeline = $2 WHERE timeline IS NOT DISTINCT FROM $1";

/// A person accepts the server's timeline, if it may be asked for, and the table. Who may not ask for the cluster keeps the one
/// that is known for this timeline: without it, nobody would notice a dump any more.
pub(super) const ACCEPT: &str = "
    UPDATE payments_journal.meta SET intents = 'payments_journal.intents'::regclass,
        timeline = CASE WHEN split_part(timeline, ' ', 1) = $1 THEN timeline ELSE $1 END";

/// Who accepted it, how many keys they named, or NULL if nothing was sent, and since when entries are lost. It is the newest, also
/// by the clock of another server. With `what` it says instead that a person has renamed or forgotten a service, of this number of
/// intents.
pub(super) const RECORD_DECISION: &str = "
    INSERT INTO payments_journal.accepted
    SELECT greatest(now(), max(at)), $1, $2, $3, $4 FROM payments_journal.accepted";

/// Nothing else is written until the transaction ends. Rows can be read.
pub(super) const LOCK_TABLE: &str = "LOCK TABLE payments_journal.intents IN SHARE ROW EXCLUSIVE MODE";

/// Waits for [`LOCK_TABLE`], and keeps it away until the transaction ends. A row that is written does that too, but only then.
pub(super) const KEEP_SERVICES: &str = "LOCK TABLE payments_journal.intents IN ROW EXCLUSIVE MODE";

/// A query of rows that [`read`](super::session::read) reads.
macro_rules! rows {
    ($which:literal) => {
        concat!(
            "SELECT key, state, document, processed_as, is_void, service, position FROM payments_journal.intents ",
            $which
        )
    };
}

/// The base URL of the service of a row.
macro_rules! base_url {
    () => {
        "split_part(service, '#', 1)"
    };
}

/// Adds up the intents of the service `$1`, or all. The server cannot read an escaped NUL in JSON.
pub(super) const SUMMARIZE: &str = r"
    SELECT state, CASE WHEN state = 'sending' THEN read->>'owner' END, count(*),
        coalesce(sum((read->'request'->>'amount')::numeric), 0)::text, min((read->>'begun_at')::bigint),
        count(*) FILTER (WHERE read->'request'->>'subject' = 'lost' AND read->'request'->>'operation' IS NULL)
    FROM (
        SELECT state, replace(document, '\u0000', '\ufffd')::json AS read
        FROM payments_journal.intents WHERE $1::text IS NULL OR service = $1 OFFSET 0
    ) AS intents GROUP BY 1, 2";

/// At most 1000 rows of the service `$1` from after position `$2`.
pub(super) const OF_SERVICE: &str =
    rows!("WHERE service = $1 AND position > $2 ORDER BY position LIMIT 1000");

/// Renames the rows at the positions `$2`. What they say is as old as before.
pub(super) const RENAME: &str = "
    UPDATE payments_journal.intents SET service = $1, revision = renamed.revision, document = renamed.document
    FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS renamed (position, revision, document)
    WHERE intents.position = renamed.position";

pub(super) const FORGET: &str = "DELETE FROM payments_journal.intents WHERE service = $1";

/// At most `$3` keys of the service `$1` that hold a transaction which an intent of another one at the base URL `$2` holds too.
pub(super) const SAME_TRANSACTIONS: &str = concat!(
    "WITH held AS (
        SELECT hashtextextended(processed_as, 0) AS id, key, is_void, service FROM payments_journal.intents
        WHERE processed_as IS NOT NULL
        UNION ALL SELECT unnest(also_held), key, is_void, service FROM payments_journal.intents
        WHERE also_held IS NOT NULL
    )
    SELECT DISTINCT key FROM held WHERE service = $1 AND (id, is_void) IN (
        SELECT id, is_void FROM held WHERE service <> $1 AND ",
    base_url!(),
    " = $2
    ) ORDER BY key LIMIT $3"
);

/// The newest intent, of those whose begin the journal has. A copy of the journal ends at this time or later.
pub(super) const NEWEST: &str = rows!("WHERE NOT was_lost ORDER BY position DESC LIMIT 1");

/// Since when entries were lost that a person accepted last.
pub(super) const ACCEPTED_SINCE: &str =
    "SELECT since FROM payments_journal.accepted WHERE since IS NOT NULL ORDER BY at DESC LIMIT 1";

pub(super) const FIND: &str = rows!("WHERE key = $1");

pub(super) const FIND_BY_END: &str = rows!("WHERE right(key, 4) = $1");

/// Writes a row if it has not changed since it was read: its revision is then `$8`, or there is no row. A row that was purged
/// meanwhile is inserted again.
pub(super) const WRITE: &str = "
    INSERT INTO payments_journal.intents AS found
        (key, state, processed_as, is_void, service, revision, document, also_held, was_lost)
    VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT array_agg(hashtextextended(id, 0)) FROM unnest($9::text[]) AS id),
        $2 <> 'sending')
    ON CONFLICT (key) DO UPDATE
    SET state = $2, processed_as = $3, is_void = $4, service = $5, revision = $6, document = $7, stored_at = now(),
        also_held = excluded.also_held
    WHERE found.revision = $8";

/// Without a write, a commit waits for no standby.
pub(super) const WRITE_UNCHANGED: &str =
    "UPDATE payments_journal.intents SET revision = revision WHERE key = $1";

/// The key, other than `$2`, of a void (`$3`) or of a payment that holds the transaction `$1` of the base URL `$4`. A void and its
/// payment may have the same transaction; two payments, or two voids, may not.
pub(super) const OTHER_HOLDER: &str = concat!(
    "SELECT key FROM payments_journal.intents
    WHERE processed_as = $1 AND key <> $2 AND is_void = $3 AND (",
    base_url!(),
    " IN ($4, '') OR $4 = '')
    UNION ALL SELECT key FROM payments_journal.intents
    WHERE also_held @> ARRAY[hashtextextended($1, 0)] AND key <> $2 AND is_void = $3 AND (",
    base_url!(),
    " IN ($4, '') OR $4 = '') LIMIT 1"
);

/// The states are literals, because only then the index of unresolved rows is used.
pub(super) fn list(states: &[StateName]) -> String {
    format!(rows!("WHERE state IN ({}) AND position > $1 ORDER BY position LIMIT $2"), names(states))
}

/// Removes at most `$2` rows that were stored more than `$1` seconds ago, by the server's time. Returns how many, and the
/// newest of their times. A row that another transaction has changed meanwhile is checked again before it is removed.
pub(super) fn purge() -> String {
    let is_old = format!("state IN ({}) AND stored_at < now() - $1::bigint * interval '1 second'", ended());
    format!(
        "WITH purged AS (
            DELETE FROM payments_journal.intents
            WHERE {is_old} AND position = ANY (ARRAY(
                SELECT position FROM payments_journal.intents WHERE {is_old} LIMIT $2))
            RETURNING stored_at
        ) SELECT count(*), max(stored_at) FROM purged"
    )
}

#[cfg(test)]
mod tests {
    use payments_postgres_for_tests::Server;

    use super::*;
    use crate::postgres_store::address::Address;
    use crate::postgres_store::connection::{Access, MAX_WAIT};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn older_tables_are_brought_forward_one_version_after_another() {
        let Some(server) = Server::start() else { return };
        let address = Address::parse(&server.url()).unwrap();
        let mut connection = Connection::open(&address, Access::Write).await.unwrap();
        assert!(create(&mut connection).await.unwrap());
        let migrations = ["CREATE TABLE payments_journal.two ()", "DROP TABLE payments_journal.two"];
        for known in [1, 2, 2, 1] {
            bring_forward(&mut connection, &migrations[..known]).await.unwrap();
            let version: i32 = connection.client.query_one(FOUND_VERSION, &[]).await.unwrap().get(0);
            // What a newer version has made is left alone.
            let is_newer = check(&connection).await.unwrap_err().is_newer();
            assert!(is_newer && (known == 1 || version == 3), "{version}");
        }
        assert_eq!(usize::try_from(VERSION), Ok(MIGRATIONS.len() + 1));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_migration_may_take_longer_than_any_other_statement() {
        let Some(server) = Server::start() else { return };
        let address = Address::parse(&server.url()).unwrap();
        let mut connection = Connection::open(&address, Access::Write).await.unwrap();
        create(&mut connection).await.unwrap();
        let slow = format!("SELECT pg_sleep({})", MAX_WAIT.as_secs() + 1);
        bring_forward(&mut connection, &[&slow]).await.unwrap();
        assert!(check(&connection).await.unwrap_err().is_newer());
    }

    #[tokio::test]
    async fn other_holder_of_a_transaction_is_found_by_index() {
        let Some(server) = Server::start() else { return };
        let address = Address::parse(&server.url()).unwrap();
        let mut connection = Connection::open(&address, Access::Write).await.unwrap();
        create(&mut connection).await.unwrap();
        let client = &connection.client;
        client.batch_execute("SET enable_seqscan = off").await.unwrap();
        let (explain, service) = (format!("EXPLAIN {OTHER_HOLDER}"), "https://pay.example.com");
        let plan = client.query(&explain, &[&"txn_1", &"k", &false, &service]).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        for index in ["intents_processed", "intents_also_held"] {
            assert!(plan.iter().any(|line| line.contains(index)), "{index}: {plan:#?}");
        }
    }
}
