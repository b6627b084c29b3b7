//! A second card after a decline: one explicit call with the same key.

use std::time::SystemTime;

use http::StatusCode;
use payments_core::model::Void;
use payments_core::{Client, OperationName, Outcome};
use payments_fake::{FakeGateway, Fault, ScriptedTransport};
use payments_journal::internals::{Change, IntentStore as _};
use payments_journal::{Journal, JournaledClient, MemoryStore, Resolution};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{Result, TEN_FIFTY, answered, key, paid_with, request_lost};
use crate::contract::transaction;

async fn plain(world: &World, token: &str) -> Result {
    world.client.process_token(&key(), &paid_with(token)).await
}

async fn again(world: &World, token: &str) -> Result {
    world.client.after_rejection(&key()).process_token(&paid_with(token)).await
}

async fn declined() -> World {
    let world = World::new().await;
    let error = plain(&world, "tok_declined").await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Rejected);
    world
}

#[tokio::test]
async fn rejection_never_advises_a_new_key_d44() {
    for (status, advice) in [
        (422, "make a new attempt with the same key (after_rejection)"),
        (429, "let a person reopen the key"),
        (404, "let a person reopen the key"),
        (405, "let a person reopen the key"),
    ] {
        let world = World::new().await;
        world.gateway.arm(answered(status));
        for is_recorded in [false, true] {
            let error = plain(&world, "tok_approved").await.unwrap_err();
            assert_eq!((error.outcome(), error.is_from_the_journal()), (Outcome::Rejected, is_recorded));
            for text in [error.to_string(), format!("{error:#}")] {
                assert!(text.ends_with(&format!("fix the cause, then {advice}")), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn only_what_is_about_the_payment_is_a_decline() {
    for (refusal, is_decline) in [
        (None, true),
        (Some(answered(422)), true),
        (Some(answered(401)), false),
        (Some(answered(403)), false),
        (Some(answered(404)), false),
        (Some(answered(405)), false),
        (Some(answered(429)), false),
        (Some(answered(502)), false),
        (Some(request_lost()), false),
    ] {
        let (world, shown) = (World::new().await, format!("{refusal:?}"));
        if let Some(refusal) = refusal {
            world.gateway.arm(refusal);
        }
        // In this call, from the journal, and for another request.
        for token in ["tok_declined", "tok_declined", "tok_approved"] {
            let error = plain(&world, token).await.unwrap_err();
            assert_eq!(error.is_decline(), is_decline, "{shown} {error}");
        }
        assert_eq!(world.sent(), 1);
    }
}

/// Some gateways answer with 200 or 400 whatever they say.
#[tokio::test]
async fn refusal_of_the_caller_in_a_body_is_no_decline_in_the_journal_either() {
    let gateway = FakeGateway::new();
    let body = r#"{"status":"failed","status_code":401,"msg":"Invalid API Key"}"#;
    let script = ScriptedTransport::new().respond_json(200, body);
    let client = Client::builder(gateway.endpoint(), script, gateway.clock().clone()).build();
    let journal = Journal::open(MemoryStore::new()).await.unwrap();
    let client = JournaledClient::new(client, journal);
    for is_recorded in [false, true] {
        let error = client.process_token(&key(), &paid_with("tok_approved")).await.unwrap_err();
        assert_eq!((error.outcome(), error.is_from_the_journal()), (Outcome::Rejected, is_recorded));
        assert!(!error.is_decline(), "{error}");
    }
}

#[tokio::test]
async fn void_that_is_not_found_is_about_the_void() {
    for (status, is_decline) in [(StatusCode::NOT_FOUND, true), (StatusCode::METHOD_NOT_ALLOWED, false)] {
        let world = World::new().await;
        world.gateway.arm(Fault::on(OperationName::Void).before_commit().status(status));
        let void = Void::new(transaction("txn_1"));
        for is_recorded in [false, true] {
            let error = world.client.void(&key(), &void).await.unwrap_err();
            assert_eq!(
                (error.is_decline(), error.is_from_the_journal()),
                (is_decline, is_recorded),
                "{error}"
            );
            assert_eq!(error.to_string().ends_with("(after_rejection)"), is_decline, "{error}");
        }
    }
}

#[tokio::test]
async fn another_card_after_a_decline_is_sent_only_by_the_explicit_call_d44() {
    let world = declined().await;
    // A plain repeat gets the recorded rejection, and a plain call with another card is key_reused.
    let repeated = plain(&world, "tok_declined").await.unwrap_err();
    assert!(repeated.is_from_the_journal() && repeated.outcome() == Outcome::Rejected);
    assert!(repeated.to_string().ends_with("make a new attempt with the same key (after_rejection)"));
    let reused = plain(&world, "tok_approved").await.unwrap_err();
    assert!(reused.kind() == "key_reused" && reused.outcome() == Outcome::NotProcessed);
    assert_eq!((repeated.reason(), reused.reason()), (Some("declined"), Some("declined")));
    assert_eq!(world.sent(), 1);

    let charged = again(&world, "tok_approved").await.unwrap();
    assert!(!charged.is_from_the_journal());
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    let intent = world.intent().await;
    assert_eq!((intent.attempts, intent.processed_as()), (2, Some(&charged.transaction_id)));
    assert!(plain(&world, "tok_approved").await.unwrap().is_from_the_journal());
}

#[tokio::test]
async fn rejection_stays_if_the_next_attempt_is_in_doubt_d44() {
    for fault in [Step::ReplyLost, Step::RequestLost] {
        let store = ScriptedStore::new([Step::Made, Step::Made, fault]);
        let world = World::over(store).await;
        plain(&world, "tok_declined").await.unwrap_err();
        let rejected = world.intent().await.state;
        assert_eq!(again(&world, "tok_approved").await.unwrap_err().kind(), "journal");
        assert_eq!(world.intent().await.state, rejected);
        for token in ["tok_declined", "tok_approved"] {
            let error = plain(&world, token).await.unwrap_err();
            assert!(error.is_from_the_journal() || error.kind() == "key_reused", "{error}");
        }
        assert_eq!(world.sent(), 1, "no plain call sends what was rejected");
    }
}

#[tokio::test]
async fn explicit_call_without_a_row_is_refused_d44() {
    let world = World::new().await;
    let error = again(&world, "tok_approved").await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, "no_such_key"));
    assert_eq!(world.client.journal().find(&key()).await.unwrap(), None);
    plain(&world, "tok_approved").await.unwrap();
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn explicit_call_never_pays_a_processed_key_again_d44() {
    let world = World::new().await;
    let id = plain(&world, "tok_approved").await.unwrap().transaction_id;
    let same = again(&world, "tok_approved").await.unwrap();
    assert!(same.is_from_the_journal() && same.transaction_id == id);
    let other = again(&world, "tok_then_declined").await.unwrap_err();
    assert_eq!(other.kind(), "key_reused");
    assert_eq!((other.outcome(), other.transaction_id()), (Outcome::Unknown, Some(&id)));
    assert_eq!(world.sent(), 1);
}

/// The first call is considered dead while the response to it is on its way. A person writes its attempt off, and the key is sent
/// again.
#[tokio::test]
async fn response_to_an_attempt_that_was_written_off_is_recorded_and_never_charged_again_d48() {
    for second in ["tok_declined", "tok_approved"] {
        let store = ScriptedStore::new([Step::Made, Step::Held]);
        let world = World::over(store.clone()).await;
        let first = tokio::spawn({
            let client = world.client.clone();
            async move { client.process_token(&key(), &paid_with("tok_approved")).await }
        });
        store.until_held().await;
        let crash = Change::orphan(key(), world.intent().await.attempt_id, SystemTime::now());
        store.apply(crash).await.unwrap();
        world.resolve(Resolution::not_processed("ada").note("not in the report")).await.unwrap();
        let second = again(&world, second).await;
        assert!(second.as_ref().is_ok_and(|it| it.second_charge.is_none()) || second.is_err());

        store.gate.add_permits(1);
        let first = first.await.unwrap().unwrap();
        assert!(first.write_error.is_none());
        let intent = world.intent().await;
        let third = again(&world, "tok_approved").await.unwrap();
        assert!(third.is_from_the_journal());
        assert_eq!(world.sent(), 2);
        match second {
            // The declined attempt moved no money.
            Err(_) => {
                assert_eq!(intent.processed_as(), Some(&first.transaction_id));
                assert!(first.second_charge.is_none() && third.second_charge.is_none());
                world.gateway.ledger().assert_charged_once(TEN_FIFTY);
            }
            Ok(second) => {
                assert_eq!(intent.processed_as(), Some(&second.transaction_id));
                for reported in [first.second_charge, third.second_charge] {
                    assert!(reported.unwrap().second_charges().eq([&first.transaction_id]));
                }
            }
        }
    }
}
