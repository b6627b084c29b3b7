//! Files that are refused, each with its own message and without a change.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use payments_sandbox::{DataFile, StoreError};
use rusqlite::Connection;

use crate::support::{KEYS, Place};

fn refusal(path: &Path) -> StoreError {
    DataFile::open(path, &KEYS).expect_err("it must be refused")
}

/// Asserts that the file is refused with this message and that the folder is unchanged.
#[track_caller]
fn assert_refused(place: &Place, path: &Path, message: &str) {
    let before = (place.names(), fs::read(path).ok());
    let error = refusal(path);
    assert!(error.to_string().contains(message), "{error}");
    assert!(!error.is_in_use(), "{error}");
    assert!((place.names(), fs::read(path).ok()) == before, "it was changed: {error}");
}

#[test]
fn a_file_that_is_not_a_database() {
    let text = "not a database, and longer than a database's head: ".repeat(100);
    for length in [1, 2, 99, 100, 101, 511, 512, 513, 4096, 5000] {
        let place = Place::new();
        fs::write(place.file(), &text[..length]).unwrap();
        assert_refused(&place, &place.file(), "is not a data file of the sandbox, and was not changed");
    }
}

#[test]
fn a_database_of_another_program() {
    let place = Place::new();
    place.sql().execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (7)").unwrap();
    assert_refused(&place, &place.file(), "is a SQLite database of another program, and was not changed");
}

#[test]
fn a_database_with_the_application_id_of_another_program() {
    let place = Place::new();
    place.sql().execute_batch("PRAGMA application_id = 7").unwrap();
    assert_refused(&place, &place.file(), "is a SQLite database of another program");
}

#[test]
fn the_log_of_another_program_is_not_changed_either() {
    let origin = Place::new();
    let theirs = origin.sql();
    theirs.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)").unwrap();
    let place = Place::new();
    fs::copy(origin.file(), place.file()).unwrap();
    fs::copy(origin.log(), place.log()).unwrap();
    let log = fs::read(place.log()).unwrap();
    assert!(!log.is_empty());
    assert_refused(&place, &place.file(), "is a SQLite database of another program");
    assert!(fs::read(place.log()).unwrap() == log);
}

#[test]
fn a_file_of_a_newer_schema() {
    let place = Place::new();
    place.open(&KEYS).close();
    place.sql().pragma_update(None, "user_version", 7).unwrap();
    let message = "is from a newer version of the sandbox (its schema is 7, this version supports 1)";
    assert_refused(&place, &place.file(), message);
}

#[test]
fn a_file_in_use_by_this_process() {
    let place = Place::new();
    let mut taken = DataFile::open(place.file(), &KEYS).unwrap();
    for _ in 0..2 {
        let error = refusal(&place.file());
        assert!(error.is_in_use(), "{error}");
        assert!(error.to_string().contains("is in use by another sandbox; stop that one"), "{error}");
        drop(taken);
        taken = DataFile::open(place.file(), &KEYS).unwrap();
    }
    drop(taken);
    let stored = place.open(&KEYS);
    stored.add_customer(KEYS[0], "cus_7");
    assert!(refusal(&place.file()).is_in_use());
    // The refused attempt did not release the lock.
    assert!(in_another_process(&place).contains("is in use"));
    stored.close();
    assert_eq!(in_another_process(&place), "opened");
}

/// The result of opening the file in another process, which then ends.
fn in_another_process(place: &Place) -> String {
    let mut child = other_process(place).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let result = result_of(&mut child);
    child.wait().unwrap();
    result
}

fn other_process(place: &Place) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "refusals::the_other_process", "--nocapture", "--ignored"]);
    command.env(OTHER_PROCESS, place.file());
    command
}

fn result_of(child: &mut std::process::Child) -> String {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut results =
        lines.map_while(Result::ok).filter_map(|line| Some(line.split_once(RESULT)?.1.to_owned()));
    results.next().expect("the other process prints a result")
}

const OTHER_PROCESS: &str = "STORE_TEST_OTHER_PROCESS";
const RESULT: &str = "result of the other process: ";

