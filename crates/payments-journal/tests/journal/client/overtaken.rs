//! A call during which another attempt with its key ends, so that the row that it has just written says something else than it.

use std::time::SystemTime;

use payments_core::Outcome;
use payments_journal::internals::{Change, Ending, IntentStore as _};
use payments_journal::{Cause, Error, Failure, Intent, IntentState, MemoryStore, Resolution, StateName};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{Result, TEN_FIFTY, answered, begin_for, key, paid_with, payment_of, unreached};
use crate::contract::transaction;

const DECLINED: &str = "tok_declined";

/// Another process was considered dead while it sent the key, and a person has written that off. It ends while the next call is in
/// flight.
async fn world_in_which_the_first_attempt_ends_late(ending: Ending) -> World {
    let store = MemoryStore::new();
    let dead = store.another_owner();
    let begun = dead.apply(begin_for(&dead)).await.unwrap().written().unwrap();
    drop(dead);
    let store = ScriptedStore::over(store, []);
    let world = World::over(store.clone()).await;
    world.resolve(Resolution::not_processed("ada").note("not in the report")).await.unwrap();
    store.then([Step::Made, Step::Overtaken]);
    store.overtake_with(Change::end_of(begun, ending, SystemTime::now()));
    world
}

/// The plain call with the recorded request, which is not connected, or an explicit one with another card, which is declined.
async fn pay(world: &World, is_declined: bool) -> Result {
    if is_declined {
        return world.client.after_rejection(&key()).process_token(&paid_with(DECLINED)).await;
    }
    world.gateway.arm(unreached());
    world.pay().await
}

#[tokio::test]
async fn call_that_moves_no_money_while_an_earlier_attempt_turns_out_paid_is_answered_as_paid_d43_d48() {
    for is_declined in [false, true] {
        let world =
            world_in_which_the_first_attempt_ends_late(Ending::Processed(transaction("txn_first"))).await;
        let answer = pay(&world, is_declined).await;
        assert_eq!(world.intent().await.processed_as(), Some(&transaction("txn_first")));
        if is_declined {
            // Its request is not the one that was paid.
            let error = answer.unwrap_err();
            assert!(matches!(error.cause(), Cause::KeyReused { .. }) && error.write_error().is_none());
            assert_eq!(
                (error.outcome(), error.transaction_id()),
                (Outcome::Unknown, Some(&transaction("txn_first")))
            );
            assert_eq!(
                error.to_string(),
                "invoice-17 is already used for another request, with a different token; this call moved no money: that one is \
                 already paid as transaction txn_first (its amount is 10.50), do not pay it another way; use a new key only for \
                 a different payment"
            );
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(source.contains("declined"), "{source}");
        } else {
            let paid = answer.unwrap();
            assert!(paid.is_from_the_journal() && paid.write_error.is_none() && paid.second_charge.is_none());
            assert_eq!(paid.transaction_id, transaction("txn_first"));
        }
        assert_eq!(world.sent(), usize::from(is_declined));
    }
}

#[tokio::test]
async fn call_that_moves_no_money_while_a_lost_attempt_turns_out_unknown_is_unknown_d43_d49() {
    for is_declined in [false, true] {
        let lost = MemoryStore::new();
        let begun = lost.apply(begin_for(&lost)).await.unwrap().written().unwrap();
        let ending = Ending::Unknown(Failure::of_kind("timeout"));
        let store = ScriptedStore::new([Step::Made, Step::Overtaken]);
        store.overtake_with(Change::end_of(begun, ending, SystemTime::now()));
        let world = World::over(store).await;
        let error = world.fail(if is_declined { answered(422) } else { unreached() }).await;
        assert_eq!(world.intent().await.state.name(), StateName::Unknown);
        assert_eq!((error.outcome(), error.kind(), error.is_decline()), (Outcome::Unknown, "timeout", false));
        assert!(error.is_from_the_journal(), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the outcome of invoice-17 is unknown since an earlier call (timeout); this call moved no money, it may have been \
             processed: reconcile it with the service by token, amount and time, then resolve the key"
        );
    }
}

/// What happens to the key while its sender waits.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    FoundProcessed,
    SentAgain,
    SentAgainAndUnknown,
    SentAgainAndRejected,
}

/// The call was considered dead while it was in flight. The row does not take its refusal any more.
async fn refused_too_late(meanwhile: Meanwhile) -> (Result, Intent) {
    let store = ScriptedStore::new([Step::Made, Step::Held]);
    let world = World::over(store.clone()).await;
    world.gateway.arm(unreached());
    let call = tokio::spawn({
        let client = world.client.clone();
        async move { client.process_token(&key(), &payment_of(TEN_FIFTY)).await }
    });
    store.until_held().await;
    let crash = Change::orphan(key(), world.intent().await.attempt_id, SystemTime::now());
    store.apply(crash).await.unwrap();
    let said = match meanwhile {
        Meanwhile::FoundProcessed => Resolution::processed(transaction("txn_found"), "ada"),
        _ => Resolution::not_processed("ada"),
    };
    world.resolve(said.note("found")).await.unwrap();
    let other = store.below.another_owner();
    if !matches!(meanwhile, Meanwhile::FoundProcessed) {
        let begun = other.apply(begin_for(&other)).await.unwrap().written().unwrap();
        let failure = Failure::of_kind("timeout");
        let ending = match meanwhile {
            Meanwhile::SentAgainAndUnknown => Some(Ending::Unknown(failure)),
            Meanwhile::SentAgainAndRejected => Some(Ending::Rejected(failure)),
            _ => None,
        };
        if let Some(ending) = ending {
            other.apply(Change::end_of(begun, ending, SystemTime::now())).await.unwrap();
        }
    }
    store.gate.add_permits(1);
    let answer = call.await.unwrap();
    (answer, world.intent().await)
}

#[tokio::test]
async fn refusal_that_the_row_does_not_take_any_more_does_not_say_that_the_key_is_free_d43() {
    let (paid, _) = refused_too_late(Meanwhile::FoundProcessed).await;
    let paid = paid.unwrap();
    assert!(paid.is_from_the_journal() && paid.transaction_id == transaction("txn_found"));

    for meanwhile in [Meanwhile::SentAgain, Meanwhile::SentAgainAndUnknown] {
        let (answer, row) = refused_too_late(meanwhile).await;
        let error: Error = answer.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
        assert_eq!(matches!(error.cause(), Cause::InProgress { .. }), row.state == IntentState::Sending);
        assert!(row.is_unresolved());
    }

    // No attempt has moved money.
    let (answer, row) = refused_too_late(Meanwhile::SentAgainAndRejected).await;
    let error = answer.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotProcessed);
    assert!(row.moved_nothing() && error.write_error().is_some() && matches!(error.cause(), Cause::Call(_)));
}
