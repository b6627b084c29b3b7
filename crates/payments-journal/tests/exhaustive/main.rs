//! The journal's rules, by exhaustion: every state that senders, crashes, lost replies, purges and persons can lead to.
//!
//! Each change of a row is an answer of the real `Change::decide`. The number of attempts, crashes, purges and resolutions is
//! not bounded: under canonical names there are finitely many states, and the search ends when there is no new one.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod model;
mod replay;
mod rows;
mod rules;
mod sabotage;
mod search;
mod state;
mod story;

use std::collections::BTreeSet;
use std::fmt::Write;

use model::{Model, Protocol};
use payments_journal::StateName;
use rows::{Rows, honest};
use rules::Broken;
use sabotage::Sabotage;
use search::search;

#[expect(clippy::print_stdout, reason = "the figures of docs/how-we-know.md")]
fn assert_every_rule_holds<const KEYS: usize, const SENDERS: usize>() {
    let model = Model::<KEYS, SENDERS> { rows: Rows::new(honest), protocol: Protocol::Honest };
    match search(&model) {
        Ok(searched) => println!("{KEYS} keys, {SENDERS} senders: {searched:?}"),
        Err((_, story)) => panic!("{story}"),
    }
    let is_met = |name: &StateName| model.rows.all().iter().any(|row| row.state.name() == *name);
    assert!(
        StateName::ALL.iter().all(is_met),
        "a search that does not meet every state of a row proves little"
    );
}

#[test]
fn every_rule_holds_for_one_key_and_two_senders() {
    assert_every_rule_holds::<1, 2>();
}

#[test]
fn every_rule_holds_for_one_key_and_three_senders() {
    assert_every_rule_holds::<1, 3>();
}

#[test]
fn every_rule_holds_for_two_keys_and_two_senders() {
    assert_every_rule_holds::<2, 2>();
}

#[test]
fn every_rule_holds_for_two_keys_and_three_senders() {
    assert_every_rule_holds::<2, 3>();
}

#[test]
fn every_sabotage_is_found_and_every_rule_can_be_broken() {
    let mut stories = String::new();
    let mut broken = BTreeSet::new();
    for Sabotage { name, decide, protocol, breaks } in sabotage::ALL {
        let found = search(&Model::<1, 2> { rows: Rows::new(decide), protocol });
        let (rule, story) = found.expect_err(name);
        assert_eq!(rule, breaks, "{name}:\n{story}");
        broken.insert(rule);
        writeln!(stories, "If {name}:\n{story}").unwrap();
    }
    assert_eq!(stories, include_str!("stories.txt"), "the stories have changed; now they are:\n{stories}");
    assert!(broken.iter().eq(&Broken::ALL), "a rule that nothing breaks proves nothing: {broken:?}");
}
