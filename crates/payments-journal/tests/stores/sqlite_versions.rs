//! A journal of an older version is migrated whole, or left as it is.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::model::TransactionId;
use payments_fake::block_on;
use payments_journal::{Change, Ending, IntentStore as _, Purged, SqliteStore};
use rusqlite::Connection;

use crate::contract::{begin, key};
use crate::sqlite::{InAFile, close};
use crate::sqlite_damage::assert_left_alone;

/// Turns the tables into those of version 1.
pub(crate) fn make_version_1(path: &Path) -> Connection {
    let older = Connection::open(path).unwrap();
    older
        .execute_batch(
            "DROP INDEX intent_processed; ALTER TABLE intent DROP COLUMN processed_as;
             ALTER TABLE intent DROP COLUMN stored_at;
             ALTER TABLE intent DROP COLUMN follows; ALTER TABLE meta DROP COLUMN newest_stored_at;
             PRAGMA user_version = 1",
        )
        .unwrap();
    older
}

fn version(path: &Path) -> i32 {
    let connection = Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// A process of the older version could not write down how its charges end.
#[test]
fn a_journal_that_an_older_version_has_open_is_not_migrated_until_that_ends() {
    let place = InAFile::new();
    // Its lock stands for the process of the older version.
    let older = SqliteStore::open(place.path()).unwrap();
    drop(make_version_1(&place.path()));
    let error = SqliteStore::open(place.path()).unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    for text in ["an older version of this program has it open", "nothing was changed", "end that program"] {
        assert!(error.to_string().contains(text), "{text}: {error}");
    }
    assert_eq!(version(&place.path()), 1);

    close(older);
    close(SqliteStore::open(place.path()).unwrap());
    assert_eq!(version(&place.path()), 2);
}

#[test]
fn a_migrated_row_is_as_old_as_the_migration_whatever_its_senders_clock_said_d45() {
    let place = InAFile::new();
    let store = SqliteStore::open(place.path()).unwrap();
    for (name, changed_at) in [("behind", UNIX_EPOCH), ("right", SystemTime::now())] {
        let (change, attempt) = begin(name, &store, 0);
        block_on(store.apply(change)).unwrap();
        let ending = Ending::Processed(TransactionId::new(format!("txn_{name}")).unwrap());
        block_on(store.apply(Change::end(key(name), attempt, ending, changed_at))).unwrap();
    }
    close(store);
    drop(make_version_1(&place.path()));

    // The one that migrates, and one after it.
    for _ in 0..2 {
        let store = SqliteStore::open(place.path()).unwrap();
        assert_eq!(block_on(store.purge(Duration::ZERO)).unwrap(), Purged::default());
        close(store);
    }
}

#[test]
fn a_damaged_journal_of_an_older_version_is_refused_and_not_migrated() {
    for sql in
        ["DROP INDEX intent_key", "DROP INDEX intent_unresolved", "ALTER TABLE intent DROP COLUMN note"]
    {
        let place = InAFile::new();
        close(SqliteStore::open(place.path()).unwrap());
        make_version_1(&place.path()).execute_batch(sql).unwrap();
        let error = assert_left_alone(&place.path());
        assert!(error.is_damaged(), "{error:?}");
        assert!(error.to_string().contains("is missing or not of this version"), "{error}");
        assert_eq!(version(&place.path()), 1);
    }
}
