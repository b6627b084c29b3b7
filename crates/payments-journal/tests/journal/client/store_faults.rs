use payments_core::Outcome;
use payments_journal::{Failure, FailureKind, IntentState, Journal, JournaledClient, MemoryStore, StateName};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{TEN_FIFTY, key, unreached};

#[tokio::test]
async fn no_row_no_charge_and_the_key_is_free_again_d43() {
    let withdrawn = IntentState::NotProcessed(Failure::of_kind(FailureKind::WITHDRAWN));
    for (fault, state) in
        [(Step::Refused, None), (Step::ReplyLost, Some(withdrawn)), (Step::RequestLost, None)]
    {
        let world = World::over(ScriptedStore::new([fault])).await;
        let error = world.pay().await.unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"), "{fault:?}");
        assert_eq!(world.sent(), 0, "{fault:?}");
        let found = world.client.journal().find(&key()).await.unwrap();
        assert_eq!(found.map(|intent| intent.state), state, "{fault:?}");
        world.pay().await.unwrap();
        world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    }
}

#[tokio::test]
async fn late_withdrawal_is_written_before_the_next_charge() {
    let lost_for_a_while = [Step::ReplyLost, Step::RequestLost, Step::Refused];
    let world = World::over(ScriptedStore::new(lost_for_a_while)).await;
    assert_eq!(world.pay().await.unwrap_err().outcome(), Outcome::Unknown);
    assert_eq!(world.intent().await.state, IntentState::Sending);
    // The journal still fails: nothing new begins before the open withdrawal is written.
    assert_eq!(world.pay().await.unwrap_err().outcome(), Outcome::Unknown);
    assert_eq!(world.sent(), 0);
    world.pay().await.unwrap();
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn unwritten_outcome_is_reported_and_written_by_the_next_call() {
    for fault in [Step::Refused, Step::RequestLost, Step::ReplyLost] {
        let world = World::over(ScriptedStore::new([Step::Made, fault])).await;
        let charged = world.pay().await.unwrap();
        assert!(charged.write_error.is_some() && charged.response.is_some());
        assert_eq!(world.intent().await.state == IntentState::Sending, fault != Step::ReplyLost);
        // It is written as soon as possible.
        assert!(world.pay().await.unwrap().is_from_the_journal());
        assert_eq!(world.intent().await.state.name(), StateName::Processed);
        world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    }
}

#[tokio::test]
async fn key_with_a_lost_outcome_is_never_sent_again() {
    let store = MemoryStore::new();
    let reopened = store.another_owner();
    let world = World::over(ScriptedStore::over(store, [Step::Made, Step::Refused])).await;
    world.pay().await.unwrap();
    let World { gateway, client } = world;
    drop(client);
    let client = JournaledClient::new(gateway.client(), Journal::open(reopened).await.unwrap());
    let world = World { gateway, client };
    let error = world.pay().await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, FailureKind::CRASH.as_str()));
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn unwritten_failure_keeps_its_outcome_and_reports_it() {
    let world = World::over(ScriptedStore::new([Step::Made, Step::Refused])).await;
    let error = world.fail(unreached()).await;
    assert_eq!(error.outcome(), Outcome::NotProcessed);
    assert!(error.write_error().is_some());
    assert!(error.to_string().ends_with(
        " (the outcome could not be written to the journal, where the key stays unresolved: the disk is full)"
    ));
    assert_eq!(world.intent().await.state.name(), StateName::Sending);
}
