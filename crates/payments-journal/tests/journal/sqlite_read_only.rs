//! A journal that is only read: nothing is written, wherever it is and whatever state it is in.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::slice;
use std::thread;
use std::time::SystemTime;

use payments_journal::internals::IntentStore;
use payments_journal::{IntentState, Journal, MemoryStore, Resolution, SqliteReader, SqliteStore, StateName};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::contract::{begin, is_only_read, key};
use crate::process::{Process, as_nobody, is_allowed};
use crate::sqlite::{InAFile, beside, close};
use crate::sqlite_damage::replace;

/// Every file of the directory, and of its directories, with its content and the time of its last change.
fn contents(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(contents(&path));
            found.insert(path, (Vec::new(), metadata.modified().unwrap()));
        } else {
            found.insert(path.clone(), (fs::read(&path).unwrap(), metadata.modified().unwrap()));
        }
    }
    found
}

/// A journal with one processed row and one that is being sent, and the process that opened it.
fn in_use() -> (InAFile, Process) {
    let place = InAFile::new();
    let mut process = Process::start(&place.path());
    assert_eq!(process.ask("open"), "opened");
    assert_eq!(process.ask("charge paid"), "charged paid");
    assert_eq!(process.ask("begin in-flight"), "begun");
    (place, process)
}

/// The same journal in each state in which it can be found, what it shows, and the process in which it is still open.
fn in_every_state() -> Vec<(&'static str, InAFile, &'static str, Option<Process>)> {
    const CRASHED: &str = "read paid=processed in-flight=unknown(crash)";
    let (live, process) = in_use();
    let (crashed, killed) = in_use();
    killed.kill();
    // As in a backup, or after the machine has started again and something has tidied up.
    let (copied, killed) = in_use();
    killed.kill();
    fs::remove_file(beside(&copied.path(), "-shm")).unwrap();
    fs::remove_dir_all(beside(&copied.path(), "-owners")).unwrap();
    let (closed, mut ended) = in_use();
    assert_eq!(ended.ask("close"), "closed");
    let (alone, mut ended) = in_use();
    assert_eq!(ended.ask("close"), "closed");
    fs::remove_dir_all(beside(&alone.path(), "-owners")).unwrap();
    let (accepted, mut ended) = in_use();
    assert_eq!(ended.ask("close"), "closed");
    let log = beside(&accepted.path(), "-wal");
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(log).unwrap();
    // Killed between the header of the log and its first change.
    let (begun, killed) = in_use();
    killed.kill();
    let log = beside(&begun.path(), "-wal");
    let header = fs::read(&log).unwrap()[..32].to_vec();
    let connection = Connection::open(begun.path()).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    fs::write(&log, header).unwrap();
    vec![
        ("a log without a change", begun, CRASHED, None),
        ("open", live, "read paid=processed in-flight=sending", Some(process)),
        ("crashed", crashed, CRASHED, None),
        ("a log without its index", copied, CRASHED, None),
        ("closed", closed, CRASHED, None),
        ("one file alone", alone, CRASHED, None),
        ("an empty log", accepted, CRASHED, None),
    ]
}

#[test]
fn reading_writes_nothing_and_shows_a_dead_sender_as_unknown() {
    for (what, place, expected, _process) in in_every_state() {
        let directory = place.path().parent().unwrap().to_owned();
        let before = contents(&directory);
        let mut reader = Process::start(&place.path());
        for _ in 0..2 {
            assert_eq!(reader.ask("read"), expected, "{what}");
            assert!(contents(&directory) == before, "{what}: something was written");
        }
        drop(reader);
        assert!(contents(&directory) == before, "{what}: something was written at the end");
    }
}

