//! A journal that is replaced by an older copy while a call is in flight.

use std::time::SystemTime;

use payments_core::Outcome;
use payments_journal::internals::{Change, IntentStore as _};
use payments_journal::{
    Failure, FailureKind, IntentState, MemoryStore, OwnerId, Resolution, SentSince, StateName,
};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{TEN_FIFTY, answered, begin_for, key, payment_of, response_lost};
use crate::contract::{self, as_processed};

async fn world(copy: &MemoryStore) -> World {
    World::over(ScriptedStore::over(copy.another_owner(), [Step::MadeAndLost])).await
}

#[tokio::test]
async fn outcome_of_a_call_in_flight_is_written_whole_d49() {
    for is_named in [false, true] {
        for is_answered in [true, false] {
            let copy = MemoryStore::new();
            let world = world(&copy).await;
            if is_named {
                let (now, owner) = (SystemTime::now(), OwnerId::from_kept("ada"));
                let lost = Change::lost(key(), now, owner, "ada", now);
                copy.apply(lost).await.unwrap();
            }
            if !is_answered {
                world.gateway.arm(response_lost());
            }
            let paid = world.pay().await;
            let intent = world.intent().await;
            assert_eq!((intent.attempts, intent.request.amount), (1, Some(TEN_FIFTY)));
            match paid {
                Ok(paid) => {
                    assert!(is_answered && paid.write_error.is_none(), "{paid:?}");
                    assert_eq!(intent.processed_as(), Some(&paid.transaction_id));
                }
                Err(error) => {
                    assert_eq!((is_answered, error.outcome()), (false, Outcome::Unknown));
                    assert_eq!(intent.state.name(), StateName::Unknown);
                }
            }
            drop(world.pay().await);
            assert_eq!(world.sent(), 1);
        }
    }
}

#[tokio::test]
async fn charge_that_another_process_makes_meanwhile_is_a_possible_second_one_d49() {
    let copy = MemoryStore::new();
    let world = world(&copy).await;
    let begun = copy.apply(begin_for(&copy)).await.unwrap().written().unwrap();
    let paid = world.pay().await.unwrap();
    let charged = paid.second_charge.expect("the other one may be charged too");
    assert!(charged.second_charges().eq([&paid.transaction_id]));
    let ending = as_processed("txn_other");
    let both = copy.apply(Change::end_of(begun, ending, SystemTime::now())).await.unwrap().written().unwrap();
    assert!(both.second_charges().eq([&paid.transaction_id]));
}

#[tokio::test]
async fn explicit_call_after_a_rejection_sends_nothing_if_later_entries_are_lost_d49() {
    for (lost, is_sent) in [(SentSince::Nothing, true), (SentSince::Keys(&[]), false)] {
        let world = World::new().await;
        assert_eq!(world.fail(answered(429)).await.outcome(), Outcome::Rejected);
        assert_eq!(world.client.journal().accept_history(lost, "ada").await.unwrap(), 0);
        let payment = payment_of(TEN_FIFTY);
        let called = world.client.after_rejection(&key()).process_token(&payment).await;
        assert_eq!((called.is_ok(), world.sent()), (is_sent, 1 + usize::from(is_sent)), "{called:?}");
        if !is_sent {
            assert_eq!(called.unwrap_err().outcome(), Outcome::Unknown);
            let state = world.intent().await.state;
            assert_eq!(state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
        }
        // It is another matter if the key is rejected only now.
        let later = contract::key("invoice-18");
        world.gateway.arm(answered(429));
        world.client.process_token(&later, &payment).await.unwrap_err();
        world.client.after_rejection(&later).process_token(&payment).await.unwrap();
    }
}

/// The person has seen the row of before the loss. Once it is unknown, they decide about the lost time too.
#[tokio::test]
async fn rejection_that_a_person_confirms_after_a_loss_is_unknown_d49() {
    for said in [Resolution::rejected(None, "ada"), Resolution::not_processed("ada")] {
        let world = World::new().await;
        assert_eq!(world.fail(answered(502)).await.outcome(), Outcome::Unknown);
        let journal = world.client.journal();
        let rejected = world.resolve(Resolution::rejected(None, "ada")).await.unwrap();
        assert_eq!(journal.accept_history(SentSince::Keys(&[]), "ada").await.unwrap(), 0);
        let error = journal.resolve(&rejected, said.clone()).await.unwrap_err();
        assert!(error.is_changed() && error.became_unknown(), "{error}");
        let why = "it is unknown; it may have been sent in a time whose entries";
        assert!(error.to_string().contains(why), "{error}");
        let unknown = world.intent().await;
        assert_eq!(unknown.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
        world.resolve(said).await.unwrap();
        let again = world.client.after_rejection(&key()).process_token(&payment_of(TEN_FIFTY)).await;
        assert!(!again.unwrap().is_from_the_journal());
    }
}
