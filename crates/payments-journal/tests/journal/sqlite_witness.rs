//! A database that was replaced by an older copy: what it has lost must not be charged again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use payments_journal::internals::{Change, Ending, IntentStore as _};
use payments_journal::{Failure, Journal, Resolution, SentSince, SqliteOptions, SqliteReader, SqliteStore};
use tempfile::TempDir;

use crate::contract::{
    self, Tables as _, accept, as_processed, assert_lost, at, begins, begun, charge, ended, key, restored,
    row, transaction,
};
use crate::process::Process;
use crate::sqlite::{InAFile, beside, close};

fn witness(place: &InAFile) -> PathBuf {
    beside(&place.path(), "-owners").join("witness")
}

fn open(place: &InAFile) -> SqliteStore {
    SqliteStore::open(place.path()).unwrap()
}

/// A second witness, as on another disk.
fn elsewhere() -> (TempDir, PathBuf, SqliteOptions) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let options = SqliteStore::options().witness(&path);
    (folder, path, options)
}

/// While the witness cannot be asked, nobody knows whether this is an older copy.
#[tokio::test]
async fn refusal_is_no_answer_about_the_money_without_its_witness_d49() {
    let place = InAFile::new();
    for (name, ending) in [
        ("rejected", Ending::Rejected(Failure::of_kind("rejected"))),
        ("processed", as_processed("txn_1")),
        ("unknown", Ending::Unknown(Failure::of_kind("timeout"))),
    ] {
        let store = open(&place);
        contract::charged(&store, name, ending).await;
        close(store);
    }
    fs::remove_file(witness(&place)).unwrap();
    let store = open(&place);
    assert!(begins(&store, "rejected").await.unwrap_err().to_string().contains("is missing"));
    for name in ["processed", "unknown"] {
        assert!(!begins(&store, name).await.unwrap(), "{name}");
    }
}

/// Nobody notices the loss before a person says so.
#[tokio::test]
async fn charge_that_ends_in_a_copy_with_its_witness_does_not_shorten_the_lost_time_d49() {
    let (place, store) = InAFile::opened();
    let kept = begun(&store, "kept").await;
    close(store);
    let copies = folder(&place);
    let store = open(&place);
    let in_flight = begun(&store, "in-flight").await;
    close(store);
    put_back(copies);
    let store = open(&place);
    let end = Change::end_of(in_flight, as_processed("txn_1"), at(100));
    assert!(store.apply(end).await.unwrap().written().is_some());
    close(store);
    // Also if it was cut short.
    for text in ["lost", "more"] {
        assert_eq!(accept(open(&place), SentSince::Keys(&[key(text)])).await, 1);
        assert_eq!(row(&open(&place), text).await.begun_at, kept.created_at, "{text}");
    }
}

/// Database and witness, as they are now.
fn folder(place: &InAFile) -> [(PathBuf, Vec<u8>); 2] {
    [place.path(), witness(place)].map(|path| (path.clone(), fs::read(path).unwrap()))
}

fn put_back(files: [(PathBuf, Vec<u8>); 2]) {
    for (path, content) in files {
        fs::write(path, content).unwrap();
    }
}

/// The newest file was put aside, the witness was lost, and a person accepted the older copy. However few changes that has made
/// since, the newest file is not the journal any more.
#[tokio::test]
async fn file_that_was_put_aside_begins_nothing_when_it_is_put_back_d49() {
    for has_second in [false, true] {
        let (place, (_disk, path, with_second)) = (InAFile::new(), elsewhere());
        let options = if has_second { with_second } else { SqliteStore::options() };
        let open = || options.open(place.path()).unwrap();
        charge(open(), "kept").await;
        let copy = fs::read(place.path()).unwrap();
        for number in 0..10 {
            charge(open(), &format!("lost-{number}")).await;
        }
        let newest = fs::read(place.path()).unwrap();
        for witness in [witness(&place), path.clone()] {
            let _ = fs::remove_file(witness);
        }
        fs::write(place.path(), copy).unwrap();
        accept(open(), SentSince::Nothing).await;
        charge(open(), "since").await;
        let accepted = fs::read(place.path()).unwrap();
        for _ in 0..2 {
            fs::write(place.path(), &newest).unwrap();
            let store = open();
            assert_lost(&store, "since", "").await;
            close(store);
            fs::write(place.path(), &accepted).unwrap();
            let store = open();
            assert!(!begins(&store, "since").await.unwrap());
            close(store);
        }
        charge(open(), "new").await;
    }
}

