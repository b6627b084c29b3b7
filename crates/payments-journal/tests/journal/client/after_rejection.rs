//! A second card after a decline: one explicit call with the same key.

use std::time::SystemTime;

use http::StatusCode;
use payments_core::model::{ConvenienceFee, TokenTransaction};
use payments_core::{OperationName, Outcome};
use payments_fake::Fault;
use payments_journal::internals::{Change, IntentStore as _};
use payments_journal::{Resolution, StateName};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{Result, TEN_FIFTY, key};

fn paid_with(token: &str) -> TokenTransaction {
    TokenTransaction::builder(token, TEN_FIFTY, ConvenienceFee::Inactive).build().unwrap()
}

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
        (StatusCode::UNPROCESSABLE_ENTITY, "make a new attempt with the same key (after_rejection)"),
        (StatusCode::TOO_MANY_REQUESTS, "let a person reopen the key"),
    ] {
        let world = World::new().await;
        let refusal = Fault::on(OperationName::TokenTransaction).before_commit().status(status);
        world.gateway.arm(refusal);
        for is_recorded in [false, true] {
            let error = plain(&world, "tok_approved").await.unwrap_err();
            assert_eq!((error.outcome(), error.is_recorded()), (Outcome::Rejected, is_recorded));
            for text in [error.to_string(), format!("{error:#}")] {
                assert!(text.ends_with(&format!("fix the cause, then {advice}")), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn another_card_after_a_decline_is_sent_only_by_the_explicit_call_d44() {
    let world = declined().await;
    // A plain repeat gets the recorded rejection, and a plain call with another card is key_reused.
    let repeated = plain(&world, "tok_declined").await.unwrap_err();
    assert!(repeated.is_recorded() && repeated.outcome() == Outcome::Rejected);
    assert!(repeated.to_string().ends_with("make a new attempt with the same key (after_rejection)"));
    let reused = plain(&world, "tok_approved").await.unwrap_err();
    assert!(reused.is_key_reused() && reused.outcome() == Outcome::NotProcessed);
    assert_eq!(world.sent(), 1);

    let charged = again(&world, "tok_approved").await.unwrap();
    assert!(!charged.is_from_the_journal());
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    let intent = world.intent().await;
    assert_eq!((intent.attempts, intent.processed_as()), (2, Some(&charged.transaction_id)));
    assert!(plain(&world, "tok_approved").await.unwrap().is_from_the_journal());
}

#[tokio::test]
async fn explicit_call_may_repeat_the_rejected_request_and_be_rejected_again_d44() {
    let world = declined().await;
    for sent in 2..=3 {
        let error = again(&world, "tok_declined").await.unwrap_err();
        assert_eq!((error.outcome(), error.is_recorded(), world.sent()), (Outcome::Rejected, false, sent));
    }
    assert!(plain(&world, "tok_declined").await.unwrap_err().is_recorded());
    assert_eq!(world.sent(), 3);
}

#[tokio::test]
async fn rejection_stays_if_the_next_attempt_is_not_sent_d44() {
    let world = declined().await;
    let rejected = world.intent().await.state;
    let refused = Fault::on(OperationName::TokenTransaction).before_commit().refuse();
    world.gateway.arm(refused.times(2));
    for token in ["tok_declined", "tok_approved"] {
        let error = again(&world, token).await.unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, "connect"));
        assert_eq!(world.intent().await.state, rejected);
        assert!(plain(&world, token).await.unwrap_err().is_recorded());
        assert_eq!(world.sent(), 1, "no plain call sends what was rejected");
    }
    again(&world, "tok_approved").await.unwrap();
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn late_written_rejection_stays_if_the_next_attempt_is_not_sent_d44() {
    let store = ScriptedStore::new([Step::Made, Step::Refused]);
    let world = World::over(store).await;
    let error = plain(&world, "tok_declined").await.unwrap_err();
    assert!(error.outcome() == Outcome::Rejected && error.not_recorded().is_some());
    world.gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().refuse());
    assert_eq!(again(&world, "tok_declined").await.unwrap_err().outcome(), Outcome::NotProcessed);
    assert!(plain(&world, "tok_declined").await.unwrap_err().is_recorded());
    assert_eq!(world.sent(), 1);
}

#[tokio::test]
async fn latest_rejection_stays_if_the_next_attempt_is_not_sent_d44() {
    // The two changes of the first attempt, and the begin of the third, which the second overtakes.
    let store = ScriptedStore::new([Step::Made, Step::Made, Step::Held]);
    let world = World::over(store.clone()).await;
    let tokens = || Fault::on(OperationName::TokenTransaction).before_commit();
    world.gateway.arm(tokens().status(StatusCode::TOO_MANY_REQUESTS));
    plain(&world, "tok_approved").await.unwrap_err();
    let third = tokio::spawn({
        let client = world.client.clone();
        async move { client.after_rejection(&key()).process_token(&paid_with("tok_approved")).await }
    });
    store.until_held().await;
    let second = again(&world, "tok_declined").await.unwrap_err();
    assert_eq!((second.outcome(), second.is_recorded()), (Outcome::Rejected, false));
    let declined = world.intent().await.state;
    world.gateway.arm(tokens().refuse());
    store.gate.add_permits(1);
    assert_eq!(third.await.unwrap().unwrap_err().outcome(), Outcome::NotProcessed);
    assert_eq!(world.intent().await.state, declined, "and not the first");
    assert_eq!(world.client.journal().reopen(&key(), &[429], "ada", None).await.unwrap(), None);
}

#[tokio::test]
async fn rejection_stays_if_the_next_attempt_is_in_doubt_d44() {
    for fault in [Step::ReplyLost, Step::RequestLost] {
        let store = ScriptedStore::new([Step::Made, Step::Made, fault]);
        let world = World::over(store).await;
        plain(&world, "tok_declined").await.unwrap_err();
        let rejected = world.intent().await.state;
        assert!(again(&world, "tok_approved").await.unwrap_err().is_journal());
        assert_eq!(world.intent().await.state, rejected);
        for token in ["tok_declined", "tok_approved"] {
            let error = plain(&world, token).await.unwrap_err();
            assert!(error.is_recorded() || error.is_key_reused(), "{error}");
        }
        assert_eq!(world.sent(), 1, "no plain call sends what was rejected");
    }
}

#[tokio::test]
async fn another_card_may_follow_not_processed_or_resolved_as_such_d44() {
    let unreached = World::new().await;
    unreached.gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().refuse());
    let resolved = World::new().await;
    resolved.gateway.arm(Fault::request_lost(OperationName::TokenTransaction));
    for world in [&unreached, &resolved] {
        plain(world, "tok_then_declined").await.unwrap_err();
    }
    resolved.resolve(Resolution::not_processed("ada")).await.unwrap();
    for world in [unreached, resolved] {
        assert!(!again(&world, "tok_approved").await.unwrap().is_from_the_journal());
        world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    }
}

#[tokio::test]
async fn explicit_call_without_a_row_is_refused_d44() {
    let world = World::new().await;
    let error = again(&world, "tok_approved").await.unwrap_err();
    assert!(error.is_no_such_intent());
    assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, "no_such_key"));
    assert_eq!(
        error.to_string(),
        "the journal has no key invoice-17, so there is no rejection to follow; nothing was sent: \
         for a first attempt, make a plain call"
    );
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
    assert!(other.is_key_reused());
    assert_eq!((other.outcome(), other.transaction_id()), (Outcome::Unknown, Some(&id)));
    assert_eq!(world.sent(), 1);
}

