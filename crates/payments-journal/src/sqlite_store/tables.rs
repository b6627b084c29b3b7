//! The tables, and every statement that uses them.
//!
//! A change here, or of the document of an intent, that an older or newer version could not read is a new [`VERSION`]: add a
//! migration to [`MIGRATIONS`], and a file of the new version to `tests/fixtures` (see `tests/journal/fixtures.rs`).

use std::collections::BTreeMap;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::milliseconds;
use crate::row::{ended, intent, names};
use crate::summary::Tally;
use crate::{Intent, IntentKey, OwnerId, Rows, StateName};

/// `PJNL` in ASCII, which identifies a file as a journal of intents.
pub(super) const APPLICATION_ID: i32 = 0x504A_4E4C;

/// Of the files before version 1, which was the first to be released.
pub(super) const UNRELEASED_APPLICATION_ID: i32 = 0x5041_594A;

/// The version of the tables and of the documents in them.
pub(super) const VERSION: i32 = 1;

/// The statements that make the next version of each version, from 1 on.
pub(super) const MIGRATIONS: &[&str] = &[];

/// The tables and indexes, as SQLite stores their definitions.
///
/// - `position` is the order in which intents were first written, and the key of the table. Rows are added at the end, so a
///   million keys in random order scatter the entries of one narrow index and not the rows. In addition to its row, a change
///   touches only that index and the one of unresolved rows, until the row is processed.
/// - `processed_as` is the first transaction that the intent holds. Its index is not unique, because every outcome that the
///   service reports is stored.
/// - The further transactions that it holds, of which few have any, are a JSON array in `also_held`. The table of that name has a
///   row for each, to find it.
/// - `stored_at` is when the row was last written: the later of the machine's clock and `newest_stored_at`, which is then set to
///   it.
/// - `was_lost` means that the row was not added by a begin, as all others: its begin was lost, and it was added by the end, or by
///   a person who named the key.
/// - `next_position` never decreases. A reused position of a purged row would hide a new row from a list that is being read.
/// - `journal` is a random id, of which the second half is a new one whenever a person accepts a loss, and `changes` counts the
///   commits that a witness could see. `is_witnessed` is the number of witnesses that were created, and `is_lost` means that a
///   witness has seen more changes: see `witness.rs`.
/// - `accepted` has each time a person accepted a loss: who, how many keys they named, or NULL if nothing was sent, and since when
///   entries are lost. With `what`, a person has renamed or forgotten a service instead, of that number of intents.
/// - `is_open` means that the log may contain rows that the database does not: see `open_flag.rs`. `moved` is a number of a change
///   up to which the database file had everything without its log: an older file does not belong to that log.
const DEFINITIONS: &[(&str, &str)] = &[
    (
        "table meta",
        "CREATE TABLE meta (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            next_position INTEGER NOT NULL DEFAULT 1,
            is_open INTEGER NOT NULL DEFAULT 0 CHECK (is_open IN (0, 1)),
            moved INTEGER NOT NULL DEFAULT 0,
            newest_stored_at INTEGER NOT NULL DEFAULT 0,
            journal TEXT NOT NULL,
            changes INTEGER NOT NULL DEFAULT 0,
            is_witnessed INTEGER NOT NULL DEFAULT 0,
            is_lost INTEGER NOT NULL DEFAULT 0 CHECK (is_lost IN (0, 1))
        ) STRICT",
    ),
    (
        "table accepted",
        "CREATE TABLE accepted (
            at INTEGER NOT NULL,
            by TEXT NOT NULL,
            sent INTEGER,
            since INTEGER,
            what TEXT
        ) STRICT",
    ),
    (
        "table intent",
        "CREATE TABLE intent (
            position INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            state TEXT NOT NULL,
            processed_as TEXT,
            is_void INTEGER NOT NULL,
            service TEXT NOT NULL,
            document TEXT NOT NULL,
            stored_at INTEGER NOT NULL,
            also_held TEXT,
            was_lost INTEGER NOT NULL DEFAULT 0
        ) STRICT",
    ),
    ("index intent_key", "CREATE UNIQUE INDEX intent_key ON intent (key)"),
    (
        "index intent_unresolved",
        "CREATE INDEX intent_unresolved ON intent (position) WHERE state IN ('sending', 'unknown')",
    ),
    (
        "index intent_processed",
        "CREATE INDEX intent_processed ON intent (processed_as) WHERE processed_as IS NOT NULL",
    ),
    (
        "table also_held",
        "CREATE TABLE also_held (
            transaction_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (transaction_id, position)
        ) STRICT, WITHOUT ROWID",
    ),
];

