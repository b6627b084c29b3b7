//! Opening the database: whose it is, of which version, and how it is to be written.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior};

use crate::StoreError;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::{problem, schema};

/// A connection that may change rows, to a journal of this version, which is made if there is none. Closing it leaves
/// the log as it is: to remove it is for who has seen to the mark.
pub(super) fn to_write(place: &Place, patience: Duration) -> Result<Connection, StoreError> {
    let path = place.path();
    let fail = |error: rusqlite::Error| problem::at_open(path, &error);
    let mut connection = connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE, patience).map_err(fail)?;
    if connection.is_readonly("main").map_err(fail)? {
        return Err(problem::refused(path, "may not be written: allow this user to write it"));
    }
    // Until it is known whose file it is, nothing of it is touched, its log included.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    let had_log = place.has_log();
    take(place, &mut connection, patience).inspect_err(|_| {
        if !had_log {
            leave_no_trace(place, &connection);
        }
    })?;
    Ok(connection)
}

fn take(place: &Place, connection: &mut Connection, patience: Duration) -> Result<(), StoreError> {
    let found = {
        // At one moment of it: another process may be making it.
        let fail = |error: rusqlite::Error| problem::at_open(place.path(), &error);
        let moment = connection.transaction().map_err(fail)?;
        recognise(place, &moment)?
    };
    configure(place, connection, patience)?;
    if !matches!(found, Found::Current) {
        bring_up(place, connection)?;
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
    let (application, version) = numbers(&connection).ok()?;
    if application != schema::APPLICATION_ID || version != schema::VERSION {
        return None;
    }
    connection.query_row(schema::IS_OPEN, [], |row| row.get(0)).ok()
}

/// A connection that sees what is committed and changes nothing.
pub(super) fn to_read(place: &Place, patience: Duration) -> Result<Connection, StoreError> {
    let fail = |error: rusqlite::Error| problem::at_open(place.path(), &error);
    let connection = connect(place, OpenFlags::SQLITE_OPEN_READ_ONLY, patience).map_err(fail)?;
    // What is to become of the log when all have gone is the writer's to say.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    // The log is opened with the first look, before the writer can go.
    connection.pragma_query_value(None, "user_version", |_| Ok(())).map_err(fail)?;
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
    let mut since = Instant::now();
    move |times| {
        if times == 0 {
            since = Instant::now();
        }
        let has_patience = since.elapsed() < patience;
        if has_patience {
            thread::sleep(if times < 8 { Duration::from_micros(250) } else { Duration::from_millis(2) });
        }
        has_patience
    }
}

/// Whether the database is new or a journal of this version; anything else is refused.
fn recognise(place: &Place, connection: &Connection) -> Result<Found, StoreError> {
    let path = place.path();
    let fail = |error: rusqlite::Error| problem::at_open(path, &error);
    match numbers(connection).map_err(fail)? {
        (schema::APPLICATION_ID, schema::VERSION) => match schema::unlike(connection).map_err(fail)? {
            None => Ok(Found::Current),
            Some(name) => {
                Err(problem::damaged(path, format_args!("its {name} is missing or not of this version")))
            }
        },
        (schema::APPLICATION_ID, version) if version > schema::VERSION => {
            Err(problem::newer(path, version, schema::VERSION))
        }
        (schema::APPLICATION_ID, version) => Err(problem::older(path, version, schema::VERSION)),
        (0, 0) => {
            let is_empty = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
            let is_empty = connection.query_row(is_empty, [], |row| row.get(0)).map_err(fail)?;
            if is_empty { Ok(Found::New) } else { Err(another_programs(place)) }
        }
        _ => Err(another_programs(place)),
    }
}

enum Found {
    New,
    Current,
}

/// The application's and the version's.
fn numbers(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
    Ok((number("application_id")?, number("user_version")?))
}

fn another_programs(place: &Place) -> StoreError {
    problem::no_journal(place.path(), "a SQLite database of another program")
}

/// A database that keeps a log got an empty one when it was looked at. SQLite takes it away on closing, if it may.
fn leave_no_trace(place: &Place, connection: &Connection) {
    if place.log_is_empty() {
        // An empty file beside the database is what is left if this fails.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
}

fn configure(place: &Place, connection: &Connection, patience: Duration) -> Result<(), StoreError> {
    let path = place.path();
    let fail = |error: rusqlite::Error| problem::at_open(path, &error);
    let since = Instant::now();
    let mode = loop {
        let set =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match set {
            // Of two who make a journal at once, SQLite turns one away without waiting.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && since.elapsed() < patience =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            set => break set.map_err(fail)?,
        }
    };
    if mode != "wal" {
        return Err(problem::refused(
            path,
            "cannot have a log beside it: this file system lacks what SQLite needs",
        ));
    }
    // Every commit is synced, not only every checkpoint; on macOS through the drive's own memory too.
    let settings: [(&str, &str); 5] = [
        ("synchronous", "FULL"),
        ("fullfsync", "ON"),
        ("checkpoint_fullfsync", "ON"),
        // The writer moves the log itself, outside of what callers wait for, and sees it fail.
        ("wal_autocheckpoint", "0"),
        // No page of a journal in a directory of temporary files.
        ("temp_store", "MEMORY"),
    ];
    for (name, value) in settings {
        connection.pragma_update(None, name, value).map_err(fail)?;
    }
    Ok(())
}

/// Makes the tables.
fn bring_up(place: &Place, connection: &mut Connection) -> Result<(), StoreError> {
    let path = place.path();
    let fail = |error: rusqlite::Error| problem::at_open(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    // Asked again: another process may just have done it.
    match recognise(place, &transaction)? {
        Found::Current => return Ok(()),
        Found::New => schema::create(&transaction).map_err(fail)?,
    }
    transaction.commit().map_err(fail)
}

/// Moves the log into the database.
///
/// What a process left behind whose sync failed can be in the memory of the system and not on the disk, where the system
/// takes it for written. Here it is written once more and synced, so that nothing is built on it that is not on the disk.
/// Where another process has the journal open, nothing was left behind: it has never seen what could not be synced.
fn write_again(place: &Place, connection: &mut Connection, patience: Duration) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| problem::at_open(place.path(), &error);
    // Those who have it open are not waited for.
    connection.busy_timeout(Duration::ZERO).map_err(fail)?;
    let is_whole = checkpoint(connection, "TRUNCATE").map_err(fail)?;
    connection.busy_handler(Some(wait_for_others(patience))).map_err(fail)?;
    let number =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(fail);
    let length = number("page_count")?.saturating_mul(number("page_size")?);
    // Another store may have written since, into the log.
    if is_whole && place.length() < length.cast_unsigned() && place.log_is_empty() {
        return Err(problem::damaged(place.path(), "its end is missing"));
    }
    Ok(())
}

/// Moves what may be moved of the log into the database; `true` if that was all of it.
pub(super) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    let is_whole = |row: &Row<'_>| {
        let (is_busy, logged, moved): (i64, i64, i64) = row.try_into()?;
        Ok(is_busy == 0 && logged == moved)
    };
    match connection.query_row(&sql, [], is_whole) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        result => result,
    }
}
