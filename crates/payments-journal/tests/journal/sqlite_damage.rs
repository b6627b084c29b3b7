//! Files damaged by a disk, another program or another version: no row is lost, nothing is charged again, and each error is
//! clear.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use payments_journal::internals::{Applied, Change, IntentStore, Refusal};
use payments_journal::{Intent, IntentKey, IntentState, SqliteStore, StateName, StoreError};
use rusqlite::Connection;
use tokio::runtime;

use crate::contract::{self, as_processed, assert_says_nothing_of_sending, at, begin, begun, key};
use crate::sqlite::{InAFile, beside, close};

fn block_on<T>(work: impl Future<Output = T>) -> T {
    runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn processed(intent: &Intent, transaction: &str) -> Change {
    Change::end(intent.key.clone(), intent.attempt_id.clone(), as_processed(transaction), at(1))
}

/// Begins and ends this many intents, each in two commits.
async fn charge(store: &SqliteStore, count: usize) {
    for number in 0..count {
        contract::charged(store, &format!("key-{number}"), as_processed(&format!("txn_{number}"))).await;
    }
}

/// Every row, by its key.
async fn rows(store: &SqliteStore) -> Result<BTreeMap<IntentKey, Intent>, StoreError> {
    let page = store.list(StateName::ALL, None, usize::MAX).await?;
    Ok(page.into_iter().map(|(_, intent)| (intent.key.clone(), intent)).collect())
}

/// The files in the directory with their content.
fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// Checks that the file is refused and unchanged, and that no file is added.
pub(crate) fn assert_left_alone(path: &Path) -> StoreError {
    make_private(path);
    let before = contents(path);
    let error = SqliteStore::open(path).unwrap_err();
    let after = contents(path);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{error}");
    assert!(after == before, "it was changed: {error}");
    assert_says_nothing_of_sending(&error);
    error
}

fn make_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn file_that_is_not_a_database_is_left_alone() {
    for content in [&b"x"[..], &[0; 511], &[0; 4096], &[7; 4096], b"Key,Amount\n", &[b'a'; 10_000]] {
        let place = InAFile::new();
        fs::write(place.path(), content).unwrap();
        let error = assert_left_alone(&place.path());
        assert!(error.is_damaged(), "{error:?}");
        assert!(error.to_string().contains("is not a journal"), "{error}");
    }
}

#[test]
fn database_of_another_program_is_left_alone() {
    let programs = [
        "CREATE TABLE customer (name TEXT)",
        "PRAGMA application_id = 1347639635; CREATE TABLE record (position INTEGER PRIMARY KEY)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL; CREATE TABLE customer (name TEXT)",
    ];
    for sql in programs {
        let place = InAFile::new();
        place.run(sql);
        let error = assert_left_alone(&place.path());
        assert!(error.is_damaged(), "{error:?}");
        assert!(error.to_string().contains("of another program"), "{error}");
    }
}

const JOURNAL: i32 = 0x504A_4E4C;
const BEFORE_VERSION_1: i32 = 0x5041_594A;

#[test]
fn journal_of_another_version_is_left_alone() {
    for (id, version, words) in [
        (JOURNAL, 2, "its schema is 2, and this version knows 1"),
        (JOURNAL, 900, "its schema is 900, and this version knows 1"),
        (JOURNAL, 0, "of another program"),
        (BEFORE_VERSION_1, 7, "by a version that was never released, and no other version reads it"),
    ] {
        let (place, store) = InAFile::opened();
        block_on(charge(&store, 3));
        close(store);
        let connection = Connection::open(place.path()).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        connection.pragma_update(None, "application_id", id).unwrap();
        drop(connection);
        let error = assert_left_alone(&place.path());
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(
            (error.is_newer(), error.is_refused()),
            (words.contains("knows 1"), id == BEFORE_VERSION_1)
        );
    }
}

#[test]
fn journal_without_its_index_is_left_alone() {
    for sql in [
        "DROP INDEX intent_key",
        "DROP INDEX intent_unresolved",
        "DROP INDEX intent_processed",
        "ALTER TABLE intent DROP COLUMN stored_at",
    ] {
        let (place, store) = InAFile::opened();
        block_on(charge(&store, 3));
        close(store);
        place.run(sql);
        let error = assert_left_alone(&place.path());
        assert!(error.is_damaged(), "{error:?}");
        assert!(error.to_string().contains("is missing or differs from this version"), "{error}");
    }
}

/// Puts an index or a table in place of one of the journal's, as damaged pages would: the schema stays as it is. `sql` creates
/// `other`, which takes the place of `name`.
pub(crate) fn replace(path: &Path, name: &str, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
    let swap = format!(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other') WHERE name = '{name}';
         DELETE FROM sqlite_schema WHERE name IN ('other', 'others');
         PRAGMA writable_schema = RESET"
    );
    connection.execute_batch(&swap).unwrap();
}

/// The table loses these rows, and the indexes still know them.
fn lose(place: &InAFile, keys: &[&str]) {
    let other = format!(
        "CREATE TABLE other (position INTEGER PRIMARY KEY, key, state, processed_as, is_void, service, document, stored_at, also_held, was_lost);
         INSERT INTO other SELECT * FROM intent WHERE key NOT IN ('{}')",
        keys.join("', '")
    );
    replace(&place.path(), "intent", &other);
}

/// A table `others` with rows like those of the journal, on which an index `other` has other rows or positions.
fn others(positions: &str, index: &str) -> String {
    format!(
        "CREATE TABLE others (position INTEGER PRIMARY KEY, key TEXT, state TEXT, processed_as TEXT);
         INSERT INTO others SELECT {positions}, key, state, processed_as FROM intent;
         CREATE INDEX other ON others {index}"
    )
}

/// Every column of every row, without the indexes.
fn table(path: &Path) -> Vec<(i64, String, String, Option<String>, String)> {
    let connection = Connection::open(path).unwrap();
    let columns = "position, key, state, processed_as, document";
    let mut table = connection.prepare(&format!("SELECT {columns} FROM intent NOT INDEXED")).unwrap();
    let rows = table.query_map([], |row| row.try_into()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// A closed journal with 40 processed rows and 3 unresolved ones: enough that each index has several pages.
fn with_unresolved_rows() -> InAFile {
    let place = with_pages_of(512);
    let store = SqliteStore::open(place.path()).unwrap();
    block_on(charge(&store, 40));
    for number in 0..3 {
        block_on(begun(&store, &format!("open-{number}")));
    }
    close(store);
    place
}

/// SQLite finds no row whose entry in an index is missing, so the key would be charged again.
#[test]
fn index_that_differs_from_its_table_is_refused() {
    let unresolved =
        |columns: &str, and: &str| format!("{columns} WHERE state IN ('sending', 'unknown') {and}");
    let ended = |columns: &str, and: &str| format!("{columns} WHERE processed_as IS NOT NULL {and}");
    let on_intent = |index: &str| format!("CREATE INDEX other ON intent {index}");
    let more = |index: &str| {
        others("position", index) + "; INSERT INTO others VALUES (99, 'ghost', 'unknown', 'txn_ghost')"
    };
    // The key of each row with the position of another.
    let shifted = "position % (SELECT max(position) FROM intent) + 1";
    for (name, what, sql) in [
        ("intent_key", "an entry is missing", on_intent("(key) WHERE key <> 'key-3'")),
        ("intent_key", "all entries are missing", on_intent("(key) WHERE key IS NULL")),
        ("intent_key", "there is one more", more("(key)")),
        ("intent_key", "one is more and one missing", more("(key) WHERE key <> 'key-3'")),
        ("intent_key", "the keys are others", on_intent("(key || 'x')")),
        ("intent_key", "one key is another", on_intent("(iif(key = 'key-3', 'key-3x', key))")),
        ("intent_key", "the positions are others", others(shifted, "(key)")),
        ("intent_key", "not in order", on_intent("(key DESC)")),
        ("intent_key", "not text", on_intent("(CAST(key AS BLOB))")),
        (
            "intent_unresolved",
            "an entry is missing",
            on_intent(&unresolved("(position)", "AND key <> 'open-1'")),
        ),
        ("intent_unresolved", "all entries are missing", on_intent("(position) WHERE key IS NULL")),
        ("intent_unresolved", "there is one more", more(&unresolved("(position)", ""))),
        ("intent_unresolved", "every row is in it", on_intent("(position)")),
        ("intent_unresolved", "the positions are others", others(shifted, &unresolved("(position)", ""))),
        ("intent_unresolved", "by another column", on_intent(&unresolved("(stored_at + position)", ""))),
        ("intent_unresolved", "not in order", on_intent(&unresolved("(position DESC)", ""))),
        (
            "intent_processed",
            "an entry is missing",
            on_intent(&ended("(processed_as)", "AND key <> 'key-3'")),
        ),
        ("intent_processed", "all entries are missing", on_intent("(processed_as) WHERE key IS NULL")),
        ("intent_processed", "there is one more", more(&ended("(processed_as)", ""))),
        ("intent_processed", "the ids are others", on_intent(&ended("(processed_as || 'x')", ""))),
        ("intent_processed", "the positions are others", others(shifted, &ended("(processed_as)", ""))),
        ("intent_processed", "not in order", on_intent(&ended("(processed_as DESC)", ""))),
    ] {
        let place = with_unresolved_rows();
        let path = place.path();
        replace(&path, name, &sql);
        let rows = table(&path);
        assert_eq!(rows.len(), 43, "{name}: {what}");
        // It stays refused: nothing heals it silently.
        for _ in 0..2 {
            let error = SqliteStore::open(&path).expect_err(&format!("{name}: {what}"));
            assert!(error.is_damaged(), "{name}: {what}: {error:?}");
            for words in ["is damaged", "A damaged index"] {
                assert!(error.to_string().contains(words), "{name}: {what}: {error}");
            }
            assert!(error.to_string().contains(name), "{name}: {what}: {error}");
            assert!(!beside(&path, "-wal").exists(), "{name}: {what}: it was closed");
        }
        assert_eq!(table(&path), rows, "{name}: {what}: no row was changed");
    }
}

#[test]
fn damaged_table_of_further_transactions_is_refused() {
    for damage in [
        "DELETE FROM also_held",
        "INSERT INTO also_held VALUES ('txn_more', 1)",
        "UPDATE also_held SET transaction_id = 'txn_other'",
        "UPDATE also_held SET position = position + 1",
    ] {
        let place = with_unresolved_rows();
        place.run(
            "UPDATE intent SET also_held = '[\"txn_2\"]' WHERE key = 'key-3';
                 INSERT INTO also_held SELECT 'txn_2', position FROM intent WHERE key = 'key-3';",
        );
        close(SqliteStore::open(place.path()).unwrap());
        place.run(damage);
        let error = SqliteStore::open(place.path()).expect_err(damage);
        assert!(error.is_damaged() && error.to_string().contains("also_held"), "{damage}: {error}");
    }
}

/// The replacement above alone damages nothing.
#[test]
fn index_that_was_built_again_is_accepted() {
    for (name, index) in [
        ("intent_key", "(key)"),
        ("intent_unresolved", "(position) WHERE state IN ('sending', 'unknown')"),
        ("intent_processed", "(processed_as) WHERE processed_as IS NOT NULL"),
    ] {
        let place = with_unresolved_rows();
        replace(&place.path(), name, &format!("CREATE INDEX other ON intent {index}"));
        let store = SqliteStore::open(place.path()).unwrap();
        assert!(block_on(store.apply(begin("key-3", &store, 9))).unwrap().written().is_none());
        close(store);
    }
}

/// `docs/journal-operations.md` says how a person finds out which side is damaged, and when `REINDEX` is safe.
#[test]
fn guide_to_a_damaged_index_tells_which_side_lost_rows() {
    const GUIDE: &str = include_str!("../../../../docs/journal-operations.md");
    let (_, chapter) = GUIDE.split_once("### A damaged index").unwrap();
    let sql = chapter.split("```sql").nth(1).unwrap().split("```").next().unwrap();
    let statements: Vec<_> = sql.split(';').filter(|sql| sql.contains("SELECT")).collect();
    assert_eq!(statements.len(), 3);
    let findings = |path: &Path| {
        let connection = Connection::open(path).unwrap();
        let mut found = Vec::new();
        for sql in &statements {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.try_into()).unwrap();
            found.extend(
                rows.map(|row| row.map(|(what, key): (String, String)| format!("{what}: {key}")).unwrap()),
            );
        }
        found
    };

    let place = with_unresolved_rows();
    replace(&place.path(), "intent_key", "CREATE INDEX other ON intent (key) WHERE key <> 'key-3'");
    assert_eq!(findings(&place.path()), ["only in the table: key-3"]);
    let rows = table(&place.path());
    place.run("REINDEX");
    let store = SqliteStore::open(place.path()).unwrap();
    assert!(block_on(store.apply(begin("key-3", &store, 9))).unwrap().written().is_none());
    close(store);
    assert_eq!(table(&place.path()), rows);

    let place = with_unresolved_rows();
    lose(&place, &["key-3", "open-1"]);
    let expected = ["only in the index: key-3", "only in the index: open-1", "lost: txn_3"];
    assert_eq!(findings(&place.path()), expected);

    let place = with_unresolved_rows();
    place.run(TWICE);
    assert_eq!(findings(&place.path()), ["twice: key-3"]);
}

/// Rows that only the indexes still know must not be taken for new ones.
#[test]
fn table_that_lost_a_row_is_refused() {
    for key in ["key-3", "open-1"] {
        let place = with_unresolved_rows();
        lose(&place, &[key]);
        let error = SqliteStore::open(place.path()).unwrap_err();
        assert!(error.is_damaged() && error.to_string().contains("A damaged index"), "{error}");
    }
}

const TWICE: &str = "
    DROP INDEX intent_key;
    UPDATE intent SET key = 'key-3' WHERE key = 'key-4';
    CREATE INDEX intent_key ON intent (key)";

/// Of two rows with one key, only one would be found.
#[test]
fn key_that_is_twice_in_the_table_is_refused() {
    let place = with_unresolved_rows();
    place.run(TWICE);
    place.run(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX intent_key ON intent (key)' WHERE name = 'intent_key';
         PRAGMA writable_schema = RESET",
    );
    let error = SqliteStore::open(place.path()).unwrap_err();
    assert!(error.is_damaged() && error.to_string().contains("intent_key"), "{error}");
}

/// One cell of an index, overwritten in the file as a disk would: each byte of each leaf cell in turn.
#[test]
fn no_byte_of_the_key_index_is_believed() {
    let place = with_unresolved_rows();
    let database = fs::read(place.path()).unwrap();
    let root: i64 = Connection::open(place.path())
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'intent_key'", [], |row| row.get(0))
        .unwrap();
    let rows = table(&place.path());
    let root = usize::try_from(root - 1).unwrap() * 512;
    // In the middle of the page, between the pointers to the cells and the cells, is a gap. Its first and last byte are enough.
    let number = |at: usize| usize::from(u16::from_be_bytes([database[root + at], database[root + at + 1]]));
    let gap = root + 8 + 2 * number(3)..root + number(5);
    assert!(gap.len() > 2, "{gap:?}");
    let (mut refused, mut unnoticed) = (0, 0);
    for offset in (root..=gap.start).chain(gap.end - 1..root + 512) {
        let mut damaged = database.clone();
        damaged[offset] ^= 1;
        put(&place, &damaged);
        match SqliteStore::open(place.path()) {
            Err(error) => {
                assert!(error.is_damaged(), "{offset}: {error:?}");
                refused += 1;
            }
            // A byte that no entry uses.
            Ok(store) => {
                for (_, key, ..) in &rows {
                    let applied = block_on(store.apply(begin(key, &store, 9))).unwrap();
                    assert_eq!(applied.written(), None, "{offset}: {key} was treated as new");
                }
                close(store);
                unnoticed += 1;
            }
        }
    }
    assert!(refused > 0 && unnoticed > 0, "{refused} {unnoticed}");
}

/// An empty database with this page size, in which a journal is created. With a short page every byte can be tested quickly.
fn with_pages_of(length: usize) -> InAFile {
    let place = InAFile::in_memory();
    place.run(&format!("PRAGMA page_size = {length}; PRAGMA journal_mode = WAL"));
    make_private(&place.path());
    place
}

/// The length of a page, and the step between tested bytes.
const PAGES: [(usize, usize); 2] = [(512, 1), (4096, 61)];

/// Cuts the last frame of the log at each byte, as if the machine had stopped during the write.
#[test]
fn truncated_log_loses_at_most_its_last_commit() {
    for (page, step) in PAGES {
        let place = with_pages_of(page);
        let store = SqliteStore::open(place.path()).unwrap();
        block_on(charge(&store, 5));
        // The last commit ends an intent, so the row before it is known: sending.
        let last = key("key-4");
        let expected = block_on(rows(&store)).unwrap();
        let (database, log) =
            (fs::read(place.path()).unwrap(), fs::read(beside(&place.path(), "-wal")).unwrap());
        close(store);

        let frame = 24 + page;
        assert_eq!((log.len() - 32) % frame, 0);
        for end in (log.len() - frame..log.len()).step_by(step).chain([log.len() - 1, log.len()]) {
            let store = open_copy(&place, &database, &log[..end]);
            let mut found = block_on(rows(&store)).unwrap();
            close(store);
            if end < log.len() {
                let row = found.insert(last.clone(), expected[&last].clone()).unwrap();
                assert_eq!(row.state, IntentState::Sending, "{end}");
            }
            assert_eq!(found, expected, "{end}");
        }
    }
}

/// Opens these files as another machine would.
fn open_copy(place: &InAFile, database: &[u8], log: &[u8]) -> SqliteStore {
    fs::write(place.path(), database).unwrap();
    fs::write(beside(&place.path(), "-wal"), log).unwrap();
    make_private(&beside(&place.path(), "-wal"));
    let _ = fs::remove_file(beside(&place.path(), "-shm"));
    SqliteStore::open(place.path()).unwrap()
}

/// Puts this database there, as after a close: a store that could not be closed keeps its log.
fn put(place: &InAFile, database: &[u8]) {
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(&place.path(), suffix));
    }
    fs::write(place.path(), database).unwrap();
}

