//! Whenever the process is killed, the file has each group of changes completely or not at all.

use std::fs;

use bytes::Bytes;
use payments_fake::test_values::VISA;
use payments_fake::{Fixtures, VoidAnswer, block_on};
use proptest::prelude::*;

use crate::round_trip::card_payment;
use crate::support::{Hold, KEYS, Place, StoredGateway, ends_of_commits};

/// An action that changes more than one record, or the records of more than one key.
#[derive(Clone, Debug)]
enum Action {
    /// A payment and the token that it creates.
    Pay {
        tenant: usize,
    },
    /// The voided authorization and the void's own entry.
    Void {
        tenant: usize,
        nth: usize,
    },
    Load {
        records: usize,
    },
    Reset,
    ResetTo {
        records: usize,
    },
}

fn action() -> impl Strategy<Value = Action> {
    let tenant = 0..KEYS.len();
    prop_oneof![
        6 => tenant.clone().prop_map(|tenant| Action::Pay { tenant }),
        4 => (tenant, 0..4_usize).prop_map(|(tenant, nth)| Action::Void { tenant, nth }),
        1 => (1..20_usize).prop_map(|records| Action::Load { records }),
        1 => Just(Action::Reset),
        2 => (1..20_usize).prop_map(|records| Action::ResetTo { records }),
    ]
}

fn pay(stored: &StoredGateway, key: &str) {
    stored.post(key, "/transaction", Bytes::from_owner(card_payment(VISA, true, true)));
}

fn fixtures(records: usize) -> Fixtures {
    let records: Vec<_> =
        (0..records).map(|number| format!(r#"{{"TransactionId":"txn_{number}","Amount":1}}"#)).collect();
    let json =
        format!(r#"{{"customers":[{{"CustomerId":"cus_7"}}],"transactions":[{}]}}"#, records.join(","));
    Fixtures::from_json(&json).unwrap()
}

fn run(stored: &StoredGateway, action: &Action) {
    match *action {
        Action::Pay { tenant } => pay(stored, KEYS[tenant]),
        Action::Void { tenant, nth } => {
            let ledger = stored.gateway.tenant(KEYS[tenant]).unwrap().ledger();
            if let Some(entry) = ledger.entries().get(nth) {
                stored.void(KEYS[tenant], entry.transaction_id().as_str());
            }
        }
        Action::Load { records } => stored.gateway.load(&fixtures(records)),
        Action::Reset => stored.gateway.reset(),
        Action::ResetTo { records } => stored.gateway.reset_to(&fixtures(records)),
    }
}

/// The state of both keys if the process is killed after each commit of the log, oldest first.
fn states_after_each_commit(place: &Place) -> Vec<Vec<String>> {
    let log = fs::read(place.log()).unwrap();
    let states = ends_of_commits(&log).into_iter().map(|end| {
        let image = Place::new();
        fs::copy(place.file(), image.file()).unwrap();
        fs::write(image.log(), &log[..end]).unwrap();
        image.open(&KEYS).states()
    });
    states.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn every_commit_ends_between_two_actions(actions in prop::collection::vec(action(), 1..16)) {
        let place = Place::new();
        let own_entries =
            |choices: &mut payments_fake::Choices| choices.void_answer = VoidAnswer::NewTransactionId;
        let stored = StoredGateway::open_with(&place.file(), &KEYS, own_entries);
        let mut between = vec![stored.states()];
        for action in &actions {
            run(&stored, action);
            between.push(stored.states());
        }
        block_on(stored.flushed()).unwrap();

        let mut later = between.as_slice();
        let survived = states_after_each_commit(&place);
        for states in &survived {
            let found = later.iter().position(|whole| whole == states);
            prop_assert!(found.is_some(), "part of an action, or an action that was undone: {:?}", states);
            later = &later[found.unwrap_or_default()..];
        }
        prop_assert_eq!(survived.last(), between.last());
    }
}

#[test]
fn a_full_commit_still_takes_the_rest_of_a_group() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    let before = states_after_each_commit(&place).len();
    for number in 0..4095 {
        stored.add_customer(KEYS[0], &format!("cus_{number}"));
    }
    pay(&stored, KEYS[0]);
    let first = stored.states();
    stored.add_customer(KEYS[0], "cus_last");
    let second = stored.states();
    writer.release();
    block_on(stored.flushed()).unwrap();
    assert_eq!(states_after_each_commit(&place)[before..], [first, second]);
}

#[test]
fn a_reset_of_all_keys_to_large_fixtures_is_one_commit() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    for key in KEYS {
        pay(&stored, key);
    }
    let writer = Hold::after_a_change(&stored);
    let before = states_after_each_commit(&place).len();
    stored.gateway.reset_to(&fixtures(3000));
    let states = stored.states();
    writer.release();
    block_on(stored.flushed()).unwrap();
    assert_eq!(states_after_each_commit(&place)[before..], [states]);
}