/// Showing a crash does not record it, and a store that opens the journal afterwards still does that.
#[tokio::test]
async fn shown_crash_is_not_written() {
    let (place, process) = in_use();
    process.kill();
    let reader = Journal::read_only(SqliteReader::open(place.path()).unwrap().unwrap());
    let shown = reader.find(&key("in-flight")).await.unwrap().unwrap();
    assert_eq!(shown.state.name(), StateName::Unknown);
    let unknown = reader.pages(&[StateName::Unknown]).next().await.unwrap().unwrap();
    assert_eq!(unknown, slice::from_ref(&shown));
    assert_eq!(reader.pages(&[StateName::Sending]).next().await.unwrap().unwrap(), []);
    assert_eq!(reader.pages(StateName::UNRESOLVED).next().await.unwrap().unwrap(), slice::from_ref(&shown));

    let store = SqliteStore::open(place.path()).unwrap();
    let stored = store.find(&key("in-flight")).await.unwrap().unwrap();
    assert_eq!(stored.state, IntentState::Sending);
    assert_eq!((shown.revision, shown.changed_at), (stored.revision, stored.changed_at));
    let journal = Journal::open(store).await.unwrap();
    assert_eq!(journal.find(&key("in-flight")).await.unwrap().unwrap().state, shown.state);
    journal.close().await;
}

/// For a program in its own view of the file system, what a shell runs before it.
fn and_then_it(script: &str) -> String {
    format!("{script} && exec \"$0\" \"$@\"")
}

#[test]
fn journal_on_a_read_only_file_system_is_read() {
    for (what, place, expected, _process) in in_every_state() {
        let directory = place.path().parent().unwrap().display().to_string();
        let mount = format!("mount --bind {directory} {directory} && mount -o remount,bind,ro {directory}");
        let script = and_then_it(&mount);
        let wrapper = ["unshare", "--mount", "sh", "-c", &script];
        if !is_allowed(&wrapper) {
            eprintln!("NOT COVERED: a read-only file system; this user may not mount one");
            return;
        }
        // A file's mode cannot be changed there.
        fs::set_permissions(place.path(), Permissions::from_mode(0o644)).unwrap();
        let mut reader = Process::start_under(&wrapper, &place.path());
        assert_eq!(reader.ask("read"), expected, "{what}");
        let refused = reader.ask("open");
        assert!(refused.starts_with("failed refused: the journal "), "{what}: {refused}");
        fs::set_permissions(place.path(), Permissions::from_mode(0o600)).unwrap();
    }
}

/// Only the process sees this file system of one megabyte, so the journal is made and killed there too.
#[test]
fn journal_on_a_full_disk_is_read() {
    let place = InAFile::new();
    let directory = place.path().parent().unwrap().display().to_string();
    let mount = format!("mount -t tmpfs -o size=1m,mode=700 tmpfs {directory}");
    if !is_allowed(&["unshare", "--mount", "sh", "-c", &and_then_it(&mount)]) {
        eprintln!("NOT COVERED: a full disk; this user may not mount one");
        return;
    }
    let fill = format!("{{ head -c 2000000 /dev/zero > {directory}/ballast; }} 2>/dev/null || true");
    let program = std::env::current_exe().unwrap();
    let run = format!("'{}' --exact sqlite_process::child_process --nocapture", program.display());
    for end in ["kill -9 $!", "wait $!"] {
        // The first process ends or is killed, the disk is filled, and then the second one reads.
        let first = format!(
            "mkfifo {directory}/to {directory}/from \
             && {{ {run} < {directory}/to > {directory}/from & }} \
             && exec 3> {directory}/to 4< {directory}/from \
             && printf 'open\\ncharge paid\\nbegin in-flight\\n' >&3 \
             && sed '/=> begun/q' <&4 > /dev/null \
             && exec 3>&- && {{ {end}; true; }} && {fill}"
        );
        let script = and_then_it(&format!("{mount} && {first}"));
        let wrapper = ["unshare", "--mount", "sh", "-c", &script];
        let mut reader = Process::start_under(&wrapper, &place.path());
        assert_eq!(reader.ask("read"), "read paid=processed in-flight=unknown(crash)", "{end}");
    }
}

