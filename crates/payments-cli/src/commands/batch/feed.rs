//! The second reading of a file: rows, as they are needed, that still say what was inspected.

use std::io;

use tokio::sync::mpsc;

use super::inspection::{Inspected, Scratch, Seen};
use super::rows::{Row, RowRead, Rows};
use crate::batch_report::Stop;
use crate::row_file::RowFile;

/// What the run is given, until nothing is left.
#[derive(Debug)]
pub(super) enum Fed {
    /// To be sent, in their order.
    Rows(Vec<Row>),
    /// There is nothing more that may be sent.
    Stop(Stop),
}

/// How many rows are handed over together: a thread that is woken for each of them costs more than the row.
const AT_ONCE: usize = 32;

/// Reads until the end, or until nobody takes a row any more. Blocks where nobody takes one yet.
pub(super) fn feed(mut file: RowFile, inspected: u64, scratch: &Scratch, to: &mpsc::Sender<Fed>) {
    if let Err(stop) = read(&mut file, inspected, scratch, to) {
        // Who listens no more has stopped already.
        let _ = to.blocking_send(Fed::Stop(stop));
    }
}

fn read(file: &mut RowFile, inspected: u64, scratch: &Scratch, to: &mpsc::Sender<Fed>) -> Result<(), Stop> {
    let unreadable = |error: io::Error| Stop::Unreadable(error.to_string());
    let (rows, problems) = Rows::begin(file).map_err(unreadable)?;
    let Some(mut rows) = rows.filter(|_| problems.is_empty()) else { return Err(Stop::Changed(Some(1))) };
    let (mut number, mut ready) = (0, Vec::new());
    let hand_over = |ready: &mut Vec<Row>| {
        if file.has_changed().map_err(unreadable)? {
            return Err(Stop::Changed(None));
        }
        // Who takes no more has stopped.
        let is_taken = ready.is_empty() || to.blocking_send(Fed::Rows(std::mem::take(ready))).is_ok();
        Ok(is_taken)
    };
    while let Some(row) = rows.next().map_err(unreadable)? {
        number += 1;
        let RowRead { line, digest, content, .. } = row;
        let seen = scratch.seen(number).map_err(|error| Stop::Unreadable(error.to_string()))?;
        match (seen, content) {
            (Some(Seen { digest: before, is_settled }), Ok(row)) if before == digest => {
                if !is_settled {
                    ready.push(row);
                }
            }
            _ => return Err(Stop::Changed(Some(line))),
        }
        if ready.len() >= AT_ONCE && !hand_over(&mut ready)? {
            return Ok(());
        }
    }
    if number != inspected {
        return Err(Stop::Changed(None));
    }
    hand_over(&mut ready).map(|_| ())
}

impl Inspected {
    /// Reads the rows again in a thread of its own, a few ahead of what is taken.
    pub(super) fn feed(self, file: RowFile) -> mpsc::Receiver<Fed> {
        let (to, fed) = mpsc::channel(1);
        let Self { rows, scratch, .. } = self;
        tokio::task::spawn_blocking(move || feed(file, rows, &scratch, &to));
        fed
    }
}
