//! A disk that fails under a process that has the journal open: what was answered is there afterwards, and nothing is
//! begun once something has failed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use payments_journal::{IntentState, IntentStore, SqliteStore, StateName};
use rusqlite::Connection;

use crate::contract::key;
use crate::sqlite::{InAFile, beside, close};
use crate::sqlite_process::Process;

/// A shell that lets no file grow beyond so many blocks of 512 or 1024 bytes, and ends nobody who tries.
fn limit(blocks: u64) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")
}

/// Lets it charge keys until the disk fails, and says which it has charged, and how it failed.
fn charge_until_it_fails(process: &mut Process) -> (Vec<String>, String) {
    assert_eq!(process.ask("open"), "opened");
    process.tell("charge key- 0 100000");
    let mut charged = Vec::new();
    let failure = loop {
        let answer = process.answer();
        match answer.split_once(' ') {
            Some(("charged", key)) => charged.push(key.to_owned()),
            _ => break answer,
        }
    };
    assert_eq!(process.answer(), "stopped");
    let again = process.ask("begin one-more");
    assert!(again.starts_with("failed poisoned: "), "{again}");
    assert!(again.contains("nothing more is charged through it"), "{again}");
    (charged, failure)
}

/// Every charge that was answered is in the journal, and the one that failed is not taken for one that never was sent.
async fn assert_kept(journal: &Path, charged: &[String]) {
    let store = SqliteStore::open(journal).unwrap();
    for name in charged {
        let intent = store.find(&key(name)).await.unwrap().unwrap();
        assert!(matches!(intent.state, IntentState::Processed { .. }), "{intent:?}");
    }
    assert!(store.find(&key("one-more")).await.unwrap().is_none());
    let others = store.list(StateName::ALL, None, usize::MAX).await.unwrap().intents.len() - charged.len();
    assert!(others <= 1, "{others}");
    let look = Connection::open(journal).unwrap();
    let check = look.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(check.unwrap(), "ok");
}

#[tokio::test]
async fn a_log_that_cannot_grow_loses_nothing() {
    let place = InAFile::new();
    close(SqliteStore::open(place.path()).unwrap());
    let mut process = Process::start_under(&["sh", "-c", &limit(200)], &place.path());
    let (charged, failure) = charge_until_it_fails(&mut process);
    assert!(!charged.is_empty());
    assert!(failure.starts_with("failed in_doubt: "), "{failure}");
    assert!(failure.contains("in the middle of a commit"), "{failure}");
    process.kill();
    assert_kept(&place.path(), &charged).await;
}

/// Nobody waits for the log to be moved, so it is the next who is told.
#[tokio::test]
async fn a_database_that_cannot_grow_loses_nothing() {
    let place = InAFile::new();
    close(SqliteStore::open(place.path()).unwrap());
    let filler = Connection::open(place.path()).unwrap();
    filler
        .execute_batch("CREATE TABLE filler (content BLOB); INSERT INTO filler VALUES (zeroblob(16000000))")
        .unwrap();
    drop(filler);
    let blocks = fs::metadata(place.path()).unwrap().len() / 1024 + 40;
    let mut process = Process::start_under(&["bash", "-c", &limit(blocks)], &place.path());
    let (charged, failure) = charge_until_it_fails(&mut process);
    assert!(charged.len() > 50, "{}", charged.len());
    assert!(failure.starts_with("failed poisoned: "), "{failure}");
    process.kill();
    assert_kept(&place.path(), &charged).await;
}

/// A file system of one megabyte that only the process sees, so it is the process that makes room and looks again.
#[test]
fn a_full_disk_loses_nothing_and_there_is_a_way_on() {
    let place = InAFile::new();
    let directory = place.path().parent().unwrap().to_owned();
    let script = format!(
        "mount -t tmpfs -o size=1m,mode=700 tmpfs {0} && head -c 500000 /dev/zero > {0}/ballast && exec \"$0\" \"$@\"",
        directory.display()
    );
    let wrapper = ["unshare", "--mount", "sh", "-c", &script];
    if !Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").status().is_ok_and(|status| status.success())
    {
        eprintln!(
            "NOT COVERED: a full disk; this user may not mount one (the limits of a file's size are covered)"
        );
        return;
    }
    let mut process = Process::start_under(&wrapper, &place.path());
    let (charged, failure) = charge_until_it_fails(&mut process);
    assert!(!charged.is_empty());
    assert!(failure.contains("database or disk is full"), "{failure}");

    let full = process.ask("open");
    assert!(full == "opened" || full.starts_with("failed unavailable: nothing was sent now"), "{full}");
    assert_eq!(process.ask(&format!("remove {}/ballast", directory.display())), "Ok(())");
    assert_eq!(process.ask("open"), "opened");
    for key in &charged {
        assert_eq!(process.ask(&format!("begin {key}")), "kept");
    }
    assert_eq!(process.ask("charge one-more"), "charged one-more");
}

/// A real `fsync` that says EIO, where the system lets one process trace another.
#[tokio::test]
async fn a_sync_that_fails_loses_nothing() {
    let place = InAFile::new();
    close(SqliteStore::open(place.path()).unwrap());
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
    if !Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").status().is_ok_and(|status| status.success())
    {
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

/// Root may write everywhere, so it is tried as nobody.
#[test]
fn a_directory_that_may_not_be_written_is_refused() {
    let place = InAFile::new();
    let directory = place.path().parent().unwrap().to_owned();
    close(SqliteStore::open(place.path()).unwrap());
    let mut wrapper = Vec::new();
    if rustix::process::geteuid().is_root() {
        wrapper.extend(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        let chown = |path: &Path| std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        chown(&directory);
        chown(&place.path());
        chown(&beside(&place.path(), "-owners"));
    }
    let program = std::env::current_exe().unwrap();
    let may_run = wrapper.first().is_none_or(|setpriv| {
        let run = Command::new(setpriv).args(&wrapper[1..]).arg(&program).arg("--list").output();
        run.is_ok_and(|run| run.status.success())
    });
    if !may_run {
        eprintln!(
            "NOT COVERED: a directory that may not be written; nobody may not run {}",
            program.display()
        );
        return;
    }
    let before = fs::read(place.path()).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o500)).unwrap();
    let answer = Process::start_under(&wrapper, &place.path()).ask("open");
    let new = Process::start_under(&wrapper, &directory.join("new.db")).ask("open");
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    for answer in [&answer, &new] {
        assert!(answer.starts_with("failed refused: nothing was sent now, because "), "{answer}");
    }
    assert!(answer.contains("this user must be able to write the file and its directory"), "{answer}");
    assert!(new.contains("cannot be made"), "{new}");
    assert!(fs::read(place.path()).unwrap() == before);
    assert_eq!(Process::start_under(&wrapper, &place.path()).ask("open"), "opened");
}
