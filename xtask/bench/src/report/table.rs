use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Short;
use crate::statistics::Sample;

/// Things that are compared, a row for each, and what was measured of them, a column for each.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) title: String,
    /// The first is the heading of the names.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// Whether it is this project that is measured, so that a reader finds it.
    pub(super) is_ours: bool,
    pub(super) cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Counted, or measured once.
    Exact(f64),
    /// Measured in several turns.
    Spread { least: f64, median: f64, most: f64 },
    /// Not measured.
    Missing,
}

impl Table {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// One of our peers.
    pub(crate) fn peer(&mut self, name: &str, cells: impl IntoIterator<Item = Cell>) {
        self.push(name, false, cells);
    }

    /// This project.
    pub(crate) fn ours(&mut self, name: &str, cells: impl IntoIterator<Item = Cell>) {
        self.push(name, true, cells);
    }

    fn push(&mut self, name: &str, is_ours: bool, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<_> = cells.into_iter().collect();
        assert_eq!(cells.len() + 1, self.columns.len(), "a cell for each column, of {name}");
        self.rows.push(Row { name: name.to_owned(), is_ours, cells });
    }

    /// Lines of text, each column as wide as its widest cell.
    pub(super) fn text(&self) -> String {
        let lines = self.rows.iter().map(|row| {
            let mark = if row.is_ours { "> " } else { "  " };
            let name = format!("{mark}{}", row.name);
            std::iter::once(name).chain(row.cells.iter().map(Cell::to_string)).collect::<Vec<_>>()
        });
        let mut columns = self.columns.clone();
        columns[0].insert_str(0, "  ");
        let lines: Vec<_> = std::iter::once(columns).chain(lines).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("\n        {}\n", self.title);
        for line in &lines {
            write!(text, "      {:<1$}", line[0], widths[0]).expect("a string takes everything");
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                write!(text, "  {cell:>width$}").expect("a string takes everything");
            }
            text.push('\n');
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|Row { name, is_ours, cells }| {
            json!({ "name": name, "ours": is_ours, "cells": cells.iter().map(|cell| cell.json()).collect::<Vec<_>>() })
        });
        json!({ "title": self.title, "columns": self.columns, "rows": rows.collect::<Vec<_>>() })
    }

    /// What [`Self::json`] gave.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let mut table =
            Self { title: value["title"].as_str()?.to_owned(), columns: Vec::new(), rows: Vec::new() };
        for column in value["columns"].as_array()? {
            table.columns.push(column.as_str()?.to_owned());
        }
        for row in value["rows"].as_array()? {
            let cells = row["cells"].as_array()?.iter().map(Cell::read).collect::<Option<_>>()?;
            let (name, is_ours) = (row["name"].as_str()?.to_owned(), row["ours"].as_bool()?);
            table.rows.push(Row { name, is_ours, cells });
        }
        Some(table)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Exact(value)
    }
}

impl From<&Sample> for Cell {
    fn from(sample: &Sample) -> Self {
        Self::Spread { least: sample.least(), median: sample.median(), most: sample.most() }
    }
}

impl Cell {
    /// The one number that stands for it.
    pub(super) fn middle(self) -> Option<f64> {
        match self {
            Self::Exact(value) | Self::Spread { median: value, .. } => Some(value),
            Self::Missing => None,
        }
    }

    pub(super) fn json(self) -> Value {
        match self {
            Self::Exact(value) => json!(value),
            Self::Spread { least, median, most } => json!({ "min": least, "median": median, "max": most }),
            Self::Missing => Value::Null,
        }
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Missing),
            Value::Number(number) => number.as_f64().map(Self::Exact),
            _ => {
                let part = |name: &str| value[name].as_f64();
                Some(Self::Spread { least: part("min")?, median: part("median")?, most: part("max")? })
            }
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Exact(value) => f.write_str(&grouped(value)),
            Self::Spread { least, median, most } => {
                write!(f, "{} / {} / {}", grouped(least), grouped(median), grouped(most))
            }
            Self::Missing => f.write_str("–"),
        }
    }
}

/// Large numbers in groups of three; what is counted has nothing behind its point.
fn grouped(value: f64) -> String {
    let is_whole = value >= 10.0 && (value - value.round()).abs() < 0.01;
    let plain = if is_whole { format!("{value:.0}") } else { Short(value).to_string() };
    if plain.len() < 4 || plain.contains(['.', '-']) || !value.is_finite() {
        return plain;
    }
    let mut text = String::new();
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table with a row and a cell of each kind.
    pub(in crate::report) fn example() -> Table {
        let mut table = Table::new("A charge", &["client", "instructions", "SDK ÷ it", "calls/s"]);
        let spread = Cell::from(&Sample::from_iter([104_000.0, 98_000.0, 105_500.0]));
        table.peer("hyper & serde", [50_640.0.into(), 1.03.into(), spread]);
        table.ours("this SDK", [52_150.0.into(), Cell::Missing, Cell::Missing]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let expected = "
        A charge
        client         instructions  SDK ÷ it                     calls/s
        hyper & serde        50 640      1.03  98 000 / 104 000 / 105 500
      > this SDK             52 150         –                           –
";
        assert_eq!(example().text(), expected);
    }

    #[test]
    fn what_is_saved_is_read_again() {
        let table = example();
        let read = Table::read(&table.json()).unwrap();
        assert_eq!(read.text(), table.text());
        assert_eq!(read.json(), table.json());
    }

    #[test]
    fn long_numbers_are_grouped() {
        let shown: Vec<_> =
            [999.0, 9_999.0, 123_456.7, 1_234_567.0, 99.94, 26.004, 1.0, -12_345.0].map(grouped).into();
        assert_eq!(shown, ["999", "9 999", "123 457", "1 234 567", "99.9", "26", "1.00", "-12345"]);
    }

    #[test]
    #[should_panic(expected = "a cell for each column")]
    fn a_row_has_a_cell_for_each_column() {
        Table::new("", &["client", "instructions"]).peer("hyper", []);
    }
}
