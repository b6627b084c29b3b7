//! Compares the table of intents with each of its indexes.
//!
//! SQLite believes an index. A row whose entry is missing is not found by its key, so it would be charged again, and no read
//! notices. `PRAGMA quick_check` does not notice either, and `PRAGMA integrity_check` takes several times as long as this,
//! because it looks up every row in every index. Here the table and each index are read once, in their own order. An index is
//! whole if its entries are sorted, and if their number and the sum of their hashes are those of the rows.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite_store::place::Place;
use crate::sqlite_store::problem::{self, SqliteError};
use crate::sqlite_store::tables;

/// Refuses a journal with an index that differs from its table.
pub(super) fn check(place: &Place, connection: &Connection) -> Result<(), SqliteError> {
    // One transaction, because other processes may be writing.
    match first_damaged(&*connection.unchecked_transaction()?)? {
        None => Ok(()),
        Some(index) => Err(problem::damaged_index(place.path(), index).into()),
    }
}

/// The first index that differs from the table, or whose entries are not in order. It reads within one transaction of the
/// caller.
pub(super) fn first_damaged(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let Some(rows) = rows(connection)? else { return Ok(Some("intent_unresolved")) };
    if entries(connection, BY_KEY, Order::Unique)?.as_ref() != Some(&rows.keys) {
        return Ok(Some("intent_key"));
    }
    if entries(connection, BY_TRANSACTION, Order::Sorted)?.as_ref() != Some(&rows.transactions) {
        return Ok(Some("intent_processed"));
    }
    if entries(connection, ALSO_HELD, Order::Sorted)?.as_ref() != Some(&rows.also_held) {
        return Ok(Some("also_held"));
    }
    let unresolved: i64 = connection.query_row(UNRESOLVED_ENTRIES, [], |row| row.get(0))?;
    Ok((unresolved != rows.unresolved).then_some("intent_unresolved"))
}

/// What the indexes must contain, according to the table.
#[derive(Default)]
struct Rows {
    keys: Entries,
    transactions: Entries,
    also_held: Entries,
    unresolved: i64,
}

/// Reads the table, without an index. `None` if an unresolved row is not found in the index of unresolved rows.
fn rows(connection: &Connection) -> rusqlite::Result<Option<Rows>> {
    let mut found = Rows::default();
    // This index has nothing but the position, so its entries cannot be compared by a scan.
    let mut unresolved_entry = connection.prepare(UNRESOLVED_ENTRY)?;
    let mut table = connection.prepare(TABLE)?;
    let mut rows = table.query([])?;
    while let Some(row) = rows.next()? {
        let position = row.get(0)?;
        found.keys.add(row.get_ref(1)?.as_str()?, position);
        if let Some(transaction) = row.get_ref(2)?.as_str_or_null()? {
            found.transactions.add(transaction, position);
        }
        for id in tables::also_held(row, 4)? {
            found.also_held.add(&id, position);
        }
        if row.get(3)? {
            found.unresolved += 1;
            let entry = unresolved_entry.query_row([position], |entry| entry.get(0)).optional()?;
            if entry != Some(position) {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
}

/// A number of entries and the sum of their hashes, which does not depend on their order.
#[derive(Default, PartialEq, Eq)]
struct Entries {
    count: u64,
    sum: u64,
}

impl Entries {
    fn add(&mut self, value: &str, position: i64) {
        let mut hasher = DefaultHasher::new();
        (value, position).hash(&mut hasher);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// No value occurs twice.
    Unique,
    /// Equal values are sorted by position.
    Sorted,
}

/// The entries of an index, or `None` if they are not texts in order: then SQLite would not find some of them.
fn entries(connection: &Connection, sql: &str, order: Order) -> rusqlite::Result<Option<Entries>> {
    let (mut found, mut last) = (Entries::default(), None::<(String, i64)>);
    let mut index = connection.prepare(sql)?;
    let mut entries = index.query([])?;
    while let Some(entry) = entries.next()? {
        let position = entry.get(1)?;
        let Ok(value) = entry.get_ref(0)?.as_str() else { return Ok(None) };
        if let Some((before, its_position)) = &mut last {
            let is_next = match order {
                Order::Unique => before.as_str() < value,
                Order::Sorted => (before.as_str(), *its_position) < (value, position),
            };
            if !is_next {
                return Ok(None);
            }
            before.clear();
            before.push_str(value);
            *its_position = position;
        } else {
            last = Some((value.to_owned(), position));
        }
        found.add(value, position);
    }
    Ok(Some(found))
}

const TABLE: &str =
    "SELECT position, key, processed_as, state IN ('sending', 'unknown'), also_held FROM intent NOT INDEXED";

const BY_KEY: &str = "SELECT key, position FROM intent INDEXED BY intent_key";

const BY_TRANSACTION: &str =
    "SELECT processed_as, position FROM intent INDEXED BY intent_processed WHERE processed_as IS NOT NULL";

/// A table that is searched like an index.
const ALSO_HELD: &str = "SELECT transaction_id, position FROM also_held ORDER BY transaction_id, position";

const UNRESOLVED_ENTRIES: &str =
    "SELECT count(*) FROM intent INDEXED BY intent_unresolved WHERE state IN ('sending', 'unknown')";

/// The entry of the row at position `?1`.
const UNRESOLVED_ENTRY: &str = "SELECT position FROM intent INDEXED BY intent_unresolved \
     WHERE state IN ('sending', 'unknown') AND position = ?1";

#[cfg(test)]
mod tests {
    use super::*;

    /// Each statement reads the table or one index: a statement that used the other one would compare it with itself. SQLite takes
    /// the condition of a partial index as fulfilled by its entries, so the last two do not read the table either.
    #[test]
    fn table_and_indexes_are_read_separately() {
        let connection = Connection::open_in_memory().unwrap();
        tables::create(&connection).unwrap();
        for (sql, expected) in [
            (TABLE, "SCAN intent"),
            (BY_KEY, "SCAN intent USING COVERING INDEX intent_key"),
            // From the end of the NULLs, of which a partial index without them has none.
            (BY_TRANSACTION, "SEARCH intent USING COVERING INDEX intent_processed (processed_as>?)"),
            (ALSO_HELD, "SCAN also_held"),
            (UNRESOLVED_ENTRIES, "SCAN intent USING INDEX intent_unresolved"),
            (UNRESOLVED_ENTRY, "SEARCH intent USING INDEX intent_unresolved (position=? AND rowid=?)"),
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let parameters: &[i64] = if sql == UNRESOLVED_ENTRY { &[1] } else { &[] };
            let lines = plan.query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>(3));
            let lines: Vec<_> = lines.unwrap().map(Result::unwrap).collect();
            assert_eq!(lines, [expected], "{sql}");
        }
    }
}
