//! The outcome of an error is that of the intent, not of this attempt. The messages are in docs/error-messages.md.

use payments_core::model::Amount;
use payments_core::{Client, Outcome, TransportError, TransportErrorKind};
use payments_fake::unversioned::success;
use payments_fake::{FakeGateway, ScriptedTransport};
use payments_journal::internals::IntentStore as _;
use payments_journal::{
    Cause, Error, IntentKey, Journal, JournaledClient, MemoryStore, Resolution, SqliteStore, StateName,
};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{
    self, TEN_FIFTY, answered, begin_for, key, payment_of, request_lost, response_lost,
};
use crate::contract::transaction;

const ELEVEN: Amount = Amount::from_cents(11_00);

/// The same key with another amount.
async fn reuse(world: &World) -> Error {
    let sent = world.sent();
    let error = world.client.process_token(&key(), &payment_of(ELEVEN)).await.unwrap_err();
    assert_eq!(world.sent(), sent, "nothing was sent");
    assert_eq!(error.kind(), "key_reused");
    assert_eq!(error.intent(), Some(&world.intent().await));
    error
}

#[tokio::test]
async fn paid_key_whose_row_cannot_be_read_is_unknown_d43() {
    for fault in [Step::Refused, Step::RequestLost] {
        let store = ScriptedStore::new([]);
        let world = World::over(store.clone()).await;
        world.pay().await.unwrap();
        store.then([fault]);
        let error = world.pay().await.unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
        assert!(matches!(error.cause(), Cause::Store(_)));
        world.gateway.ledger().assert_charged_once(TEN_FIFTY);
        assert!(world.pay().await.unwrap().is_from_the_journal());
    }
}

#[tokio::test]
async fn reused_key_resolved_as_processed_is_unknown_d43() {
    let world = World::new().await;
    world.fail(response_lost()).await;
    let id = transaction("txn_found");
    let resolution = Resolution::processed(id.clone(), "ada");
    world.resolve(resolution).await.unwrap();
    let error = reuse(&world).await;
    assert_eq!((error.outcome(), error.transaction_id()), (Outcome::Unknown, Some(&id)));
    assert!(error.to_string().contains("already paid as transaction txn_found"), "{error}");
}

#[tokio::test]
async fn reused_key_in_flight_or_unknown_is_unknown_d43() {
    let store = MemoryStore::new();
    let other = store.another_owner();
    let world = World::over(store).await;
    let begin = begin_for(&other);
    other.apply(begin).await.unwrap();
    let error = reuse(&world).await;
    assert_eq!((error.outcome(), error.transaction_id()), (Outcome::Unknown, None));
    assert!(error.to_string().contains("is being sent at this moment: try again in a moment"), "{error}");
    assert!(matches!(error.cause(), Cause::InProgress { .. }));
    drop(other);
    let error = reuse(&world).await;
    assert!(error.outcome() == Outcome::Unknown && matches!(error.cause(), Cause::KeyReused { .. }));
}

#[tokio::test]
async fn reused_key_that_moved_no_money_is_not_processed_and_names_the_explicit_call_d43() {
    let [rejected, unreached, resolved] = [World::new().await, World::new().await, World::new().await];
    assert_eq!(rejected.fail(answered(429)).await.outcome(), Outcome::Rejected);
    assert_eq!(unreached.fail(support::unreached()).await.outcome(), Outcome::NotProcessed);
    assert_eq!(resolved.fail(request_lost()).await.outcome(), Outcome::Unknown);
    resolved.resolve(Resolution::not_processed("ada")).await.unwrap();
    for world in [rejected, unreached, resolved] {
        let error = reuse(&world).await;
        assert_eq!(error.outcome(), Outcome::NotProcessed);
        assert!(
            error
                .to_string()
                .ends_with(": to send this request with the same key, make a new attempt (after_rejection)"),
            "{error}"
        );
    }
}

/// A service that returns the API key as the id of every transaction.
#[tokio::test]
async fn secret_in_the_id_of_a_payment_is_not_stored_and_ids_are_not_compared_d55() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let gateway = FakeGateway::new();
    let response = success::post("done", serde_json::json!({"TransactionId": FakeGateway::API_KEY}));
    let script = ScriptedTransport::new().respond(response.clone()).respond(response);
    let client = Client::builder(gateway.endpoint(), script, gateway.clock().clone()).build();
    let journal = Journal::open(SqliteStore::open(&path).unwrap()).await.unwrap();
    let client = JournaledClient::new(client, journal);
    for text in ["invoice-1", "invoice-2", "invoice-1"] {
        let key = IntentKey::new(text).unwrap();
        let paid = client.process_token(&key, &payment_of(TEN_FIFTY)).await.unwrap();
        assert_eq!((paid.transaction_id.as_str(), paid.same_transaction_as.as_ref()), ("[redacted]", None));
        let kept = client.journal().find(&key).await.unwrap().unwrap();
        assert_eq!(kept.state.name(), StateName::Processed);
        assert!(!format!("{paid:?} {kept:?}").contains(FakeGateway::API_KEY));
    }
    client.journal().close().await;
    let file = std::fs::read(path).unwrap();
    let key = FakeGateway::API_KEY.as_bytes();
    assert!(!file.windows(key.len()).any(|window| window == key));
}

#[tokio::test]
async fn causes_of_a_failed_call_are_in_the_long_form() {
    let gateway = FakeGateway::new();
    for (error, outcome) in [
        (TransportError::not_processed(TransportErrorKind::Connect), Outcome::NotProcessed),
        (TransportError::unknown(TransportErrorKind::Closed), Outcome::Unknown),
    ] {
        let script = ScriptedTransport::new().fail(error.with_source("os error 111"));
        let client = Client::builder(gateway.endpoint(), script, gateway.clock().clone()).build();
        let client = JournaledClient::new(client, Journal::open(MemoryStore::new()).await.unwrap());
        let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err();
        assert_eq!(error.outcome(), outcome);
        assert_eq!(format!("{error:#}").matches(": os error 111; ").count(), 1, "{error:#}");
        assert!(!error.to_string().contains("os error"), "{error}");
    }
}
