//! The tables, and every statement that is about them.
//!
//! A change of anything here that an older or newer version could not read raises [`VERSION`], and adds the
//! [`Migration`] from the version before.

use std::collections::BTreeMap;

use rusqlite::types::ToSql;
use rusqlite::{Connection, Row};

use crate::row::{COLUMNS, IS_VOID};
use crate::{IntentRow, StateName};

/// `PAYJ` in ASCII, by which a file is known as a journal of intents.
pub(super) const APPLICATION_ID: i32 = 0x5041_594A;

/// The version of the tables.
pub(super) const VERSION: i32 = 2;

/// What makes tables of version `from` those of the next.
pub(super) struct Migration {
    pub(super) from: i32,
    pub(super) statements: &'static str,
}

/// One for each older version that can still be opened.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    from: 1,
    // The columns in the words of the definitions below, to whose end SQLite puts them. `changed_at` is by the clock of a
    // sender, which may have been behind: nothing that is already there is older than this migration.
    statements: "
        ALTER TABLE intent ADD COLUMN processed_as TEXT AS (CASE
                WHEN verdict = 'processed' THEN resolved_id
                WHEN state = 'processed' THEN transaction_id
            END) VIRTUAL;
        ALTER TABLE intent ADD COLUMN stored_at INTEGER NOT NULL DEFAULT 0;
        UPDATE intent SET stored_at = max(unixepoch() * 1000, (SELECT max(changed_at) FROM intent));
        ALTER TABLE intent ADD COLUMN follows TEXT;
        ALTER TABLE meta ADD COLUMN newest_stored_at INTEGER NOT NULL DEFAULT 0;
        UPDATE meta SET newest_stored_at = (SELECT coalesce(max(stored_at), 0) FROM intent);
        CREATE INDEX intent_processed ON intent (processed_as) WHERE processed_as IS NOT NULL;",
}];

/// The tables and indexes, as SQLite keeps their definitions.
///
/// `position` is the order in which intents were first written down, and the key of the table: a row is added at its end,
/// and a million keys in random order scatter the entries of one narrow index and not the rows. That index and the one of
/// what is unresolved are all that a change touches beside its row, until the row is processed. `processed_as` is
/// [`IntentRow::processed_as`]; its index is not unique, because what the service answers is kept whatever it is.
/// `stored_at` is when the row was last written: the later of the machine's clock and `newest_stored_at`, which it then is.
/// `position_floor` keeps the position of a row that was purged from being given again, which would hide a new row from a
/// list that is being read. `is_open` says that the log may hold what the database does not: see `mark.rs`.
const DEFINITIONS: &[(&str, &str)] = &[
    (
        "table meta",
        "CREATE TABLE meta (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            position_floor INTEGER NOT NULL,
            is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
            newest_stored_at INTEGER NOT NULL DEFAULT 0
        ) STRICT",
    ),
    (
        "table intent",
        "CREATE TABLE intent (
            position INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            operation TEXT NOT NULL,
            subject_kind TEXT NOT NULL,
            subject TEXT,
            amount TEXT,
            transaction_type TEXT,
            convenience_fee INTEGER,
            reference TEXT,
            state TEXT NOT NULL,
            attempt TEXT NOT NULL,
            owner TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            kind TEXT,
            http_status INTEGER,
            reason TEXT,
            transaction_id TEXT,
            verdict TEXT,
            resolved_id TEXT,
            resolved_by TEXT,
            note TEXT,
            created_at INTEGER NOT NULL,
            begun_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            processed_as TEXT AS (CASE
                WHEN verdict = 'processed' THEN resolved_id
                WHEN state = 'processed' THEN transaction_id
            END) VIRTUAL,
            stored_at INTEGER NOT NULL DEFAULT 0,
            follows TEXT
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
];

/// Makes the tables in an empty database, within a transaction.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    for (_, sql) in DEFINITIONS {
        connection.execute_batch(sql)?;
    }
    connection.execute_batch("INSERT INTO meta (row, position_floor, is_open) VALUES (1, 0, 0)")?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)
}

/// Whether each step from an older version to `to` is known.
pub(super) fn can_migrate(from: i32, to: i32, migrations: &[Migration]) -> bool {
    (from..to).all(|version| migrations.iter().any(|migration| migration.from == version))
}

