//! A journal that is replaced by an older copy while a call is in flight.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use http::StatusCode;
use payments_core::OperationName;
use payments_core::Outcome;
use payments_core::model::TransactionId;
use payments_fake::Fault;
use payments_journal::internals::{Applied, Change, IntentStore};
use payments_journal::{
    Failure, Intent, IntentKey, IntentState, LostTime, MemoryStore, OwnerId, Page, Purged, StateName,
    StoreError,
};

use super::world::World;
use crate::support::{begin_for, key};

/// The first change is made in the lost journal, and all others in the older copy.
struct Replaced {
    lost: MemoryStore,
    copy: MemoryStore,
    has_older_copy: AtomicBool,
}

impl payments_journal::blocking::Store for Replaced {}

impl IntentStore for Replaced {
    fn owner(&self) -> &OwnerId {
        self.copy.owner()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let has_older_copy = self.has_older_copy.swap(true, Ordering::SeqCst);
        if has_older_copy { self.copy.apply(change).await } else { self.lost.apply(change).await }
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.copy.find(key).await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Page, StoreError> {
        self.copy.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.copy.is_live(owner).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.copy.purge(age).await
    }
}

async fn world(copy: &MemoryStore) -> World {
    let (lost, has_older_copy) = (MemoryStore::new(), AtomicBool::new(false));
    World::over(Replaced { lost, copy: copy.another_owner(), has_older_copy }).await
}

#[tokio::test]
async fn outcome_of_a_call_in_flight_is_written_whole_d49() {
    for is_named in [false, true] {
        for is_answered in [true, false] {
            let copy = MemoryStore::new();
            let world = world(&copy).await;
            if is_named {
                let lost = Change::lost(
                    key(),
                    SystemTime::now(),
                    OwnerId::from_kept("ada"),
                    "ada",
                    SystemTime::now(),
                );
                copy.apply(lost).await.unwrap();
            }
            if !is_answered {
                world.gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
            }
            let paid = world.pay().await;
            let intent = world.intent().await;
            assert_eq!((intent.attempts, intent.request.amount), (1, Some(crate::support::TEN_FIFTY)));
            match paid {
                Ok(paid) => {
                    assert!(is_answered && paid.not_recorded.is_none(), "{paid:?}");
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
    let begun = copy.apply(begin_for(&copy)).await.unwrap().written.unwrap();
    let paid = world.pay().await.unwrap();
    let charged = paid.second_charge.expect("the other one may be charged too");
    assert!(charged.second_charges().eq([&paid.transaction_id]));
    let ending = payments_journal::internals::Ending::Processed(TransactionId::new("txn_other").unwrap());
    let both = copy.apply(Change::end_of(begun, ending, SystemTime::now())).await.unwrap().written.unwrap();
    assert!(both.second_charges().eq([&paid.transaction_id]));
}

#[tokio::test]
async fn explicit_call_after_a_rejection_sends_nothing_if_later_entries_are_lost_d49() {
    let world = World::new().await;
    world.gateway.arm(
        Fault::on(OperationName::TokenTransaction).before_commit().status(StatusCode::TOO_MANY_REQUESTS),
    );
    assert_eq!(world.pay().await.unwrap_err().outcome(), Outcome::Rejected);
    let sent = world.sent();
    let journal = world.client.journal();
    assert_eq!(journal.accept_history(LostTime::Sent(&[]), "ada").await.unwrap(), 0);
    let payment = crate::support::payment_of(crate::support::TEN_FIFTY);
    let key = key();
    let error = world.client.after_rejection(&key).process_token(&payment).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(world.sent(), sent);
    let state = world.intent().await.state;
    assert_eq!(state, IntentState::Unknown(Failure::of_kind(Failure::LOST_HISTORY)));
}