/// That of a disk that was away when a person accepted a loss with another one. Named by mistake, it does no lasting harm.
#[tokio::test]
async fn second_witness_of_another_time_begins_nothing_while_it_is_named_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let [stale, used] = ["stale", "used"].map(|name| elsewhere.path().join(name));
    let with = |witness: &Path| SqliteStore::options().witness(witness).open(place.path()).unwrap();
    charge(with(&stale), "kept").await;
    accept(with(&used), SentSince::Nothing).await;
    for number in 0..3 {
        let store = with(&stale);
        assert_lost(&store, "new", "").await;
        close(store);
        charge(with(&used), &format!("new-{number}")).await;
    }
}

/// The stores that are open meanwhile go on, also if the witness is another file now.
#[tokio::test]
async fn open_stores_learn_that_a_loss_was_accepted_d49() {
    let place = InAFile::new();
    let (store, other) = (open(&place), open(&place));
    assert!(begins(&store, "first").await.unwrap());
    fs::remove_file(witness(&place)).unwrap();
    let person = Journal::open(other).await.unwrap();
    for number in 0..3 {
        person.accept_history(SentSince::Nothing, "ada").await.unwrap();
        assert!(begins(&store, &format!("new-{number}")).await.unwrap());
        let seen = fs::read(witness(&place)).unwrap();
        assert!(begins(&store, &format!("newer-{number}")).await.unwrap());
        assert_ne!(fs::read(witness(&place)).unwrap(), seen, "it writes the witness that is there");
    }
    person.close().await;
    close(store);
    // As if its process had died after the witness was written and before the journal was.
    let before = fs::read(place.path()).unwrap();
    accept(open(&place), SentSince::Nothing).await;
    fs::write(place.path(), before).unwrap();
    let store = open(&place);
    assert_lost(&store, "another", "").await;
    close(store);
    accept(open(&place), SentSince::Nothing).await;
    charge(open(&place), "another").await;
}

#[tokio::test]
async fn missing_database_beside_its_witness_is_refused_d49() {
    let place = InAFile::new();
    charge(open(&place), "kept").await;
    let copy = place.path().with_file_name("copy");
    fs::rename(place.path(), &copy).unwrap();
    for _ in 0..2 {
        let error = SqliteStore::open(place.path()).unwrap_err();
        assert!(error.is_history_lost(), "{error:?}");
        assert!(!place.path().exists());
    }
    fs::rename(copy, place.path()).unwrap();
    assert!(begins(&open(&place), "new").await.unwrap());
}

/// As a run in another working directory does. What it leaves there would be an old journal to the next run.
#[tokio::test]
async fn no_journal_is_created_for_the_witness_of_another_or_for_none_d49() {
    let (place, other, (disk, _, options)) = (InAFile::new(), InAFile::new(), elsewhere());
    charge(options.open(place.path()).unwrap(), "kept").await;
    for error in [
        options.open(other.path()).unwrap_err(),
        options.open_existing(other.path()).map(|_| ()).unwrap_err(),
        options.open_to_read(other.path()).map(|_| ()).unwrap_err(),
    ] {
        assert!(error.is_history_lost() && error.to_string().contains("name its place"), "{error:?}");
    }
    let nowhere = SqliteStore::options().witness(disk.path().join("missing/witness"));
    assert!(nowhere.open(other.path()).unwrap_err().is_refused());
    assert!(fs::read_dir(other.path().parent().unwrap()).unwrap().next().is_none());
}

#[tokio::test]
async fn one_torn_slot_is_ignored_and_two_begin_nothing_d49() {
    let place = InAFile::new();
    charge(open(&place), "kept").await;
    let whole = fs::read(witness(&place)).unwrap();
    for torn in 0..2 {
        let mut bytes = whole.clone();
        bytes[torn * whole.len() / 2 + 40] ^= 1;
        fs::write(witness(&place), bytes).unwrap();
        let store = open(&place);
        assert!(begins(&store, &format!("new-{torn}")).await.unwrap(), "slot {torn}");
        close(store);
    }
    fs::write(witness(&place), "").unwrap();
    assert_lost(&open(&place), "another", "").await;
    fs::remove_file(witness(&place)).unwrap();
    assert_lost(&open(&place), "another", "").await;
}

