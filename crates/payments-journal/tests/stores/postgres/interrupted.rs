use payments_journal::{IntentStore as _, PostgresStore, StoreError};
use payments_postgres_for_tests::Server;

use super::{administrator, until};
use crate::contract::{begin, key};

/// What the store says to a beginning that waits for another one of the same key, and to which the server then does this.
async fn a_beginning_interrupted_by(function: &str) -> Option<StoreError> {
    let server = Server::start()?;
    let store = std::sync::Arc::new(PostgresStore::connect(&server.url()).await.unwrap());
    store.apply(begin("other", &*store, 1).0).await.unwrap();
    let mut another = administrator(&server.url()).await;
    let inserting = another.transaction().await.unwrap();
    let copy = "
        INSERT INTO payments_journal.intents
            (key, state, is_void, revision, document)
        VALUES ('k', 'sending', false, 1, '')";
    inserting.execute(copy, &[]).await.unwrap();

    let beginning = tokio::spawn({
        let store = store.clone();
        async move { store.apply(begin("k", &*store, 1).0).await }
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
    assert!(store.apply(begin("k", &*store, 2).0).await.unwrap().written.is_some());
    Some(error)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_says_that_it_has_undone_is_in_no_doubt() {
    let Some(error) = a_beginning_interrupted_by("pg_cancel_backend").await else { return };
    assert!(error.is_unavailable(), "{error:#}");
}

/// The same words may come between the commit and its reply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_goodbye_leaves_doubt() {
    let Some(error) = a_beginning_interrupted_by("pg_terminate_backend").await else { return };
    assert!(error.is_in_doubt(), "{error:#}");
}
