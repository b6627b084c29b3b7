use payments_core::{OperationName, Outcome};
use payments_fake::FakeGateway;
use payments_journal::internals::IntentStore as _;
use payments_journal::{Failure, FailureKind, IntentState, Journal, PostgresStore, StateName};
use payments_postgres_for_tests::{Server, Shutdown};

use super::proxy::Proxy;
use super::{TEN_FIFTY, client, connect, key, opened, payment, until};
use crate::contract;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnected_owner_counts_as_dead_and_still_records_its_end() {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let cut_off = client(&gateway, &proxy.url()).await;
    let gate = gateway.gate_after_commit(OperationName::TokenTransaction);
    let calling = tokio::spawn({
        let cut_off = cut_off.clone();
        async move { cut_off.process_token(&key(), &payment()).await }
    });
    gate.arrived().await;

    proxy.go_down();
    let journal = Journal::open(connect(&server).await).await.unwrap();
    until("it counts as dead", async || {
        journal.mark_crashed().await.unwrap();
        journal.find(&key()).await.unwrap().unwrap().state.name() == StateName::Unknown
    })
    .await;
    let marked = journal.find(&key()).await.unwrap().unwrap();
    assert_eq!(marked.state, IntentState::Unknown(Failure::of_kind(FailureKind::CRASH)));
    let another = client(&gateway, &server.url()).await;
    let error = another.process_token(&key(), &payment()).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "it is not sent again");

    gate.release();
    proxy.come_up();
    let charged = calling.await.unwrap().unwrap();
    assert!(charged.write_error.is_none(), "{charged:?}");
    let intent = journal.find(&key()).await.unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Processed { transaction_id: charged.transaction_id });
    gateway.ledger().assert_charged_once(TEN_FIFTY);
    let store = connect(&server).await;
    let is_live = async || store.is_live(&intent.owner).await.unwrap();
    until("it counts as live again", is_live).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_and_restart_of_the_server_lose_no_key() {
    let Some(mut server) = Server::start() else { return };
    let gateway = FakeGateway::new();
    let client = client(&gateway, &server.url()).await;
    let gate = gateway.gate_after_commit(OperationName::TokenTransaction);
    let in_flight = tokio::spawn({
        let client = client.clone();
        async move { client.process_token(&key(), &payment()).await }
    });
    gate.arrived().await;

    server.stop(Shutdown::Immediate);
    gate.release();
    let another = contract::key("invoice-18");
    let error = client.process_token(&another, &payment()).await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
    assert_eq!(gateway.ledger().charged().count(), 1, "no row, no charge");

    server.start_again();
    let charged = in_flight.await.unwrap().unwrap();
    assert!(charged.write_error.is_none(), "{charged:?}");
    client.process_token(&another, &payment()).await.unwrap();
    let listed = client.journal().pages(StateName::ALL).next().await.unwrap().unwrap();
    assert!(listed.iter().all(|intent| intent.state.name() == StateName::Processed), "{listed:?}");
    assert_eq!((listed.len(), gateway.ledger().charged().count()), (2, 2));
}

/// A separate connection holds the owner's lock. A restart breaks it like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_is_live_again_after_a_restart_of_the_server() {
    let Some((mut server, store)) = opened().await else { return };
    server.stop(Shutdown::Fast);
    server.start_again();
    let another = connect(&server).await;
    until("it counts as live again", async || another.is_live(store.owner()).await.unwrap()).await;
    drop(store);
}

/// Without waiting, and without the end of the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_is_dead_soon_after_its_store_is_dropped() {
    let Some((server, store)) = opened().await else { return };
    let another = connect(&server).await;
    let owner = store.owner().clone();
    assert!(another.is_live(&owner).await.unwrap());
    drop(store);
    until("it counts as dead", async || !another.is_live(&owner).await.unwrap()).await;
}

/// Only the owner's lock is lost with the first runtime, so what it sends shows as unknown until it has ended.
#[test]
fn store_works_in_another_runtime_than_the_one_that_opened_it() {
    let Some(server) = Server::start() else { return };
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let first = runtime();
    let store = first.block_on(PostgresStore::connect(&server.url())).unwrap();
    drop(first);
    runtime().block_on(async {
        contract::begun(&store, "k").await;
        let journal = Journal::open(connect(&server).await).await.unwrap();
        let state = async || journal.find(&contract::key("k")).await.unwrap().unwrap().state;
        until("it counts as dead", async || {
            journal.mark_crashed().await.unwrap();
            state().await == IntentState::Unknown(Failure::of_kind(FailureKind::CRASH))
        })
        .await;
        let ended = contract::ended(&store, "k", contract::as_processed("txn_1")).await;
        assert!(ended.written().is_some());
    });
}

/// Otherwise the whole program would wait for a timeout.
#[test]
fn dropping_a_store_without_server_and_runtime_does_not_wait() {
    let Some(mut server) = Server::start() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(PostgresStore::connect(&server.url())).unwrap();
    server.stop(Shutdown::Immediate);
    drop(runtime);
    drop(store);
}
