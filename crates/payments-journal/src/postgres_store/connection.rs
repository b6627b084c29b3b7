use std::error::Error as _;
use std::iter;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, Error};

use super::address::Address;
use crate::StoreError;

/// A connection to a server that keeps what it has committed. Dropping it closes it at once.
pub(super) struct Connection {
    pub(super) client: Client,
    /// A response that is still to come would keep it open, so it ends with this.
    driver: JoinSet<()>,
}

impl Connection {
    /// Connects, makes the session's settings, and checks the server's.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        let unreachable = || {
            StoreError::unavailable(format!("the journal's database {} cannot be reached", address.place()))
        };
        let opening = async {
            let connected = address.config.connect(address.tls.clone()).await;
            let (client, connection) = connected.map_err(|error| {
                let told = match error.code() {
                    Some(code) if is_lasting(code.code()) => StoreError::refused(format!(
                        "the journal's database {} does not let this user in",
                        address.place()
                    )),
                    _ => unreachable(),
                };
                told.because(in_one_line(&error))
            })?;
            let mut driver = JoinSet::new();
            // A statement that waits for its response gets the error.
            driver.spawn(async { drop(connection.await) });
            let this = Self { client, driver };
            ask(this.client.batch_execute(SETTINGS)).await?;
            match ask(this.client.query_one_scalar::<Option<String>, _>(REFUSAL, &[])).await? {
                None => Ok(this),
                Some(why) => Err(StoreError::refused(format!("the journal's database {why}"))),
            }
        };
        timeout(LONGEST_WAIT, opening).await.unwrap_or_else(|_| {
            Err(unreachable().because(format!("no connection within {} s", LONGEST_WAIT.as_secs())))
        })
    }

    /// Waits until the connection is closed, by either side.
    pub(super) async fn closed(&mut self) {
        self.driver.join_next().await;
    }
}

/// Waits for statements that change nothing, or nothing that stays without a COMMIT.
pub(super) async fn ask<T>(statements: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    heard(statements, StoreError::unavailable("the connection to the journal's database was lost")).await
}

/// Waits for statements with their COMMIT.
pub(super) async fn commit<T>(statements: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    let lost =
        "the connection to the journal's database was lost before it said whether it has kept the change";
    heard(statements, StoreError::in_doubt(lost)).await
}

async fn heard<T>(
    statements: impl Future<Output = Result<T, Error>>,
    lost: StoreError,
) -> Result<T, StoreError> {
    let error = match timeout(LONGEST_WAIT, statements).await {
        Ok(Ok(response)) => return Ok(response),
        Ok(Err(error)) => error,
        Err(_) => return Err(lost.because(format!("no response within {} s", LONGEST_WAIT.as_secs()))),
    };
    let told = match error.as_db_error() {
        // Only an ERROR is the end of a statement. A server that shuts down sends FATAL at any moment: also between a
        // commit and its response.
        Some(reported) if reported.parsed_severity() == Some(Severity::Error) => {
            if is_lasting(reported.code().code()) {
                StoreError::refused("the journal's database refuses the statement; nothing was changed")
            } else {
                StoreError::unavailable("the journal's database could not do it; nothing was changed")
            }
        }
        _ => lost,
    };
    Err(told.because(in_one_line(&error)))
}

/// Whether waiting cannot help: data, credentials, names and permissions, by the class of the SQLSTATE.
fn is_lasting(code: &str) -> bool {
    ["22", "23", "28", "3D", "3F", "42"].iter().any(|class| code.starts_with(class))
}

/// The error and its causes, without the details, which may repeat values.
fn in_one_line(error: &Error) -> String {
    if let Some(reported) = error.as_db_error() {
        return format!("{} {}: {}", reported.severity(), reported.code().code(), reported.message());
    }
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// For a connection, and for each response. It is more than the server's `statement_timeout`.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// - `synchronous_commit`: `remote_apply` is stronger than `on` and stays.
/// - `statement_timeout`: less than this program waits, so that a statement that waits for a lock is certainly undone.
/// - `idle_in_transaction_session_timeout`: how long a transaction whose next statement never comes keeps its key locked.
/// - `tcp_*`: a server notices within a minute that a machine has died, so that its owner counts as dead.
/// - `enable_seqscan`: every query has an index. A plan that was made for a small table would not use it until the server
///   counts the rows again.
/// - `jit`: without sequential scans some plans look so expensive that each session would compile them to machine code, which
///   takes longer than any of them runs.
///
/// An older server does not have all of them.
const SETTINGS: &str = "
    SELECT set_config(wanted.name, wanted.value, false)
    FROM pg_settings JOIN (VALUES
        ('synchronous_commit', 'on'),
        ('default_transaction_isolation', 'read committed'),
        ('statement_timeout', '8s'),
        ('idle_in_transaction_session_timeout', '3s'),
        ('idle_session_timeout', '0'),
        ('tcp_keepalives_idle', '30'),
        ('tcp_keepalives_interval', '10'),
        ('tcp_keepalives_count', '3'),
        ('tcp_user_timeout', '60000'),
        ('enable_seqscan', 'off'),
        ('jit', 'off')
    ) AS wanted (name, value) USING (name)
    WHERE NOT (name = 'synchronous_commit' AND setting = 'remote_apply')";

/// Why the server cannot keep a journal, or NULL.
const REFUSAL: &str = "
    SELECT CASE
        WHEN current_setting('server_version_num')::integer < 120000 THEN 'is older than PostgreSQL 12'
        WHEN pg_is_in_recovery() THEN 'is a standby, which cannot be written: name the primary'
        WHEN current_setting('transaction_read_only') = 'on'
            THEN 'lets this user only read: set default_transaction_read_only off for it'
        WHEN current_setting('fsync') <> 'on'
            THEN 'runs with fsync off: a crash loses committed rows, and their keys would be sent twice; switch it on'
        WHEN current_setting('full_page_writes') <> 'on'
            THEN 'runs with full_page_writes off: a crash can destroy committed rows, and their keys would be sent twice; '
                || 'switch it on'
        WHEN current_setting('server_encoding') <> 'UTF8'
            THEN 'is not encoded in UTF8, so it cannot keep every text: create one with ENCODING ''UTF8'''
        WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
            THEN 'does not let synchronous_commit be on'
    END";
