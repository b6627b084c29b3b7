//! Where a journal may be, who may access it, and that a removed file is noticed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use payments_journal::internals::IntentStore;
use payments_journal::{OwnerId, SqliteStore, StateName, StoreError};
use tempfile::TempDir;

use crate::contract::{assert_says_nothing_of_sending, begin, key};
use crate::process::{Process, is_allowed};
use crate::sqlite::{InAFile, beside, close};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The names in the directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Checks that opening it is refused, with an error that contains each of `words` and claims nothing about sending.
fn assert_refused(path: &Path, words: &[&str]) -> StoreError {
    let error = SqliteStore::open(path).unwrap_err();
    assert!(error.is_refused(), "{error:?}");
    assert_says_nothing_of_sending(&error);
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} in: {error}");
    }
    error
}

#[test]
fn created_files_are_accessible_only_to_their_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("books/journal.db");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(mode(&directory.path().join("books")), 0o700);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&beside(&path, "-wal")), 0o600);
    assert_eq!(mode(&beside(&path, "-shm")), 0o600);
    let owners = beside(&path, "-owners");
    assert_eq!(mode(&owners), 0o700);
    assert_eq!(names(&owners), [store.owner().as_str(), "witness"]);
    assert_eq!(mode(&owners.join("witness")), 0o600);
    assert_eq!(mode(&owners.join(store.owner().as_str())), 0o600);
    close(store);
    assert_eq!(names(&directory.path().join("books")), ["journal.db", "journal.db-owners"]);
    assert_eq!(names(&owners), ["witness"]);
}

#[test]
fn directory_may_be_a_symbolic_link() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("disk")).unwrap();
    symlink("disk", directory.path().join("link")).unwrap();
    close(SqliteStore::open(directory.path().join("link/journal.db")).unwrap());
    assert!(directory.path().join("disk/journal.db").is_file());
}

/// As by `docker run --volume FILE:FILE`. Each container would have a log of its own beside it.
#[test]
fn file_that_is_mounted_without_its_directory_is_refused() {
    let (place, folder) = (InAFile::closed(), tempfile::tempdir().unwrap());
    let (path, mounted) = (place.path(), folder.path().join("journal.db"));
    fs::write(&mounted, "").unwrap();
    set_mode(&mounted, 0o600);
    let from = path.parent().unwrap();
    for (from, to, response) in [
        (from, folder.path(), "opened"),
        (&*path, &*mounted, "failed refused: the journal "),
        (from, folder.path(), "opened"),
    ] {
        let script = format!("mount --bind {} {} && exec \"$0\" \"$@\"", from.display(), to.display());
        let wrapper = ["unshare", "--mount", "sh", "-c", &script];
        if !is_allowed(&wrapper) {
            eprintln!(
                "NOT COVERED: a file that is mounted without its directory; this user may not mount one"
            );
            return;
        }
        let mounted = folder.path().join(path.file_name().unwrap());
        let mut process = Process::start_under(&wrapper, &mounted);
        let said = process.ask("open");
        assert_eq!(process.ask("close"), "closed");
        assert!(said.starts_with(response), "{said}");
        assert_eq!(said.contains("mount its directory"), response != "opened", "{said}");
    }
}

#[test]
fn one_missing_directory_is_created_and_two_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert_refused(&directory.path().join("two/missing/journal.db"), &["create ", "two/missing first"]);
    assert_refused(directory.path(), &["is not a file"]);
    assert_refused(Path::new("/"), &["has no file name"]);
}

#[test]
fn file_that_others_may_access_is_refused() {
    let place = InAFile::new();
    let path = place.path();
    close(SqliteStore::open(&path).unwrap());
    for bits in [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o660] {
        set_mode(&path, bits);
        let before = fs::read(&path).unwrap();
        let remedy = format!("chmod go-rwx {}", path.canonicalize().unwrap().display());
        assert_refused(&path, &[&format!("mode {bits:04o}"), &remedy]);
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(mode(&path), bits, "it is not changed silently, because others may have read it");
    }
    set_mode(&path, 0o600);
    let _store = SqliteStore::open(&path).unwrap();
    for suffix in ["-wal", "-shm"] {
        set_mode(&beside(&path, suffix), 0o644);
        assert_refused(&path, &[suffix, "chmod go-rwx"]);
        set_mode(&beside(&path, suffix), 0o600);
    }
    set_mode(&beside(&path, "-owners"), 0o755);
    assert_refused(&path, &["-owners", "chmod go-rwx"]);
}

