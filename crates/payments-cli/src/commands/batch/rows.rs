//! The rows of a file, of either format, one after the other.

use std::fs::File;
use std::io::{self, BufReader};

use super::csv_rows::{CsvRows, Header};
use super::json_rows::JsonRows;
use super::row::RowRead;
use crate::batch_report::Problem;
use crate::row_file::{Format, RowFile};

/// Reads the rows.
pub(super) enum Rows {
    Csv(Box<CsvRows<BufReader<File>>>),
    JsonLines(JsonRows<BufReader<File>>),
}

impl Rows {
    /// From the first one. No rows if what is wrong with the header leaves none to be read; its problems in any case.
    pub(super) fn begin(file: &mut RowFile) -> io::Result<(Option<Self>, Vec<Problem>)> {
        let source = file.rewound()?;
        Ok(match file.format() {
            Format::Csv => {
                let Header { rows, problems } = CsvRows::begin(source)?;
                (rows.map(|rows| Self::Csv(Box::new(rows))), problems)
            }
            Format::JsonLines => (Some(Self::JsonLines(JsonRows::new(source))), Vec::new()),
        })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<RowRead>> {
        match self {
            Self::Csv(rows) => rows.next(),
            Self::JsonLines(rows) => rows.next(),
        }
    }
}
