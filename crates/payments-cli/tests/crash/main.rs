//! A billing run that is killed at random moments, against a service with random faults: nobody is charged twice.
//!
//! A [`round`] writes a billing file, arms faults in a sandbox in another process, kills `payments batch run` several
//! times, lets a run finish, and compares the journal with the sandbox's ledger. Then it resolves what is unknown, as a
//! person would, and at the end every good row is charged once. One seed determines everything but the kernel's timing.
//!
//! In some rounds, [older copies](restored) of the journal are put back between runs.
//!
//! `cargo xtask crash-test` runs the long version.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

mod billing;
mod command;
mod evidence;
mod fault_plan;
mod figures;
#[path = "../cli/http.rs"]
mod http;
mod journal;
mod kill_point;
mod one_key;
mod restored;
mod round;
mod service;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../cli/support.rs"]
mod support;

use std::env;

use figures::Figures;
use restored::Restores;

/// Chosen by this project: enough to cover every kind of fault and every kind of kill point.
const ROUNDS_OF_EVERY_CHANGE: u64 = 20;

/// Enough for several copies that are put back.
const ROUNDS_WITH_RESTORED_COPIES: u64 = 6;

#[test]
fn killed_run_charges_nobody_twice() {
    let figures = run(ROUNDS_OF_EVERY_CHANGE, seed(), Restores::Never);
    figures.assert_every_case_occurred();
}

#[test]
fn restored_copies_charge_nobody_twice_d49() {
    let figures = run(ROUNDS_WITH_RESTORED_COPIES, seed(), Restores::Noticed);
    figures.assert_copies_were_put_back();
}

/// The journal cannot notice it: these rounds show that the test would.
#[test]
fn rounds_that_put_the_witness_back_too_find_duplicates_d49() {
    let (mut figures, seed) = (Figures::default(), seed());
    let finds_a_duplicate =
        |number| round::finds_a_duplicate(seed.wrapping_add(number), Restores::Unnoticed, &mut figures);
    assert!((0..ROUNDS_OF_EVERY_CHANGE).any(finds_a_duplicate), "from seed {seed}");
}

#[test]
#[ignore = "a long run, called by `cargo xtask crash-test`"]
#[allow(clippy::print_stdout, reason = "its output is the figures")]
fn long_run() {
    let rounds = rounds();
    let figures = run(rounds, seed(), Restores::Never);
    println!("{figures:#?}");
    one_key::many_processes_send_once(rounds.div_ceil(3));
    println!("one key, 16 processes: {} rounds, one transmission each", rounds.div_ceil(3));
    figures.assert_every_case_occurred();
}

#[test]
#[ignore = "a long run, called by `cargo xtask crash-test`"]
#[allow(clippy::print_stdout, reason = "its output is the figures")]
fn long_run_with_restored_copies_d49() {
    let figures = run(rounds(), seed(), Restores::Noticed);
    println!("with older copies of the journal put back between runs\n{figures:#?}");
    figures.assert_copies_were_put_back();
}

/// `CRASH_TEST_ROUNDS`, or 300.
fn rounds() -> u64 {
    env::var("CRASH_TEST_ROUNDS").map_or(300, |text| text.parse().expect("a number of rounds"))
}

fn run(rounds: u64, seed: u64, restores: Restores) -> Figures {
    let mut figures = Figures::default();
    for number in 0..rounds {
        // Each round has its own seed, so that a failed round can be repeated alone.
        round::run(seed.wrapping_add(number), restores, &mut figures);
    }
    figures
}

/// `CRASH_TEST_SEED`, or a random seed.
fn seed() -> u64 {
    env::var("CRASH_TEST_SEED")
        .map_or_else(|_| fastrand::u64(..1 << 32), |text| text.parse().expect("a seed"))
}
