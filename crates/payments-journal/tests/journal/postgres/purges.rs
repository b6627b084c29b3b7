use std::sync::Arc;
use std::time::Duration;

use payments_journal::internals::{Ending, IntentStore as _};
use payments_journal::{Failure, PostgresStore, Purged, StateName};

use super::{administrator, make_older, opened, until_locked_out};
use crate::contract::{begin, charged, key};

/// An old intent that was not sent is begun again during the purge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_begun_again_during_a_purge_stays() {
    let Some((server, store)) = opened().await else { return };
    let store = Arc::new(store);
    write_not_processed(&store).await;

    make_older(&server.url(), Duration::from_hours(48)).await;

    let mut another = administrator(&server.url()).await;
    let beginning = another.transaction().await.unwrap();
    let begin_again = "UPDATE payments_journal.intents SET state = 'sending', revision = revision + 1,
        document = jsonb_set(document::jsonb, '{state}', '\"sending\"')::text";
    beginning.execute(begin_again, &[]).await.unwrap();
    let purging = tokio::spawn({
        let store = store.clone();
        async move { store.purge(Duration::from_hours(24)).await.unwrap() }
    });
    until_locked_out(1, "the purge waits for the row", &server.url()).await;
    beginning.commit().await.unwrap();
    assert_eq!(purging.await.unwrap(), Purged::default());
    assert_eq!(store.find(&key("k")).await.unwrap().unwrap().state.name(), StateName::Sending);
}

/// The opposite order: the row is read before it is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_purged_during_a_begin_is_inserted_again() {
    let Some((server, store)) = opened().await else { return };
    let store = Arc::new(store);
    write_not_processed(&store).await;

    let mut another = administrator(&server.url()).await;
    let purging = another.transaction().await.unwrap();
    purging.execute("DELETE FROM payments_journal.intents", &[]).await.unwrap();
    let beginning = tokio::spawn({
        let store = store.clone();
        async move { store.apply(begin("k", &*store, 3)).await.unwrap() }
    });
    until_locked_out(1, "the beginning waits for the row", &server.url()).await;
    purging.commit().await.unwrap();
    let written = beginning.await.unwrap().written().unwrap();
    assert_eq!((written.state.name(), written.attempts), (StateName::Sending, 2));
    assert_eq!(store.find(&key("k")).await.unwrap(), Some(written));
}

async fn write_not_processed(store: &PostgresStore) {
    charged(store, "k", Ending::NotProcessed(Failure::of_kind("connect"))).await;
}