/// Root may write everywhere, so this runs as the user nobody.
#[test]
fn journal_that_this_user_may_only_read_is_read() {
    for (what, place, expected, process) in in_every_state() {
        if process.is_some() {
            // It belongs to another user.
            continue;
        }
        let directory = place.path().parent().unwrap().to_owned();
        let Some(wrapper) = as_nobody("a journal that may only be read") else { return };
        let files: Vec<_> = contents(&directory).into_keys().chain([directory.clone()]).collect();
        for path in files.iter().filter(|_| !wrapper.is_empty()) {
            chown(path, Some(65534), Some(65534)).unwrap();
        }
        for path in &files {
            let mode = if path.is_dir() { 0o500 } else { 0o400 };
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        let shown = Process::start_under(&wrapper, &place.path()).ask("read");
        for path in files.iter().filter(|path| path.is_dir()) {
            fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        }
        assert_eq!(shown, expected, "{what}");
    }
}

/// What a store has committed is seen, whether it is in the log or in the database, while stores open and close. The stores are
/// in another process, as for the command.
#[tokio::test]
async fn reader_sees_every_charge_while_stores_open_and_close() {
    let place = InAFile::in_memory();
    let path = place.path();
    close(SqliteStore::open(&path).unwrap());
    let journal = Journal::read_only(SqliteReader::open(&path).unwrap().unwrap());
    let mut process = Process::start(&path);
    let writing = thread::spawn(move || {
        for number in 0..60 {
            assert_eq!(process.ask("open"), "opened");
            assert_eq!(process.ask(&format!("begin key-{number}")), "begun");
            assert_eq!(process.ask("close"), "closed");
        }
    });
    let mut seen = 0;
    while !writing.is_finished() {
        let intents = journal.pages(StateName::ALL).next().await.unwrap().unwrap();
        let names: Vec<_> = intents.iter().map(|intent| intent.key.as_str().to_owned()).collect();
        let expected: Vec<_> = (0..names.len()).map(|number| format!("key-{number}")).collect();
        assert_eq!(names, expected);
        assert!(names.len() >= seen, "{} after {seen}", names.len());
        seen = names.len();
    }
    writing.join().unwrap();
    assert_eq!(journal.pages(StateName::ALL).next().await.unwrap().unwrap().len(), 60);
    // A store that closes while the file is read leaves its log. The next one removes it.
    close(SqliteStore::open(&path).unwrap());
    assert!(!beside(&path, "-wal").exists());
}

/// A person who asks for a charged key is not told that it was never sent.
#[tokio::test]
async fn key_that_its_index_lost_is_found() {
    let (place, mut process) = in_use();
    assert_eq!(process.ask("close"), "closed");
    replace(&place.path(), "intent_key", "CREATE INDEX other ON intent (key) WHERE key <> 'paid'");
    let journal = Journal::read_only(SqliteReader::open(place.path()).unwrap().unwrap());
    assert_eq!(journal.find(&key("paid")).await.unwrap().unwrap().state.name(), StateName::Processed);
    assert!(journal.find(&key("never-sent")).await.unwrap().is_none());
}

#[tokio::test]
async fn reader_with_checked_indexes_finds_keys_of_an_open_journal() {
    let (place, mut process) = in_use();
    let reader = SqliteReader::open(place.path()).unwrap().unwrap().with_checked_indexes().unwrap();
    assert_eq!(process.ask("charge later"), "charged later");
    for (name, is_found) in [("paid", true), ("later", true), ("never-sent", false)] {
        assert_eq!(reader.find(&key(name)).await.unwrap().is_some(), is_found, "{name}");
    }
}

/// A person who asks for unresolved intents gets all of them, whatever an index has lost.
#[tokio::test]
async fn row_that_an_index_lost_is_listed() {
    for name in ["intent_unresolved", "intent_key", "intent_processed"] {
        let (place, process) = in_use();
        process.kill();
        close(SqliteStore::open(place.path()).unwrap());
        replace(&place.path(), name, "CREATE INDEX other ON intent (position) WHERE key IS NULL");
        let journal = Journal::read_only(SqliteReader::open(place.path()).unwrap().unwrap());
        for states in [&[StateName::Unknown][..], StateName::UNRESOLVED, StateName::ALL] {
            let listed = journal.pages(states).next().await.unwrap().unwrap();
            assert!(listed.iter().any(|intent| intent.key == key("in-flight")), "{name}: {states:?}");
        }
        let error = SqliteReader::open(place.path()).unwrap().unwrap().with_checked_indexes().unwrap_err();
        assert!(error.is_damaged() && error.to_string().contains(name), "{error}");
    }
}

/// Reading such a database without its log would hide its newest charges.
#[test]
fn missing_log_is_refused_to_a_reader_too() {
    let (place, process) = in_use();
    process.kill();
    fs::remove_file(beside(&place.path(), "-wal")).unwrap();
    for _ in 0..2 {
        let error = SqliteReader::open(place.path()).unwrap_err();
        assert!(error.is_damaged() && error.to_string().contains("its log, "), "{error}");
        assert!(!beside(&place.path(), "-wal").exists());
    }
}

/// A file that `touch` has left, a database whose tables were dropped, and one whose creation was interrupted.
#[test]
fn store_that_must_exist_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    assert!(SqliteStore::options().open_existing(&path).unwrap().is_none());
    assert!(contents(directory.path()).is_empty());
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    for sql in ["", "CREATE TABLE t (a); DROP TABLE t", "PRAGMA journal_mode = WAL"] {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let before = contents(directory.path());
        assert!(SqliteStore::options().open_existing(&path).unwrap().is_none(), "{sql}");
        assert!(contents(directory.path()) == before, "{sql}");
    }
    close(SqliteStore::open(&path).unwrap());
    let store = SqliteStore::options().open_existing(&path).unwrap().unwrap();
    assert!(!store.was_created());
}

