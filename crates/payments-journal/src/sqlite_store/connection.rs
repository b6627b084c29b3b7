//! Opens the database: checks its application and version, and configures how it is written.

use std::fs::TryLockError;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior};

use crate::sqlite_store::place::{Mode, Place};
use crate::sqlite_store::problem::{self, SqliteError};
use crate::sqlite_store::tables;

/// What to do if there are no tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    OrCreated,
    Required,
}

/// A connection that may change rows, to a journal of this version, and whether it was created because there was none. `None` if
/// there is none and it must exist. Closing it does not touch the log: `open_flag` decides whether it is removed.
pub(super) fn to_write(place: &Place, existing: Existing) -> Result<Option<(Connection, bool)>, SqliteError> {
    let mut connection = connect(place, WRITE)?;
    if connection.is_readonly("main")? {
        return Err(problem::refused(place.path(), "is read-only: allow this user to write to it").into());
    }
    let had_log = place.has_log();
    let prepared = prepare(place, &mut connection, existing);
    // Reading a database in WAL mode has created an empty log. With this setting SQLite removes it on closing.
    if !matches!(prepared, Ok(Some(_))) && !had_log && place.log_is_empty() {
        // If this fails, an empty file remains next to the database.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
    Ok(prepared?.map(|was_created| (connection, was_created)))
}

/// Returns whether the tables were created; `None` if there are none and they must exist.
fn prepare(
    place: &Place,
    connection: &mut Connection,
    existing: Existing,
) -> Result<Option<bool>, SqliteError> {
    // In one transaction, because another process may be creating it.
    let mut found = found_tables(place, &*connection.transaction()?)?;
    if found == Tables::None && existing == Existing::Required {
        return Ok(None);
    }
    if found == Tables::Current {
        check_log(place, connection)?;
    }
    configure(place, connection)?;
    if found != Tables::Current {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Checked again, because another process may have done it meanwhile.
        found = found_tables(place, &transaction)?;
        match found {
            Tables::None => tables::create(&transaction)?,
            Tables::Older(version) => {
                tables::bring_forward(&transaction, version, tables::MIGRATIONS)?;
                found_tables(place, &transaction)?;
            }
            Tables::Current => {}
        }
        transaction.commit()?;
    }
    checkpoint_on_open(place, connection)?;
    Ok(Some(found == Tables::None))
}

/// What the database file says without its log.
pub(super) struct InFile {
    pub(super) is_open: bool,
    changes: i64,
}

/// The database file alone, read without the log and without creating one. `None` if it cannot be read or has a newer version;
/// other checks report that.
///
/// SQLite opens the file, because it knows the locks that this process has on it.
pub(super) fn in_file(place: &Place) -> Option<InFile> {
    let connection = Connection::open_with_flags(place.uri("immutable=1"), READ | BY_URI).ok()?;
    connection.pragma_update(None, "trusted_schema", false).ok()?;
    let (application, version) = numbers(&connection).ok()?;
    // Every version has the flag.
    if application != tables::APPLICATION_ID || !(1..=tables::VERSION).contains(&version) {
        return None;
    }
    let in_file = |row: &Row<'_>| Ok(InFile { is_open: row.get(0)?, changes: row.get(1)? });
    connection.query_row(tables::IS_OPEN, [], in_file).ok()
}

/// Refuses a database file and a log of different times, of which SQLite would mix the pages.
pub(super) fn check_log(place: &Place, connection: &Connection) -> Result<(), SqliteError> {
    // A checkpoint may write the page that is read at this moment.
    const UNTIL_READ_WHOLE: Duration = Duration::from_millis(100);
    let belongs = until(UNTIL_READ_WHOLE, || {
        // In this order, because others may move the log meanwhile. A file that cannot be read alone is no older copy.
        let before = in_file(place);
        let (moved, changes): (i64, i64) =
            connection.query_row(tables::MOVED_AND_CHANGES, [], |row| row.try_into())?;
        let belongs = before.is_none_or(|file| file.changes <= changes)
            && in_file(place).is_none_or(|file| moved <= file.changes);
        Ok::<_, SqliteError>(belongs.then_some(()))
    })?;
    belongs.ok_or_else(|| problem::log_of_another_time(place.path()).into())
}

/// A connection that sees what is committed and changes nothing.
pub(super) fn to_read(place: &Place) -> rusqlite::Result<Connection> {
    let connection = connect(place, READ)?;
    // The first read opens the log, which the writer still has open.
    connection.pragma_query_value(None, "user_version", |_| Ok(()))?;
    Ok(connection)
}

/// A connection that writes nothing: not the database, its log or the log's index, and no new file. See `read_only.rs`.
pub(super) fn to_only_read(place: &Place, mode: Mode) -> rusqlite::Result<Connection> {
    let connection = match mode {
        Mode::Closed => Connection::open_with_flags(place.uri("immutable=1"), READ | BY_URI)?,
        Mode::Shared => Connection::open_with_flags(place.uri("readonly_shm=1"), READ | BY_URI)?,
        Mode::LogAlone => Connection::open_with_flags_and_vfs(place.path(), READ, WITHOUT_LOCKS)?,
    };
    let connection = configured(connection, place.max_wait)?;
    if mode == Mode::LogAlone {
        // Keeps the log's index in memory.
        connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    }
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The first read opens the log.
    connection.pragma_query_value(None, "user_version", |_| Ok(()))?;
    Ok(connection)
}

/// SQLite's access to files without locks.
const WITHOUT_LOCKS: &str = if cfg!(windows) { "win32-none" } else { "unix-none" };

/// A connection is used by one thread, and its path is no symbolic link.
const ALWAYS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
const READ: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(ALWAYS);
const WRITE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(ALWAYS);
const BY_URI: OpenFlags = OpenFlags::SQLITE_OPEN_URI;

fn connect(place: &Place, flags: OpenFlags) -> rusqlite::Result<Connection> {
    configured(Connection::open_with_flags(place.path(), flags)?, place.max_wait)
}

fn configured(mut connection: Connection, max_wait: Duration) -> rusqlite::Result<Connection> {
    connection.busy_handler(Some(wait_for_others(max_wait)))?;
    // Do not call functions that somebody added to the schema.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // Nothing in the file or its log is changed before the file is known to be a journal, and only its writer removes the log.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // A statement is planned once, and not again for the values that it is used with.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Retries often: SQLite's own handler soon sleeps a tenth of a second at a time, during which other users of a busy file go
/// first again and again.
fn wait_for_others(max_wait: Duration) -> impl FnMut(i32) -> bool + Send + 'static {
    const PAUSE: Duration = Duration::from_millis(2);
    let mut since = Instant::now();
    move |times| {
        if times == 0 {
            since = Instant::now();
        }
        let has_time_left = since.elapsed() < max_wait;
        if has_time_left {
            thread::sleep(if times < 8 { PAUSE / 8 } else { PAUSE });
        }
        has_time_left
    }
}

/// Tries until it returns something, for at most this time.
pub(super) fn until<T, E>(
    max_wait: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let since = Instant::now();
    loop {
        match attempt()? {
            None if since.elapsed() < max_wait => thread::sleep(Duration::from_millis(1)),
            done => return Ok(done),
        }
    }
}

/// `None` if another store or process has the lock.
pub(super) fn unless_locked(tried: Result<(), TryLockError>) -> io::Result<Option<()>> {
    match tried {
        Ok(()) => Ok(Some(())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What a database has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    None,
    /// Those of this version.
    Current,
    /// Those of an older version.
    Older(i32),
}

/// What the database has. It is refused if that is neither nothing nor a journal that this version can read or bring forward.
pub(super) fn found_tables(place: &Place, connection: &Connection) -> Result<Tables, SqliteError> {
    let path = place.path();
    let is_empty = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    Err(match numbers(connection)? {
        (tables::APPLICATION_ID, tables::VERSION) => match tables::first_difference(connection)? {
            None => return Ok(Tables::Current),
            Some(name) => {
                problem::damaged(path, format_args!("its {name} is missing or differs from this version"))
            }
        },
        (tables::APPLICATION_ID, version) if version > tables::VERSION => problem::newer(path, version),
        (tables::APPLICATION_ID, version) if version > 0 => return Ok(Tables::Older(version)),
        (tables::UNRELEASED_APPLICATION_ID, _) => problem::unreleased(path),
        (0, 0) if connection.query_row(is_empty, [], |row| row.get(0))? => return Ok(Tables::None),
        _ => problem::not_a_journal(path, "a SQLite database of another program"),
    }
    .into())
}

/// The numbers of the application and of the version.
fn numbers(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
    Ok((number("application_id")?, number("user_version")?))
}

fn configure(place: &Place, connection: &Connection) -> Result<(), SqliteError> {
    // If two processes create a journal at once, SQLite rejects one of them without waiting.
    let mode = until(place.max_wait, || {
        let set =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        problem::unless_busy(set)
    })?;
    if mode.ok_or_else(|| problem::busy(place.path()))? != "wal" {
        let why = "cannot have a log: this file system lacks what SQLite needs; use a local disk";
        return Err(problem::refused(place.path(), why).into());
    }
    // Every commit is synced, not only every checkpoint; on macOS also through the drive's cache.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", "ON")?;
    connection.pragma_update(None, "checkpoint_fullfsync", "ON")?;
    // The writer runs checkpoints itself, after it has responded to callers, and sees them fail.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // No page of a journal goes into a directory of temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

/// Moves the log into the database.
///
/// After a failed sync, rows of an earlier process can be in the system's cache and not on the disk, although the system
/// considers them written. Here they are written and synced once more, before anything relies on them. If another process has
/// the journal open, there are no such rows: it has never seen rows that could not be synced.
fn checkpoint_on_open(place: &Place, connection: &mut Connection) -> Result<(), SqliteError> {
    // Does not wait for other processes that have it open.
    connection.busy_timeout(Duration::ZERO)?;
    let is_whole = checkpoint(connection, "TRUNCATE")? == 0;
    connection.busy_handler(Some(wait_for_others(place.max_wait)))?;
    // Another store may have written to the log since.
    if is_whole && is_truncated(place, connection)? && place.log_is_empty() {
        return Err(problem::damaged(place.path(), ITS_END_IS_MISSING).into());
    }
    Ok(())
}

/// Whether the file is shorter than the database. The end may be in the log.
pub(super) fn is_truncated(place: &Place, connection: &Connection) -> rusqlite::Result<bool> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let length = number("page_count")?.saturating_mul(number("page_size")?);
    Ok(place.length() < length.cast_unsigned())
}

pub(super) const ITS_END_IS_MISSING: &str = "its end is missing";

/// Runs a checkpoint in this mode. Returns at most how many pages remain in the log.
pub(super) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    let waiting = |row: &Row<'_>| {
        let (is_busy, logged, moved): (bool, i64, i64) = row.try_into()?;
        Ok(if is_busy { i64::MAX } else { logged - moved })
    };
    let result = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], waiting);
    Ok(problem::unless_busy(result)?.unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use rusqlite::{StatementStatus, params_from_iter};

    use super::*;

    /// Planning one of them anew for each use took a third of the writer's time.
    #[test]
    fn statements_of_a_change_are_planned_once() {
        let connection = configured(Connection::open_in_memory().unwrap(), Duration::ZERO).unwrap();
        tables::create(&connection).unwrap();
        for sql in [tables::FIND, tables::OTHER_HOLDER, tables::INSERT, tables::UPDATE, tables::STAMP] {
            for number in 1..=3 {
                let mut statement = connection.prepare_cached(sql).unwrap();
                let values = vec![number; statement.parameter_count()];
                let mut rows = statement.query(params_from_iter(values)).unwrap();
                while rows.next().unwrap().is_some() {}
                drop(rows);
                assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{sql}");
            }
        }
    }
}