/// Creates the tables in an empty database, within a transaction.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    for (_, sql) in DEFINITIONS {
        connection.execute_batch(sql)?;
    }
    connection.execute("INSERT INTO meta (row, journal) VALUES (1, ?1)", [OwnerId::new().as_str()])?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)
}

/// Makes this version of the tables out of those of an older one, within a transaction.
pub(super) fn bring_forward(connection: &Connection, from: i32, migrations: &[&str]) -> rusqlite::Result<()> {
    let mut version = 1;
    for migration in migrations {
        if version >= from {
            connection.execute_batch(migration)?;
        }
        version += 1;
    }
    connection.pragma_update(None, "user_version", version)
}

/// The first table or index, such as `table intent`, that is missing or differs from [`create`]. Additions, such as an index for
/// someone's own queries, are ignored.
pub(super) fn first_difference(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let mut statement = connection.prepare("SELECT type || ' ' || name, sql FROM sqlite_schema")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: BTreeMap<String, Option<String>> = found.collect::<rusqlite::Result<_>>()?;
    // A file keeps the text that created it, whose indentation may differ.
    let unspaced = |sql: &str| sql.split_whitespace().collect::<String>();
    let is_unchanged = |(name, sql): &(&str, &str)| {
        found.get(*name).and_then(Option::as_deref).is_some_and(|found| unspaced(found) == unspaced(sql))
    };
    Ok(DEFINITIONS.iter().find(|definition| !is_unchanged(definition)).map(|(name, _)| *name))
}

/// A query of rows that [`read`] reads.
macro_rules! rows {
    ($which:literal) => {
        concat!("SELECT position, key, state, document, processed_as, is_void, service FROM intent ", $which)
    };
}

/// The base URL of the service of a row.
macro_rules! base_url {
    () => {
        "substr(service, 1, instr(service || '#', '#') - 1)"
    };
}

/// The position and the intent of a row with the columns that [`rows!`] selects. An error without an SQLite code means that this row
/// cannot be read.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<(i64, Intent)> {
    let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    let searched = (row.get_ref(4)?.as_str_or_null()?, row.get(5)?, text(6)?);
    let intent = intent(text(1)?, text(2)?, text(3)?, searched)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(3, Type::Text, error.into()))?;
    Ok((row.get(0)?, intent))
}

/// The intent with this key, by [`FIND`] or [`FIND_IN_TABLE`].
pub(super) fn find(connection: &Connection, sql: &str, key: &IntentKey) -> rusqlite::Result<Option<Intent>> {
    let found = connection.query_row(sql, [key.as_str()], read).optional()?;
    Ok(found.map(|(_, intent)| intent))
}

/// At most `limit` intents from after this position, each after its own, by this [`list`] or [`list_in_table`].
pub(super) fn rows(
    connection: &Connection,
    sql: &str,
    after: Option<i64>,
    limit: usize,
) -> rusqlite::Result<Rows> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection.prepare(sql)?.query_map([after.unwrap_or(i64::MIN), limit], read)?.collect()
}

/// The row with key `?1`.
pub(super) const FIND: &str = rows!("WHERE key = ?1");

/// The same without the index, which takes about a second for a million rows.
pub(super) const FIND_IN_TABLE: &str = rows!("NOT INDEXED WHERE key = ?1");

