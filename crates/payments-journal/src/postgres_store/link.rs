use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::address::Address;
use super::fault::{Fault, LONGEST_WAIT, ask, of_connecting, unreachable};
use crate::StoreError;

/// One connection to a server that keeps what it says it has kept. Dropping it closes it at once.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    driver: JoinHandle<()>,
}

impl Link {
    /// Connects, makes the session's settings, and checks the server's.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        let opening = async {
            let connected = address.config.connect(address.tls.clone()).await;
            let (client, connection) = connected.map_err(|error| of_connecting(&error, &address.place()))?;
            let driver = tokio::spawn(async move {
                // Whoever waits for a response gets the error.
                let _ = connection.await;
            });
            let this = Self { client, driver };
            ask(this.client.batch_execute(SETTINGS)).await.map_err(Fault::of_reading)?;
            this.check().await?;
            Ok(this)
        };
        timeout(LONGEST_WAIT, opening).await.unwrap_or_else(|_| {
            let why = format!("no connection within {} s", LONGEST_WAIT.as_secs());
            Err(unreachable(&address.place()).because(why))
        })
    }

    /// Until the connection is closed, by either side.
    pub(super) async fn closed(&mut self) {
        let _ = (&mut self.driver).await;
    }

    async fn check(&self) -> Result<(), StoreError> {
        let row = ask(self.client.query_one(CHECK, &[])).await.map_err(Fault::of_reading)?;
        let is = |name: &str, value: &str| row.get::<_, &str>(name) == value;
        let refusal = if row.get::<_, i32>("version") < OLDEST_VERSION {
            "is older than PostgreSQL 12"
        } else if row.get("is_standby") {
            "is a standby, which cannot be written: name the primary"
        } else if is("read_only", "on") {
            "lets this user only read: set default_transaction_read_only off for it"
        } else if !is("fsync", "on") {
            "runs with fsync off, so that a crash loses what it says it has kept, and a key would be sent twice: switch it on"
        } else if !is("full_page_writes", "on") {
            "runs with full_page_writes off, so that a crash can destroy what it has kept, and a key would be sent twice: \
             switch it on"
        } else if !is("encoding", "UTF8") {
            "is not encoded in UTF8, so that it cannot keep every text: create one with ENCODING 'UTF8'"
        } else if !(is("synchronous_commit", "on") || is("synchronous_commit", "remote_apply")) {
            "does not let synchronous_commit be on"
        } else {
            return Ok(());
        };
        Err(StoreError::refused(format!("the journal's database {refusal}")))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // A response that is still to come would keep it open.
        self.driver.abort();
    }
}

const OLDEST_VERSION: i32 = 120_000;

/// - `synchronous_commit`: `remote_apply` is stronger than `on` and stays.
/// - `statement_timeout`: less than a program waits, so that a statement that waits for a lock is certainly undone.
/// - `idle_in_transaction_session_timeout`: how long a transaction whose next statement never comes keeps its key locked.
/// - `tcp_*`: a server notices within a minute that a machine has died, so that its owner counts as dead.
/// - `enable_seqscan`: every question has an index. A plan that was made for a small table would not use it until the server
///   counts the rows again.
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
        ('enable_seqscan', 'off')
    ) AS wanted (name, value) USING (name)
    WHERE NOT (name = 'synchronous_commit' AND setting = 'remote_apply')";

const CHECK: &str = "
    SELECT current_setting('server_version_num')::integer AS version,
        pg_is_in_recovery() AS is_standby,
        current_setting('transaction_read_only') AS read_only,
        current_setting('fsync') AS fsync,
        current_setting('full_page_writes') AS full_page_writes,
        current_setting('server_encoding') AS encoding,
        current_setting('synchronous_commit') AS synchronous_commit";
