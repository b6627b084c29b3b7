use std::fmt::{self, Write as _};

use crate::{Invariant, Sabotage};

/// A violated invariant, with the events that led to it and the command that reproduces it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The violated invariant.
    pub invariant: Invariant,
    /// What was seen.
    pub what: String,
    /// The seed of the world in which it happened.
    pub seed: u64,
    /// The number of charges in that world.
    pub charges: u64,
    /// The events of the intent, and of the world meanwhile, in order.
    pub trace: Vec<String>,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) only: Option<Invariant>,
}

impl Failure {
    /// The command that reproduces it in that world alone.
    pub fn replay(&self) -> String {
        let mut command = format!("cargo xtask simulate --charges {} --seed {}", self.charges, self.seed);
        if let Some(sabotage) = self.sabotage {
            write!(command, " --sabotage {sabotage}").expect("a string takes any text");
        }
        if let Some(only) = self.only {
            write!(command, " --only {only}").expect("a string takes any text");
        }
        command
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "invariant violated: {}", self.invariant)?;
        writeln!(f, "{}", self.what)?;
        writeln!(f, "\nevents, by the world's clock:")?;
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        write!(f, "\nto reproduce it, with seed {}:\n  {}", self.seed, self.replay())
    }
}

impl std::error::Error for Failure {}
