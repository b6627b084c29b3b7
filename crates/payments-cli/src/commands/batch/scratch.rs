//! What the first reading of a file leaves for the second: on disk, so that no file is too long.
//!
//! A private database without a name, which SQLite puts into a folder for temporary files as it grows and which is gone
//! with the process. It holds keys and digests, and nothing else of a row.

use rusqlite::{Connection, OptionalExtension as _, params};

/// The database.
#[derive(Debug)]
pub(super) struct Scratch(Connection);

/// What the second reading compares a row with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) digest: u64,
    /// Whether the journal says that it is not to be sent.
    pub(super) is_settled: bool,
}

impl Scratch {
    pub(super) fn new() -> rusqlite::Result<Self> {
        let connection = Connection::open("")?;
        // Nobody needs it after a crash.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4096;
             CREATE TABLE row (number INTEGER PRIMARY KEY, line INTEGER NOT NULL, key TEXT,
                               digest INTEGER NOT NULL, is_settled INTEGER NOT NULL);
             BEGIN",
        )?;
        Ok(Self(connection))
    }

    /// Keeps the row with this number, counted from 1.
    pub(super) fn keep(&self, number: u64, line: u64, key: Option<&str>, seen: Seen) -> rusqlite::Result<()> {
        let Seen { digest, is_settled } = seen;
        let mut insert = self.0.prepare_cached("INSERT INTO row VALUES (?, ?, ?, ?, ?)")?;
        insert.execute(params![
            number.cast_signed(),
            line.cast_signed(),
            key,
            digest.cast_signed(),
            is_settled
        ])?;
        Ok(())
    }

    /// Calls `tell` with the line of each row whose key stood in an earlier line, and with that line.
    pub(super) fn duplicates(&self, mut tell: impl FnMut(u64, u64)) -> rusqlite::Result<()> {
        let mut rows =
            self.0.prepare("SELECT key, line FROM row WHERE key IS NOT NULL ORDER BY key, line")?;
        let mut rows = rows.query([])?;
        let mut first: Option<(String, i64)> = None;
        while let Some(row) = rows.next()? {
            let (key, line) = (row.get_ref(0)?.as_str()?, row.get(1)?);
            match &first {
                Some((same, first)) if same == key => tell(i64::cast_unsigned(line), first.cast_unsigned()),
                _ => first = Some((key.to_owned(), line)),
            }
        }
        Ok(())
    }

    /// What was kept of the row with this number.
    pub(super) fn seen(&self, number: u64) -> rusqlite::Result<Option<Seen>> {
        let mut select = self.0.prepare_cached("SELECT digest, is_settled FROM row WHERE number = ?")?;
        let seen = |row: &rusqlite::Row<'_>| {
            Ok(Seen { digest: row.get::<_, i64>(0)?.cast_unsigned(), is_settled: row.get(1)? })
        };
        select.query_row([number.cast_signed()], seen).optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_told_with_the_line_of_the_first() {
        let scratch = Scratch::new().unwrap();
        let keys = [Some("b"), Some("a"), None, Some("b"), Some("B"), None, Some("b")];
        let seen = Seen { digest: u64::MAX, is_settled: true };
        for (number, key) in (1..).zip(keys) {
            scratch.keep(number, number * 10, key, seen).unwrap();
        }
        let mut told = Vec::new();
        scratch.duplicates(|line, first| told.push((line, first))).unwrap();
        assert_eq!(told, [(40, 10), (70, 10)]);
        assert_eq!(scratch.seen(7).unwrap(), Some(seen));
        assert_eq!(scratch.seen(8).unwrap(), None);
    }
}
