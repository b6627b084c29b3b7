//! What a person does with all intents of a service.

use payments_journal::Journal;
use payments_journal::internals::IntentStore as _;

use super::{administrator, connect, opened, until_locked_out};
use crate::contract::{self, OTHER, as_processed, at_service};

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
    until_locked_out("it waits for the other lock", &server.url()).await;
    forgetting.abort();
    assert!(forgetting.await.unwrap_err().is_cancelled());
    let other = connect(&server).await;
    contract::begun(&other, "l").await;
    other.close().await;
    administrator.batch_execute("COMMIT").await.unwrap();
}
