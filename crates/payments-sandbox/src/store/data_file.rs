use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use payments_fake::{Change, FakeGateway, FakeGatewayBuilder, Tenant};
use payments_model::{CustomerId, TokenId, TransactionId};
use ring::hmac;
use ring::rand::{SystemRandom, generate};
use rusqlite::config::DbConfig;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, FileControl, MAIN_DB, OpenFlags, Row, TransactionBehavior};

use super::error::Problem;
use super::{Log, Store, StoreError, Writer, schema};

/// A locked file with the records of a gateway, as used by `payments sandbox --data`.
///
/// It is a SQLite database and a write-ahead log in the same folder. If they are created here, only their owner can read
/// them. They hold masked cards and personal data of payers, but no card number, security code, bank account or API key.
/// Each key gets its own records back; records of keys that are not passed stay unchanged.
///
/// ```
/// use payments_fake::{FakeGateway, block_on};
/// use payments_sandbox::DataFile;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("payments.db");
/// let file = DataFile::open(&path, &["key_1", "key_2"])?;
/// // Another seed at every start, or new transactions would get the ids of stored ones.
/// let builder = FakeGateway::builder().seed(file.starts());
/// let (gateway, store) = file.gateway(builder)?;
/// # drop(gateway);
/// block_on(store.close())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DataFile {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    /// Without repetitions.
    api_keys: Vec<String>,
    /// The row of each key's tenant.
    pub(super) tenants: Vec<i64>,
    starts: u64,
}

impl DataFile {
    /// Opens and locks the file, creates it if it does not exist, and counts this start in it. The order of the keys is the
    /// order of the gateway's tenants; a repeated key counts once.
    ///
    /// # Errors
    ///
    /// If the file is in use, is not a data file, is from a newer version, or cannot be read and written. A refused file is
    /// not changed.
    ///
    /// # Panics
    ///
    /// If there is no key.
    pub fn open(path: impl AsRef<Path>, api_keys: &[impl AsRef<str>]) -> Result<Self, StoreError> {
        assert!(!api_keys.is_empty(), "a gateway has a key");
        let requested = path.as_ref();
        let path = locate(requested).map_err(|problem| StoreError::new(requested, problem))?;
        Self::open_at(&path, api_keys).map_err(|problem| StoreError::new(&path, problem))
    }

    fn open_at(path: &Path, keys: &[impl AsRef<str>]) -> Result<Self, Problem> {
        let mut connection = connect(path)?;
        if connection.is_readonly("main")? {
            return Err(Problem::ReadOnly);
        }
        let is_new = is_new(&connection).inspect_err(|_| remove_empty_log(path, &connection))?;
        configure(&connection)?;

        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_new {
            let key: [u8; 32] = generate(&SystemRandom::new()).expect("the system has randomness").expose();
            schema::create(&transaction, &key)?;
        }
        let (starts, hash_key) = transaction.query_row(schema::COUNT_START, [], |row| {
            let hash_key = hmac::Key::new(hmac::HMAC_SHA256, row.get_ref(1)?.as_blob()?);
            Ok((row.get::<_, i64>(0)?.cast_unsigned(), hash_key))
        })?;
        let (mut api_keys, mut tenants) = (Vec::new(), Vec::new());
        for key in keys.iter().map(AsRef::as_ref) {
            let hash = hmac::sign(&hash_key, key.as_bytes());
            let tenant = transaction.query_row(schema::TENANT, [hash.as_ref()], |row| row.get(0))?;
            if !tenants.contains(&tenant) {
                api_keys.push(key.to_owned());
                tenants.push(tenant);
            }
        }
        transaction.commit()?;
        Ok(Self { path: path.to_owned(), connection, api_keys, tenants, starts })
    }

    /// How often the file was opened, including this time. No two starts get the same number, not even after a crash.
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// Builds the gateway with the keys of this file, restores its records, and stores every change from now on. The builder
    /// must have no keys and no change log, and another seed than at any [start](Self::starts) before.
    ///
    /// # Errors
    ///
    /// If the file is damaged or cannot be read.
    ///
    /// # Panics
    ///
    /// If the builder has further keys, or if no client could send one of the file's keys.
    #[track_caller]
    pub fn gateway(self, builder: FakeGatewayBuilder) -> Result<(FakeGateway, Store), StoreError> {
        let (log, groups) = Log::new();
        let mut keys = self.api_keys.iter();
        let builder = builder.api_key(keys.next().expect("checked when it was opened"));
        let builder = keys.fold(builder, FakeGatewayBuilder::another_api_key);
        let gateway = builder.change_log(log.clone()).build();

        let restored: Vec<_> = gateway.tenants().collect();
        assert_eq!(restored.len(), self.tenants.len(), "the gateway's keys are those of the data file");
        let path = self.path.clone();
        let fail = |problem| StoreError::new(&path, problem);
        self.restore(&restored).map_err(fail)?;
        let writer = Writer { file: self, groups, log: log.clone() };
        let thread = thread::Builder::new().name("payments-store".to_owned());
        let thread = thread.spawn(|| writer.run()).map_err(|error| fail(error.into()))?;
        Ok((gateway, Store { log, writer: Some(thread) }))
    }

    /// Restores the records of each tenant, in their original order.
    fn restore(&self, tenants: &[Tenant]) -> Result<(), Problem> {
        let mut records = self.connection.prepare(schema::ALL_RECORDS)?;
        let mut records = records.query([])?;
        while let Some(record) = records.next()? {
            let row: i64 = record.get(0)?;
            let Some(index) = self.tenants.iter().position(|own| *own == row) else { continue };
            let id = record.get_ref(2)?.as_str().unwrap_or_default();
            tenants[index]
                .replay(change(record)?)
                .map_err(|error| Problem::Damaged(format!("record {id}: {error}")))?;
        }
        Ok(())
    }

