//! A billing run that is killed at any moment, against a service on which anything may go wrong: whom did it charge?
//!
//! A [`round`] makes a billing file, arms faults in a sandbox in another process, kills `payments batch run` again and
//! again, lets it end, and holds the journal against the sandbox's ledger. Then a person resolves what is unknown, and
//! at the end everybody is charged once. All chance comes from one seed, but for the moments of the kernel.
//!
//! `cargo xtask crash-test` is the long run.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

mod billing;
mod books;
mod command;
mod figures;
mod gate;
#[path = "../cli/http.rs"]
mod http;
mod one_key;
mod round;
mod service;
mod verdict;
mod weather;

use std::env;

use figures::Figures;

/// Chosen by this project: enough to see each kind of fault, and every kind of moment to be killed at.
const ROUNDS_OF_EVERY_CHANGE: u64 = 20;

#[test]
fn a_run_that_is_killed_at_any_moment_charges_nobody_twice() {
    let figures = run(ROUNDS_OF_EVERY_CHANGE, seed());
    figures.assert_meant_something();
}

#[test]
#[ignore = "the long run, called by `cargo xtask crash-test`"]
#[allow(clippy::print_stdout, reason = "it speaks to the person who ran it")]
fn the_long_run() {
    let rounds = env::var("CRASH_TEST_ROUNDS").map_or(300, |text| text.parse().expect("a number of rounds"));
    let figures = run(rounds, seed());
    println!("{figures}");
    one_key::many_processes_send_once(rounds.div_ceil(3));
    println!("one key, 16 processes: {} rounds, one transmission each", rounds.div_ceil(3));
    figures.assert_meant_something();
}

fn run(rounds: u64, seed: u64) -> Figures {
    let mut figures = Figures::default();
    for number in 0..rounds {
        // Each round has a seed of its own, so that one that failed can be had again alone.
        round::run(seed.wrapping_add(number), &mut figures);
    }
    figures
}

/// That of `CRASH_TEST_SEED`, or another one each time.
fn seed() -> u64 {
    env::var("CRASH_TEST_SEED")
        .map_or_else(|_| fastrand::u64(..1 << 32), |text| text.parse().expect("a seed"))
}
