//! Whenever the process is killed, the file holds every deed as a whole or not at all.

use std::fs;

use bytes::Bytes;
use payments_fake::test_values::VISA;
use payments_fake::{Fixtures, VoidAnswer, block_on};
use proptest::prelude::*;

use crate::round_trip::card_payment;
use crate::support::{Hold, KEYS, Kept, Place, ends_of_commits};

/// What changes more than one record, or the books of more than one key.
#[derive(Clone, Debug)]
enum Deed {
    /// A payment and the token that it makes.
    Pay {
        tenant: usize,
    },
    /// An authorisation's end and the void's own entry.
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

fn deed() -> impl Strategy<Value = Deed> {
    let tenant = 0..KEYS.len();
    prop_oneof![
        6 => tenant.clone().prop_map(|tenant| Deed::Pay { tenant }),
        4 => (tenant, 0..4_usize).prop_map(|(tenant, nth)| Deed::Void { tenant, nth }),
        1 => (1..20_usize).prop_map(|records| Deed::Load { records }),
        1 => Just(Deed::Reset),
        2 => (1..20_usize).prop_map(|records| Deed::ResetTo { records }),
    ]
}

fn pay(kept: &Kept, key: &str) {
    kept.post(key, "/transaction", Bytes::from_owner(card_payment(VISA, true, true)));
}

fn fixtures(records: usize) -> Fixtures {
    let records: Vec<_> =
        (0..records).map(|number| format!(r#"{{"TransactionId":"txn_{number}","Amount":1}}"#)).collect();
    let json =
        format!(r#"{{"customers":[{{"CustomerId":"cus_7"}}],"transactions":[{}]}}"#, records.join(","));
    Fixtures::from_json(&json).unwrap()
}

fn carry_out(kept: &Kept, deed: &Deed) {
    match *deed {
        Deed::Pay { tenant } => pay(kept, KEYS[tenant]),
        Deed::Void { tenant, nth } => {
            let ledger = kept.gateway.tenant(KEYS[tenant]).unwrap().ledger();
            if let Some(entry) = ledger.entries().get(nth) {
                kept.void(KEYS[tenant], entry.transaction_id().as_str());
            }
        }
        Deed::Load { records } => kept.gateway.load(&fixtures(records)),
        Deed::Reset => kept.gateway.reset(),
        Deed::ResetTo { records } => kept.gateway.reset_to(&fixtures(records)),
    }
}

/// What both keys have when the process is killed at each commit of the log, oldest first.
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
    fn every_commit_ends_between_two_deeds(deeds in prop::collection::vec(deed(), 1..16)) {
        let place = Place::new();
        let own_entries =
            |choices: &mut payments_fake::Choices| choices.void_answer = VoidAnswer::NewTransactionId;
        let kept = Kept::open_with(&place.file(), &KEYS, own_entries);
        let mut between = vec![kept.states()];
        for deed in &deeds {
            carry_out(&kept, deed);
            between.push(kept.states());
        }
        block_on(kept.flushed()).unwrap();

        let mut later = between.as_slice();
        let survived = states_after_each_commit(&place);
        for states in &survived {
            let found = later.iter().position(|whole| whole == states);
            prop_assert!(found.is_some(), "half of a deed, or one that was undone: {:?}", states);
            later = &later[found.unwrap_or_default()..];
        }
        prop_assert_eq!(survived.last(), between.last());
    }
}

#[test]
fn a_commit_that_is_full_still_takes_the_rest_of_a_deed() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    let before = states_after_each_commit(&place).len();
    for number in 0..4095 {
        kept.add_customer(KEYS[0], &format!("cus_{number}"));
    }
    pay(&kept, KEYS[0]);
    let first = kept.states();
    kept.add_customer(KEYS[0], "cus_last");
    let second = kept.states();
    writer.release();
    block_on(kept.flushed()).unwrap();
    assert_eq!(states_after_each_commit(&place)[before..], [first, second]);
}

#[test]
fn a_reset_of_all_keys_to_large_fixtures_is_one_commit() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    for key in KEYS {
        pay(&kept, key);
    }
    let writer = Hold::after_a_change(&kept);
    let before = states_after_each_commit(&place).len();
    kept.gateway.reset_to(&fixtures(3000));
    let begun = kept.states();
    writer.release();
    block_on(kept.flushed()).unwrap();
    assert_eq!(states_after_each_commit(&place)[before..], [begun]);
}
