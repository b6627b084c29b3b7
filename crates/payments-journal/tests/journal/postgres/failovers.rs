//! Outcomes that the database refuses for a moment, as during a failover.

use std::time::Duration;

use payments_core::OperationName;
use payments_fake::FakeGateway;
use payments_journal::internals::{Change, IntentStore as _};
use payments_journal::{AttemptId, IntentState, Journal, JournaledClient, PostgresStore, StateName};
use payments_postgres_for_tests::Server;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::proxy::Proxy;
use super::{BILLING, administrator, connect, payment, sql, until};
use crate::contract;
use crate::contract::transaction;

const CHARGES: usize = 16;

/// A moment in which the database refuses this user.
struct Outage {
    begin: &'static str,
    /// What the server says meanwhile.
    refusal: &'static str,
    end: &'static str,
}

const OUTAGES: [Outage; 6] = [
    Outage {
        begin: "ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()",
        refusal: "lets this user only read",
        end: "ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf()",
    },
    Outage {
        begin: "ALTER ROLE billing SET default_transaction_read_only = on",
        refusal: "lets this user only read",
        end: "ALTER ROLE billing RESET default_transaction_read_only",
    },
    Outage { begin: "ALTER ROLE billing NOLOGIN", refusal: "28000", end: "ALTER ROLE billing LOGIN" },
    Outage {
        begin: "ALTER ROLE billing CONNECTION LIMIT 0",
        refusal: "53300",
        end: "ALTER ROLE billing CONNECTION LIMIT -1",
    },
    Outage {
        begin: "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC",
        refusal: "42501",
        end: "GRANT CONNECT ON DATABASE postgres TO PUBLIC",
    },
    Outage {
        begin: "REVOKE INSERT, UPDATE ON payments_journal.intents FROM billing",
        refusal: "42501",
        end: "GRANT INSERT, UPDATE ON payments_journal.intents TO billing",
    },
];

const DISCONNECT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'billing' AND pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcomes_that_are_refused_for_a_moment_are_recorded() {
    let Some(server) = Server::start() else { return };
    connect(&server).await;
    sql(&server.url(), BILLING).await;
    let administrator = administrator(&server.url()).await;
    administrator.batch_execute("SET default_transaction_read_only = off").await.unwrap();
    let run = async |statements: &str| {
        for statement in statements.split(';') {
            administrator.batch_execute(statement).await.unwrap();
        }
    };
    for (round, Outage { begin, refusal, end }) in OUTAGES.into_iter().enumerate() {
        let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
        let store = PostgresStore::connect(&proxy.url().replace("postgres@", "billing@")).await.unwrap();
        let client = JournaledClient::new(gateway.client(), Journal::open(store).await.unwrap());
        let gate = gateway.gate_after_commit(OperationName::TokenTransaction);
        let mut charging = JoinSet::new();
        for number in 0..CHARGES {
            let (client, key) = (client.clone(), contract::key(&format!("invoice-{round}-{number}")));
            charging.spawn(async move { client.process_token(&key, &payment()).await });
        }
        gate.arrivals(CHARGES).await;

        run(begin).await;
        run(DISCONNECT).await;
        let refused = proxy.until_sent(refusal);
        gate.release();
        refused.await.unwrap();
        run(end).await;
        for charged in charging.join_all().await {
            let charged = charged.unwrap();
            assert!(charged.write_error.is_none(), "{begin}: {charged:?}");
        }
        let listed = client.journal().pages(StateName::UNRESOLVED).next().await.unwrap().unwrap();
        assert_eq!(listed, [], "{begin}");
        assert_eq!(gateway.ledger().charged().count(), CHARGES);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_outcome_is_recorded_although_its_caller_has_left() {
    let Some(server) = Server::start() else { return };
    connect(&server).await;
    sql(&server.url(), BILLING).await;
    let proxy = Proxy::before(&server).await;
    let store = PostgresStore::connect(&proxy.url().replace("postgres@", "billing@")).await.unwrap();
    let attempt = contract::begun(&store, "k").await.attempt_id;

    sql(&server.url(), "ALTER ROLE billing NOLOGIN").await;
    sql(&server.url(), DISCONNECT).await;
    let refused = proxy.until_sent("28000");
    let transaction_id = transaction("txn_1");
    let end = Change::end(contract::key("k"), attempt, contract::as_processed("txn_1"), contract::at(2));
    tokio::select! {
        applied = store.apply(end) => panic!("{applied:?}"),
        refused = refused => refused.unwrap(),
    }
    sql(&server.url(), "ALTER ROLE billing LOGIN").await;
    let reader = connect(&server).await;
    let state = async || reader.find(&contract::key("k")).await.unwrap().unwrap().state;
    until("it is recorded", async || {
        state().await == IntentState::Processed { transaction_id: transaction_id.clone() }
    })
    .await;
}

/// Half a minute must not pass for something that stays as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcome_of_a_damaged_row_or_a_closed_store_is_not_retried() {
    let Some(server) = Server::start() else { return };
    let ended = async |store: &PostgresStore, attempt: AttemptId| {
        let end = Change::end(contract::key("k"), attempt, contract::as_processed("txn_1"), contract::at(2));
        let writing = timeout(Duration::from_secs(20), store.apply(end)).await;
        writing.expect("it does not wait").unwrap_err()
    };
    let store = connect(&server).await;
    let attempt = contract::begun(&store, "k").await.attempt_id;
    sql(&server.url(), "UPDATE payments_journal.intents SET document = '{\"of\":\"a newer version\"}'").await;
    let error = ended(&store, attempt.clone()).await;
    assert!(error.is_damaged() && !error.to_string().contains("nothing was sent"), "{error:#}");
    store.close().await;
    let error = ended(&store, attempt).await;
    assert!(error.is_poisoned() && error.to_string().contains("closed"), "{error:#}");
}