/// A database without a log that uses every page, and its rows.
fn closed_journal(page: usize) -> (InAFile, Vec<u8>, BTreeMap<IntentKey, Intent>) {
    let place = with_pages_of(page);
    let store = SqliteStore::open(place.path()).unwrap();
    block_on(charge(&store, 60));
    block_on(begun(&store, "in-flight"));
    let rows = block_on(rows(&store)).unwrap();
    close(store);
    assert!(!beside(&place.path(), "-wal").exists());
    let database = fs::read(place.path()).unwrap();
    (place, database, rows)
}

#[test]
fn truncated_database_is_refused() {
    for (page, step) in PAGES {
        let (place, database, _) = closed_journal(page);
        for end in (database.len() - page..database.len()).step_by(step).chain([database.len() - 1]) {
            put(&place, &database[..end]);
            let error = SqliteStore::open(place.path()).unwrap_err();
            assert!(error.is_damaged(), "{end}: {error:?}");
        }
        put(&place, &database);
        close(SqliteStore::open(place.path()).unwrap());
    }
}

/// Whichever page is lost: no charged key is treated as new.
#[test]
fn lost_page_permits_nothing() {
    let (place, database, rows) = closed_journal(4096);
    let pages = database.len() / 4096;
    assert!(pages >= 8, "{pages}");
    let (mut refused, mut noticed) = (0, 0);
    for (page, byte) in (0..pages).flat_map(|page| [(page, 0), (page, 0xA5)]) {
        let mut damaged = database.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(byte);
        put(&place, &damaged);
        let store = match SqliteStore::open(place.path()) {
            Ok(store) => store,
            Err(error) => {
                assert!(error.is_damaged(), "{page}: {error:?}");
                refused += 1;
                continue;
            }
        };
        let mut errors = 0;
        for (key, row) in &rows {
            let change = begin(key.as_str(), &store, 9);
            match block_on(store.apply(change)) {
                Ok(applied) => {
                    let refused = Applied::Refused(Refusal::Known, Some(row.clone()));
                    assert_eq!(applied, refused, "page {page}: {key} was treated as new");
                }
                Err(_) => errors += 1,
            }
        }
        // For the pages that contain nothing of these rows.
        if block_on(store.list(StateName::UNRESOLVED, None, 9)).is_err() {
            errors += 1;
        }
        let change = begin("new", &store, 9);
        let end = processed(&change.decide(None).unwrap(), "txn_new");
        if block_on(store.apply(change)).is_err() || block_on(store.apply(end)).is_err() {
            errors += 1;
        }
        noticed += usize::from(errors > 0);
        close(store);
    }
    assert_eq!(refused + noticed, 2 * pages, "the loss of every page is noticed");
}
