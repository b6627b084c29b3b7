//! Opening the database: whose it is, of which version, and how it is to be written.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior};

use crate::sqlite_store::place::Place;
use crate::sqlite_store::problem::{self, OpenError};
use crate::sqlite_store::schema;

/// A connection that may change rows, to a journal of this version, which is made if there is none. Closing it leaves
/// the log as it is: to remove it is for who has seen to the mark.
pub(super) fn to_write(place: &Place, patience: Duration) -> Result<Connection, OpenError> {
    let mut connection = connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE, patience)?;
    if connection.is_readonly("main")? {
        return Err(problem::refused(place.path(), "may not be written: allow this user to write it").into());
    }
    // Until it is known whose file it is, nothing of it is touched, its log included.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let had_log = place.has_log();
    take(place, &mut connection, patience).inspect_err(|_| {
        // A database that keeps a log got an empty one when it was looked at. SQLite takes it away on closing, if it may.
        if !had_log && place.log_is_empty() {
            // An empty file beside the database is what is left if this fails.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    })?;
    Ok(connection)
}

fn take(place: &Place, connection: &mut Connection, patience: Duration) -> Result<(), OpenError> {
    // At one moment of it: another process may be making it.
    let is_new = is_new(place, &*connection.transaction()?)?;
    configure(place, connection, patience)?;
    if is_new {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Asked again: another process may just have done it.
        if self::is_new(place, &transaction)? {
            schema::create(&transaction)?;
        }
        transaction.commit()?;
    }
    write_again(place, connection, patience)
}

/// What the database file alone says of its mark, without its log and without making one; `None` if it cannot be read or
/// is of no version that this one reads, which is told elsewhere.
///
/// SQLite opens it, which knows of the locks that this process has on it.
pub(super) fn mark_in_file(place: &Place) -> Option<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(place.immutable_uri(), flags).ok()?;
    connection.pragma_update(None, "trusted_schema", false).ok()?;
    if numbers(&connection).ok()? != (schema::APPLICATION_ID, schema::VERSION) {
        return None;
    }
    connection.query_row(schema::IS_OPEN, [], |row| row.get(0)).ok()
}

/// A connection that sees what is committed and changes nothing.
pub(super) fn to_read(place: &Place, patience: Duration) -> rusqlite::Result<Connection> {
    let connection = connect(place, OpenFlags::SQLITE_OPEN_READ_ONLY, patience)?;
    // What is to become of the log when all have gone is the writer's to say.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // The log is opened with the first look, before the writer can go.
    connection.pragma_query_value(None, "user_version", |_| Ok(()))?;
    Ok(connection)
}

fn connect(place: &Place, access: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(place.path(), flags)?;
    connection.busy_handler(Some(wait_for_others(patience)))?;
    // Functions that somebody put into the schema are not called.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Asks often: SQLite's own handler soon sleeps a tenth of a second at a time, in which others of a busy file go first
/// again and again.
fn wait_for_others(patience: Duration) -> impl FnMut(i32) -> bool + Send + 'static {
    const PAUSE: Duration = Duration::from_millis(2);
    let mut since = Instant::now();
    move |times| {
        if times == 0 {
            since = Instant::now();
        }
        let has_patience = since.elapsed() < patience;
        if has_patience {
            thread::sleep(if times < 8 { PAUSE / 8 } else { PAUSE });
        }
        has_patience
    }
}

/// Tries until it gives something, or until the patience ends.
pub(super) fn until<T, E>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let since = Instant::now();
    loop {
        match attempt()? {
            None if since.elapsed() < patience => thread::sleep(Duration::from_millis(1)),
            done => return Ok(done),
        }
    }
}

/// Whether the database is empty. One that is neither empty nor a journal of this version is refused.
fn is_new(place: &Place, connection: &Connection) -> Result<bool, OpenError> {
    let path = place.path();
    let is_empty = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    Err(match numbers(connection)? {
        (schema::APPLICATION_ID, schema::VERSION) => match schema::unlike(connection)? {
            None => return Ok(false),
            Some(name) => {
                problem::damaged(path, format_args!("its {name} is missing or not of this version"))
            }
        },
        (schema::APPLICATION_ID, version) => problem::of_another_version(path, version),
        (0, 0) if connection.query_row(is_empty, [], |row| row.get(0))? => return Ok(true),
        _ => problem::no_journal(path, "a SQLite database of another program"),
    }
    .into())
}

/// The application's and the version's.
fn numbers(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
    Ok((number("application_id")?, number("user_version")?))
}

fn configure(place: &Place, connection: &Connection, patience: Duration) -> Result<(), OpenError> {
    // Of two who make a journal at once, SQLite turns one away without waiting.
    let mode = until(patience, || {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Err(error) if problem::is_busy(&error) => Ok(None),
            set => set.map(Some),
        }
    })?;
    if mode.ok_or_else(|| problem::busy(place.path()))? != "wal" {
        let why = "cannot have a log beside it: this file system lacks what SQLite needs";
        return Err(problem::refused(place.path(), why).into());
    }
    // Every commit is synced, not only every checkpoint; on macOS through the drive's own memory too.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", "ON")?;
    connection.pragma_update(None, "checkpoint_fullfsync", "ON")?;
    // The writer moves the log itself, outside of what callers wait for, and sees it fail.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // No page of a journal in a directory of temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

/// Moves the log into the database.
///
/// What a process left behind whose sync failed can be in the memory of the system and not on the disk, where the system
/// takes it for written. Here it is written once more and synced, so that nothing is built on it that is not on the disk.
/// Where another process has the journal open, nothing was left behind: it has never seen what could not be synced.
fn write_again(place: &Place, connection: &mut Connection, patience: Duration) -> Result<(), OpenError> {
    // Those who have it open are not waited for.
    connection.busy_timeout(Duration::ZERO)?;
    let is_whole = checkpoint(connection, "TRUNCATE")? == 0;
    connection.busy_handler(Some(wait_for_others(patience)))?;
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let length = number("page_count")?.saturating_mul(number("page_size")?);
    // Another store may have written since, into the log.
    if is_whole && place.length() < length.cast_unsigned() && place.log_is_empty() {
        return Err(problem::damaged(place.path(), "its end is missing").into());
    }
    Ok(())
}

/// Moves what this mode may move of the log into the database. Returns how many pages then wait in it, at most.
pub(super) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    let waiting = |row: &Row<'_>| {
        let (is_busy, logged, moved): (bool, i64, i64) = row.try_into()?;
        Ok(if is_busy { i64::MAX } else { logged - moved })
    };
    match connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], waiting) {
        Err(error) if problem::is_busy(&error) => Ok(i64::MAX),
        result => result,
    }
}
