use std::fmt;

use crate::{Invariant, Simulation};

/// A violated invariant, with the events that led to it and the command that reproduces it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The violated invariant.
    pub invariant: Invariant,
    /// What was seen.
    pub what: String,
    /// The events of the intent, and of the world meanwhile, in order.
    pub trace: Vec<String>,
    /// The world in which it happened, alone. It fails in the same way.
    pub world: Simulation,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, what, trace, world } = self;
        let events = trace.join("\n");
        write!(f, "invariant violated: {invariant}\n{what}\n\nevents, by the world's clock:\n{events}\n\n")?;
        write!(f, "to reproduce it:\n  {world}")
    }
}

impl std::error::Error for Failure {}
