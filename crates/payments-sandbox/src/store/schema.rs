//! The tables and their SQL statements.
//!
//! A change that an older or newer version could not read must increase [`VERSION`].

use rusqlite::Connection;

/// `PAYS` in ASCII, which identifies a data file of the sandbox.
pub(crate) const APPLICATION_ID: i32 = 0x5041_5953;

/// The version of the tables.
pub(crate) const VERSION: i32 = 1;

/// Creates the tables in an empty database, within a transaction.
///
/// `position` is the order of the records. A changed customer or token keeps its row and its position. A voided transaction
/// gets a second row, and the later row is the current one: an index over the random ids of all transactions would make
/// every commit several times as large, and a transaction changes at most once. An API key is stored as its HMAC with a key
/// that only this file has, so two files do not reveal that they have a tenant in common.
pub(crate) fn create(connection: &Connection, hash_key: &[u8]) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE meta (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            hash_key BLOB NOT NULL,
            starts INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE tenant (
            id INTEGER PRIMARY KEY,
            key_hash BLOB NOT NULL UNIQUE
        ) STRICT;
        CREATE TABLE record (
            position INTEGER PRIMARY KEY,
            tenant INTEGER NOT NULL REFERENCES tenant (id),
            kind INTEGER NOT NULL,
            id TEXT NOT NULL,
            document TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX record_that_changes ON record (tenant, kind, id) WHERE kind <> 1;",
    )?;
    connection.execute("INSERT INTO meta (row, hash_key, starts) VALUES (1, ?1, 0)", [hash_key])?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)
}

/// The first table or index, such as `table record`, that is missing or differs from what [`create`] creates. Additional ones,
/// such as an index for a person's own queries, are ignored.
pub(crate) fn first_difference(connection: &Connection) -> rusqlite::Result<Option<String>> {
    const DEFINITION: &str = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
    let model = Connection::open_in_memory()?;
    create(&model, &[])?;
    let mut expected = model.prepare(DEFINITION)?;
    let mut expected = expected.query([])?;
    let mut is_there = connection.prepare(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2 AND replace(sql, ' ', '') = ?3)",
    )?;
    while let Some(row) = expected.next()? {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        // A file keeps the text of its own `CREATE` statement, whose indentation may differ from this version's.
        let sql = row.get_ref(2)?.as_str()?.replace(' ', "");
        if !is_there.query_row([&kind, &name, &sql], |row| row.get(0))? {
            return Ok(Some(format!("{kind} {name}")));
        }
    }
    Ok(None)
}

/// Counts this start. Returns the number of starts and the key for hashing API keys.
pub(crate) const COUNT_START: &str = "UPDATE meta SET starts = starts + 1 RETURNING starts, hash_key";

/// The row of the tenant with this hash, which is created if it is new.
pub(crate) const TENANT: &str = "INSERT INTO tenant (key_hash) VALUES (?1)
    ON CONFLICT (key_hash) DO UPDATE SET key_hash = excluded.key_hash RETURNING id";

/// Every record, in order.
pub(crate) const ALL_RECORDS: &str = "SELECT tenant, kind, id, document FROM record ORDER BY position";

/// A new customer or token is appended, a changed one keeps its position. A transaction is always appended.
pub(crate) const PUT_RECORD: &str = "INSERT INTO record (tenant, kind, id, document) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (tenant, kind, id) WHERE kind <> 1 DO UPDATE SET document = excluded.document";

pub(crate) const CLEAR_RECORDS: &str = "DELETE FROM record WHERE tenant = ?1";

/// The kinds of records, as numbers in the file.
pub(crate) const TRANSACTION: i64 = 1;
pub(crate) const TOKEN: i64 = 2;
pub(crate) const CUSTOMER: i64 = 3;