#[tokio::test]
async fn witness_that_is_behind_is_harmless_d49() {
    let place = InAFile::new();
    charge(open(&place), "kept").await;
    let behind = fs::read(witness(&place)).unwrap();
    charge(open(&place), "later").await;
    fs::write(witness(&place), &behind).unwrap();
    charge(open(&place), "new").await;
    assert_ne!(fs::read(witness(&place)).unwrap(), behind, "it has caught up");
}

/// An operator forgets to name it. That is no loss, and stops nobody else.
#[tokio::test]
async fn forgotten_witness_stops_only_who_forgot_it_d49() {
    let (place, (_disk, path, options)) = (InAFile::new(), elsewhere());
    charge(open(&place), "first").await;
    charge(options.open(place.path()).unwrap(), "kept").await;
    for _ in 0..3 {
        assert_lost(&open(&place), "new", "").await;
        assert!(SqliteReader::open(place.path()).unwrap().is_some(), "it can be read");
        let journal = Journal::open(open(&place)).await.unwrap();
        for lost in [SentSince::Nothing, SentSince::Keys(&[])] {
            let error = journal.accept_history(lost, "ada").await.unwrap_err();
            assert!(error.to_string().contains("was not named"), "{error}");
        }
        journal.close().await;
    }
    // So is a disk that is not mounted for a while.
    let unmounted = path.with_extension("away");
    fs::rename(&path, &unmounted).unwrap();
    assert_lost(&options.open(place.path()).unwrap(), "new", "").await;
    fs::rename(unmounted, &path).unwrap();
    assert!(begins(&options.open(place.path()).unwrap(), "new").await.unwrap());
}

/// As a restore of the whole folder does.
#[tokio::test]
async fn witness_on_another_disk_notices_what_the_folder_has_lost_d49() {
    for (is_named_before, ends_without_it) in [(true, false), (false, false), (true, true)] {
        let (place, (_disk, _, options)) = (InAFile::new(), elsewhere());
        let store = if is_named_before { options.open(place.path()).unwrap() } else { open(&place) };
        for number in 0..5 {
            begun(&store, &format!("sending-{number}")).await;
        }
        close(store);
        let copies = folder(&place);
        charge(options.open(place.path()).unwrap(), "lost").await;
        put_back(copies);
        // What is still written without the witness does not catch up with it.
        for number in (0..5).filter(|_| ends_without_it) {
            let ending = as_processed(&format!("txn_{number}"));
            assert!(ended(&open(&place), &format!("sending-{number}"), ending).await.written().is_some());
        }
        for _ in 0..2 {
            let store = options.open(place.path()).unwrap();
            assert_lost(&store, "lost", "").await;
            close(store);
        }
    }
}

/// Restored from before it, the journal would send the key, and no witness would know.
#[tokio::test]
async fn key_that_may_be_sent_is_not_resolved_without_its_witness_d49() {
    let (place, (_disk, _, options)) = (InAFile::new(), elsewhere());
    let store = options.open(place.path()).unwrap();
    for (name, ending) in [
        ("unknown", Ending::Unknown(Failure::of_kind("timeout"))),
        ("not-sent", Ending::NotProcessed(Failure::of_kind("connect"))),
        ("rejected", Ending::Rejected(Failure::of_kind("rejected"))),
    ] {
        contract::charged(&store, name, ending).await;
    }
    close(store);
    let processed = || Resolution::processed(transaction("txn_1"), "ada").of_attempt(1);
    let journal = Journal::open(open(&place)).await.unwrap();
    for name in ["not-sent", "rejected"] {
        let found = journal.find(&key(name)).await.unwrap().unwrap();
        let error = journal.resolve(&found, processed()).await.unwrap_err();
        assert!(error.to_string().contains("was not named"), "{name}: {error}");
        assert_eq!(journal.find(&key(name)).await.unwrap().unwrap(), found);
    }
    // A restored copy has this one as unknown, and sends nothing.
    let found = journal.find(&key("unknown")).await.unwrap().unwrap();
    journal.resolve(&found, processed()).await.unwrap();
    journal.close().await;
    let journal = Journal::open(options.open(place.path()).unwrap()).await.unwrap();
    let found = journal.find(&key("rejected")).await.unwrap().unwrap();
    let other = Resolution::processed(transaction("txn_2"), "ada").of_attempt(1);
    journal.resolve(&found, other).await.unwrap();
}

