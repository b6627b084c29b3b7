use std::error::Error as _;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, iter};

use tokio::runtime::{self, Handle};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Error, Socket};

use super::address::Address;
use crate::{OwnerId, StoreError};

/// A connection to a server whose commits are durable, or that is only read. Dropping it closes it at once.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The id that its session at the server has.
    session: OwnerId,
    /// The task that drives the connection. A pending response would keep it open, so it is aborted when this is dropped.
    driver: JoinSet<()>,
    /// The runtime of that task.
    runtime: runtime::Id,
    warning: Warning,
}

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    /// The server may be a standby, let this user only read, or lose commits.
    Read,
}

/// The newest warning of the server.
type Warning = Arc<Mutex<Option<String>>>;

impl Connection {
    /// Connects, applies the settings of the session, and checks those of the server. Every address of every host gets its share
    /// of the time, so that one that does not respond leaves time for the next. The one that responded last is tried first.
    pub(super) async fn open(address: &Address, access: Access) -> Result<Self, StoreError> {
        let unreachable = |why: String| {
            StoreError::unavailable(format!("the journal's database {} cannot be reached", address.place()))
                .because(why)
        };
        let out_of_time = || unreachable("no response in time".to_owned());
        let end = Instant::now() + MAX_WAIT;
        let mut failures = Vec::new();
        let hosts = address.hosts();
        for (index, host) in hosts.iter().enumerate() {
            let end = share(end, hosts.len() - index);
            let resolved = timeout_at(end, address.addresses(host)).await.map_err(|_| out_of_time());
            let resolved = resolved.and_then(|found| found.map_err(|error| unreachable(error.to_string())));
            let addresses = resolved.unwrap_or_else(|error| {
                failures.push(error);
                Vec::new()
            });
            for (index, server) in addresses.iter().enumerate() {
                let end = share(end, addresses.len() - index);
                let end =
                    server.get_connect_timeout().map_or(end, |&at_most| end.min(Instant::now() + at_most));
                let opened = timeout_at(end, Self::open_at(server, address, access)).await;
                match opened.map_err(|_| out_of_time()).flatten() {
                    Ok(connection) => {
                        address.has_responded(host, server);
                        return Ok(connection);
                    }
                    Err(error) => failures.push(error),
                }
            }
        }
        // A refusal says more than an address at which there is no server.
        let refusal = failures.iter().position(StoreError::is_refused);
        Err(match refusal {
            Some(index) => failures.swap_remove(index),
            None => failures.pop().unwrap_or_else(|| unreachable("its name has no address".to_owned())),
        })
    }

    async fn open_at(server: &Config, address: &Address, access: Access) -> Result<Self, StoreError> {
        let connected = server.connect(address.tls.clone()).await;
        let (client, connection) = connected.map_err(|error| connect_failure(&address.place(), &error))?;
        let (mut driver, warning) = (JoinSet::new(), Warning::default());
        driver.spawn(drive(connection, warning.clone()));
        let runtime = Handle::current().id();
        let this = Self { client, session: OwnerId::new(), driver, runtime, warning };
        let settings =
            format!("{SETTINGS}; SELECT set_config('payments_journal.session', '{}', false)", this.session);
        execute(this.client.batch_execute(&settings)).await?;
        if access == Access::Read {
            return Ok(this);
        }
        match execute(this.client.query_one_scalar::<Option<String>, _>(REFUSAL, &[])).await? {
            None => Ok(this),
            Some(why) => Err(StoreError::refused(format!("the journal's database {why}"))),
        }
    }

    /// Waits for statements that include their COMMIT. A COMMIT with a warning is in doubt: a server that must wait for a
    /// standby confirms the commit so, if somebody cancels the wait.
    pub(super) async fn commit<T>(
        &self,
        statements: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        self.take_warning();
        let lost = "the connection to the journal's database was lost before it confirmed the commit";
        let response = run(statements, MAX_WAIT, StoreError::in_doubt(lost)).await?;
        // The server sends it before its response.
        match self.take_warning() {
            None => Ok(response),
            Some(warning) => {
                let what =
                    "the journal's database confirmed the commit with a warning, so a failover may lose it";
                Err(StoreError::in_doubt(what).because(warning))
            }
        }
    }