#[test]
fn file_of_another_user_is_refused() {
    let place = InAFile::closed();
    let other = rustix::process::geteuid().as_raw() + 1;
    if chown(place.path(), Some(other), None).is_err() {
        eprintln!("NOT COVERED: a file of another user; only root can give one away");
        return;
    }
    assert_refused(&place.path(), &[&format!("belongs to user {other} and not to user")]);
}

#[test]
fn file_with_two_names_is_refused() {
    let place = InAFile::closed();
    fs::hard_link(place.path(), place.path().with_file_name("other.db")).unwrap();
    assert_refused(&place.path(), &["has a second name"]);
}

#[test]
fn symbolic_link_is_refused_and_not_followed() {
    for (suffix, target) in [("", "elsewhere"), ("-wal", "elsewhere"), ("-shm", "elsewhere"), ("", "nowhere")]
    {
        let place = InAFile::new();
        let path = place.path();
        if !suffix.is_empty() {
            close(SqliteStore::open(&path).unwrap());
        }
        let elsewhere = path.with_file_name("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        set_mode(&elsewhere, 0o600);
        symlink(path.with_file_name(target), beside(&path, suffix)).unwrap();
        assert_refused(&path, &[&format!("journal.db{suffix}"), "is a symbolic link"]);
        assert_eq!(fs::read(&elsewhere).unwrap(), b"");
        assert!(!path.with_file_name("nowhere").exists());
    }
}

#[test]
fn directory_that_others_may_write_to_is_refused_unless_it_is_sticky() {
    for (bits, is_refused) in [(0o777, true), (0o707, true), (0o1777, false), (0o755, false), (0o700, false)]
    {
        let directory = tempfile::tempdir().unwrap();
        set_mode(directory.path(), bits);
        let path = directory.path().join("journal.db");
        if is_refused {
            assert_refused(&path, &[&format!("mode {bits:04o}"), "chmod go-w "]);
            assert!(names(directory.path()).is_empty());
        } else {
            close(SqliteStore::open(&path).unwrap());
        }
    }
}

/// The next process that opens the path treats every key as new, so the store must not use the removed file any more.
#[tokio::test]
async fn removed_or_replaced_file_stops_the_store() {
    let removals: [fn(&Path); 5] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::rename(path, path.with_file_name("moved")).unwrap(),
        |path| {
            fs::copy(path, path.with_file_name("copy")).unwrap();
            fs::rename(path.with_file_name("copy"), path).unwrap();
        },
        |path| fs::remove_file(beside(path, "-wal")).unwrap(),
        |path| fs::remove_file(beside(path, "-shm")).unwrap(),
    ];
    for (number, remove) in removals.into_iter().enumerate() {
        let (place, store) = InAFile::opened();
        store.apply(begin("before", &store, 0)).await.unwrap();
        remove(&place.path());
        let listed = store.list(StateName::ALL, None, 9).await.unwrap_err();
        assert!(listed.is_poisoned(), "{number}: {listed:?}");
        for _ in 0..2 {
            let error = store.apply(begin("after", &store, 1)).await.unwrap_err();
            assert!(error.is_poisoned(), "{number}: {error:?}");
            assert!(error.to_string().contains("was removed, moved or replaced"), "{number}: {error}");
        }
        close(store);
    }
}

/// Closing a moved file must not remove the log of the file that has its name now.
#[tokio::test]
async fn closing_a_moved_journal_does_not_touch_its_successor() {
    let place = InAFile::new();
    let path = place.path();
    for notices_first in [true, false] {
        let old = SqliteStore::open(&path).unwrap();
        old.apply(begin("before", &old, 0)).await.unwrap();
        for suffix in ["", "-wal", "-shm"] {
            fs::rename(beside(&path, suffix), beside(&path, &format!(".{notices_first}{suffix}"))).unwrap();
        }
        // A person confirms that it is a new journal.
        let witness = beside(&path, "-owners").join("witness");
        fs::remove_file(&witness).unwrap();
        let new = SqliteStore::open(&path).unwrap();
        new.apply(begin("now", &new, 0)).await.unwrap();
        if notices_first {
            assert!(old.apply(begin("after", &old, 0)).await.unwrap_err().is_poisoned());
        }
        close(old);
        assert!(new.apply(begin("now", &new, 0)).await.unwrap().written().is_none());
        assert!(new.apply(begin("later", &new, 0)).await.unwrap().written().is_some());
        close(new);
        let names = ["", "-wal", "-shm", "-owners"];
        assert!(
            names.iter().all(|suffix| beside(&path, suffix).exists() == ["", "-owners"].contains(suffix))
        );
        fs::remove_file(&path).unwrap();
        fs::remove_file(&witness).unwrap();
    }
}