#[tokio::test]
async fn file_that_is_no_witness_is_left_as_it_is_d49() {
    let (place, folder) = (InAFile::new(), tempfile::tempdir().unwrap());
    charge(open(&place), "kept").await;
    let [billing, other, pipe] = ["billing.csv", "other.db", "pipe"].map(|name| folder.path().join(name));
    fs::write(&billing, "Key,Amount\ninvoice-17,10.50\n").unwrap();
    close(SqliteStore::open(&other).unwrap());
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let [log, link] = [beside(&place.path(), "-wal"), folder.path().join("link")];
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let refused = |path: &Path| {
        let error = SqliteStore::options().witness(path).open(place.path()).unwrap_err();
        assert!(error.to_string().contains("witness"), "{error}");
        close(open(&place));
    };
    for own in [place.path(), link, log, witness(&place)] {
        refused(&own);
    }
    refused(&pipe);
    for file in [&billing, &other] {
        let before = fs::read(file).unwrap();
        refused(file);
        assert!(fs::read(file).unwrap() == before, "{}", file.display());
    }
    // Nor does a person's acceptance overwrite it.
    let named = folder.path().join("witness");
    let options = SqliteStore::options().witness(&named);
    close(options.open(place.path()).unwrap());
    for file in [billing, other] {
        let before = fs::read(&file).unwrap();
        fs::write(&named, &before).unwrap();
        let journal = Journal::open(options.open(place.path()).unwrap()).await.unwrap();
        let error = journal.accept_history(SentSince::Nothing, "ada").await.unwrap_err();
        assert!(error.to_string().contains("no witness"), "{error}");
        assert!(fs::read(&named).unwrap() == before, "{}", file.display());
        journal.close().await;
    }
}

/// Its process died after it had created the witness, maybe not whole, and before it recorded that.
#[tokio::test]
async fn witness_that_was_not_recorded_notices_an_older_copy_and_is_created_again_if_it_is_not_whole_d49() {
    let place = InAFile::closed();
    place.run("UPDATE meta SET is_witnessed = 0");
    let copy = place.copy().await;
    let unfinished = InAFile::closed();
    unfinished.run("UPDATE meta SET is_witnessed = 0");
    charge(open(&place), "lost").await;
    place.restore(&copy).await;
    for _ in 0..2 {
        let store = open(&place);
        assert_lost(&store, "lost", "").await;
        close(store);
    }
    fs::write(witness(&unfinished), "0123").unwrap();
    assert!(begins(&open(&unfinished), "new").await.unwrap());
}

/// After a crash somebody puts the database of an earlier day back and leaves the newer log, or the other way round.
#[tokio::test]
async fn log_of_another_time_than_the_database_is_refused_d49() {
    let place = InAFile::new();
    let [database, log] = ["", "-wal"].map(|suffix| beside(&place.path(), suffix));
    charge(open(&place), "kept").await;
    let older = fs::read(&database).unwrap();
    let crash = || {
        let mut process = Process::start(&place.path());
        assert_eq!(process.ask("open"), "opened");
        process.kill();
    };
    crash();
    let older_log = fs::read(&log).unwrap();
    charge(open(&place), "lost").await;
    crash();
    let (newer, newer_log) = (fs::read(&database).unwrap(), fs::read(&log).unwrap());
    for (database_bytes, log_bytes) in [(&older, &newer_log), (&newer, &older_log)] {
        fs::write(&database, database_bytes).unwrap();
        fs::write(&log, log_bytes).unwrap();
        for _ in 0..2 {
            for refused in
                [SqliteStore::open(&database).unwrap_err(), SqliteReader::open(&database).unwrap_err()]
            {
                assert!(
                    refused.is_damaged() && refused.to_string().contains("not of the same time"),
                    "{refused}"
                );
            }
        }
        assert!(fs::read(&database).unwrap() == *database_bytes && fs::read(&log).unwrap() == *log_bytes);
    }
    // The older copy alone is as any other.
    fs::write(&database, older).unwrap();
    fs::remove_file(&log).unwrap();
    let copy = open(&place);
    assert_lost(&copy, "lost", "").await;
    close(copy);
    // Both newer files are the journal.
    fs::write(&database, newer).unwrap();
    fs::write(&log, newer_log).unwrap();
    fs::set_permissions(&log, Permissions::from_mode(0o600)).unwrap();
    let store = open(&place);
    assert!(!begins(&store, "lost").await.unwrap());
    assert!(begins(&store, "new").await.unwrap());
}