    /// Checks the id of the session that a transaction has. A pooler that gives it another one may prepare the statements there
    /// too, and then only this shows that the settings are missing.
    pub(super) fn check_session(&self, found: Option<&str>) -> Result<(), StoreError> {
        if found == Some(self.session.as_str()) { Ok(()) } else { Err(behind_a_pooler()) }
    }

    /// Whether the current runtime drives it. Another one may not be running, and then a statement waits for it.
    pub(super) fn is_driven_here(&self) -> bool {
        self.runtime == Handle::current().id()
    }

    /// Waits until the connection is closed, by either side.
    pub(super) async fn closed(&mut self) {
        self.driver.join_next().await;
    }

    fn take_warning(&self) -> Option<String> {
        self.warning.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// When the next of this many has used its share of the time.
fn share(end: Instant, of: usize) -> Instant {
    let now = Instant::now();
    now + end.saturating_duration_since(now) / u32::try_from(of).unwrap_or(u32::MAX)
}

/// The error is dropped, because a statement that waits for its response gets it too.
async fn drive<T: TlsStream + Unpin>(
    mut connection: tokio_postgres::Connection<Socket, T>,
    warning: Warning,
) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
            && notice.routine() != Some(OF_A_NEW_TRANSACTION)
        {
            *warning.lock().unwrap_or_else(PoisonError::into_inner) = Some(text_of(&notice));
        }
    }
}

/// The server warns here that it will run out of transaction numbers. That says nothing about a commit.
const OF_A_NEW_TRANSACTION: &str = "GetNewTransactionId";

/// Why there is no connection to the server.
fn connect_failure(place: &str, error: &Error) -> StoreError {
    let cause = error.source();
    let reason = cause.map(ToString::to_string).unwrap_or_default();
    // The connection broke, and the certificate or the protocol was not the cause.
    let is_of_the_network = cause
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .is_some_and(|error| error.kind() != io::ErrorKind::InvalidData);
    let refused = |what: &str| StoreError::refused(format!("the journal's database {place} {what}"));
    let failure = match (error.code(), error.to_string().as_str()) {
        (Some(&SqlState::INVALID_CATALOG_NAME), _) => {
            refused("does not exist: create it, or name another one in the URL")
        }
        (Some(code), _) if is_permanent(code.code()) => refused("rejects this user"),
        (_, CONFIGURATION) if reason == "password missing" => refused(
            "requires a password, and the URL has none: write postgres://user:password@host/database, with special \
             characters percent-encoded; a password file and PGPASSWORD are not read",
        ),
        (_, CONFIGURATION) => refused("cannot be used with this URL"),
        (_, AUTHENTICATION) => {
            refused("requires an authentication that this program or the URL does not allow")
        }
        (_, TLS) if reason == "server does not support TLS" => refused(
            "does not offer TLS, which is required: switch TLS on at the server; only if nobody else can reach the \
             network between, add sslmode=disable to the URL",
        ),
        (_, TLS) if !is_of_the_network => refused(
            "cannot be used over TLS, and a retry will fail in the same way: give it a valid certificate for this host \
             name, or name the authority that issued it with sslrootcert",
        ),
        _ => StoreError::unavailable(format!("the journal's database {place} cannot be reached")),
    };
    failure.because(in_one_line(error))
}

/// The kinds of errors without a code that matter here. Only their texts are public.
const CONFIGURATION: &str = "invalid configuration";
const AUTHENTICATION: &str = "authentication error";
const TLS: &str = "error performing TLS handshake";

/// Waits for statements without a COMMIT, so that an error means that nothing was changed.
pub(super) async fn execute<T>(statements: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    run(statements, MAX_WAIT, lost()).await
}

/// The same for statements that read or write the whole table, which takes minutes if it is large. They must be in a transaction
/// with [`LONG_TIMEOUT`].
pub(super) async fn execute_long<T>(
    statements: impl Future<Output = Result<T, Error>>,
) -> Result<T, StoreError> {
    run(statements, MAX_WAIT_FOR_TABLE, lost()).await
}