#[test]
fn directory_that_a_group_may_write_to_is_safe_only_for_the_users_own_group() {
    let place = InAFile::new();
    let path = place.path();
    let directory = path.parent().unwrap();
    set_mode(directory, 0o770);
    let (user, group) = (rustix::process::geteuid().as_raw(), fs::metadata(directory).unwrap().gid());
    if user == group {
        close(SqliteStore::open(&path).unwrap());
    }
    if chown(directory, None, Some(user + 1)).is_err() {
        eprintln!("NOT COVERED: a directory of another group; only root can give one away");
        return;
    }
    assert_refused(&path, &["mode 0770", "move the journal to its own directory, or chmod go-w "]);
}

/// The database would otherwise be created as a new one.
#[test]
fn log_without_its_database_is_refused() {
    let (place, _store) = InAFile::opened();
    let (elsewhere, log) = (place.path().with_file_name("other.db"), beside(&place.path(), "-wal"));
    fs::write(beside(&elsewhere, "-wal"), [7; 100]).unwrap();
    set_mode(&beside(&elsewhere, "-wal"), 0o600);
    assert!(log.exists());
    for is_empty in [false, true] {
        if is_empty {
            fs::write(&elsewhere, "").unwrap();
            set_mode(&elsewhere, 0o600);
        }
        let error = SqliteStore::open(&elsewhere).unwrap_err();
        assert!(error.is_damaged(), "{error:?}");
        assert!(error.to_string().contains("the database is missing or empty"), "{error}");
        assert_eq!(elsewhere.exists(), is_empty);
        assert_eq!(fs::read(beside(&elsewhere, "-wal")).unwrap(), [7; 100]);
    }
}

/// A journal with one open store, and the file of an owner that has died.
async fn with_a_dead_owner() -> (InAFile, SqliteStore, PathBuf) {
    let (place, store) = InAFile::opened();
    let dead = OwnerId::new();
    let file = beside(&place.path(), "-owners").join(dead.as_str());
    fs::write(&file, "").unwrap();
    assert!(!store.is_live(&dead).await.unwrap());
    (place, store, file)
}

#[tokio::test]
async fn opening_the_journal_removes_only_files_of_dead_owners() {
    let (place, store, dead) = with_a_dead_owner().await;
    let note = dead.with_file_name("note");
    fs::write(&note, "of somebody else").unwrap();
    let unfinished = dead.with_file_name("new-owner");
    fs::write(&unfinished, "").unwrap();
    let other = SqliteStore::open(place.path()).unwrap();
    assert!(!dead.exists());
    assert!(!unfinished.exists());
    assert!(note.exists());
    for owner in [store.owner(), other.owner()] {
        assert!(store.is_live(owner).await.unwrap());
        assert!(other.is_live(owner).await.unwrap());
    }
    let gone = other.owner().clone();
    close(other);
    assert!(!store.is_live(&gone).await.unwrap());
}

/// The file only decides the state of a row.
#[tokio::test]
async fn owner_without_its_file_counts_as_dead_and_still_writes() {
    let (place, store, _) = with_a_dead_owner().await;
    fs::remove_dir_all(beside(&place.path(), "-owners")).unwrap();
    let other = SqliteStore::open(place.path()).unwrap();
    assert!(!other.is_live(store.owner()).await.unwrap());
    assert!(store.is_live(store.owner()).await.unwrap());
    store.apply(begin("invoice-17", &store, 0)).await.unwrap();
    assert!(other.find(&key("invoice-17")).await.unwrap().is_some());
}

#[tokio::test]
async fn owner_id_cannot_name_another_path() {
    let (_place, store, _) = with_a_dead_owner().await;
    let outside = TempDir::new().unwrap();
    let file = outside.path().join("locked");
    let locked = fs::File::create(&file).unwrap();
    locked.lock().unwrap();
    assert!(!store.is_live(&OwnerId::from_kept(file.to_str().unwrap())).await.unwrap());
    assert!(!store.is_live(&OwnerId::from_kept("../journal.db")).await.unwrap());
    assert!(!store.is_live(&OwnerId::from_kept("")).await.unwrap());
}
