use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Args;

use crate::world::World;
use crate::{Failure, Figures, Invariant};

/// A search for a violated invariant over a number of charges, from one seed.
///
/// Charges are spread over worlds of a few hundred. Each world has its own fake service, clients and clock, and a seed that is
/// derived from this one. A failure can therefore be replayed in its own small world, and several threads can share the work.
/// The result does not depend on the number of threads.
#[derive(Args, Clone, Debug)]
#[must_use = "a simulation does nothing until it is run"]
pub struct Simulation {
    /// Number of payments, not counting voids and lookups.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) charges: u64,
    /// Seed of the random generator.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of threads. The result does not depend on it.
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
    /// Break the client side on purpose, so that this invariant is violated.
    #[arg(long)]
    pub(crate) sabotage: Option<Invariant>,
    /// Check only this invariant.
    #[arg(long)]
    pub(crate) only: Option<Invariant>,
}

impl Simulation {
    /// Few enough that a world runs in well under a second, enough that all kinds of calls and faults overlap.
    pub const CHARGES_PER_WORLD: u64 = 250;

    /// This number of charges from this seed, on one thread.
    pub fn new(charges: u64, seed: u64) -> Self {
        Self { seed, charges, threads: NonZeroUsize::MIN, sabotage: None, only: None }
    }

    /// Shares the worlds between this number of threads.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Breaks the client side on purpose, so that this invariant is violated. The run must find it.
    pub fn sabotage(mut self, invariant: Invariant) -> Self {
        self.sabotage = Some(invariant);
        self
    }

    /// Checks only this invariant.
    pub fn only(mut self, invariant: Invariant) -> Self {
        self.only = Some(invariant);
        self
    }

    /// Runs the simulation.
    ///
    /// # Errors
    ///
    /// The violation in the first world that has one.
    pub fn run(&self) -> Result<Figures, Failure> {
        let worlds = self.charges.div_ceil(Self::CHARGES_PER_WORLD);
        let next = AtomicU64::new(0);
        let first_broken = AtomicU64::new(u64::MAX);
        let ended = Mutex::new(Vec::new());
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= worlds || index > first_broken.load(Ordering::Relaxed) {
                    return;
                }
                let result = self.run_world(index);
                if result.is_err() {
                    first_broken.fetch_min(index, Ordering::Relaxed);
                }
                ended.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.threads.get() {
                scope.spawn(work);
            }
            work();
        });
        let mut ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Digests are combined in the order of the worlds, whichever finished first.
        ended.sort_by_key(|(index, _)| *index);
        let mut figures = Figures::default();
        for (_, result) in ended {
            figures.add(result?);
        }
        Ok(figures)
    }

    fn run_world(&self, index: u64) -> Result<Figures, Failure> {
        let charges = Self::CHARGES_PER_WORLD.min(self.charges - index * Self::CHARGES_PER_WORLD);
        let seed = self.seed_of_world(index);
        let world = Self { charges, seed, threads: NonZeroUsize::MIN, ..self.clone() };
        World::new(&world).run().map_err(|(violation, trace)| Failure {
            invariant: violation.invariant,
            what: violation.what,
            trace,
            world,
        })
    }

    /// The first world uses the simulation's own seed, so that each world can be run alone.
    fn seed_of_world(&self, index: u64) -> u64 {
        if index == 0 {
            return self.seed;
        }
        // Mixed twice, so that consecutive seeds share no worlds.
        let mixed = fastrand::Rng::with_seed(self.seed).u64(..);
        fastrand::Rng::with_seed(mixed.wrapping_add(index)).u64(..)
    }
}

/// The command that runs it.
impl fmt::Display for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { charges, seed, sabotage, only, .. } = self;
        write!(f, "cargo xtask simulate --charges {charges} --seed {seed}")?;
        for (option, invariant) in [("--sabotage", sabotage), ("--only", only)] {
            if let Some(invariant) = invariant {
                write!(f, " {option} {invariant}")?;
            }
        }
        Ok(())
    }
}
