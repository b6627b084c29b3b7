//! An exhaustive check of the journal's rules: every state that senders, crashes, lost replies, purges and persons can reach.
//!
//! The real `Change::decide` makes each change of a row. The number of attempts, crashes, purges and resolutions is not
//! bounded: with canonical names the number of states is finite, and the search ends when it finds no new state.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod model;
mod replay;
mod rows;
mod rules;
mod sabotage;
mod search;
mod state;
mod trace;

use std::collections::BTreeSet;
use std::fmt::Write;

use model::{Model, Protocol};
use payments_journal::StateName;
use rows::{Rows, real_decide};
use rules::Broken;
use sabotage::Sabotage;
use search::search;

#[expect(clippy::print_stdout, reason = "the figures of docs/how-we-know.md")]
fn assert_every_rule_holds<const KEYS: usize, const SENDERS: usize>() {
    let (rows, protocol) = (Rows::new(real_decide, KEYS == 1), Protocol::Correct);
    let model = Model::<KEYS, SENDERS> { rows, protocol };
    match search(&model) {
        Ok(stats) => println!("{KEYS} keys, {SENDERS} senders: {stats:?}"),
        Err((_, trace)) => panic!("{trace}"),
    }
    let is_met = |name: &StateName| model.rows.all().iter().any(|row| row.state.name() == *name);
    assert!(StateName::ALL.iter().all(is_met), "the search must reach every state of a row");
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
    let mut traces = String::new();
    let mut broken = BTreeSet::new();
    for Sabotage { name, decide, protocol, breaks } in sabotage::ALL {
        let found = search(&Model::<1, 2> { rows: Rows::new(decide, true), protocol });
        let (rule, trace) = found.expect_err(name);
        assert_eq!(rule, breaks, "{name}:\n{trace}");
        broken.insert(rule);
        writeln!(traces, "If {name}:\n{trace}").unwrap();
    }
    assert_eq!(traces, include_str!("traces.txt"), "the traces have changed; now they are:\n{traces}");
    assert!(
        broken.iter().eq(Broken::ALL.iter().map(|(rule, _)| rule)),
        "every rule must be broken by a sabotage: {broken:?}"
    );
}
