use payments_journal::internals::IntentStore as _;
use payments_journal::{PostgresStore, StoreError};
use payments_postgres_for_tests::Server;

use super::{administrator, until};
use crate::contract::{begin, key};

/// The error of a begin that waits for another begin of the same key, when the server then runs this function on it.
async fn error_of_a_begin_interrupted_by(function: &str) -> Option<StoreError> {
    let server = Server::start()?;
    let store = std::sync::Arc::new(PostgresStore::connect(&server.url()).await.unwrap());
    store.apply(begin("other", &*store, 1)).await.unwrap();
    let mut another = administrator(&server.url()).await;
    let inserting = another.transaction().await.unwrap();
    let copy = "
        INSERT INTO payments_journal.intents
            (key, state, is_void, service, revision, document)
        VALUES ('k', 'sending', false, '', 1, '')";
    inserting.execute(copy, &[]).await.unwrap();

    let beginning = tokio::spawn({
        let store = store.clone();
        async move { store.apply(begin("k", &*store, 1)).await }
    });
    let administrator = administrator(&server.url()).await;
    let interrupt = format!("SELECT {function}(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
    until("it waits and is interrupted", async || {
        !administrator.query(&interrupt, &[]).await.unwrap().is_empty()
    })
    .await;
    let error = beginning.await.unwrap().unwrap_err();
    inserting.rollback().await.unwrap();
    assert_eq!(store.find(&key("k")).await.unwrap(), None);
    assert!(store.apply(begin("k", &*store, 2)).await.unwrap().written().is_some());
    Some(error)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begin_canceled_by_the_server_is_not_in_doubt() {
    let Some(error) = error_of_a_begin_interrupted_by("pg_cancel_backend").await else { return };
    assert!(error.is_unavailable(), "{error:#}");
}

/// The same message can come between the commit and its response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begin_terminated_by_the_server_is_in_doubt() {
    let Some(error) = error_of_a_begin_interrupted_by("pg_terminate_backend").await else { return };
    assert!(error.is_in_doubt(), "{error:#}");
}
