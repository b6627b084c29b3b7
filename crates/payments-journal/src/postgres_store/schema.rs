use tokio_postgres::Client;

use super::fault::{Fault, ask};
use super::link::Link;
use crate::StoreError;
use crate::row::OLDER;

/// Makes the tables if there are none.
///
/// Many processes may do this at once: one does it, the others wait for its lock.
pub(super) async fn bring_up(link: &mut Link) -> Result<(), StoreError> {
    if !is_missing(link).await? {
        return check(link).await;
    }
    let making = async {
        let transaction = link.client.transaction().await?;
        // The first of many makes others wait for longer than a statement may take.
        transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        if !transaction.query_one(HAS_VERSION, &[]).await?.get::<_, bool>(0) {
            if transaction.query_one(HAS_NO_SCHEMA, &[]).await?.get(0) {
                transaction.batch_execute("CREATE SCHEMA payments_journal").await?;
            }
            transaction.batch_execute(CREATE).await?;
            transaction.execute("INSERT INTO payments_journal.version VALUES ($1)", &[&VERSION]).await?;
        }
        transaction.commit().await
    };
    ask(making).await.map_err(Fault::of_reading)?;
    check(link).await
}

/// Whether the tables are of this version.
pub(super) async fn check(link: &Link) -> Result<(), StoreError> {
    let found = version(&link.client).await?;
    if found > VERSION {
        return Err(StoreError::newer(format!(
            "the journal's tables are of version {found}, and this program knows {VERSION}: use a newer program"
        )));
    }
    if found == 0 {
        return Err(StoreError::damaged("the journal's tables have gone"));
    }
    if found < VERSION {
        return Err(StoreError::refused(format!(
            "the journal's tables are of version {found}, and this program reads {VERSION}; they were left as they are: {OLDER}"
        )));
    }
    let row = ask(link.client.query_opt(PERSISTENCE, &[])).await.map_err(Fault::of_reading)?;
    match row.map(|row| row.get::<_, bool>(0)) {
        Some(true) => Ok(()),
        Some(false) => Err(StoreError::refused(
            "the table payments_journal.intents is UNLOGGED, so that a crash empties it, and every key would be sent twice: \
             ALTER TABLE payments_journal.intents SET LOGGED",
        )),
        None => Err(StoreError::damaged("the table payments_journal.intents has gone")),
    }
}

/// Whether no table was ever made here.
pub(super) async fn is_missing(link: &Link) -> Result<bool, StoreError> {
    Ok(version(&link.client).await? == 0)
}

/// 0 where there are none.
async fn version(client: &Client) -> Result<i32, StoreError> {
    let reading = async {
        if !client.query_one(HAS_VERSION, &[]).await?.get::<_, bool>(0) {
            return Ok(0);
        }
        Ok(client.query_one(READ_VERSION, &[]).await?.get(0))
    };
    ask(reading).await.map_err(Fault::of_reading)
}

/// What this crate writes and reads.
const VERSION: i32 = 3;

/// Any number; this one is "payments" as text.
const LOCK: i64 = 0x7061_796d_656e_7473;

// Asked of the catalogue's tables: `to_regclass` and its like may answer out of what this connection knew before it waited
// for the lock.
const HAS_VERSION: &str = "
    SELECT EXISTS (
        SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = 'payments_journal' AND relname = 'version'
    )";
const READ_VERSION: &str = "SELECT version FROM payments_journal.version";
const HAS_NO_SCHEMA: &str = "SELECT NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'payments_journal')";
const PERSISTENCE: &str = "
    SELECT relpersistence = 'p' FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'payments_journal' AND relname = 'intents'";

/// A schema of a name that never differs, because a `search_path` that did would make two journals of one.
///
/// The key is compared byte by byte, because an index in the order of a language breaks with a new version of the operating
/// system's library, and then the same key goes in twice. `stored_at` is the server's time. `processed_as` is indexed by
/// hash, because an index of another kind refuses long values, and no end of a charge may be refused.
const CREATE: &str = r#"
    CREATE TABLE payments_journal.version (version integer NOT NULL);
    CREATE TABLE payments_journal.intents (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key text COLLATE "C" NOT NULL UNIQUE,
        state text NOT NULL,
        operation text NOT NULL,
        amount text,
        transaction_id text,
        processed_as text COLLATE "C",
        created_at bigint NOT NULL,
        begun_at bigint NOT NULL,
        changed_at bigint NOT NULL,
        revision bigint NOT NULL,
        document text NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX intents_unresolved ON payments_journal.intents (position) WHERE state IN ('sending', 'unknown');
    CREATE INDEX intents_processed ON payments_journal.intents USING hash (processed_as)"#;