/// Brings the tables from an older version to `to`, within a transaction, by the steps that are known.
pub(super) fn migrate(
    connection: &Connection,
    from: i32,
    to: i32,
    migrations: &[Migration],
) -> rusqlite::Result<()> {
    for version in from..to {
        for migration in migrations.iter().filter(|migration| migration.from == version) {
            connection.execute_batch(migration.statements)?;
        }
        connection.pragma_update(None, "user_version", version + 1)?;
    }
    Ok(())
}

/// The first table or index, such as `table intent`, that is not there as [`create`] makes it. What somebody added, such
/// as an index for questions of their own, is not looked at.
pub(super) fn unlike(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let mut statement = connection.prepare("SELECT type || ' ' || name, sql FROM sqlite_schema")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: BTreeMap<String, Option<String>> = found.collect::<rusqlite::Result<_>>()?;
    // A file keeps the text that made it, however this one is indented by then.
    let unspaced = |sql: &str| sql.split_whitespace().collect::<String>();
    let is_there = |(name, sql): &(&str, &str)| {
        found.get(*name).and_then(Option::as_deref).is_some_and(|found| unspaced(found) == unspaced(sql))
    };
    Ok(DEFINITIONS.iter().find(|definition| !is_there(definition)).map(|(name, _)| *name))
}

/// What stands in each of [`COLUMNS`].
pub(super) fn values(row: &IntentRow) -> [&dyn ToSql; COLUMNS.len()] {
    let IntentRow {
        key,
        operation,
        subject_kind,
        subject,
        amount,
        transaction_type,
        convenience_fee,
        reference,
        state,
        attempt,
        owner,
        follows,
        attempts,
        kind,
        http_status,
        reason,
        transaction_id,
        verdict,
        resolved_id,
        resolved_by,
        note,
        created_at,
        begun_at,
        changed_at,
        revision,
    } = row;
    [
        key,
        operation,
        subject_kind,
        subject,
        amount,
        transaction_type,
        convenience_fee,
        reference,
        state,
        attempt,
        owner,
        follows,
        attempts,
        kind,
        http_status,
        reason,
        transaction_id,
        verdict,
        resolved_id,
        resolved_by,
        note,
        created_at,
        begun_at,
        changed_at,
        revision,
    ]
}

/// [`COLUMNS`] of a row, from the one with number `first`.
pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<IntentRow> {
    Ok(IntentRow {
        key: row.get(first)?,
        operation: row.get(first + 1)?,
        subject_kind: row.get(first + 2)?,
        subject: row.get(first + 3)?,
        amount: row.get(first + 4)?,
        transaction_type: row.get(first + 5)?,
        convenience_fee: row.get(first + 6)?,
        reference: row.get(first + 7)?,
        state: row.get(first + 8)?,
        attempt: row.get(first + 9)?,
        owner: row.get(first + 10)?,
        follows: row.get(first + 11)?,
        attempts: row.get(first + 12)?,
        kind: row.get(first + 13)?,
        http_status: row.get(first + 14)?,
        reason: row.get(first + 15)?,
        transaction_id: row.get(first + 16)?,
        verdict: row.get(first + 17)?,
        resolved_id: row.get(first + 18)?,
        resolved_by: row.get(first + 19)?,
        note: row.get(first + 20)?,
        created_at: row.get(first + 21)?,
        begun_at: row.get(first + 22)?,
        changed_at: row.get(first + 23)?,
        revision: row.get(first + 24)?,
    })
}

/// The row with key `?1`.
pub(super) fn find() -> String {
    format!("SELECT {} FROM intent WHERE key = ?1", COLUMNS.join(", "))
}

/// The key, other than `?2`, of a void (`?3`) or of a payment that is processed as `?1`.
pub(super) fn other_holder() -> String {
    format!("SELECT key FROM intent WHERE processed_as = ?1 AND key <> ?2 AND {IS_VOID} = ?3 LIMIT 1")
}

/// A new row at the end, with the [`values`], and after them the time.
pub(super) fn insert() -> String {
    let values: Vec<_> = (1..=COLUMNS.len()).map(|number| format!("?{number}")).collect();
    format!(
        "INSERT INTO intent (position, {}, stored_at) VALUES ({NEXT_POSITION}, {}, ?{STORED_AT})",
        COLUMNS.join(", "),
        values.join(", ")
    )
}

const NEXT_POSITION: &str =
    "(SELECT max(position_floor, coalesce((SELECT max(position) FROM intent), 0)) + 1 FROM meta)";

/// The number of the parameter after the [`values`].
const STORED_AT: usize = COLUMNS.len() + 1;

