use std::time::Duration;

use payments_journal::{Change, Ending, Failure, IntentStore as _, PostgresStore, Purged, StateName};
use payments_postgres_for_tests::Server;

use super::{administrator, make_older, until};
use crate::contract::{at, begin, key};

/// An old intent of which nothing was sent, and which is being sent again while it is to be removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_begun_again_while_it_is_purged_stays() {
    let Some(server) = Server::start() else { return };
    let store = std::sync::Arc::new(PostgresStore::connect(&server.url()).await.unwrap());
    let (change, attempt) = begin("k", &*store, 1);
    store.apply(change).await.unwrap();
    let ending = Ending::NotProcessed(Failure::of_kind("connect"));
    store.apply(Change::end(key("k"), attempt, ending, at(2))).await.unwrap();

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
    let administrator = administrator(&server.url()).await;
    until("the purge waits for the row", async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        administrator.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    beginning.commit().await.unwrap();
    assert_eq!(purging.await.unwrap(), Purged::default());
    assert_eq!(store.find(&key("k")).await.unwrap().unwrap().state.name(), StateName::Sending);
}
