//! The second reading of a file: rows, as they are needed, that still say what was inspected.

use std::io;

use tokio::sync::mpsc;

use super::batch_file::BatchFile;
use super::inspection::Inspected;
use super::row::{Row, RowRead};
use super::rows::Rows;
use super::scratch::{Scratch, Seen};
use crate::batch_report::Stop;

/// What the run is given, until nothing is left.
#[derive(Debug)]
pub(super) enum Fed {
    /// To be sent.
    Row(Box<Row>),
    /// There is nothing more that may be sent.
    Stop(Stop),
}

/// How many rows are read between two looks at whether the file has changed.
const LOOK_EVERY: u64 = 64;

/// Reads until the end, or until nobody takes a row any more. Blocks where nobody takes one yet.
pub(super) fn feed(mut file: BatchFile, inspected: u64, scratch: &Scratch, to: &mpsc::Sender<Fed>) {
    if let Err(stop) = read(&mut file, inspected, scratch, to) {
        // Who listens no more has stopped already.
        let _ = to.blocking_send(Fed::Stop(stop));
    }
}

fn read(file: &mut BatchFile, inspected: u64, scratch: &Scratch, to: &mpsc::Sender<Fed>) -> Result<(), Stop> {
    let unreadable = |error: io::Error| Stop::Unreadable(error.to_string());
    let (rows, problems) = Rows::begin(file).map_err(unreadable)?;
    let Some(mut rows) = rows.filter(|_| problems.is_empty()) else { return Err(Stop::Changed(Some(1))) };
    let mut number = 0;
    while let Some(row) = rows.next().map_err(unreadable)? {
        if number % LOOK_EVERY == 0 && file.has_changed().map_err(unreadable)? {
            return Err(Stop::Changed(None));
        }
        number += 1;
        let RowRead { line, digest, content, .. } = row;
        let seen = scratch.seen(number).map_err(|error| Stop::Unreadable(error.to_string()))?;
        match (seen, content) {
            (Some(Seen { digest: before, is_settled }), Ok(row)) if before == digest => {
                if !is_settled && to.blocking_send(Fed::Row(Box::new(row))).is_err() {
                    return Ok(());
                }
            }
            _ => return Err(Stop::Changed(Some(line))),
        }
    }
    if number == inspected { Ok(()) } else { Err(Stop::Changed(None)) }
}

impl Inspected {
    /// Reads the rows again in a thread of its own, a few ahead of what is taken.
    pub(super) fn feed(self, file: BatchFile, ahead: usize) -> mpsc::Receiver<Fed> {
        let (to, fed) = mpsc::channel(ahead);
        let Self { rows, scratch, .. } = self;
        tokio::task::spawn_blocking(move || feed(file, rows, &scratch, &to));
        fed
    }
}
