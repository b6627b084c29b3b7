use std::fmt;

use crate::statistics::Sample;

/// Figures as they are measured, each printed at once beside its goal.
#[derive(Debug, Default)]
pub(crate) struct Report {
    met: u32,
    missed: u32,
    not_measured: u32,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
    /// It is worth knowing, and nobody has promised anything.
    None,
}

impl Goal {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(goal) => value >= goal,
            Self::AtMost(goal) => value <= goal,
            Self::Below(goal) => value < goal,
            Self::None => true,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(goal) => write!(f, "at least {goal}"),
            Self::AtMost(goal) => write!(f, "at most {goal}"),
            Self::Below(goal) => write!(f, "below {goal}"),
            Self::None => f.write_str("no goal"),
        }
    }
}

impl Report {
    /// A figure in `unit`, and what a reader may want to know about how it came about.
    pub(crate) fn figure(&mut self, name: &str, value: f64, unit: &str, goal: Goal, note: &str) {
        let verdict = match goal {
            Goal::None => "-",
            _ if goal.is_met_by(value) => {
                self.met += 1;
                "ok"
            }
            _ => {
                self.missed += 1;
                "MISSED"
            }
        };
        let value = format!("{} {unit}", Short(value));
        println!("{}", line(verdict, name, &value, &goal.to_string(), note));
    }

    /// A figure that was measured several times: the median counts, and the extremes are told.
    pub(crate) fn spread(&mut self, name: &str, sample: &Sample, unit: &str, goal: Goal, note: &str) {
        let extremes = format!("from {} to {}", Short(sample.least()), Short(sample.most()));
        let note = if note.is_empty() { extremes } else { format!("{extremes}; {note}") };
        self.figure(name, sample.median(), unit, goal, &note);
    }

    /// A figure that cannot be had here.
    pub(crate) fn not_measured(&mut self, name: &str, why: &str) {
        self.not_measured += 1;
        println!("{}", line("-", name, "not measured", "", why));
    }

    /// Ends the report; says how many goals were missed.
    pub(crate) fn close(self) -> u32 {
        let Self { met, missed, not_measured } = self;
        println!("\ngoals: {met} met, {missed} missed; figures not measured: {not_measured}");
        missed
    }
}

fn line(verdict: &str, name: &str, value: &str, goal: &str, note: &str) -> String {
    format!("{verdict:>6}  {name:<52}  {value:>16}  {goal:<12}  {note}").trim_end().to_owned()
}

/// A number with three digits that count, or all before the point.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = *self;
        let decimals = match value.abs() {
            100.0.. => 0,
            10.0.. => 1,
            _ => 2,
        };
        write!(f, "{value:.decimals$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_at_its_bound_unless_the_value_must_be_below() {
        assert!(Goal::AtLeast(0.6).is_met_by(0.6) && !Goal::AtLeast(0.6).is_met_by(0.59));
        assert!(Goal::AtMost(1.0).is_met_by(1.0) && !Goal::AtMost(1.0).is_met_by(1.01));
        assert!(Goal::Below(100.0).is_met_by(99.9) && !Goal::Below(100.0).is_met_by(100.0));
    }

    #[test]
    fn what_is_no_number_meets_no_goal() {
        assert!(!Goal::AtLeast(0.0).is_met_by(f64::NAN) && !Goal::AtMost(0.0).is_met_by(f64::NAN));
    }

    #[test]
    fn only_missed_goals_count_as_missed() {
        let mut report = Report::default();
        report.figure("a", 1.0, "", Goal::AtLeast(2.0), "");
        report.figure("b", 3.0, "", Goal::AtLeast(2.0), "");
        report.figure("c", 0.0, "", Goal::None, "");
        report.not_measured("d", "");
        assert_eq!(report.close(), 1);
    }

    #[test]
    fn numbers_are_as_long_as_they_are_worth() {
        let shown: Vec<_> =
            [0.615, 9.994, 12.34, 99.94, 12_345.6, 0.0].map(|value| Short(value).to_string()).into();
        assert_eq!(shown, ["0.61", "9.99", "12.3", "99.9", "12346", "0.00"]);
    }
}
