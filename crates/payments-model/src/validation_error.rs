use std::error::Error;
use std::fmt;

use crate::Violation;

/// A value or request that breaks the rules, with **every** broken rule at once.
///
/// Nothing was sent: no money can have moved, and the same call may be made again with the fields put right.
/// The error holds field names and rules and never a value, so it is safe to print and to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    violations: Vec<Violation>,
}

impl ValidationError {
    pub(crate) fn one(field: &'static str, rule: &'static str) -> Self {
        Self { violations: vec![Violation::new(field, rule)] }
    }

    pub(crate) const fn new(violations: Vec<Violation>) -> Self {
        Self { violations }
    }

    /// The broken rules, never empty: the interface's fields in the order of its tables, then fields that it
    /// does not have.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.violations.len() {
            1 => f.write_str("1 field is invalid")?,
            count => write!(f, "{count} fields are invalid")?,
        }
        for (index, violation) in self.violations.iter().enumerate() {
            write!(f, "{} {violation}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl Error for ValidationError {}