#[tokio::test]
async fn explicit_call_does_not_send_a_key_in_flight_or_unknown_d44() {
    let world = World::new().await;
    let gate = world.gateway.gate_after_commit(OperationName::TokenTransaction);
    world.gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let (client, payment) = (world.client.clone(), paid_with("tok_approved"));
    let first = tokio::spawn(async move { client.process_token(&key(), &payment).await });
    while gate.held() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(again(&world, "tok_approved").await.unwrap_err().is_in_progress());
    let other = again(&world, "tok_then_declined").await.unwrap_err();
    assert!(other.is_key_reused() && other.outcome() == Outcome::Unknown);
    gate.release();
    assert_eq!(first.await.unwrap().unwrap_err().outcome(), Outcome::Unknown);

    let same = again(&world, "tok_approved").await.unwrap_err();
    assert!(same.is_recorded() && same.outcome() == Outcome::Unknown);
    let other = again(&world, "tok_then_declined").await.unwrap_err();
    assert!(other.is_key_reused() && other.outcome() == Outcome::Unknown);
    assert_eq!((world.sent(), world.intent().await.state.name()), (1, StateName::Unknown));
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
        let crash = Change::orphan(key(), world.intent().await.attempt, SystemTime::now());
        store.apply(crash).await.unwrap();
        world.resolve(Resolution::not_processed("ada").note("not in the report")).await.unwrap();
        let second = again(&world, second).await;
        assert!(second.as_ref().is_ok_and(|it| it.second_charge.is_none()) || second.is_err());

        store.gate.add_permits(1);
        let first = first.await.unwrap().unwrap();
        assert!(first.not_recorded.is_none());
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
