use payments_journal::internals::{Applied, Ending, Refusal};
use payments_journal::{Failure, PostgresStore, Resolution};
use std::sync::Arc;

use super::{administrator, opened, sql, until_locked_out};
use crate::contract::{charged, intents, key, transaction};

async fn resolve(store: &PostgresStore, text: &str) -> Applied {
    let id = transaction("txn_1");
    crate::contract::resolve(store, text, Resolution::processed(id, "ada")).await
}

/// The second resolution sees the first only after it is committed, so it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolution_waits_for_an_earlier_one_with_the_same_transaction() {
    let Some((server, store)) = opened().await else { return };
    let store = Arc::new(store);
    for name in ["one", "two"] {
        charged(&*store, name, Ending::Unknown(Failure::of_kind("timeout"))).await;
    }
    // The first stops before it has committed.
    let mut another = administrator(&server.url()).await;
    let first = another.transaction().await.unwrap();
    first.batch_execute("SELECT pg_advisory_xact_lock(hashtextextended('txn_1', 2))").await.unwrap();
    first
        .batch_execute(
            "UPDATE payments_journal.intents SET state = 'resolved', processed_as = 'txn_1',
             revision = revision + 1 WHERE key = 'one'",
        )
        .await
        .unwrap();
    let second = tokio::spawn({
        let store = store.clone();
        async move { resolve(&store, "two").await }
    });
    until_locked_out(1, "the second waits", &server.url()).await;
    first.commit().await.unwrap();
    let second = second.await.unwrap();
    assert!(matches!(second, Applied::Refused(Refusal::Taken { by, .. }, _) if by == key("one")));
}

/// An earlier version may have accepted such a key.
#[tokio::test]
async fn holder_with_a_key_refused_today_still_has_the_transaction() {
    const KEPT: &str = "#REF!";
    let Some((server, store)) = opened().await else { return };
    for name in ["one", "two"] {
        charged(&store, name, Ending::Unknown(Failure::of_kind("timeout"))).await;
    }
    assert!(resolve(&store, "one").await.written().is_some());
    let rename = format!(
        "UPDATE payments_journal.intents SET key = '{KEPT}', document = replace(document, '\"one\"', '\"{KEPT}\"')
         WHERE key = 'one'"
    );
    sql(&server.url(), &rename).await;
    let second = resolve(&store, "two").await;
    assert!(matches!(second, Applied::Refused(Refusal::Taken { by, .. }, _) if by.as_str() == KEPT));
    assert_eq!(intents(&store).await.len(), 2);
}
