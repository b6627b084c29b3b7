//! A journal that is only read.

use std::fs;

use payments_core::Outcome;
use payments_core::model::{AchTransaction, ConvenienceFee, TransactionType};
use payments_fake::FakeGateway;
use payments_journal::internals::IntentStore as _;
use payments_journal::{IntentState, Journal, PostgresStore, StateName};
use payments_postgres_for_tests::Server;

use super::{TEN_FIFTY, administrator, client, connect, make_standby, opened, payment, sql};
use crate::contract::{self, PAYER};

async fn read(url: &str) -> Journal {
    Journal::read_only(PostgresStore::connect_to_read(url).await.unwrap().expect("there are tables"))
}

async fn state(journal: &Journal) -> IntentState {
    let listed = journal.pages(StateName::UNRESOLVED).next().await.unwrap().unwrap();
    let found = journal.find(&contract::key("k")).await.unwrap().unwrap();
    assert_eq!(listed, std::slice::from_ref(&found));
    found.state
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_who_may_only_read_can_read_the_journal() {
    let Some(server) = Server::start() else { return };
    let as_reader = server.url().replace("postgres@", "reader@");
    sql(&server.url(), "CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on")
        .await;
    assert!(PostgresStore::connect_to_read(&as_reader).await.unwrap().is_none());
    let store = connect(&server).await;
    contract::begun(&store, "k").await;
    sql(
        &server.url(),
        "GRANT USAGE ON SCHEMA payments_journal TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA payments_journal TO reader",
    )
    .await;
    let journal = read(&as_reader).await;
    assert_eq!(state(&journal).await, IntentState::Sending);
    store.close().await;
    assert_eq!(state(&journal).await.name(), StateName::Unknown);
    journal.close().await;
    let reader = PostgresStore::connect_to_read(&as_reader).await.unwrap().unwrap();
    assert!(reader.apply(contract::begin("l", &reader, 1)).await.unwrap_err().is_refused());
    contract::is_only_read(Journal::open(reader).await);
}

/// The locks of owners are not replicated, so a standby cannot know that one has died.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standby_is_read_and_shows_no_sender_as_dead() {
    let Some((mut server, store)) = opened().await else { return };
    contract::begun(&store, "k").await;
    store.close().await;
    assert_eq!(state(&read(&server.url()).await).await.name(), StateName::Unknown);
    make_standby(&mut server);
    assert_eq!(state(&read(&server.url()).await).await, IntentState::Sending);
    let host = server.url().split('@').nth(1).unwrap().strip_suffix("/postgres").unwrap().to_owned();
    let of_two_standbys = format!("postgres://postgres@{host},{host}/postgres");
    assert_eq!(state(&read(&of_two_standbys).await).await, IntentState::Sending);
}

/// It reads the whole table, which takes a minute with many million rows. Here the table is locked for as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn summary_may_take_longer_than_any_other_statement() {
    let Some((server, store)) = opened().await else { return };
    contract::begun(&store, "k").await;
    let journal = read(&server.url()).await;
    let administrator = administrator(&server.url()).await;
    administrator
        .batch_execute("BEGIN; LOCK TABLE payments_journal.intents IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let summary = tokio::spawn(async move { journal.summary().await });
    let waits = "SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '11 s'";
    while administrator.query_opt(waits, &[]).await.unwrap().is_none() {
        assert!(!summary.is_finished(), "{:?}", summary.await);
        // Within a transaction, the server shows the same activity again and again.
        administrator.batch_execute("SELECT pg_sleep(0.1), pg_stat_clear_snapshot()").await.unwrap();
    }
    administrator.batch_execute("COMMIT").await.unwrap();
    let summary = summary.await.unwrap().unwrap();
    assert_eq!(summary.states.iter().map(|state| state.count).sum::<u64>(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_with_a_secret_is_found_without_sending_it_to_a_server_that_logs_d43() {
    let Some(server) = Server::start_with(&[("log_statement", "all")]) else { return };
    let log = || fs::read_to_string(server.socket().with_file_name("log")).unwrap();
    let client = client(&FakeGateway::new(), &server.url()).await;
    let ach = AchTransaction::builder(TEN_FIFTY, TransactionType::Sale, ConvenienceFee::Inactive, PAYER);
    let ach = ach.account_field("AccountNumber", "000123456789").build().unwrap();
    let [key, similar] = ["debit-000123456789", "debit-999123456789"].map(contract::key);

    client.process_token(&similar, &payment()).await.unwrap();
    assert!(log().contains(similar.as_str()));
    let error = client.process_ach(&key, &ach).await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, "secret_in_key"));
    assert!(!log().contains(key.as_str()));

    client.process_token(&key, &payment()).await.unwrap();
    let logged = log().matches(key.as_str()).count();
    let error = client.process_ach(&key, &ach).await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "secret_in_key"));
    assert_eq!(log().matches(key.as_str()).count(), logged);
}
