//! Rows of JSON Lines: one object in each line, with the interface's names and `Key`.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead};

use payments_model::unversioned::RequestMembers;

use super::row::{Draft, KEY, REFERENCE, RowRead};
use crate::batch_report::Problem;
use crate::csv_file::LONGEST_ROW;

/// Reads the rows one by one, in the memory of one row.
pub(super) struct JsonRows<R> {
    source: R,
    /// The line that comes next.
    line: u64,
    text: Vec<u8>,
}

impl<R: BufRead> JsonRows<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, line: 1, text: Vec::new() }
    }

    /// The next row, `None` at the end. Blank lines are no rows.
    pub(super) fn next(&mut self) -> io::Result<Option<RowRead>> {
        loop {
            let line = self.line;
            let Some(is_whole) = self.next_line()? else { return Ok(None) };
            let digest = digest(&self.text);
            if !is_whole {
                let rule = format!("must be at most {} KiB", LONGEST_ROW / 1024);
                let content = Err(vec![Problem::new(line, "row", rule)]);
                return Ok(Some(RowRead { line, digest, key: None, content }));
            }
            let text = self.text.trim_ascii();
            if !text.is_empty() {
                return Ok(Some(read(text, line, digest)));
            }
        }
    }

    /// Reads a line, and says whether all of it was kept; `None` at the end of the file.
    fn next_line(&mut self) -> io::Result<Option<bool>> {
        self.text.clear();
        let (mut is_whole, mut has_begun) = (true, false);
        loop {
            let piece = self.source.fill_buf()?;
            if piece.is_empty() {
                return Ok(has_begun.then_some(is_whole));
            }
            has_begun = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = &piece[..end.unwrap_or(piece.len())];
            is_whole &= self.text.len() + part.len() <= LONGEST_ROW;
            if is_whole {
                self.text.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                self.line += 1;
                return Ok(Some(is_whole));
            }
        }
    }
}

fn digest(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn read(text: &[u8], line: u64, digest: u64) -> RowRead {
    let members = match RequestMembers::read(text) {
        Ok(members) => members,
        Err(error) => {
            let problem = |violation: &payments_model::Violation| {
                // The place within the row, whose line is told already.
                let rule = violation.rule().replace("at line 1, column", "at column");
                Problem::new(line, "row", rule)
            };
            let content = Err(error.violations().iter().map(problem).collect());
            return RowRead { line, digest, key: None, content };
        }
    };
    let mut draft = Draft { document: String::with_capacity(text.len()), ..Draft::default() };
    draft.document.push('{');
    for (name, value) in members.iter() {
        if name == KEY {
            let is_first = draft.key.is_none();
            let key = serde_json::from_str(value).map(Cow::Owned).map_err(|_| "must be a string");
            draft.key = Some(if is_first { key } else { Err("appears more than once") });
            continue;
        }
        if name == REFERENCE {
            // What is no text the model refuses.
            draft.reference = serde_json::from_str(value).ok().map(Cow::Owned);
        }
        if draft.document.len() > 1 {
            draft.document.push(',');
        }
        draft.document.push_str(&serde_json::to_string(name).expect("a text is JSON"));
        draft.document.push(':');
        draft.document.push_str(value);
    }
    draft.document.push('}');
    draft.check(line, digest, |_, _| None)
}
