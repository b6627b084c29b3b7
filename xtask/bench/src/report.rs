//! Figures and tables as they are measured, each printed at once, and saved as data where that is asked for.

mod machine;
mod picture;
mod table;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::statistics::Sample;

use machine::Machine;
pub(crate) use picture::draw_saved;
pub(crate) use table::{Cell, Table};

/// What was measured, each figure beside its goal.
#[derive(Debug, Default)]
pub(crate) struct Report {
    sections: Vec<Section>,
}

/// The answer to one question.
#[derive(Debug)]
struct Section {
    name: String,
    about: String,
    figures: Vec<Figure>,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Figure {
    name: String,
    /// What it is, and its unit; none if it cannot be had here.
    value: Option<(Cell, String)>,
    goal: Goal,
    note: String,
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

    fn json(self) -> Value {
        match self {
            Self::AtLeast(goal) => json!({ "at_least": goal }),
            Self::AtMost(goal) => json!({ "at_most": goal }),
            Self::Below(goal) => json!({ "below": goal }),
            Self::None => Value::Null,
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
    /// What follows answers this question.
    pub(crate) fn begin(&mut self, name: &str, about: &str) {
        println!("\n── {name}: {about}");
        let (name, about) = (name.to_owned(), about.to_owned());
        self.sections.push(Section { name, about, figures: Vec::new(), tables: Vec::new() });
    }

    /// A figure in `unit`, and what a reader may want to know about how it came about.
    pub(crate) fn figure(&mut self, name: &str, value: f64, unit: &str, goal: Goal, note: &str) {
        self.push(name, Some((value.into(), unit.to_owned())), goal, note);
    }

    /// A figure that was measured several times: the median counts, and the extremes are told.
    pub(crate) fn spread(&mut self, name: &str, sample: &Sample, unit: &str, goal: Goal, note: &str) {
        self.push(name, Some((sample.into(), unit.to_owned())), goal, note);
    }

    /// A figure that cannot be had here.
    pub(crate) fn not_measured(&mut self, name: &str, why: &str) {
        self.push(name, None, Goal::None, why);
    }

    /// Things beside each other.
    pub(crate) fn table(&mut self, table: Table) {
        println!("{}", table.text());
        self.section().tables.push(table);
    }

    /// Writes what each question was answered into a file of its name in [`results`], and its tables as a picture beside it.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        let machine = Machine::here();
        for section in &self.sections {
            section.save(&results(), &machine)?;
        }
        Ok(())
    }

    /// Ends the report; says how many goals were missed.
    pub(crate) fn close(self) -> usize {
        let figures = || self.sections.iter().flat_map(|section| &section.figures);
        let count = |met| figures().filter(|figure| figure.is_met() == Some(met)).count();
        let (met, missed) = (count(true), count(false));
        let not_measured = figures().filter(|figure| figure.value.is_none()).count();
        println!("\ngoals: {met} met, {missed} missed; figures not measured: {not_measured}");
        missed
    }

    fn push(&mut self, name: &str, value: Option<(Cell, String)>, goal: Goal, note: &str) {
        let figure = Figure { name: name.to_owned(), value, goal, note: note.to_owned() };
        println!("{figure}");
        self.section().figures.push(figure);
    }

    fn section(&mut self) -> &mut Section {
        self.sections.last_mut().expect("a question has been asked")
    }
}

/// The folder of what was saved.
pub(crate) fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

impl Section {
    fn save(&self, folder: &Path, machine: &Machine) -> anyhow::Result<()> {
        let saved = self.json(machine);
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.json", self.name));
        let written = std::fs::write(&path, format!("{saved:#}\n")).and_then(|()| {
            let Some(picture) = picture::draw(&saved) else { return Ok(()) };
            std::fs::write(path.with_extension("svg"), picture)
        });
        written.with_context(|| format!("cannot save to {}", path.display()))
    }

    fn json(&self, machine: &Machine) -> Value {
        json!({
            "question": self.name,
            "about": self.about,
            "command": format!("cargo xtask bench {} --save", self.name),
            "measured": machine.json(),
            "figures": self.figures.iter().map(Figure::json).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(Table::json).collect::<Vec<_>>(),
        })
    }
}

impl Figure {
    /// None if there is nothing that could be met, or nothing was measured.
    fn is_met(&self) -> Option<bool> {
        let (value, _) = self.value.as_ref()?;
        match self.goal {
            Goal::None => None,
            goal => Some(value.middle().is_some_and(|value| goal.is_met_by(value))),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value.as_ref().map(|(value, _)| value.json()),
            "unit": self.value.as_ref().map(|(_, unit)| unit),
            "goal": self.goal.json(),
            "met": self.is_met(),
            "note": self.note,
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.is_met() {
            None => "-",
            Some(true) => "ok",
            Some(false) => "MISSED",
        };
        let Some((cell, unit)) = &self.value else {
            return f.write_str(&line(verdict, &self.name, "not measured", "", &self.note));
        };
        let value = cell.middle().map_or_else(String::new, |value| format!("{} {unit}", Short(value)));
        let note = match *cell {
            Cell::Spread { least, most, .. } => {
                let separator = if self.note.is_empty() { "" } else { "; " };
                format!("from {} to {}{separator}{}", Short(least), Short(most), self.note)
            }
            _ => self.note.clone(),
        };
        f.write_str(&line(verdict, &self.name, &value, &self.goal.to_string(), &note))
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

    fn example() -> Report {
        let mut report = Report::default();
        report.begin("call", "what a call costs");
        report.figure("a", 1.0, "KiB", Goal::AtLeast(2.0), "because");
        report.spread("b", &Sample::from_iter([3.0, 2.0, 4.0]), "ms", Goal::AtLeast(2.0), "why");
        report.figure("c", 0.0, "", Goal::None, "");
        report.not_measured("d", "it is not here");
        report
    }

    #[test]
    fn only_missed_goals_count_as_missed() {
        assert_eq!(example().close(), 1);
    }

    #[test]
    fn a_line_tells_what_was_measured_and_how_it_stands() {
        let report = example();
        let lines: Vec<_> = report.sections[0].figures.iter().map(ToString::to_string).collect();
        let words: Vec<_> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            words,
            [
                "MISSED a 1.00 KiB at least 2 because",
                "ok b 3.00 ms at least 2 from 2.00 to 4.00; why",
                "- c 0.00 no goal",
                "- d not measured it is not here",
            ]
        );
    }

    #[test]
    fn what_is_saved_is_what_was_printed() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = example();
        report.table(table::tests::example());
        report.sections[0].save(folder.path(), &Machine::here()).unwrap();

        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let saved: Value = serde_json::from_str(&read("call.json")).unwrap();
        assert_eq!(saved["question"], "call");
        assert_eq!(saved["command"], "cargo xtask bench call --save");
        let goal = json!({ "at_least": 2.0 });
        assert_eq!(
            saved["figures"][0],
            json!({ "name": "a", "value": 1.0, "unit": "KiB", "goal": goal, "met": false, "note": "because" })
        );
        assert_eq!(saved["figures"][1]["value"], json!({ "min": 2.0, "median": 3.0, "max": 4.0 }));
        assert_eq!(saved["figures"][3]["value"], Value::Null);
        assert_eq!(saved["tables"][0], table::tests::example().json());
        assert!(read("call.svg").starts_with("<svg "));
    }

    #[test]
    fn numbers_are_as_long_as_they_are_worth() {
        let shown: Vec<_> =
            [0.615, 9.994, 12.34, 99.94, 12_345.6, 0.0].map(|value| Short(value).to_string()).into();
        assert_eq!(shown, ["0.61", "9.99", "12.3", "99.9", "12346", "0.00"]);
    }
}
