use std::fmt;

use crate::{Invariant, Sabotage};

/// A broken promise, with what led to it and how to see it again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Which promise.
    pub invariant: Invariant,
    /// What was seen.
    pub what: String,
    /// The seed of the one world in which it happened.
    pub seed: u64,
    /// How many charges that world has.
    pub charges: u64,
    /// What happened to the intent, in its order, and to the world meanwhile.
    pub story: Vec<String>,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) only: Option<Invariant>,
}

impl Failure {
    /// The command that shows it again, in that world alone.
    pub fn replay(&self) -> String {
        let mut command = format!("cargo xtask simulate --charges {} --seed {}", self.charges, self.seed);
        if let Some(sabotage) = self.sabotage {
            command.extend([" --sabotage ", sabotage.as_str()]);
        }
        if let Some(only) = self.only {
            command.extend([" --only ", only.as_str()]);
        }
        command
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "a promise is broken: {}", self.invariant)?;
        writeln!(f, "{}", self.what)?;
        writeln!(f, "\nwhat happened, by the world's clock:")?;
        for line in &self.story {
            writeln!(f, "{line}")?;
        }
        write!(f, "\nto see it again, seed {}:\n  {}", self.seed, self.replay())
    }
}

impl std::error::Error for Failure {}