/// The row with the key of the [`values`] becomes these, at the time after them.
pub(super) fn update() -> String {
    let columns = COLUMNS.iter().zip(1..).skip(1);
    let columns: Vec<_> = columns.map(|(column, number)| format!("{column} = ?{number}")).collect();
    format!("UPDATE intent SET {}, stored_at = ?{STORED_AT} WHERE key = ?1", columns.join(", "))
}

/// At most `?2` rows in these states from after position `?1`, each after its position.
pub(super) fn list(states: &[StateName]) -> String {
    let (index, condition) = if states.iter().all(|state| StateName::UNRESOLVED.contains(state)) {
        // The condition in the very words of the index, by which SQLite knows that it may use it.
        (" INDEXED BY intent_unresolved", " AND state IN ('sending', 'unknown')")
    } else {
        ("", "")
    };
    let names: Vec<_> = states.iter().map(|state| format!("'{}'", state.as_str())).collect();
    format!(
        "SELECT position, {} FROM intent{index} \
         WHERE position > ?1{condition} AND state IN ({}) ORDER BY position LIMIT ?2",
        COLUMNS.join(", "),
        names.join(", ")
    )
}

/// The first position after `?1`.
pub(super) const POSITION_AFTER: &str = "SELECT min(position) FROM intent WHERE position > ?1";

/// Removes what ended and was stored before `?3`, of the rows from position `?1` to `?2`, and tells when each was stored.
pub(super) const PURGE: &str = "DELETE FROM intent WHERE position BETWEEN ?1 AND ?2 \
     AND state NOT IN ('sending', 'unknown') AND stored_at < ?3 RETURNING stored_at";

/// The newest time in the journal.
pub(super) const NEWEST_STORED_AT: &str = "SELECT newest_stored_at FROM meta";

/// The time at which rows are stored now, where the clock says `?1`.
pub(super) const TELL_TIME: &str =
    "UPDATE meta SET newest_stored_at = max(newest_stored_at, ?1) RETURNING newest_stored_at";

/// Before anything is removed: no position is given twice.
pub(super) const RAISE_FLOOR: &str = "UPDATE meta SET position_floor = (SELECT max(position) FROM intent) \
     WHERE position_floor < (SELECT max(position) FROM intent)";

/// Whether the log may hold what the database does not.
pub(super) const IS_OPEN: &str = "SELECT is_open FROM meta";