    /// Fails if the file or its log was moved, removed or replaced. Writes to a removed file succeed, but the next start
    /// would not find them, and a replaced file may be in use by another sandbox.
    pub(super) fn check_not_moved(&self) -> Result<(), Problem> {
        let mut has_moved = 0;
        // Where SQLite cannot answer, the system does not allow an open file to be moved.
        let checked = self.connection.file_control(Some(MAIN_DB), FileControl::HasMoved(&mut has_moved));
        let is_there = !(checked.is_ok() && has_moved != 0) && log_of(&self.path).exists();
        if is_there { Ok(()) } else { Err(Problem::Displaced) }
    }
}

/// Shows neither a key nor the content of the file.
impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, connection: _, api_keys: _, tenants, starts } = self;
        f.debug_struct("DataFile")
            .field("path", path)
            .field("tenants", &tenants.len())
            .field("starts", starts)
            .finish_non_exhaustive()
    }
}

/// The absolute path of the file, so that no name has a special meaning to SQLite. Creates an empty file if it is new.
///
/// An existing file is never opened here: on POSIX systems, closing it again would release the locks that this process
/// holds on it.
fn locate(requested: &Path) -> Result<PathBuf, Problem> {
    let name = requested.file_name().ok_or(Problem::NotAFile)?;
    let folder =
        requested.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Problem::NoFolder,
        _ => error.into(),
    })?;
    let path = folder.join(name);
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => Err(Problem::NotAFile),
        // SQLite would treat some of these as empty databases.
        Ok(found) if (1..SMALLEST_DATABASE).contains(&found.len()) => Err(Problem::NotADatabase),
        // Resolves links, because the log is in the folder of the file and not of the link.
        Ok(_) => Ok(fs::canonicalize(&path)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(&path).is_ok() {
                return Err(Problem::LinkToNothing);
            }
            create(&folder, &path)?;
            Ok(path)
        }
        Err(error) => Err(error.into()),
    }
}

/// One page of the smallest size.
const SMALLEST_DATABASE: u64 = 512;

/// Creates an empty file that only its owner may read; SQLite then creates the log with the same permissions. The file gets
/// its name after it is closed, for the reason at [`locate`].
fn create(folder: &Path, path: &Path) -> io::Result<()> {
    let file = tempfile::Builder::new().prefix(".payments-").tempfile_in(folder)?.into_temp_path();
    match file.persist_noclobber(path) {
        Ok(()) => Ok(()),
        // Another process created it in the meantime; the lock decides which of them gets it.
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Waiting is useless: another sandbox keeps the lock as long as it runs.
    connection.busy_timeout(Duration::ZERO)?;
    // Before the first read, which then takes the lock and keeps the index of the log in memory.
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    // Until the file is known to be a data file, neither it nor its log may be changed.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Whether the database is new. Fails if it is neither new nor a data file that this version can read.
fn is_new(connection: &Connection) -> Result<bool, Problem> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    match (number("application_id")?, number("user_version")?) {
        (schema::APPLICATION_ID, schema::VERSION) => match schema::first_difference(connection)? {
            None => Ok(false),
            Some(name) => Err(Problem::Damaged(format!("its {name} is missing or not of this version"))),
        },
        (schema::APPLICATION_ID, version) if version > schema::VERSION => Err(Problem::Newer(version)),
        (0, 0) if connection.query_row(IS_EMPTY, [], |row| row.get(0))? => Ok(true),
        _ => Err(Problem::OfAnotherProgram),
    }
}

const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";

/// The write-ahead log of the database with this path.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Lets SQLite delete the log on closing if it is empty: reading a database in WAL mode creates one.
fn remove_empty_log(path: &Path, connection: &Connection) {
    if fs::metadata(log_of(path)).is_ok_and(|log| log.len() == 0) {
        // If this fails, an empty file is left next to the database.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
}

fn configure(connection: &Connection) -> Result<(), Problem> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
    if mode? != "wal" {
        return Err(Problem::CannotOpen("SQLite cannot use a write-ahead log in its folder".to_owned()));
    }
    // Every commit is synced, not only every checkpoint.
    Ok(connection.pragma_update(None, "synchronous", "FULL")?)
}

fn change(record: &Row<'_>) -> rusqlite::Result<Change> {
    let id = record.get_ref(2)?.as_str()?;
    let document = record.get_ref(3)?.as_str()?.into();
    let change = match record.get(1)? {
        schema::TRANSACTION => TransactionId::from_answer(id).map(|id| Change::Transaction { id, document }),
        schema::TOKEN => TokenId::new(id).ok().map(|id| Change::Token { id, document }),
        schema::CUSTOMER => CustomerId::from_answer(id).map(|id| Change::Customer { id, document }),
        number => return Err(FromSqlError::OutOfRange(number).into()),
    };
    change.ok_or_else(|| FromSqlError::InvalidType.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions can lose a commit that coincides with a reset of the log.
    #[test]
    fn the_bundled_sqlite_resets_its_log_safely() {
        assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
    }

    #[test]
    fn every_commit_is_synced_and_the_lock_is_exclusive() {
        let folder = tempfile::tempdir().unwrap();
        let file = DataFile::open(folder.path().join("payments.db"), &["key"]).unwrap();
        let text = |pragma| file.connection.pragma_query_value(None, pragma, |row| row.get::<_, String>(0));
        let number = |pragma| file.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        assert_eq!(text("journal_mode").unwrap(), "wal");
        assert_eq!(text("locking_mode").unwrap(), "exclusive");
        assert_eq!(number("synchronous").unwrap(), 2, "2 is FULL");
        assert_eq!(number("foreign_keys").unwrap(), 1);
    }
}
