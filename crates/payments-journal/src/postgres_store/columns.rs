use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fault::Fault;
use crate::row::{COLUMNS, IS_VOID};
use crate::{IntentRow, StateName};

/// A row as it was read or written.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) position: i64,
    pub(super) row: IntentRow,
}

/// In the order of [`COLUMNS`].
pub(super) fn values(row: &IntentRow) -> [&(dyn ToSql + Sync); COLUMNS.len()] {
    [
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
    ]
}

/// Out of `position` and [`COLUMNS`].
pub(super) fn kept(row: &Row) -> Result<Kept, Fault> {
    read(row).map_err(|error| Fault::Unreadable(error.to_string()))
}

fn read(row: &Row) -> Result<Kept, tokio_postgres::Error> {
    Ok(Kept {
        position: row.try_get("position")?,
        row: IntentRow {
            key: row.try_get("key")?,
            state: row.try_get("state")?,
            operation: row.try_get("operation")?,
            amount: row.try_get("amount")?,
            transaction_id: row.try_get("transaction_id")?,
            processed_as: row.try_get("processed_as")?,
            created_at: row.try_get("created_at")?,
            begun_at: row.try_get("begun_at")?,
            changed_at: row.try_get("changed_at")?,
            revision: row.try_get("revision")?,
            document: row.try_get("document")?,
        },
    })
}

pub(super) fn find() -> String {
    format!("SELECT position, {} FROM payments_journal.intents WHERE key = $1", COLUMNS.join(", "))
}

/// The key, other than `$2`, of a void (`$3`) or of a payment that is processed as `$1`.
pub(super) fn other_holder() -> String {
    format!(
        "SELECT key FROM payments_journal.intents WHERE processed_as = $1 AND key <> $2 AND {IS_VOID} = $3 LIMIT 1"
    )
}

pub(super) fn insert() -> String {
    let places: Vec<_> = (1..=COLUMNS.len()).map(|number| format!("${number}")).collect();
    format!(
        "INSERT INTO payments_journal.intents ({}) VALUES ({}) ON CONFLICT (key) DO NOTHING RETURNING position",
        COLUMNS.join(", "),
        places.join(", ")
    )
}

/// After the values the position and the revision that were read. A position is never given twice, so that a key that was
/// purged and begun again is not taken for the one that was read.
pub(super) fn update() -> String {
    let places: Vec<_> = (1..=COLUMNS.len()).map(|number| format!("${number}")).collect();
    format!(
        "UPDATE payments_journal.intents SET ({}) = ROW ({}), stored_at = now() WHERE position = ${} AND revision = ${}",
        COLUMNS.join(", "),
        places.join(", "),
        COLUMNS.len() + 1,
        COLUMNS.len() + 2
    )
}

/// With the states written out, because only then the index of the unresolved ones is used.
pub(super) fn list(states: &[StateName]) -> String {
    format!(
        "SELECT position, {} FROM payments_journal.intents WHERE state IN ({}) AND position > $1 ORDER BY position LIMIT $2",
        COLUMNS.join(", "),
        quoted(states)
    )
}

/// At most `$2` rows that were stored more than `$1` seconds ago, by the server's time: how many, and the newest of their
/// times. What was asked of a row is asked again of what it has become when it is removed.
pub(super) fn purge(states: &[StateName]) -> String {
    let is_old =
        format!("state IN ({}) AND stored_at < now() - $1::bigint * interval '1 second'", quoted(states));
    format!(
        "WITH purged AS (
             DELETE FROM payments_journal.intents WHERE {is_old} AND position = ANY (ARRAY(
                 SELECT position FROM payments_journal.intents WHERE {is_old} LIMIT $2))
             RETURNING stored_at
         ) SELECT count(*), max(stored_at) FROM purged"
    )
}

fn quoted(states: &[StateName]) -> String {
    let names: Vec<_> = states.iter().map(|state| format!("'{}'", state.as_str())).collect();
    names.join(", ")
}