/// A key that it does not show may have been charged.
#[tokio::test]
async fn who_only_reads_is_told_of_a_loss_d49() {
    let (place, (_disk, second, with_second)) = (InAFile::new(), elsewhere());
    restored(&place).await;
    let is_lost = async |witness: Option<&Path>| {
        let options = witness.into_iter().fold(SqliteStore::options(), SqliteOptions::witness);
        let reader = options.open_to_read(place.path()).unwrap().unwrap();
        let before = fs::read(place.path()).unwrap();
        let checked = Journal::read_only(reader).check_history().await;
        assert!(before == fs::read(place.path()).unwrap(), "nothing is written");
        checked.err().map(|error| {
            assert!(error.is_history_lost(), "{error:?}");
            error.to_string()
        })
    };
    assert!(is_lost(None).await.unwrap().contains("has seen 2 later changes"));
    let store = open(&place);
    assert_lost(&store, "lost", "").await;
    close(store);
    assert!(is_lost(None).await.unwrap().contains("noticed earlier"));
    accept(open(&place), SentSince::Keys(&[key("lost")])).await;
    assert_eq!(is_lost(None).await, None, "a person has accepted it");

    fs::write(&second, "").unwrap();
    assert_eq!(is_lost(Some(&second)).await, None, "the journal does not know it yet");
    let before_second = fs::read(place.path()).unwrap();
    charge(with_second.open(place.path()).unwrap(), "new").await;
    assert_eq!(is_lost(Some(&second)).await, None);
    assert!(is_lost(None).await.unwrap().contains("was not named"));
    // The whole folder was restored, from before the second witness was named.
    let own = fs::read(witness(&place)).unwrap();
    fs::write(place.path(), before_second).unwrap();
    fs::remove_file(witness(&place)).unwrap();
    assert!(is_lost(None).await.unwrap().contains("is missing"));
    fs::remove_dir_all(beside(&place.path(), "-owners")).unwrap();
    assert!(is_lost(Some(&second)).await.unwrap().contains("has seen"), "the named one is asked");
    assert_eq!(is_lost(None).await, None, "it may be a copy, to be read");
    fs::create_dir(beside(&place.path(), "-owners")).unwrap();
    fs::set_permissions(beside(&place.path(), "-owners"), Permissions::from_mode(0o700)).unwrap();
    fs::write(witness(&place), own).unwrap();
    fs::remove_file(place.path()).unwrap();
    let error = SqliteReader::open(place.path()).unwrap_err();
    assert!(error.is_history_lost() && error.to_string().contains("is missing"), "{error}");
}

#[tokio::test]
async fn journal_that_goes_on_while_it_is_read_has_lost_nothing_d49() {
    const CHARGES: usize = 300;
    let place = InAFile::new();
    let mut process = Process::start(&place.path());
    process.ask("open");
    let journal = Journal::read_only(SqliteReader::open(place.path()).unwrap().unwrap());
    process.send(&format!("charge key 0 {CHARGES}"));
    let charging = std::thread::spawn(move || (0..=CHARGES).map(|_| process.response()).last());
    let mut checks = 0;
    while !charging.is_finished() || checks == 0 {
        journal.check_history().await.unwrap();
        checks += 1;
    }
    assert_eq!(charging.join().unwrap().as_deref(), Some("done"));
}
