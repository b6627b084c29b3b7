//! The open flag in the database file, by which a missing log is noticed.
//!
//! While a journal is open, and after a crash, the newest rows are only in the log, and SQLite treats a database without its
//! log as complete: every key that was only in the log would be new, and charged again. So the database file records in
//! `meta.is_open` that it needs its log. A database with this flag and without a log is refused.
//!
//! The flag is always set in time, and never refuses a complete database, whenever a process is killed:
//!
//! - **It is read before a log can be created.** An ordinary read creates an empty log, which the next process would take for
//!   the missing one.
//! - **It is set while the log exists.** The first read has created the log, the commit of the flag has synced it, and its
//!   directory is synced too. Only then the flag is moved into the database file, and only then a row is written. Killed before:
//!   the file says closed, and no row is only in the log. Killed after: the log exists, if only as an empty file, because a
//!   process removes it only after it has cleared the flag.
//! - **The last store to close clears it**, when no other store has the journal open, after everything before it was moved into
//!   the database file. Killed before the log is removed: the log exists, whatever the file says. Killed after: the file says
//!   closed, which SQLite has synced before it removes the log. A dropped store counts until its writer has ended: it may still
//!   commit earlier jobs, and those rows would be only in the log.
//! - **A store that does not clear it leaves the log**: one of several, or one that has failed. The log and the flag then both
//!   remain.
//!
//! Stores open and close one at a time (see [`OwnersLock`]). So the last of several that close at once finds itself alone, and no
//! store checks the log and the flag while both are changed.
//!
//! A log can also be left next to an older copy of the database file, or the other way round. SQLite would mix the pages of both,
//! and what was in neither would be new. So each change records in `meta.moved` up to which change the file had everything when the
//! log was last moved into it. A file with fewer changes than that, or with more than the log, is refused before it is written.
//!
//! This protocol does not cover other programs. One that closes the journal last, after a crash, moves the log into the database,
//! removes it, and leaves the flag. A copy by `.backup` has the flag and no log. Both are refused until a person confirms that
//! nothing is missing, because the file cannot show whether rows were lost.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::sqlite_store::owners::{self, Owner, OwnersLock};
use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::problem::{self, SqliteError};
use crate::sqlite_store::{connection, tables};

/// Refuses a database that needs its log and has none.
pub(super) fn check(place: &Place) -> Result<(), SqliteError> {
    if !place.has_log() && connection::in_file(place).is_some_and(|file| file.is_open) {
        return Err(problem::log_missing(place.path()).into());
    }
    Ok(())
}

/// From now on a row may be only in the log. Returns the number of a change up to which the file has everything.
pub(super) fn set(place: &Place, connection: &Connection) -> Result<i64, SqliteError> {
    let (is_open, changes): (bool, i64) = connection.query_row(tables::IS_OPEN, [], |row| row.try_into())?;
    let moved = if connection::checkpoint(connection, "PASSIVE")? == 0 { changes } else { 0 };
    if !is_open {
        place::sync_directory_of(place.path()).map_err(|error| problem::unavailable(place.path(), error))?;
        connection.execute(tables::SET_OPEN, [moved])?;
    }
    let set = connection::until(place.max_wait, || {
        // If other processes have it open, one of them has done this.
        connection::checkpoint(connection, "PASSIVE")?;
        Ok::<_, SqliteError>(connection::in_file(place).filter(|file| file.is_open))
    })?;
    set.map(|_| moved).ok_or_else(|| problem::busy(place.path()).into())
}

/// Clears the flag and removes the log, if no other store has the journal open.
///
/// A failure here leaves both, as a crash does, and nothing is lost.
pub(super) fn close(place: &Place, connection: Connection, owner: &Owner) {
    let Ok(_lock) = OwnersLock::acquire(place) else { return };
    owner.release();
    if !owners::is_any_open(place)
        // Rows first: SQLite moves pages in file order, not in commit order.
        && connection::checkpoint(&connection, "PASSIVE").is_ok()
        && connection.execute(tables::CLEAR_OPEN, []).is_ok()
    {
        // If this fails, a log remains that is not needed.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
    // While the lock is held.
    drop(connection);
}
