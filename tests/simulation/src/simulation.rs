use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::world::World;
use crate::{Failure, Figures, Invariant, Sabotage};

/// A search for a broken promise: so many charges, from one seed.
///
/// Charges are spread over worlds of a few hundred, each with a fake service, clients and a clock of its own and a seed
/// that follows from this one. So a failure is replayed in its own small world, and several threads can share the work:
/// the result does not depend on how many there are.
#[derive(Clone, Debug)]
#[must_use = "a simulation does nothing until it is run"]
pub struct Simulation {
    seed: u64,
    charges: u64,
    threads: NonZeroUsize,
    sabotage: Option<Sabotage>,
    only: Option<Invariant>,
}

impl Simulation {
    /// Chosen so that a world is run in well under a second and still sees everything at once.
    pub const CHARGES_PER_WORLD: u64 = 250;

    /// So many charges from this seed, on one thread.
    pub fn new(charges: u64, seed: u64) -> Self {
        Self { seed, charges, threads: NonZeroUsize::MIN, sabotage: None, only: None }
    }

    /// Shares the worlds between this many threads.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Puts a fault into the client's side, which must be found.
    pub fn sabotage(mut self, sabotage: Sabotage) -> Self {
        self.sabotage = Some(sabotage);
        self
    }

    /// Looks for this one broken promise and passes the others over.
    pub fn only(mut self, invariant: Invariant) -> Self {
        self.only = Some(invariant);
        self
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// The broken promise of the first world in which one was found.
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
        // Digests are joined in the order of the worlds, whoever was first.
        ended.sort_by_key(|(index, _)| *index);
        let mut figures = Figures::default();
        for (_, result) in ended {
            figures.add(&result?);
        }
        Ok(figures)
    }

    fn run_world(&self, index: u64) -> Result<Figures, Failure> {
        let charges = Self::CHARGES_PER_WORLD.min(self.charges - index * Self::CHARGES_PER_WORLD);
        let seed = self.seed_of_world(index);
        let world = World::new(seed, charges, self.sabotage, self.only);
        world.run().map_err(|broken| Failure {
            invariant: broken.violation.invariant,
            what: broken.violation.what,
            seed,
            charges,
            story: broken.story,
            sabotage: self.sabotage,
            only: self.only,
        })
    }

    /// The first world's seed is the simulation's own, so that each world can be run alone.
    fn seed_of_world(&self, index: u64) -> u64 {
        if index == 0 {
            return self.seed;
        }
        // Mixed twice, so that the worlds of one seed are not those of the next.
        let mixed = fastrand::Rng::with_seed(self.seed).u64(..);
        fastrand::Rng::with_seed(mixed.wrapping_add(index)).u64(..)
    }
}
