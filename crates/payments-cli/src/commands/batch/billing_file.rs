//! The file of a billing run. It is read once, into memory, so that exactly what was checked is sent.

use std::path::Path;

use zeroize::Zeroizing;

use super::rows::{IsSecret, Row, Rows};
use crate::failure::Failure;
use crate::problems::{Problem, Role};
use crate::row_file::{Format, RowFile};

/// The whole file.
#[derive(Debug)]
pub(super) struct BillingFile {
    /// Wiped when they are dropped: a mixed-up file may have card numbers.
    bytes: Zeroizing<Vec<u8>>,
    /// Columns that are not read.
    ignored: Vec<String>,
    /// The file's name, if it may be shown.
    pub(super) name: Option<String>,
}

/// Chosen by this command: two or three million rows, in less memory than a small machine has.
const LARGEST_MIB: u64 = 256;

impl BillingFile {
    /// Reads the file, without the columns to ignore. Refuses one that is written to in the meantime.
    pub(super) fn read(path: &Path, ignored: Vec<String>) -> Result<Self, Failure> {
        let role = Role::BillingRun;
        let mut file = RowFile::open(path, role)?;
        if file.format() == Format::JsonLines {
            return Err(role.refused(" is JSON Lines by its name or its first letter, and must be CSV"));
        }
        if file.length() > LARGEST_MIB << 20 {
            let why = format!(" is larger than {LARGEST_MIB} MiB and would not fit into memory: split it");
            return Err(role.refused(&why));
        }
        let read = file.bytes();
        let bytes = read.map_err(|error| role.refused(" cannot be read").with_cause(&error))?;
        let Some(bytes) = bytes else {
            let message = "the file of the billing run was written to while it was read; nothing was sent: \
                           run it again when it is complete";
            return Err(Failure::not_processed("file_changed", message));
        };
        Ok(Self { bytes, ignored, name: file.name })
    }

    /// The rows from the start, and the problems of the header. No rows if those make the rows unreadable.
    pub(super) fn rows(&self, is_secret: IsSecret<'_>) -> (Option<Rows<'_>>, Vec<Problem>) {
        Rows::begin(&self.bytes, &self.ignored, is_secret)
    }

    /// The rows that are not settled, of a file whose rows were all checked.
    pub(super) fn unsettled(&self, is_settled: Vec<bool>) -> impl Iterator<Item = Row> {
        let mut rows = self.rows(&|_| false).0.expect("the header was checked");
        is_settled.into_iter().filter_map(move |is_settled| {
            if is_settled {
                rows.skip();
                return None;
            }
            let read = rows.next(&|_| false).expect("every row was counted");
            Some(read.content.expect("every row was checked"))
        })
    }
}
