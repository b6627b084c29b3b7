use std::sync::Arc;

use payments_journal::StoreError;
use payments_journal::internals::IntentStore as _;

use super::{administrator, applying, opened, until};
use crate::contract::{begin, key};

/// It waits for another begin of the same key, and the server runs one of its functions on it. The message of the second one can
/// also come between the commit and its response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begin_is_in_doubt_if_the_server_has_terminated_it_and_not_if_it_was_canceled() {
    for (function, is_expected) in [
        ("pg_cancel_backend", StoreError::is_unavailable as fn(&StoreError) -> bool),
        ("pg_terminate_backend", StoreError::is_in_doubt),
    ] {
        let Some((server, store)) = opened().await else { return };
        let store = Arc::new(store);
        store.apply(begin("other", &*store, 1)).await.unwrap();
        let mut another = administrator(&server.url()).await;
        let inserting = another.transaction().await.unwrap();
        let copy = "
            INSERT INTO payments_journal.intents
                (key, state, is_void, service, revision, document)
            VALUES ('k', 'sending', false, '', 1, '')";
        inserting.execute(copy, &[]).await.unwrap();

        let beginning = applying(&store, begin("k", &*store, 1));
        let administrator = administrator(&server.url()).await;
        let interrupt =
            format!("SELECT {function}(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
        until("it waits and is interrupted", async || {
            !administrator.query(&interrupt, &[]).await.unwrap().is_empty()
        })
        .await;
        let error = beginning.await.unwrap().unwrap_err();
        assert!(is_expected(&error), "{function}: {error:#}");
        inserting.rollback().await.unwrap();
        assert_eq!(store.find(&key("k")).await.unwrap(), None);
        assert!(store.apply(begin("k", &*store, 2)).await.unwrap().written().is_some());
    }
}
