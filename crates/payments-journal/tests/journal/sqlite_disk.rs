//! The disk fails while a process has the journal open: every confirmed change is still there, and nothing begins after the
//! failure.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use payments_journal::internals::IntentStore;
use payments_journal::{IntentState, SqliteStore};
use rusqlite::Connection;

use crate::contract::{intents, key};
use crate::process::{Process, as_nobody, is_allowed};
use crate::sqlite::{InAFile, beside, close};

/// A shell that limits files to this many blocks of 512 or 1024 bytes, and does not kill a process that exceeds it.
fn limit(blocks: u64) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")
}

/// Charges keys until the disk fails. Returns the charged keys, and the failure.
fn charge_until_it_fails(process: &mut Process) -> (Vec<String>, String) {
    assert_eq!(process.ask("open"), "opened");
    process.send("charge key- 0 100000");
    let mut charged = Vec::new();
    let failure = loop {
        let response = process.response();
        match response.split_once(' ') {
            Some(("charged", key)) => charged.push(key.to_owned()),
            _ => break response,
        }
    };
    assert_eq!(process.response(), "stopped");
    let again = process.ask("begin one-more");
    assert!(again.starts_with("failed poisoned: "), "{again}");
    assert!(again.contains("nothing more is charged through it"), "{again}");
    (charged, failure)
}

/// Checks that every confirmed charge is in the journal, and that the failed one is not treated as never sent.
async fn assert_kept(journal: &Path, charged: &[String]) {
    let store = SqliteStore::open(journal).unwrap();
    for name in charged {
        let intent = store.find(&key(name)).await.unwrap().unwrap();
        assert!(matches!(intent.state, IntentState::Processed { .. }), "{intent:?}");
    }
    assert!(store.find(&key("one-more")).await.unwrap().is_none());
    let others = intents(&store).await.len() - charged.len();
    assert!(others <= 1, "{others}");
    let connection = Connection::open(journal).unwrap();
    let check = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(check.unwrap(), "ok");
}

#[tokio::test]
async fn log_that_cannot_grow_loses_nothing() {
    let place = InAFile::closed();
    let mut process = Process::start_under(&["sh", "-c", &limit(200)], &place.path());
    let (charged, failure) = charge_until_it_fails(&mut process);
    assert!(!charged.is_empty());
    assert!(failure.starts_with("failed in_doubt: "), "{failure}");
    assert!(failure.contains("during a commit"), "{failure}");
    process.kill();
    assert_kept(&place.path(), &charged).await;
}

/// No caller waits for a checkpoint, so the next call gets the error.
#[tokio::test]
async fn database_that_cannot_grow_loses_nothing() {
    let place = InAFile::closed();
    place.run("CREATE TABLE filler (content BLOB); INSERT INTO filler VALUES (zeroblob(16000000))");
    let blocks = fs::metadata(place.path()).unwrap().len() / 1024 + 40;
    let mut process = Process::start_under(&["bash", "-c", &limit(blocks)], &place.path());
    let (charged, failure) = charge_until_it_fails(&mut process);
    assert!(charged.len() > 50, "{}", charged.len());
    assert!(failure.starts_with("failed poisoned: "), "{failure}");
    process.kill();
    assert_kept(&place.path(), &charged).await;
}

#[test]
fn outcome_that_a_full_disk_refused_is_written_when_there_is_room() {
    let place = InAFile::new();
    let directory = place.path().parent().unwrap().to_owned();
    let script =
        format!("mount -t tmpfs -o size=1m,mode=700 tmpfs {} && exec \"$0\" \"$@\"", directory.display());
    let wrapper = ["unshare", "--mount", "sh", "-c", &script];
    if !is_allowed(&wrapper) {
        eprintln!(
            "NOT COVERED: a full disk; this user may not mount one (the limits of a file's size are covered)"
        );
        return;
    }
    let mut process = Process::start_under(&wrapper, &place.path());
    assert_eq!(process.ask("open"), "opened");
    assert_eq!(process.ask("charge paid"), "charged paid");
    assert_eq!(process.ask("begin in-flight"), "begun");

    let ballast = process.path(&directory.join("ballast"));
    let error = File::create(&ballast).and_then(|mut file| io::copy(&mut io::repeat(0), &mut file));
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
    let new = process.ask("begin new");
    assert!(new.starts_with("failed unavailable: database or disk is full"), "{new}");
    process.send("end in-flight");
    thread::sleep(Duration::from_secs(1));
    fs::remove_file(&ballast).unwrap();
    assert_eq!(process.response(), "ended");
    assert_eq!(process.ask("charge new"), "charged new");

    assert_eq!(process.ask("close"), "closed");
    assert_eq!(process.ask("read"), "read paid=processed in-flight=processed new=processed");
}

/// A real `fsync` fails with EIO, if the system lets one process trace another.
#[tokio::test]
async fn failed_sync_loses_nothing() {
    let place = InAFile::closed();
    let wrapper = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=fsync,fdatasync",
        "-e",
        "inject=fsync,fdatasync:error=EIO:when=40+",
    ];
    if !is_allowed(&wrapper) {
        eprintln!("NOT COVERED: a real sync that fails; there is no strace (an injected one is covered)");
        return;
    }
    let mut process = Process::start_under(&wrapper, &place.path());
    let (charged, failure) = charge_until_it_fails(&mut process);
    assert!(!charged.is_empty());
    assert!(failure.starts_with("failed in_doubt: "), "{failure}");
    process.kill();
    assert_kept(&place.path(), &charged).await;
}

/// Root may write everywhere, so this runs as the user nobody.
#[test]
fn read_only_directory_is_refused() {
    let place = InAFile::new();
    let directory = place.path().parent().unwrap().to_owned();
    close(SqliteStore::open(place.path()).unwrap());
    let Some(wrapper) = as_nobody("a read-only directory") else { return };
    if !wrapper.is_empty() {
        let chown = |path: &Path| std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        chown(&directory);
        chown(&place.path());
        chown(&beside(&place.path(), "-owners"));
    }
    let before = fs::read(place.path()).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o500)).unwrap();
    let response = Process::start_under(&wrapper, &place.path()).ask("open");
    let new = Process::start_under(&wrapper, &directory.join("new.db")).ask("open");
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    for response in [&response, &new] {
        assert!(response.starts_with("failed refused: the journal "), "{response}");
    }
    assert!(response.contains("this user must be able to write the file and its directory"), "{response}");
    assert!(new.contains("cannot be created"), "{new}");
    assert!(fs::read(place.path()).unwrap() == before);
    assert_eq!(Process::start_under(&wrapper, &place.path()).ask("open"), "opened");
}
