use std::time::Duration;

use payments_journal::internals::{Ending, IntentStore as _};
use payments_journal::{Failure, PostgresStore, Purged, StateName};
use payments_postgres_for_tests::Server;

use super::{administrator, make_older, opened, sql, until_locked_out};
use crate::contract::{begin, charged, key};

/// An old intent that was not sent is begun again during the purge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_begun_again_during_a_purge_stays() {
    let Some(server) = Server::start() else { return };
    let store = std::sync::Arc::new(PostgresStore::connect(&server.url()).await.unwrap());
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
    until_locked_out("the purge waits for the row", &server.url()).await;
    beginning.commit().await.unwrap();
    assert_eq!(purging.await.unwrap(), Purged::default());
    assert_eq!(store.find(&key("k")).await.unwrap().unwrap().state.name(), StateName::Sending);
}

/// The opposite order: the row is read before it is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_purged_during_a_begin_is_inserted_again() {
    let Some(server) = Server::start() else { return };
    let store = std::sync::Arc::new(PostgresStore::connect(&server.url()).await.unwrap());
    write_not_processed(&store).await;

    let mut another = administrator(&server.url()).await;
    let purging = another.transaction().await.unwrap();
    purging.execute("DELETE FROM payments_journal.intents", &[]).await.unwrap();
    let beginning = tokio::spawn({
        let store = store.clone();
        async move { store.apply(begin("k", &*store, 3)).await.unwrap() }
    });
    until_locked_out("the beginning waits for the row", &server.url()).await;
    purging.commit().await.unwrap();
    let written = beginning.await.unwrap().written().unwrap();
    assert_eq!((written.state.name(), written.attempts), (StateName::Sending, 2));
    assert_eq!(store.find(&key("k")).await.unwrap(), Some(written));
}

/// A newer version may have written it.
#[tokio::test]
async fn row_in_an_unknown_state_is_not_purged() {
    let Some((server, store)) = opened().await else { return };
    write_not_processed(&store).await;
    make_older(&server.url(), Duration::from_hours(48)).await;
    sql(&server.url(), "UPDATE payments_journal.intents SET state = 'refunded'").await;
    assert_eq!(store.purge(Duration::from_hours(24)).await.unwrap(), Purged::default());
    assert!(store.find(&key("k")).await.unwrap_err().is_damaged());
}

/// What is searched by must be what the document says.
#[tokio::test]
async fn row_whose_columns_contradict_its_document_is_damaged() {
    let Some((server, store)) = opened().await else { return };
    write_not_processed(&store).await;
    let kept = store.find(&key("k")).await.unwrap();
    for (damage, repair) in [
        ("processed_as = 'txn_9'", "processed_as = NULL"),
        ("is_void = NOT is_void", "is_void = NOT is_void"),
        ("service = service || 'x'", "service = left(service, -1)"),
    ] {
        let update = |set| format!("UPDATE payments_journal.intents SET {set}");
        sql(&server.url(), &update(damage)).await;
        assert!(store.find(&key("k")).await.unwrap_err().is_damaged(), "{damage}");
        let listed = store.list(StateName::ALL, None, 9).await;
        assert!(listed.unwrap_err().is_damaged(), "{damage}");
        sql(&server.url(), &update(repair)).await;
        assert_eq!(store.find(&key("k")).await.unwrap(), kept);
    }
}

async fn write_not_processed(store: &PostgresStore) {
    charged(store, "k", Ending::NotProcessed(Failure::of_kind("connect"))).await;
}