#[test]
fn reader_creates_no_journal() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["journal.db", "missing/journal.db", "two/missing/journal.db"] {
        assert!(SqliteReader::open(directory.path().join(name)).unwrap().is_none());
    }
    fs::write(directory.path().join("empty.db"), "").unwrap();
    assert!(SqliteReader::open(directory.path().join("file/journal.db")).unwrap().is_none());
    let empty = directory.path().join("empty.db");
    fs::set_permissions(&empty, Permissions::from_mode(0o600)).unwrap();
    assert!(SqliteReader::open(&empty).unwrap().is_none());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);

    let other = directory.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE customer (name TEXT)").unwrap();
    fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
    assert!(SqliteReader::open(&other).unwrap_err().to_string().contains("of another program"));
}

#[tokio::test]
async fn journal_that_is_only_read_refuses_every_change() {
    let (place, process) = in_use();
    process.kill();
    let directory = place.path().parent().unwrap().to_owned();
    let before = contents(&directory);
    let journal = Journal::read_only(SqliteReader::open(place.path()).unwrap().unwrap());
    let name = key("in-flight");
    let read = journal.find(&name).await.unwrap().unwrap();
    let resolution = Resolution::not_processed("ada").note("n");
    let error = journal.resolve(&read, resolution).await.unwrap_err();
    assert!(error.store_error().is_some_and(payments_journal::StoreError::is_refused), "{error:?}");
    let error = journal.reopen(&name, &[401], "ada", None).await.unwrap_err();
    assert!(error.store_error().is_some_and(payments_journal::StoreError::is_refused), "{error:?}");
    assert!(journal.purge_older_than(Journal::YOUNGEST_TO_PURGE).await.unwrap_err().is_refused());
    let reader = || SqliteReader::open(place.path()).unwrap().unwrap();
    is_only_read(Journal::open(reader()).await);
    is_only_read(payments_journal::blocking::Journal::open(reader()));
    let reader = reader();
    let error = reader.apply(begin("new", &reader, 0)).await.unwrap_err();
    assert!(error.is_refused() && error.to_string().contains("opened only to be read"), "{error}");
    journal.close().await;
    assert!(contents(&directory) == before);
}

/// Any store can be read so.
#[tokio::test]
async fn read_only_journal_asks_whether_a_sender_is_alive() {
    let store = MemoryStore::new();
    let sender = store.another_owner();
    sender.apply(begin("k", &sender, 0)).await.unwrap();
    let journal = Journal::read_only(store.another_owner());
    let state = async || journal.find(&key("k")).await.unwrap().unwrap().state.name();
    assert_eq!(state().await, StateName::Sending);
    assert_eq!(journal.pages(&[StateName::Unknown]).next().await.unwrap().unwrap(), []);
    drop(sender);
    assert_eq!(state().await, StateName::Unknown);
    assert_eq!(journal.pages(&[StateName::Unknown]).next().await.unwrap().unwrap().len(), 1);
    assert_eq!(store.find(&key("k")).await.unwrap().unwrap().state, IntentState::Sending);
}
