//! What the simulation shows in the tests of every day, and that it can fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::num::NonZeroUsize;

use payments_simulation::{Failure, Figures, Invariant, Sabotage, Simulation};

/// Its time is bounded by the test runner's own limit alone: on two idle cores it takes well under a minute.
#[test]
fn a_hundred_thousand_charges_break_no_promise_d20() {
    let figures = found_nothing(&Simulation::new(100_000, 1).threads(NonZeroUsize::new(2).unwrap()));
    println!("{figures}");
    assert_eq!(figures.charges, 100_000);
    let missing = figures.coverage.missing();
    assert!(
        missing.is_empty(),
        "possible, and did not happen: {missing:?}; if another seed does not show it either, `Cause::endings` says too much"
    );
}

#[test]
fn one_seed_gives_one_run_on_any_number_of_threads() {
    let digest = |seed, threads| {
        let simulation = Simulation::new(1_100, seed).threads(NonZeroUsize::new(threads).unwrap());
        let figures = found_nothing(&simulation);
        (figures.digest, figures.steps)
    };
    assert_eq!(digest(3, 1), digest(3, 1));
    assert_eq!(digest(3, 1), digest(3, 3));
    assert_ne!(digest(3, 1), digest(4, 1));
}

#[test]
fn the_worlds_of_one_seed_are_not_those_of_the_next() {
    // Two worlds each, of which the seed's own is the first.
    let charges = 2 * Simulation::CHARGES_PER_WORLD;
    let second = |seed| {
        let both = found_nothing(&Simulation::new(charges, seed)).steps;
        both - found_nothing(&Simulation::new(charges / 2, seed)).steps
    };
    let first = |seed| found_nothing(&Simulation::new(charges / 2, seed)).steps;
    for seed in 1..4 {
        assert_ne!(second(seed), first(seed + 1));
        assert_ne!(second(seed), second(seed + 1));
    }
}

/// Each invariant finds what breaks it, even if nothing else is looked at.
#[test]
fn every_invariant_can_fail() {
    for (sabotage, invariant) in Sabotage::ALL {
        let failure = found(&Simulation::new(5_000, 1).sabotage(sabotage).only(invariant), sabotage);
        assert_eq!(failure.invariant, invariant, "{failure}");
    }
    for invariant in Invariant::ALL {
        assert!(Sabotage::ALL.iter().any(|(_, broken)| *broken == invariant), "nothing breaks {invariant}");
    }
}

#[test]
fn nothing_that_is_broken_is_passed_over_when_everything_is_looked_at() {
    for (sabotage, _) in Sabotage::ALL {
        found(&Simulation::new(5_000, 1).sabotage(sabotage), sabotage);
    }
}

#[test]
fn a_failure_is_seen_again_in_its_own_world() {
    let sabotage = Sabotage::SendsTwice;
    let search = |charges, seed| {
        let search = Simulation::new(charges, seed).sabotage(sabotage).only(Invariant::PostedAtMostOnce);
        found(&search, sabotage)
    };
    let failure = search(5_000, 9);
    let again = search(failure.charges, failure.seed);
    assert_eq!((&again.what, &again.story), (&failure.what, &failure.story));
    let text = failure.to_string();
    let command = format!(
        "cargo xtask simulate --charges {} --seed {} --sabotage sends-twice --only posted-at-most-once",
        failure.charges, failure.seed
    );
    assert!(text.ends_with(&command), "{text}");
    let received = text.matches("the service receives the whole request").count();
    assert_eq!(received, 2, "the story tells of both: {text}");
}

fn found_nothing(simulation: &Simulation) -> Figures {
    simulation.run().unwrap_or_else(|failure| panic!("{failure}"))
}

fn found(simulation: &Simulation, sabotage: Sabotage) -> Failure {
    match simulation.run() {
        Ok(_) => panic!("{sabotage} was not found"),
        Err(failure) => failure,
    }
}
