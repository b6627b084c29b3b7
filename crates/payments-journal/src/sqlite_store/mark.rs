//! The mark in the database file by which a log that is missing is noticed.
//!
//! While a journal is open, and after a crash, the newest rows are in the log alone, and SQLite takes a database without
//! its log for a whole one: every key that was only in the log would be new, and charged again. So the database itself
//! says in `meta.is_open` that it needs its log, and one that says so and has none is refused.
//!
//! Why it is neither forgotten nor refused wrongly, at whatever point a process is killed:
//!
//! - **It is looked at before the log can be made.** A look in the ordinary way makes an empty log, which the next to look
//!   would take for the one that is missing.
//! - **It is set while the log is there**: the first look has made the log, the commit of the mark has synced it, and its
//!   directory is synced too. Only then the mark is moved into the database file, and only then a row is written. Killed
//!   before: the file says closed, and no row is in the log alone. Killed after: the log is there, if only as an empty file,
//!   because nobody removes it but who has cleared the mark.
//! - **It is cleared by the last to close**, when no other store has it open, after everything before it was moved into the
//!   database file. Killed before the log is removed: the log is there, whatever the file says. Killed after: the file says
//!   closed, which SQLite has synced before it removes the log. A store that was dropped counts until its writer has ended:
//!   it may still commit what it was asked before, and those rows would be in the log alone.
//! - **Who does not clear it leaves the log**: one of several, or one that has failed. The log then stays beside the mark.
//!
//! Opening and closing stores take turns (a [`Turn`]), so that the last of several that close at once finds itself alone, and nobody
//! looks for the log and for the mark while both are changed.
//!
//! What SQLite does for another program is not known here: one that closes the journal last, after a crash, moves the log
//! into the database, removes it, and leaves the mark, as a copy by its `.backup` has the mark and no log. Both are refused
//! until a person says that nothing is missing, because a file cannot tell them from a loss.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::sqlite_store::owners::{self, Owner, Turn};
use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::problem::{self, OpenError};
use crate::sqlite_store::{connection, schema};

/// Refuses a database that needs a log and has none.
pub(super) fn check(place: &Place) -> Result<(), OpenError> {
    if !place.has_log() && connection::mark_in_file(place) == Some(true) {
        return Err(problem::log_missing(place.path()).into());
    }
    Ok(())
}

/// From now on a row may be in the log alone.
pub(super) fn set(place: &Place, connection: &Connection, patience: Duration) -> Result<(), OpenError> {
    if !connection.query_row(schema::IS_OPEN, [], |row| row.get::<_, bool>(0))? {
        place::sync_directory_of(place.path()).map_err(|error| problem::unavailable(place.path(), error))?;
        connection.execute(schema::SET_OPEN, [true])?;
    }
    let set = connection::until(patience, || {
        // Where others have it open, one of them has done it.
        connection::checkpoint(connection, "PASSIVE")?;
        Ok::<_, OpenError>(connection::mark_in_file(place).filter(|is_set| *is_set))
    })?;
    set.map(drop).ok_or_else(|| problem::busy(place.path()).into())
}

/// Clears the mark and removes the log, if nobody else has the journal open.
///
/// What fails here leaves both, which is what a crash leaves, and nothing is lost by it.
pub(super) fn close(place: &Place, connection: Connection, owner: &Owner, patience: Duration) {
    let Ok(_turn) = Turn::take(place, patience) else { return };
    owner.release();
    if !owners::is_any_open(place) && clear(&connection).is_ok() {
        // What stays if this fails is a log that is not needed.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
    // Within the turn.
    drop(connection);
}

fn clear(connection: &Connection) -> rusqlite::Result<()> {
    // Rows first: SQLite moves pages in the order of the file, not of the commits.
    connection::checkpoint(connection, "PASSIVE")?;
    connection.execute(schema::SET_OPEN, [false])?;
    Ok(())
}
