use std::pin::pin;

use futures_util::FutureExt as _;
use payments_core::{
    Client, OperationName, Outcome, Transport, TransportError, TransportRequest, TransportResponse,
};
use payments_journal::{
    Cause, Failure, FailureKind, IntentState, Journal, JournaledClient, MemoryStore, StateName,
};

use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{TEN_FIFTY, key, payment_of};
use crate::client::world::World;

/// Yields to other tasks until the row has this state.
async fn until(world: &World, state: StateName) {
    let journal = world.client.journal();
    for _ in 0..10_000 {
        if journal.find(&key()).await.unwrap().is_some_and(|intent| intent.state.name() == state) {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never became {state:?}");
}

#[tokio::test]
async fn response_is_recorded_after_the_caller_left() {
    let world = World::new().await;
    let gate = world.gateway.gate_after_commit(OperationName::TokenTransaction);
    {
        let mut call = pin!(world.pay());
        assert!(call.as_mut().now_or_never().is_none());
        gate.arrived().await;
    }
    assert_eq!(world.intent().await.state.name(), StateName::Sending);
    assert_eq!(world.pay().await.unwrap_err().kind(), "in_progress");
    gate.release();
    until(&world, StateName::Processed).await;
    let charged = world.pay().await.unwrap();
    assert_eq!(Some(&charged.transaction_id), world.intent().await.transaction_id());
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn a_panic_of_the_journal_is_told_from_the_end_of_the_runtime() {
    let world = World::over(ScriptedStore::new([Step::Panicked])).await;
    let error = world.pay().await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, FailureKind::PANIC.as_str()));
    assert!(error.to_string().starts_with("invoice-17: the journal panicked after"), "{error}");
    assert_eq!(world.sent(), 0);
}

#[tokio::test]
async fn nothing_is_sent_if_the_caller_left_before() {
    let world = World::new().await;
    {
        let mut call = pin!(world.pay());
        // The task is spawned, and has not run yet: there is one thread.
        assert!(call.as_mut().now_or_never().is_none());
    }
    until(&world, StateName::NotProcessed).await;
    let state = world.intent().await.state;
    assert_eq!(state, IntentState::NotProcessed(Failure::of_kind(FailureKind::ABANDONED)));
    assert_eq!(world.sent(), 0);
    world.pay().await.unwrap();
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn drain_waits_for_dropped_calls() {
    let world = World::new().await;
    world.client.drain().await;
    let gate = world.gateway.gate_after_commit(OperationName::TokenTransaction);
    {
        let mut call = pin!(world.pay());
        assert!(call.as_mut().now_or_never().is_none());
        gate.arrived().await;
    }
    let clone = world.client.clone();
    let mut drained = pin!(clone.drain());
    assert!(drained.as_mut().now_or_never().is_none());
    gate.release();
    drained.await;
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
}

#[tokio::test]
async fn call_that_was_never_polled_does_nothing() {
    let world = World::new().await;
    drop(world.pay());
    tokio::task::yield_now().await;
    assert_eq!(world.client.journal().find(&key()).await.unwrap(), None);
}

struct Panicking;

impl Transport for Panicking {
    async fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
        panic!("a defect of the transport")
    }
}

#[tokio::test]
async fn panic_of_the_transport_is_unknown() {
    let gateway = payments_fake::FakeGateway::new();
    let clock = gateway.clock().clone();
    let client = Client::builder(gateway.endpoint(), Panicking, clock).build();
    let client = JournaledClient::new(client, Journal::open(MemoryStore::new()).await.unwrap());
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "panic"));
    let intent = client.journal().find(&key()).await.unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Unknown(Failure::of_kind(FailureKind::PANIC)));
    let again = client.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err();
    assert!(again.is_from_the_journal());
}

#[test]
fn nothing_is_sent_without_a_runtime_and_a_paid_key_is_unknown_d43() {
    for is_paid in [false, true] {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let world = runtime.block_on(World::new());
        if is_paid {
            runtime.block_on(world.pay()).unwrap();
        }
        let error = world.pay().now_or_never().expect("there is nothing to wait for").unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"), "paid: {is_paid}");
        assert!(matches!(error.cause(), Cause::NoRuntime), "paid: {is_paid}: {error}");
        assert_eq!(world.sent(), usize::from(is_paid), "paid: {is_paid}");
    }
}

#[test]
fn end_of_the_runtime_leaves_the_row_unknown() {
    let store = MemoryStore::new();
    let reopened = store.another_owner();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let world = runtime.block_on(World::over(store));
    let gate = world.gateway.gate(OperationName::TokenTransaction);
    let mut call = Box::pin(world.pay());
    {
        let _inside = runtime.enter();
        assert!(call.as_mut().now_or_never().is_none());
    }
    while gate.held() == 0 {
        std::thread::yield_now();
    }
    runtime.shutdown_timeout(std::time::Duration::from_secs(10));
    let result = call.as_mut().now_or_never().expect("its task is gone");
    drop(call);
    assert_eq!(result.unwrap_err().outcome(), Outcome::Unknown);
    // Another runtime of the same process does not see it as being sent forever.
    let another = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = another.block_on(world.pay()).unwrap_err();
    assert!(error.is_from_the_journal());
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, FailureKind::LOST.as_str()));
    assert_eq!(world.sent(), 0, "what the gate held never arrived");
    drop(world);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let intent = runtime.block_on(async {
        let journal = Journal::open(reopened).await.unwrap();
        journal.find(&key()).await.unwrap().unwrap()
    });
    assert_eq!(intent.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST)));
}