#[test]
#[ignore = "the other process of other tests"]
fn the_other_process() {
    let Some(path) = std::env::var_os(OTHER_PROCESS) else { return };
    let file = DataFile::open(path, &KEYS);
    println!("\n{RESULT}{}", file.as_ref().map_or_else(ToString::to_string, |_| "opened".to_owned()));
    // Keeps the file until the parent closes the pipe or ends this process.
    std::io::stdin().lines().for_each(drop);
}

#[test]
fn a_file_in_use_by_another_process_until_it_is_killed() {
    let place = Place::new();
    place.open(&KEYS).close();
    let mut child = other_process(&place).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(result_of(&mut child), "opened");
    let error = refusal(&place.file());
    assert!(error.is_in_use(), "{error}");

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(DataFile::open(place.file(), &KEYS).unwrap().starts(), 3);
}

#[test]
fn a_folder_instead_of_the_file() {
    let place = Place::new();
    fs::create_dir(place.file()).unwrap();
    assert_refused(&place, &place.file(), "is not a file; use the path of a data file");
    assert_refused(&place, Path::new("/"), "is not a file");
    assert_refused(&place, &place.folder().join(".."), "is not a file");
}

#[test]
fn a_file_instead_of_the_folder() {
    let place = Place::new();
    fs::write(place.file(), "").unwrap();
    assert_refused(&place, &place.file().join("payments.db"), "cannot be opened");
}

#[test]
fn a_folder_that_does_not_exist() {
    let place = Place::new();
    let path = place.folder().join("missing").join("payments.db");
    assert_refused(&place, &path, "its folder does not exist; create the folder first");
}

#[test]
#[cfg(unix)]
fn broken_links() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    symlink(place.folder().join("nothing"), place.file()).unwrap();
    assert_refused(&place, &place.file(), "is a link to a file that does not exist");
    let cycle = place.folder().join("cycle");
    symlink(&cycle, &cycle).unwrap();
    assert_refused(&place, &cycle, "cannot be opened");
    assert_refused(&place, &cycle.join("payments.db"), "cannot be opened");
}

#[test]
#[cfg(unix)]
fn a_link_opens_the_same_file_with_the_same_lock() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let link = place.folder().join("link.db");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    assert!(refusal(&link).is_in_use());
    stored.pay(KEYS[0]);
    let states = stored.states();
    stored.close();
    assert_eq!(crate::support::StoredGateway::open(&link, &KEYS).states(), states);
}

/// In this folder, even root cannot create a file.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written() {
    let error = refusal(Path::new("/proc/payments.db"));
    assert!(error.to_string().contains("/proc/payments.db cannot be opened: "), "{error}");
}

#[test]
#[cfg(unix)]
fn a_file_that_is_not_writable() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    place.open(&KEYS).close();
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o400)).unwrap();
    if fs::File::options().write(true).open(place.file()).is_ok() {
        // Root can write everything.
        return;
    }
    assert_refused(&place, &place.file(), "is not writable; allow this user to write the file");
}

#[test]
fn a_file_with_a_missing_table_or_an_invalid_record() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    stored.pay(KEYS[0]);
    stored.close();
    for (damage, message) in [
        ("UPDATE record SET document = '{}' WHERE kind = 1", "is damaged (record txn_"),
        ("UPDATE record SET kind = 9", "is damaged ("),
        ("DROP INDEX record_that_changes", "is damaged (its index record_that_changes is missing"),
        ("DROP TABLE record", "is damaged (its table record is missing"),
        ("DELETE FROM meta", "is damaged ("),
        ("DROP TABLE meta", "is damaged (its table meta is missing"),
    ] {
        let sql = place.sql();
        sql.execute_batch(damage).unwrap();
        drop(sql);
        let error = match DataFile::open(place.file(), &KEYS) {
            Ok(file) => file.gateway(payments_fake::FakeGateway::builder()).map(drop).unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains(message), "{damage}: {error}");
    }
}