/// Gives each statement of the transaction 10 minutes. There is a limit, because the statement of a client that has died may hold
/// the lock of the whole table, and not every server notices the death.
pub(super) const LONG_TIMEOUT: &str = "SET LOCAL statement_timeout = '10min'";

fn lost() -> StoreError {
    StoreError::unavailable("the connection to the journal's database was lost")
}

async fn run<T>(
    statements: impl Future<Output = Result<T, Error>>,
    max_wait: Duration,
    lost: StoreError,
) -> Result<T, StoreError> {
    let error = match timeout(max_wait, statements).await {
        Ok(Ok(response)) => return Ok(response),
        Ok(Err(error)) => error,
        Err(_) => return Err(lost.because(format!("no response within {} s", max_wait.as_secs()))),
    };
    // Only an ERROR ends a statement. A server that shuts down sends FATAL at any moment, even between a commit and its
    // response.
    let ended = error.as_db_error().filter(|reported| reported.parsed_severity() == Some(Severity::Error));
    let failure = match ended {
        Some(reported) if POOLER.contains(&reported.code().code()) => behind_a_pooler(),
        Some(reported) if is_permanent(reported.code().code()) => {
            StoreError::refused("the journal's database refused the statement").unchanged("")
        }
        Some(_) => {
            StoreError::unavailable("the journal's database could not execute the statement").unchanged("")
        }
        None => lost,
    };
    Err(failure.because(in_one_line(&error)))
}

fn behind_a_pooler() -> StoreError {
    StoreError::refused(
        "the journal's database is behind a connection pooler that gives each transaction another session, as PgBouncer does \
         with pool_mode = transaction",
    )
    .unchanged("name the server itself in the URL, or set pool_mode = session for this database")
}

/// Whether a retry cannot help: data, credentials, names and permissions, by the class of the SQLSTATE.
fn is_permanent(code: &str) -> bool {
    ["22", "23", "28", "3D", "3F", "42"].iter().any(|class| code.starts_with(class))
}

/// A statement that this session has prepared is unknown, or one that it has not is known.
const POOLER: [&str; 2] = ["26000", "42P05"];

/// The error and its causes, without the details, which may repeat values.
fn in_one_line(error: &Error) -> String {
    if let Some(reported) = error.as_db_error() {
        return text_of(reported);
    }
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn text_of(reported: &DbError) -> String {
    format!("{} {}: {}", reported.severity(), reported.code().code(), reported.message())
}

/// The timeout of a connection and of each response. It is longer than the server's `statement_timeout`.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

/// Of the responses of [`execute_long`]. It is longer than [`LONG_TIMEOUT`].
pub(super) const MAX_WAIT_FOR_TABLE: Duration = Duration::from_mins(11);

/// - `synchronous_commit`: `remote_apply` is stronger than `on` and stays.
/// - `statement_timeout`: shorter than this program waits, so that a statement that waits for a lock is certainly rolled back.
/// - `idle_in_transaction_session_timeout`: how long a transaction whose next statement never comes keeps its key locked.
/// - `client_min_messages`: with a higher level, the server would not send the warning of a commit that no standby has.
/// - `tcp_*`: the server notices within a minute that a machine has died, so that its owner counts as dead.
/// - `client_connection_check_interval`: the server ends the statement of a client that has died, and frees what it had locked. Only
///   a server on Linux certainly allows it.
/// - `enable_seqscan`: every query has an index, except the one for a key that contains a secret. A plan for a small table would not use it until the server analyzes
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
        ('client_min_messages', 'warning'),
        ('tcp_keepalives_idle', '30'),
        ('tcp_keepalives_interval', '10'),
        ('tcp_keepalives_count', '3'),
        ('tcp_user_timeout', '60000'),
        ('client_connection_check_interval', '1s'),
        ('enable_seqscan', 'off'),
        ('jit', 'off')
    ) AS wanted (name, value) USING (name)
    WHERE NOT (name = 'synchronous_commit' AND setting = 'remote_apply')
        AND NOT (name = 'client_connection_check_interval' AND version() NOT LIKE '%linux%')";

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
