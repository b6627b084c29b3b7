use payments_journal::PostgresStore;
use payments_journal::internals::IntentStore as _;
use payments_postgres_for_tests::{Server, Shutdown};
use tokio::task::JoinSet;

use super::{BILLING, InPostgres, connect, refusal, sql};
use crate::contract;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn existing_tables_need_only_read_and_write_rights() {
    let Some(server) = Server::start() else { return };
    connect(&server).await;
    sql(&server.url(), BILLING).await;
    let url = server.url().replace("postgres@", "billing:s3cret@");
    let store = PostgresStore::connect(&url).await.unwrap();
    contract::begun(&store, "k").await;
    let another = PostgresStore::connect(&url).await.unwrap();
    assert!(another.is_live(store.owner()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_password_is_refused_and_not_shown() {
    let Some(mut server) = Server::start() else { return };
    connect(&server).await;
    sql(&server.url(), BILLING).await;
    server.stop(Shutdown::Fast);
    server.write("pg_hba.conf", "local all postgres trust\nlocal all all scram-sha-256\n");
    server.start_again();

    let store = PostgresStore::connect(&server.url().replace("postgres@", "billing:s3cret@")).await.unwrap();
    assert!(!format!("{store:?}").contains("s3cret"));
    let error = refusal(&server.url().replace("postgres@", "billing:wr0ng@")).await;
    assert!(error.is_refused(), "{error:#}");
    assert!(!format!("{error:#} {error:?}").contains("wr0ng"), "{error:#} {error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_may_create_the_tables_at_once() {
    let Some(server) = Server::start() else { return };
    let mut opening = JoinSet::new();
    for _ in 0..16 {
        let url = server.url();
        opening.spawn(async move { PostgresStore::connect(&url).await.unwrap() });
    }
    let stores = opening.join_all().await;
    contract::begun(&stores[0], "k").await;
    assert!(stores[15].find(&contract::key("k")).await.unwrap().is_some());
}

/// The defaults of the server's administrator may be wrong for a journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_the_database_are_overridden() {
    let Some(server) = Server::start() else { return };
    sql(
        &server.url(),
        "ALTER DATABASE postgres SET synchronous_commit = off;
         ALTER DATABASE postgres SET default_transaction_isolation = 'serializable';
         ALTER DATABASE postgres SET search_path = nowhere",
    )
    .await;
    contract::one_of_many_concurrent_begins_wins_whatever_its_service_d47(InPostgres(server)).await;
}