/// The key, other than `?2`, of a void (`?3`) or of a payment that holds the transaction `?1` of the base URL `?4`.
pub(super) const OTHER_HOLDER: &str = concat!(
    "SELECT key FROM intent
     WHERE processed_as = ?1 AND key <> ?2 AND is_void = ?3 AND (",
    base_url!(),
    " IN (?4, '') OR ?4 = '')
     UNION ALL SELECT key FROM also_held CROSS JOIN intent USING (position)
     WHERE transaction_id = ?1 AND key <> ?2 AND is_void = ?3 AND (",
    base_url!(),
    " IN (?4, '') OR ?4 = '') LIMIT 1"
);

pub(super) const HOLD: &str = "INSERT OR IGNORE INTO also_held (transaction_id, position) VALUES (?1, ?2)";

pub(super) const RELEASE: &str = "DELETE FROM also_held WHERE transaction_id = ?1 AND position = ?2";

/// The transactions in the column `also_held`.
pub(super) fn also_held(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let Some(ids) = row.get_ref(column)?.as_str_or_null()? else { return Ok(Vec::new()) };
    serde_json::from_str(ids)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

pub(super) const INSERT: &str = "INSERT INTO intent \
     (position, key, state, processed_as, is_void, service, document, stored_at, also_held, was_lost) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?3 <> 'sending')";

pub(super) const UPDATE: &str = "UPDATE intent \
     SET state = ?3, processed_as = ?4, is_void = ?5, service = ?6, document = ?7, stored_at = ?8, also_held = ?9 \
     WHERE position = ?1 AND key = ?2";

/// At most `?2` rows in these states from after position `?1`.
pub(super) fn list(states: &[StateName]) -> String {
    if !states.is_empty() && states.iter().all(|state| StateName::UNRESOLVED.contains(state)) {
        // The same condition as in the index, so that SQLite can use the index.
        list_from("INDEXED BY intent_unresolved WHERE state IN ('sending', 'unknown') AND", states)
    } else {
        list_from("WHERE", states)
    }
}

/// The same without the index.
pub(super) fn list_in_table(states: &[StateName]) -> String {
    list_from("NOT INDEXED WHERE", states)
}

fn list_from(index: &str, states: &[StateName]) -> String {
    let states = names(states);
    format!(rows!("{} position > ?1 AND state IN ({}) ORDER BY position LIMIT ?2"), index, states)
}

/// The first position after `?1`.
pub(super) const POSITION_AFTER: &str = "SELECT min(position) FROM intent WHERE position > ?1";

/// Removes rows from position `?1` to `?2` that ended and were stored before `?3`, and returns when each was stored, its position
/// and what it also held.
pub(super) fn purge() -> String {
    format!(
        "DELETE FROM intent WHERE position BETWEEN ?1 AND ?2 \
         AND state IN ({}) AND stored_at < ?3 RETURNING stored_at, position, also_held",
        ended()
    )
}

/// The newest time in the journal.
pub(super) const NEWEST_STORED_AT: &str = "SELECT newest_stored_at FROM meta";

/// The time for rows stored now, if the clock is at `?1`, the first of `?2` new positions, and the number of this change. The file
/// has everything up to change `?3`.
pub(super) const STAMP: &str = "UPDATE meta SET newest_stored_at = max(newest_stored_at, ?1), \
     next_position = next_position + ?2, changes = changes + 1, moved = max(moved, ?3) \
     RETURNING newest_stored_at, next_position - ?2, changes, is_witnessed, is_lost, journal";

pub(super) const JOURNAL: &str = "SELECT journal, changes, is_witnessed FROM meta";

/// The file has everything up to change `?2`.
pub(super) const SET_WITNESSED: &str =
    "UPDATE meta SET is_witnessed = max(is_witnessed, ?1), moved = max(moved, ?2)";

pub(super) const REMEMBERED: &str = "SELECT journal, changes, is_witnessed, is_lost FROM meta";

pub(super) const SET_LOST: &str = "UPDATE meta SET is_lost = 1";

/// This change is not counted.
pub(super) const UNCOUNT: &str = "UPDATE meta SET changes = changes - 1";

/// A person accepts the loss: the number of changes is set to `?1`, that of the witnesses to `?2`, and the journal's id to `?3`.
pub(super) const FORGET_LOSS: &str =
    "UPDATE meta SET is_lost = 0, changes = ?1, is_witnessed = ?2, journal = ?3";

/// When the newest intent began, of those whose begin the journal has. A copy of the journal ends at this time or later.
pub(super) const NEWEST_CREATED_AT: &str = "SELECT json_extract(document, '$.created_at') FROM intent \
     WHERE NOT was_lost ORDER BY position DESC LIMIT 1";

/// Since when entries were lost that a person accepted last.
pub(super) const ACCEPTED_SINCE: &str =
    "SELECT since FROM accepted WHERE since IS NOT NULL ORDER BY rowid DESC LIMIT 1";

pub(super) const COUNT_DECISIONS: &str = "SELECT count(*) FROM accepted";

pub(super) const RECORD_DECISION: &str =
    "INSERT INTO accepted (at, by, sent, since, what) VALUES (?1, ?2, ?3, ?4, ?5)";

/// What is added up about each intent of the service `?1`, or about all if that is NULL. It reads the table.
const TO_ADD_UP: &str = "SELECT state, json_extract(document, '$.owner'), \
     json_extract(document, '$.request.amount'), json_extract(document, '$.begun_at'), \
     json_extract(document, '$.request.subject') IS 'lost' AND json_extract(document, '$.request.operation') IS NULL \
     FROM intent NOT INDEXED WHERE ?1 IS NULL OR service = ?1";

/// Adds up the intents of this service, or all.
pub(super) fn summarize(connection: &Connection, service: Option<&str>) -> rusqlite::Result<Vec<Tally>> {
    let unreadable = |column, what: &str| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.to_owned().into())
    };
    let (mut tallies, mut statement) = (Vec::new(), connection.prepare(TO_ADD_UP)?);
    let mut rows = statement.query([service])?;
    while let Some(row) = rows.next()? {
        let state = StateName::from_name(row.get_ref(0)?.as_str()?);
        let state = state.ok_or_else(|| unreadable(0, "this version does not know the state"))?;
        let owner = OwnerId::from_kept(row.get_ref(1)?.as_str()?);
        let amount = row.get_ref(2)?.as_str_or_null()?.map(str::parse).transpose();
        let amount = amount.map_err(|_| unreadable(2, "it is no amount"))?;
        let begun_at = milliseconds::time(row.get(3)?).ok_or_else(|| unreadable(3, "it is no time"))?;
        Tally::of_one(state, &owner, (amount, row.get(4)?), begun_at).add_to(&mut tallies);
    }
    Ok(tallies)
}

/// At most `?3` rows of the service `?1` from after position `?2`.
pub(super) const OF_SERVICE: &str =
    rows!("NOT INDEXED WHERE service = ?1 AND position > ?2 ORDER BY position LIMIT ?3");

pub(super) const RENAME: &str = "UPDATE intent SET service = ?2, document = ?3 WHERE position = ?1";

pub(super) const RELEASE_SERVICE: &str =
    "DELETE FROM also_held WHERE position IN (SELECT position FROM intent WHERE service = ?1)";

pub(super) const FORGET: &str = "DELETE FROM intent WHERE service = ?1";

/// At most `?3` keys of the service `?1` that hold a transaction which an intent of another one at the base URL `?2` holds too.
pub(super) const SAME_TRANSACTIONS: &str = concat!(
    "WITH held (id, key, is_void, service) AS (
         SELECT processed_as, key, is_void, service FROM intent WHERE processed_as IS NOT NULL
         UNION ALL SELECT transaction_id, key, is_void, service FROM also_held JOIN intent USING (position))
     SELECT DISTINCT key FROM held WHERE service = ?1 AND (id, is_void) IN (
         SELECT id, is_void FROM held WHERE service <> ?1 AND ",
    base_url!(),
    " = ?2)
     ORDER BY key LIMIT ?3"
);

/// Whether the log may contain rows that the database does not, and the number of changes.
pub(super) const IS_OPEN: &str = "SELECT is_open, changes FROM meta";

/// The file has everything up to change `?1`.
pub(super) const SET_OPEN: &str = "UPDATE meta SET is_open = 1, moved = max(moved, ?1)";

pub(super) const CLEAR_OPEN: &str = "UPDATE meta SET is_open = 0";

pub(super) const MOVED_AND_CHANGES: &str = "SELECT moved, changes FROM meta";

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
        connection
    }

    #[test]
    fn missing_index_is_found_and_added_index_is_ignored() {
        let connection = database();
        assert_eq!(first_difference(&connection).unwrap(), None);
        connection.execute_batch("CREATE INDEX mine ON intent (stored_at)").unwrap();
        assert_eq!(first_difference(&connection).unwrap(), None);
        connection.execute_batch("DROP INDEX intent_key").unwrap();
        assert_eq!(first_difference(&connection).unwrap(), Some("index intent_key"));
    }

    #[test]
    fn older_tables_are_brought_forward_one_version_after_another() {
        let migrations = ["CREATE TABLE two (x)", "ALTER TABLE two RENAME TO three", "CREATE TABLE four (x)"];
        for (from, before) in [(1, ""), (2, migrations[0]), (3, "CREATE TABLE three (x)")] {
            let connection = database();
            connection.execute_batch(before).unwrap();
            bring_forward(&connection, from, &migrations).unwrap();
            let tables = "SELECT group_concat(name ORDER BY name) FROM sqlite_schema WHERE name IN ('two', 'three', 'four')";
            let tables: String = connection.query_row(tables, [], |row| row.get(0)).unwrap();
            let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
            assert_eq!((&*tables, version), ("four,three", 4), "from {from}");
        }
        assert_eq!(usize::try_from(VERSION), Ok(MIGRATIONS.len() + 1));
    }

    /// After a crash, the unresolved rows must be found without reading a million ended ones.
    #[test]
    fn unresolved_rows_are_found_by_index_in_order() {
        let plan = |sql: String| {
            let connection = database();
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = plan.query_map([1, 2], |row| row.get::<_, String>(3)).unwrap();
            lines.map(Result::unwrap).collect::<Vec<_>>()
        };
        for states in [StateName::UNRESOLVED, &[StateName::Sending]] {
            assert_eq!(plan(list(states)), ["SEARCH intent USING INDEX intent_unresolved (position>?)"]);
        }
        for table in [list(StateName::ALL), list_in_table(StateName::UNRESOLVED)] {
            assert_eq!(plan(table), ["SEARCH intent USING INTEGER PRIMARY KEY (rowid>?)"]);
        }
    }

    #[test]
    fn other_holder_of_a_transaction_is_found_by_index() {
        let connection = database();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {OTHER_HOLDER}")).unwrap();
        let lines = plan
            .query_map(("txn_1", "k", false, "https://pay.example.com"), |row| row.get::<_, String>(3))
            .unwrap();
        let lines: Vec<_> = lines.map(Result::unwrap).collect();
        assert_eq!(
            lines,
            [
                "COMPOUND QUERY",
                "LEFT-MOST SUBQUERY",
                "SEARCH intent USING INDEX intent_processed (processed_as=?)",
                "UNION ALL",
                "SEARCH also_held USING PRIMARY KEY (transaction_id=?)",
                "SEARCH intent USING INTEGER PRIMARY KEY (rowid=?)",
            ]
        );
    }
}
