//! The file of a billing run: a header with the interface's names and `Key`, then a row for each charge. It is read once, into
//! memory: a run sends exactly the rows that it has checked.

mod header;
mod row;

use std::path::Path;

pub(super) use self::header::refuse_ignored_fields;
pub(super) use self::row::{LikeCards, Row, RowRead, Rows};
use crate::failure::Failure;
use crate::report::problems::{Problem, Role};
use crate::row_file::RowFile;
use crate::settings::{JournalPlace, KnownKeys};

/// The whole file.
#[derive(Debug)]
pub(super) struct BillingFile {
    file: RowFile,
    /// Columns that are not read.
    ignored: Vec<String>,
}

impl BillingFile {
    /// Reads the file, without the columns to ignore.
    pub(super) fn read(path: &Path, ignored: Vec<String>, place: &JournalPlace) -> Result<Self, Failure> {
        let file = RowFile::read(path, Role::BillingRun, place)?;
        if file.is_json_lines {
            let why = " is JSON Lines by its name or its first letter, and must be CSV";
            return Err(Role::BillingRun.refused(why));
        }
        Ok(Self { file, ignored })
    }

    /// The file's name, if it may be shown.
    pub(super) fn name(&self) -> Option<&str> {
        self.file.name.as_deref()
    }

    /// The rows from the start, and the problems of the header. No rows if those make the rows unreadable. A text that contains
    /// one of the keys is a problem.
    pub(super) fn rows<'a>(&'a self, api_keys: &'a KnownKeys) -> (Option<Rows<'a>>, Vec<Problem>) {
        let table = match self.file.table(b',') {
            Ok(table) => table,
            Err(problem) => return (None, vec![problem]),
        };
        let (columns, problems) = header::columns(&table, &self.ignored, api_keys);
        (columns.map(|columns| Rows::new(table, columns, api_keys)), problems)
    }

    /// The rows that are not settled, of a file whose rows were all checked.
    pub(super) fn unsettled<'a>(
        &'a self,
        is_settled: Vec<bool>,
        api_keys: &'a KnownKeys,
    ) -> impl Iterator<Item = Row> + 'a {
        let mut rows = self.rows(api_keys).0.expect("the header was checked");
        is_settled.into_iter().filter_map(move |is_settled| {
            if is_settled {
                rows.skip_one();
                return None;
            }
            let read = rows.next().expect("every row was counted");
            Some(read.content.expect("every row was checked"))
        })
    }
}
