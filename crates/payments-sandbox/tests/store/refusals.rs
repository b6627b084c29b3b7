//! Files that are not taken. Each is refused in its own words, and left as it is.

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

/// Refused with this in its words and without a change of the folder.
#[track_caller]
fn assert_refused(place: &Place, path: &Path, words: &str) {
    let before = (place.names(), fs::read(path).ok());
    let error = refusal(path);
    assert!(error.to_string().contains(words), "{error}");
    assert!(!error.is_in_use(), "{error}");
    assert!((place.names(), fs::read(path).ok()) == before, "it was touched: {error}");
}

#[test]
fn a_file_that_is_no_database() {
    let text = "not a database, and longer than a database's head: ".repeat(100);
    for length in [1, 2, 99, 100, 101, 511, 512, 513, 4096, 5000] {
        let place = Place::new();
        fs::write(place.file(), &text[..length]).unwrap();
        assert_refused(&place, &place.file(), "is no data file of the sandbox and was left as it is");
    }
}

#[test]
fn a_database_of_another_program() {
    let place = Place::new();
    place.sql().execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (7)").unwrap();
    assert_refused(&place, &place.file(), "is a SQLite database of another program and was left as it is");
}

#[test]
fn a_database_that_another_program_has_marked_as_its_own() {
    let place = Place::new();
    place.sql().execute_batch("PRAGMA application_id = 7").unwrap();
    assert_refused(&place, &place.file(), "is a SQLite database of another program");
}

#[test]
fn the_log_of_another_program_is_not_touched_either() {
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
    let words = "is of a newer version of the sandbox (its schema is 7, and this version knows 1)";
    assert_refused(&place, &place.file(), words);
}

#[test]
fn a_file_that_this_process_has() {
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
    let kept = place.open(&KEYS);
    kept.add_customer(KEYS[0], "cus_7");
    assert!(refusal(&place.file()).is_in_use());
    // Being asked for did not loosen the lock.
    assert!(in_another_process(&place).contains("is in use"));
    kept.close();
    assert_eq!(in_another_process(&place), "taken");
}

/// What another process that takes the file and waits for the end of its input says of it.
fn in_another_process(place: &Place) -> String {
    let mut child = other_process(place).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let said = said_by(&mut child);
    child.wait().unwrap();
    said
}

fn other_process(place: &Place) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "refusals::the_other_process", "--nocapture", "--ignored"]);
    command.env(OTHER_PROCESS, place.file());
    command
}

fn said_by(child: &mut std::process::Child) -> String {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = lines.map_while(Result::ok).filter_map(|line| Some(line.split_once(SAYS)?.1.to_owned()));
    said.next().expect("it says something")
}

const OTHER_PROCESS: &str = "STORE_TEST_OTHER_PROCESS";
const SAYS: &str = "the other process says: ";

#[test]
#[ignore = "it is the other process of other tests"]
fn the_other_process() {
    let Some(path) = std::env::var_os(OTHER_PROCESS) else { return };
    let file = DataFile::open(path, &KEYS);
    println!("\n{SAYS}{}", file.as_ref().map_or_else(ToString::to_string, |_| "taken".to_owned()));
    // Keeps the file until the parent closes the pipe or ends this process.
    std::io::stdin().lines().for_each(drop);
}

#[test]
fn a_file_that_another_process_has_until_it_is_killed() {
    let place = Place::new();
    place.open(&KEYS).close();
    let mut child = other_process(&place).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(said_by(&mut child), "taken");
    let error = refusal(&place.file());
    assert!(error.is_in_use(), "{error}");

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(DataFile::open(place.file(), &KEYS).unwrap().starts(), 3);
}

#[test]
fn a_folder_in_the_files_place() {
    let place = Place::new();
    fs::create_dir(place.file()).unwrap();
    assert_refused(&place, &place.file(), "is no file; give the path of a data file");
    assert_refused(&place, Path::new("/"), "is no file");
    assert_refused(&place, &place.folder().join(".."), "is no file");
}

#[test]
fn a_file_in_the_folders_place() {
    let place = Place::new();
    fs::write(place.file(), "").unwrap();
    assert_refused(&place, &place.file().join("payments.db"), "cannot be opened");
}

#[test]
fn a_folder_that_is_not_there() {
    let place = Place::new();
    let path = place.folder().join("missing").join("payments.db");
    assert_refused(&place, &path, "its folder is not there; make the folder first");
}

