use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::address::Address;
use super::fault::{Fault, LONGEST_STATEMENT, LONGEST_WAIT, ask, of_connecting, unreachable};
use crate::StoreError;

/// One connection to a server that was found to keep what it says it has kept. Dropping it closes it at once.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) backend: Backend,
    driver: JoinHandle<()>,
}

/// The server's process at the other end of one connection: its number, which is used again, and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) pid: i32,
    /// Microseconds since 1970.
    pub(super) began: i64,
}

impl Link {
    /// Connects, sets the session and looks at what the server promises.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        let opening = async {
            let connected = address.config.connect(address.tls.clone()).await;
            let (client, connection) = connected.map_err(|error| of_connecting(&error, &address.place()))?;
            let driver = tokio::spawn(async move {
                // How it ended is told to whoever waits for an answer.
                let _ = connection.await;
            });
            let backend = Backend { pid: 0, began: 0 };
            let mut link = Self { client, backend, driver };
            link.settle().await?;
            Ok(link)
        };
        timeout(LONGEST_OPENING, opening).await.unwrap_or_else(|_| {
            let why = format!("no connection within {} s", LONGEST_OPENING.as_secs());
            Err(unreachable(&address.place()).because(why))
        })
    }

    /// Until the connection is closed, by either side.
    pub(super) async fn closed(&mut self) {
        let _ = (&mut self.driver).await;
    }

    async fn settle(&mut self) -> Result<(), StoreError> {
        let version: i32 = self.setting("server_version_num").await?.parse().unwrap_or(0);
        if version < OLDEST_VERSION {
            return Err(StoreError::refused(format!(
                "the journal's database is no PostgreSQL {} or newer",
                OLDEST_VERSION / 10_000
            )));
        }
        let longest_statement = format!("SET statement_timeout = {}", LONGEST_STATEMENT.as_millis());
        let mut settings = vec![SETTINGS, &longest_statement];
        if version >= 140_000 {
            settings.push("SET idle_session_timeout = 0");
        }
        let settings = settings.join("; ");
        ask(self.client.batch_execute(&settings)).await.map_err(Fault::of_reading)?;
        self.check().await
    }

    async fn check(&mut self) -> Result<(), StoreError> {
        let row = ask(self.client.query_one(CHECK, &[])).await.map_err(Fault::of_reading)?;
        let is_standby: bool = row.get("is_standby");
        let is = |name: &str, value: &str| row.get::<_, &str>(name) == value;
        let refusal = if is_standby {
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
            self.backend = Backend { pid: row.get("pid"), began: row.get("began") };
            return Ok(());
        };
        Err(StoreError::refused(format!("the journal's database {refusal}")))
    }

    async fn setting(&self, name: &str) -> Result<String, StoreError> {
        let row = ask(self.client.query_one("SELECT current_setting($1, true)", &[&name])).await;
        let value: Option<String> = row.map_err(Fault::of_reading)?.get(0);
        Ok(value.unwrap_or_default())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // An answer that is still to come would keep it open.
        self.driver.abort();
    }
}

/// Connecting, with TLS and all questions.
pub(super) const LONGEST_OPENING: Duration = LONGEST_WAIT;

/// PostgreSQL 12: the oldest with `tcp_user_timeout`.
const OLDEST_VERSION: i32 = 120_000;

/// `remote_apply` is stronger than `on` and stays. The times let the server notice within a minute that a machine has
/// died, so that its owner counts as dead. Every question has an index; a plan that was made while the table was small
/// would go without it for as long as the server does not count again.
const SETTINGS: &str = "
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') <> 'remote_apply';
    SET default_transaction_isolation = 'read committed';
    SET tcp_keepalives_idle = 30;
    SET tcp_keepalives_interval = 10;
    SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = 60000;
    SET enable_seqscan = off";

const CHECK: &str = "
    SELECT pg_is_in_recovery() AS is_standby,
        current_setting('transaction_read_only') AS read_only,
        current_setting('fsync') AS fsync,
        current_setting('full_page_writes') AS full_page_writes,
        current_setting('server_encoding') AS encoding,
        current_setting('synchronous_commit') AS synchronous_commit,
        pid,
        (extract(epoch FROM backend_start) * 1000000)::bigint AS began
    FROM pg_stat_activity WHERE pid = pg_backend_pid()";