#[test]
fn a_file_with_a_transaction_that_no_lookup_could_read() {
    for (written, invalid) in [
        (r#""Voided":false"#, r#""Voided":"4242424242424242""#),
        (r#""Amount":10.5"#, r#""Amount":"4242424242424242""#),
        (r#""Operation":"token-transaction""#, r#""Operation":"4242424242424242""#),
        (r#""TransactionId":"#, r#""4242424242424242":1,"TransactionId":"#),
    ] {
        let place = Place::new();
        let stored = place.open(&KEYS);
        stored.pay(KEYS[0]);
        stored.close();
        let sql = place.sql();
        let update =
            "UPDATE record SET document = replace(document, ?1, ?2) WHERE document LIKE '%' || ?1 || '%'";
        assert_eq!(sql.execute(update, [written, invalid]).unwrap(), 1, "{written}");
        drop(sql);
        let file = DataFile::open(place.file(), &KEYS).unwrap();
        let error = file.gateway(payments_fake::FakeGateway::builder()).map(drop).unwrap_err().to_string();
        assert!(error.contains("is damaged (record txn_") && !error.contains("4242"), "{invalid}: {error}");
    }
}

#[test]
fn a_file_with_the_tables_of_an_unreleased_version() {
    let place = Place::new();
    place.open(&KEYS).close();
    // In that version transactions were unique too, and a void had no second row.
    place
        .sql()
        .execute_batch(
            "DROP TABLE record;
             CREATE TABLE record (
                position INTEGER PRIMARY KEY,
                tenant INTEGER NOT NULL REFERENCES tenant (id),
                kind INTEGER NOT NULL,
                id TEXT NOT NULL,
                document TEXT NOT NULL,
                UNIQUE (tenant, kind, id)
             ) STRICT;
             CREATE UNIQUE INDEX record_that_changes ON record (tenant, kind, id) WHERE kind <> 1;",
        )
        .unwrap();
    assert_refused(&place, &place.file(), "is damaged (its table record is missing or not of this version)");
}

#[test]
fn additional_indexes_and_views_are_accepted() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    stored.pay(KEYS[0]);
    let states = stored.states();
    stored.close();
    place.sql().execute_batch("CREATE INDEX theirs ON record (kind); CREATE VIEW own AS SELECT 7").unwrap();
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn a_file_with_overwritten_pages() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    for _ in 0..50 {
        stored.pay(KEYS[0]);
    }
    stored.close();
    let mut bytes = fs::read(place.file()).unwrap();
    bytes[4096..].fill(0xff);
    fs::write(place.file(), bytes).unwrap();
    let error = refusal(&place.file());
    assert!(error.to_string().contains("is damaged (database disk image is malformed)"), "{error}");
}

#[test]
fn an_empty_file_is_new_and_special_names_are_ordinary_files() {
    let place = Place::new();
    for name in ["empty", ":memory:", "file:x?mode=memory", "a space.db"] {
        let path = place.folder().join(name);
        if name == "empty" {
            fs::write(&path, "").unwrap();
        }
        assert_eq!(DataFile::open(&path, &KEYS).unwrap().starts(), 1);
        assert_eq!(DataFile::open(&path, &KEYS).unwrap().starts(), 2);
        assert!(path.is_file());
    }
}

#[test]
fn a_path_without_a_folder_is_in_the_current_one() {
    let place = Place::new();
    let name = place.folder().file_name().unwrap().to_str().unwrap();
    let name = format!("store-test-{name}.db");
    let error = Connection::open_with_flags(&name, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
    assert!(error.is_err(), "the file does not exist yet");
    let file = DataFile::open(&name, &KEYS);
    let created = std::env::current_dir().unwrap().join(&name);
    let is_created = created.is_file();
    drop(file.unwrap());
    fs::remove_file(created).unwrap();
    assert!(is_created);
}

#[test]
#[cfg(unix)]
fn a_new_file_and_its_log_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let stored = place.open(&KEYS);
    stored.pay(KEYS[0]);
    payments_fake::block_on(stored.flushed()).unwrap();
    // The index of the log is in memory, so there is no third file.
    assert_eq!(place.names(), ["payments.db", "payments.db-wal"]);
    for path in [place.file(), place.log()] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}
