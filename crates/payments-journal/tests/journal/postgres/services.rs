//! What a person does with all intents of a service.

use payments_journal::internals::{Applied, Ending, IntentStore as _, Refusal};
use payments_journal::{Failure, Journal, Resolution};

use super::{administrator, connect, opened, until_locked_out};
use crate::contract::{self, OTHER, SERVICE, as_processed, at_service, key, resolve, transaction};

/// It holds the lock of the whole table. Here its last statement waits for another one, and its program ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_program_does_not_keep_the_table_locked() {
    let Some((server, store)) = opened().await else { return };
    at_service(&store, OTHER, "k", 10_50, Some(as_processed("txn_a"))).await;
    let journal = Journal::open(store).await.unwrap();
    let service = journal.intents_of_service(OTHER).await.unwrap();
    let administrator = administrator(&server.url()).await;
    let lock = "BEGIN; LOCK TABLE payments_journal.accepted IN EXCLUSIVE MODE";
    administrator.batch_execute(lock).await.unwrap();
    let forgetting = tokio::spawn(async move { journal.forget_service(&service, "ada").await });
    until_locked_out(1, "it waits for the other lock", &server.url()).await;
    forgetting.abort();
    assert!(forgetting.await.unwrap_err().is_cancelled());
    let other = connect(&server).await;
    contract::begun(&other, "l").await;
    other.close().await;
    administrator.batch_execute("COMMIT").await.unwrap();
}

/// The resolution has found nobody who holds its transaction when the rename brings one to its base URL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rename_and_resolution_do_not_miss_each_other_d47() {
    let Some((server, store)) = opened().await else { return };
    let unknown = Ending::Unknown(Failure::of_kind("timeout"));
    at_service(&store, SERVICE, "resolved", 10_50, Some(unknown)).await;
    at_service(&store, OTHER, "renamed", 10_50, Some(as_processed("txn_1"))).await;
    let journal = Journal::open(connect(&server).await).await.unwrap();
    let read = journal.intents_of_service(OTHER).await.unwrap();
    // Both may read now. The first to write will be the rename.
    let administrator = administrator(&server.url()).await;
    let lock = "BEGIN; LOCK TABLE payments_journal.intents IN SHARE MODE";
    administrator.batch_execute(lock).await.unwrap();
    let renaming = tokio::spawn(async move { journal.rename_service(&read, SERVICE, "ada").await });
    until_locked_out(1, "the rename waits", &server.url()).await;
    let found = Resolution::processed(transaction("txn_1"), "ada");
    let resolving = tokio::spawn(async move { resolve(&store, "resolved", found).await });
    until_locked_out(2, "the resolution waits too", &server.url()).await;
    administrator.batch_execute("COMMIT").await.unwrap();
    renaming.await.unwrap().unwrap();
    let resolved = resolving.await.unwrap();
    let is_taken =
        matches!(&resolved, Applied::Refused(Refusal::Taken { by, .. }, _) if *by == key("renamed"));
    assert!(is_taken, "{resolved:?}");
}
