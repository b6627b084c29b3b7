//! The figures: each is printed as soon as it is known, and all can be written as JSON.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::Serialize;

/// The figures of a run, and the size of its measurements.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    is_smoke: bool,
    #[serde(skip)]
    benchmark: &'static str,
    profile: &'static str,
    processors: Option<usize>,
    figures: Vec<Figure>,
}

#[derive(Debug, Serialize)]
struct Figure {
    benchmark: &'static str,
    name: String,
    value: f64,
    unit: &'static str,
    goal: Option<Goal>,
    is_met: bool,
    note: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Report {
    pub(crate) fn new(is_smoke: bool) -> Self {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let processors = std::thread::available_parallelism().ok().map(Into::into);
        let warning = if is_smoke { "; tiny counts: the figures mean nothing" } else { "" };
        println!("{profile} build, processors: {processors:?}{warning}");
        Self { is_smoke, benchmark: "", profile, processors, figures: Vec::new() }
    }

    pub(crate) fn begin(&mut self, benchmark: &'static str) {
        println!("\n{benchmark}");
        self.benchmark = benchmark;
    }

    /// The full amount, or the small one in a smoke test.
    pub(crate) fn amount(&self, full: u32, smoke: u32) -> u32 {
        if self.is_smoke { smoke } else { full }
    }

    pub(crate) fn is_smoke(&self) -> bool {
        self.is_smoke
    }

    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        goal: Option<Goal>,
        note: impl Into<String>,
    ) {
        let is_met = goal.is_none_or(|goal| goal.is_met_by(value));
        let figure = Figure {
            benchmark: self.benchmark,
            name: name.into(),
            value,
            unit,
            goal,
            is_met,
            note: note.into(),
        };
        println!("{figure}");
        self.figures.push(figure);
    }

    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        Ok(fs::write(file, serde_json::to_vec_pretty(self)?)?)
    }

    /// Prints the missed goals, and returns whether all goals are met.
    pub(crate) fn close(&self) -> bool {
        let goals = self.figures.iter().filter(|figure| figure.goal.is_some());
        let missed: Vec<_> = self.figures.iter().filter(|figure| !figure.is_met).collect();
        println!("\ngoals: {} of {} missed", missed.len(), goals.count());
        for figure in &missed {
            println!("{figure}");
        }
        missed.is_empty()
    }
}

impl Goal {
    /// A figure that could not be measured is NaN, which meets no goal.
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_met { " " } else { "!" };
        let goal = match self.goal {
            Some(Goal::AtMost(most)) => format!("≤ {}", short(most)),
            Some(Goal::AtLeast(least)) => format!("≥ {}", short(least)),
            None => String::new(),
        };
        let Self { name, value, unit, note, .. } = self;
        write!(f, "{mark} {name:<52} {:>10} {unit:<22} {goal:<8} {note}", short(*value))
    }
}

/// Formats a number with about three digits.
pub(crate) fn short(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 { 0 } else { usize::from(value.abs() < 10.0) + 1 };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_that_is_just_met_passes_and_nan_does_not() {
        assert!(Goal::AtMost(1.0).is_met_by(1.0) && !Goal::AtMost(1.0).is_met_by(1.01));
        assert!(Goal::AtLeast(1.0).is_met_by(1.0) && !Goal::AtLeast(1.0).is_met_by(0.99));
        assert!(!Goal::AtMost(1.0).is_met_by(f64::NAN) && !Goal::AtLeast(1.0).is_met_by(f64::NAN));
    }

    #[test]
    fn one_missed_goal_is_a_failure() {
        let mut report = Report::new(true);
        report.begin("call");
        report.add("a", 1.0, "", Some(Goal::AtMost(2.0)), "");
        assert!(report.close());
        report.add("b", 3.0, "", Some(Goal::AtMost(2.0)), "");
        assert!(!report.close());
    }

    #[test]
    fn numbers_are_shortened() {
        assert_eq!([1_234.5, 99.94, 9.999, 0.5].map(short), ["1234", "99.9", "10.00", "0.50"]);
    }
}