pub(super) const SET_OPEN: &str = "UPDATE meta SET is_open = ?1";

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
        connection
    }

    #[test]
    fn what_was_made_is_as_it_should_be() {
        let connection = database();
        assert_eq!(unlike(&connection).unwrap(), None);
        connection.execute_batch("CREATE INDEX mine ON intent (amount)").unwrap();
        assert_eq!(unlike(&connection).unwrap(), None);
        connection.execute_batch("DROP INDEX intent_key").unwrap();
        assert_eq!(unlike(&connection).unwrap(), Some("index intent_key"));
    }

    /// A million rows that ended must not stand between a crash and what it has left.
    #[test]
    fn what_is_unresolved_is_found_by_its_index_and_in_order() {
        let plan = |sql: String| {
            let connection = database();
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = plan.query_map([1, 2], |row| row.get::<_, String>(3)).unwrap();
            lines.map(Result::unwrap).collect::<Vec<_>>()
        };
        for states in [StateName::UNRESOLVED, &[StateName::Sending]] {
            assert_eq!(plan(list(states)), ["SEARCH intent USING INDEX intent_unresolved (position>?)"]);
        }
        assert_eq!(plan(list(StateName::ALL)), ["SEARCH intent USING INTEGER PRIMARY KEY (rowid>?)"]);
    }

    #[test]
    fn the_other_holder_of_a_transaction_is_found_by_its_index() {
        let connection = database();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", other_holder())).unwrap();
        let lines = plan.query_map(("txn_1", "k", false), |row| row.get::<_, String>(3)).unwrap();
        let lines: Vec<_> = lines.map(Result::unwrap).collect();
        assert_eq!(lines, ["SEARCH intent USING INDEX intent_processed (processed_as=?)"]);
    }

    #[test]
    fn tables_of_version_1_are_brought_up_and_their_rows_are_found_by_their_transactions() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(VERSION_1).unwrap();
        for (key, state, answered, verdict, resolved) in [
            ("a", "processed", Some("txn_1"), None, None),
            ("b", "resolved", None, Some("processed"), Some("txn_2")),
            ("c", "resolved", Some("txn_3"), Some("not_processed"), None),
            ("d", "unknown", Some("txn_3"), None, None),
        ] {
            connection
                .execute(
                    "INSERT INTO intent (key, operation, subject_kind, state, attempt, owner, attempts,
                        transaction_id, verdict, resolved_id, created_at, begun_at, changed_at, revision)
                     VALUES (?1, 'token-transaction', 'token', ?2, '', '', 1, ?3, ?4, ?5, 1, 2, 3, 2)",
                    (key, state, answered, verdict, resolved),
                )
                .unwrap();
        }
        assert!(can_migrate(1, VERSION, MIGRATIONS));
        migrate(&connection, 1, VERSION, MIGRATIONS).unwrap();
        assert_eq!(unlike(&connection).unwrap(), None, "the same as new tables");
        let holder = |id: &str| {
            let holder = connection.query_row(&other_holder(), (id, "k", false), |row| row.get(0));
            rusqlite::OptionalExtension::optional(holder).unwrap()
        };
        assert_eq!(holder("txn_1"), Some("a".to_owned()));
        assert_eq!(holder("txn_2"), Some("b".to_owned()));
        assert_eq!(holder("txn_3"), None);
    }

    /// The later of the machine's clock and the newest time that a sender's clock gave.
    #[test]
    fn migrated_rows_are_stored_at_the_time_of_the_migration_d45() {
        const YEAR_9999: i64 = 253_370_764_800_000;
        let seconds = || crate::row::milliseconds(std::time::SystemTime::now()) / 1000 * 1000;
        for newest in [0, YEAR_9999] {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(VERSION_1).unwrap();
            for (key, changed_at) in [("a", 0), ("b", newest)] {
                connection
                    .execute(
                        "INSERT INTO intent (key, operation, subject_kind, state, attempt, owner, attempts,
                            created_at, begun_at, changed_at, revision)
                         VALUES (?1, 'token-transaction', 'token', 'processed', '', '', 1, 0, 0, ?2, 2)",
                        (key, changed_at),
                    )
                    .unwrap();
            }
            let before = seconds();
            migrate(&connection, 1, VERSION, MIGRATIONS).unwrap();
            let expected = before.max(newest)..=seconds().max(newest);
            for sql in
                ["SELECT min(stored_at) FROM intent", "SELECT max(stored_at) FROM intent", NEWEST_STORED_AT]
            {
                let time = connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
                assert!(expected.contains(&time), "{sql}: {time} is not in {expected:?}");
            }
        }
    }

    /// As the first version made them.
    const VERSION_1: &str = "
        CREATE TABLE meta (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            position_floor INTEGER NOT NULL,
            is_open INTEGER NOT NULL CHECK (is_open IN (0, 1))
        ) STRICT;
        CREATE TABLE intent (
            position INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            operation TEXT NOT NULL,
            subject_kind TEXT NOT NULL,
            subject TEXT,
            amount TEXT,
            transaction_type TEXT,
            convenience_fee INTEGER,
            reference TEXT,
            state TEXT NOT NULL,
            attempt TEXT NOT NULL,
            owner TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            kind TEXT,
            http_status INTEGER,
            reason TEXT,
            transaction_id TEXT,
            verdict TEXT,
            resolved_id TEXT,
            resolved_by TEXT,
            note TEXT,
            created_at INTEGER NOT NULL,
            begun_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL,
            revision INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX intent_key ON intent (key);
        CREATE INDEX intent_unresolved ON intent (position) WHERE state IN ('sending', 'unknown');
        INSERT INTO meta (row, position_floor, is_open) VALUES (1, 0, 0)";

    #[test]
    fn older_tables_are_brought_up_step_by_step_or_not_at_all() {
        let steps = [
            Migration { from: 1, statements: "ALTER TABLE intent ADD COLUMN two TEXT" },
            Migration { from: 2, statements: "ALTER TABLE intent ADD COLUMN three TEXT" },
        ];
        let connection = database();
        assert!(can_migrate(1, 3, &steps));
        migrate(&connection, 1, 3, &steps).unwrap();
        connection.prepare("SELECT two, three FROM intent").unwrap();
        let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
        assert_eq!(version.unwrap(), 3);
        assert!(!can_migrate(0, 3, &steps) && !can_migrate(1, 4, &steps));
    }
}