#[test]
#[cfg(unix)]
fn links_that_lead_nowhere() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    symlink(place.folder().join("nothing"), place.file()).unwrap();
    assert_refused(&place, &place.file(), "is a link to a file that is not there");
    let around = place.folder().join("around");
    symlink(&around, &around).unwrap();
    assert_refused(&place, &around, "cannot be opened");
    assert_refused(&place, &around.join("payments.db"), "cannot be opened");
}

#[test]
#[cfg(unix)]
fn a_link_leads_to_the_file_and_to_its_lock() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let link = place.folder().join("link.db");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    assert!(refusal(&link).is_in_use());
    kept.pay(KEYS[0]);
    let states = kept.states();
    kept.close();
    assert_eq!(crate::support::Kept::open(&link, &KEYS).states(), states);
}

/// Where even the superuser cannot make a file.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written() {
    let error = refusal(Path::new("/proc/payments.db"));
    assert!(error.to_string().contains("/proc/payments.db cannot be opened: "), "{error}");
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_written() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    place.open(&KEYS).close();
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o400)).unwrap();
    if fs::File::options().write(true).open(place.file()).is_ok() {
        // The superuser may write everything.
        return;
    }
    assert_refused(&place, &place.file(), "may not be written; allow this user to write the file");
}

#[test]
fn a_file_without_its_tables_or_with_a_record_that_nobody_wrote() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    kept.pay(KEYS[0]);
    kept.close();
    for (damage, words) in [
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
        assert!(error.to_string().contains(words), "{damage}: {error}");
    }
}

#[test]
fn a_file_with_a_transaction_that_no_look_up_could_read() {
    for (written, odd) in [
        (r#""Voided":false"#, r#""Voided":"4242424242424242""#),
        (r#""Amount":10.5"#, r#""Amount":"4242424242424242""#),
        (r#""Operation":"token-transaction""#, r#""Operation":"4242424242424242""#),
        (r#""TransactionId":"#, r#""4242424242424242":1,"TransactionId":"#),
    ] {
        let place = Place::new();
        let kept = place.open(&KEYS);
        kept.pay(KEYS[0]);
        kept.close();
        let sql = place.sql();
        let update =
            "UPDATE record SET document = replace(document, ?1, ?2) WHERE document LIKE '%' || ?1 || '%'";
        assert_eq!(sql.execute(update, [written, odd]).unwrap(), 1, "{written}");
        drop(sql);
        let file = DataFile::open(place.file(), &KEYS).unwrap();
        let error = file.gateway(payments_fake::FakeGateway::builder()).map(drop).unwrap_err().to_string();
        assert!(error.contains("is damaged (record txn_") && !error.contains("4242"), "{odd}: {error}");
    }
}

#[test]
fn a_file_with_the_tables_of_no_released_version() {
    let place = Place::new();
    place.open(&KEYS).close();
    // Transactions were once unique too, and a void had no second row.
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
fn what_somebody_added_for_questions_of_their_own_is_no_damage() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    kept.pay(KEYS[0]);
    let states = kept.states();
    kept.close();
    place.sql().execute_batch("CREATE INDEX theirs ON record (kind); CREATE VIEW own AS SELECT 7").unwrap();
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn a_file_whose_pages_are_overwritten() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    for _ in 0..50 {
        kept.pay(KEYS[0]);
    }
    kept.close();
    let mut bytes = fs::read(place.file()).unwrap();
    bytes[4096..].fill(0xff);
    fs::write(place.file(), bytes).unwrap();
    let error = refusal(&place.file());
    assert!(error.to_string().contains("is damaged (database disk image is malformed)"), "{error}");
}

#[test]
fn an_empty_file_is_a_new_one_and_a_strange_name_is_a_name() {
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
    assert!(error.is_err(), "nobody made it before");
    let file = DataFile::open(&name, &KEYS);
    let made = std::env::current_dir().unwrap().join(&name);
    let is_made = made.is_file();
    drop(file.unwrap());
    fs::remove_file(made).unwrap();
    assert!(is_made);
}

#[test]
#[cfg(unix)]
fn a_new_file_and_its_log_are_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let kept = place.open(&KEYS);
    kept.pay(KEYS[0]);
    payments_fake::block_on(kept.flushed()).unwrap();
    // The index of the log is in memory: there is no third file.
    assert_eq!(place.names(), ["payments.db", "payments.db-wal"]);
    for path in [place.file(), place.log()] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}
