use std::error::Error as _;
use std::iter;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, Error};

use super::address::Address;
use crate::StoreError;

/// A connection to a server whose commits are durable. Dropping it closes it at once.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The task that drives the connection. A pending response would keep it open, so it is aborted when this is dropped.
    driver: JoinSet<()>,
}

impl Connection {
    /// Connects, applies the settings of the session, and checks those of the server.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        let unreachable = || {
            StoreError::unavailable(format!("the journal's database {} cannot be reached", address.place()))
        };
        let opening = async {
            let connected = address.config.connect(address.tls.clone()).await;
            let (client, connection) = connected.map_err(|error| {
                let failure = match error.code() {
                    Some(code) if is_permanent(code.code()) => StoreError::refused(format!(
                        "the journal's database {} rejects this user",
                        address.place()
                    )),
                    _ => unreachable(),
                };
                failure.because(in_one_line(&error))
            })?;
            let mut driver = JoinSet::new();
            // The error is dropped, because a statement that waits for its response gets it too.
            driver.spawn(async { drop(connection.await) });
            let this = Self { client, driver };
            execute(this.client.batch_execute(SETTINGS)).await?;
            match execute(this.client.query_one_scalar::<Option<String>, _>(REFUSAL, &[])).await? {
                None => Ok(this),
                Some(why) => Err(StoreError::refused(format!("the journal's database {why}"))),
            }
        };
        timeout(MAX_WAIT, opening).await.unwrap_or_else(|_| {
            Err(unreachable().because(format!("no connection within {} s", MAX_WAIT.as_secs())))
        })
    }

    /// Waits until the connection is closed, by either side.
    pub(super) async fn closed(&mut self) {
        self.driver.join_next().await;
    }
}

/// Waits for statements without a COMMIT, so that an error means that nothing was changed.
pub(super) async fn execute<T>(statements: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    run(statements, StoreError::unavailable("the connection to the journal's database was lost")).await
}

/// Waits for statements that include their COMMIT.
pub(super) async fn commit<T>(statements: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    let lost = "the connection to the journal's database was lost before it confirmed the commit";
    run(statements, StoreError::in_doubt(lost)).await
}

async fn run<T>(
    statements: impl Future<Output = Result<T, Error>>,
    lost: StoreError,
) -> Result<T, StoreError> {
    let error = match timeout(MAX_WAIT, statements).await {
        Ok(Ok(response)) => return Ok(response),
        Ok(Err(error)) => error,
        Err(_) => return Err(lost.because(format!("no response within {} s", MAX_WAIT.as_secs()))),
    };
    // Only an ERROR ends a statement. A server that shuts down sends FATAL at any moment, even between a commit and its
    // response.
    let ended = error.as_db_error().filter(|reported| reported.parsed_severity() == Some(Severity::Error));
    let failure = match ended {
        Some(reported) if is_permanent(reported.code().code()) => {
            StoreError::refused("the journal's database refused the statement; nothing was changed")
        }
        Some(_) => StoreError::unavailable(
            "the journal's database could not execute the statement; nothing was changed",
        ),
        None => lost,
    };
    Err(failure.because(in_one_line(&error)))
}

/// Whether a retry cannot help: data, credentials, names and permissions, by the class of the SQLSTATE.
fn is_permanent(code: &str) -> bool {
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

/// The timeout of a connection and of each response. It is longer than the server's `statement_timeout`.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

/// - `synchronous_commit`: `remote_apply` is stronger than `on` and stays.
/// - `statement_timeout`: shorter than this program waits, so that a statement that waits for a lock is certainly rolled back.
/// - `idle_in_transaction_session_timeout`: how long a transaction whose next statement never comes keeps its key locked.
/// - `tcp_*`: the server notices within a minute that a machine has died, so that its owner counts as dead.
/// - `enable_seqscan`: every query has an index. A plan for a small table would not use it until the server analyzes
///   the table again.
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

/// Why the server cannot store a journal, or NULL.
const REFUSAL: &str = "
    SELECT CASE
        WHEN current_setting('server_version_num')::integer < 120000 THEN 'is older than PostgreSQL 12'
        WHEN pg_is_in_recovery() THEN 'is a standby, which cannot be written: name the primary'
        WHEN current_setting('transaction_read_only') = 'on'
            THEN 'lets this user only read: set default_transaction_read_only to off for this user'
        WHEN current_setting('fsync') <> 'on'
            THEN 'runs with fsync off: a crash loses committed rows, and their keys would be sent twice; switch it on'
        WHEN current_setting('full_page_writes') <> 'on'
            THEN 'runs with full_page_writes off: a crash can destroy committed rows, and their keys would be sent twice; '
                || 'switch it on'
        WHEN current_setting('server_encoding') <> 'UTF8'
            THEN 'is not encoded in UTF8, so it cannot store every text: create one with ENCODING ''UTF8'''
        WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
            THEN 'does not allow synchronous_commit to be on'
    END";
