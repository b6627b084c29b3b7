//! Tests for PostgreSQL alone. Each starts its own real server.

mod connecting;
mod failovers;
pub(crate) mod history;
mod interrupted;
mod lost_replies;
mod machines;
mod outages;
mod pooler;
mod privileges;
mod processes;
mod proxy;
mod purges;
mod reading;
mod refusals;
mod resolving;
mod runtimes;
mod services;
mod speed;
mod standby;
mod tls;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_fake::FakeGateway;
use payments_journal::internals::{Applied, Change, IntentStore as _};
use payments_journal::{IntentKey, Journal, JournaledClient, PostgresStore, StoreError};
use payments_postgres_for_tests::{Server, Shutdown};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use crate::contract::{self, Place, Tables};
use crate::process::Process;

/// The test's own server.
pub(crate) struct InPostgres(pub(crate) Server);

impl Place for InPostgres {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.0.url()).await.unwrap()
    }

    async fn make_older(&self, by: Duration) {
        make_older(&self.0.url(), by).await;
    }
}

impl Tables for InPostgres {
    /// In a table beside the intents.
    type Copy = ();

    async fn sql(&self, statement: &str) {
        sql(&self.0.url(), &statement.replace(" intent ", " payments_journal.intents ")).await;
    }

    fn processes(&self, count: usize) -> Vec<Process> {
        processes::start(count, &self.0)
    }

    async fn copy(&self) {
        sql(&self.0.url(), COPY).await;
    }

    async fn restore(&self, (): &()) {
        sql(&self.0.url(), RESTORE).await;
    }
}

/// Copies the intents, as a dump does.
const COPY: &str = "
    CREATE TABLE payments_journal.restored (LIKE payments_journal.intents INCLUDING ALL);
    INSERT INTO payments_journal.restored OVERRIDING SYSTEM VALUE SELECT * FROM payments_journal.intents";

/// Puts the copy in place of the intents.
const RESTORE: &str = "
    DROP TABLE payments_journal.intents;
    ALTER TABLE payments_journal.restored RENAME TO intents;
    SELECT setval(pg_get_serial_sequence('payments_journal.intents', 'position'), max(position) + 100)
    FROM payments_journal.intents";

pub(crate) fn place() -> Option<InPostgres> {
    Server::start().map(InPostgres)
}

contract::tests!(place());
contract::tests_of_tables!(place());

const TEN_FIFTY: Amount = Amount::from_cents(10_50);

fn payment() -> TokenTransaction {
    TokenTransaction::builder("tok_approved", TEN_FIFTY, ConvenienceFee::Inactive).build().unwrap()
}

fn key() -> IntentKey {
    contract::key("invoice-17")
}

async fn client(gateway: &FakeGateway, url: &str) -> JournaledClient {
    let store = PostgresStore::connect(url).await.unwrap();
    JournaledClient::new(gateway.client(), Journal::open(store).await.unwrap())
}

async fn connect(server: &Server) -> PostgresStore {
    PostgresStore::connect(&server.url()).await.unwrap()
}

/// A server, and a store in it.
async fn opened() -> Option<(Server, PostgresStore)> {
    let server = Server::start()?;
    let store = connect(&server).await;
    Some((server, store))
}

/// Applies the change in a task.
fn applying(store: &Arc<PostgresStore>, change: Change) -> JoinHandle<Result<Applied, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.apply(change).await })
}

/// A user with the rights that a journal with tables needs.
const BILLING: &str = "
    CREATE ROLE billing LOGIN PASSWORD 's3cret';
    GRANT USAGE ON SCHEMA payments_journal TO billing;
    GRANT SELECT ON payments_journal.meta TO billing;
    GRANT SELECT, INSERT, UPDATE, DELETE ON payments_journal.intents TO billing";

/// Starts the server again as a standby.
fn make_standby(server: &mut Server) {
    server.stop(Shutdown::Fast);
    server.write("standby.signal", "");
    server.start_again();
}

/// The error for a database that the store must not open.
async fn refusal(url: &str) -> StoreError {
    PostgresStore::connect(url).await.expect_err("it was opened")
}

/// A connection separate from the store.
pub(crate) async fn administrator(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn sql(url: &str, statements: &str) {
    let administrator = administrator(url).await;
    for statement in statements.split(';').filter(|statement| !statement.trim().is_empty()) {
        administrator.batch_execute(statement).await.unwrap();
    }
}

async fn make_older(url: &str, by: Duration) {
    let by = by.as_secs();
    let older =
        format!("UPDATE payments_journal.intents SET stored_at = stored_at - {by} * interval '1 second'");
    sql(url, &older).await;
}

/// Polls until the condition is true.
async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Polls until this many sessions wait for locks.
async fn until_locked_out(sessions: i64, what: &str, url: &str) {
    let administrator = administrator(url).await;
    until(what, async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        administrator.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == sessions
    })
    .await;
}
