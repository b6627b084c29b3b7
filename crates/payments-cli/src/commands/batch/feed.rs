//! The second reading of a file: streams its rows, and checks that they are the same as in the first reading.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::mpsc;

use super::inspection::{Inspected, RowRecord, ScratchDatabase};
use super::rows::{Row, RowRead, Rows};
use crate::batch_report::Stop;
use crate::row_file::RowFile;

/// An item of the stream of rows.
#[derive(Debug)]
pub(super) enum FeedItem {
    /// Rows to send, in order.
    Rows(Vec<Row>),
    /// Nothing more may be sent.
    Stop(Stop),
}

/// How many rows are sent together, because waking a thread for each row costs more than the row.
const AT_ONCE: usize = 32;

impl Inspected {
    /// Reads the rows again on another thread, a few ahead of the receiver.
    pub(super) fn feed(self, mut file: RowFile) -> mpsc::Receiver<FeedItem> {
        let Self { rows, scratch, .. } = self;
        feed_by(move |to| read(&mut file, rows, &scratch, to))
    }
}

fn feed_by(
    read: impl FnOnce(&mpsc::Sender<FeedItem>) -> Result<(), Stop> + Send + 'static,
) -> mpsc::Receiver<FeedItem> {
    let (to, receiver) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        // After a panic, rows are missing: it must not look like the end of the file.
        let read = catch_unwind(AssertUnwindSafe(|| read(&to))).unwrap_or(Err(Stop::Internal));
        if let Err(stop) = read {
            // If the receiver is gone, the run has already stopped.
            let _ = to.blocking_send(FeedItem::Stop(stop));
        }
    });
    receiver
}

/// Reads until the end of the file, or until the receiver is gone. Blocks while the channel is full.
fn read(
    file: &mut RowFile,
    inspected: u64,
    scratch: &ScratchDatabase,
    to: &mpsc::Sender<FeedItem>,
) -> Result<(), Stop> {
    let unreadable = |error: io::Error| Stop::Unreadable(error.to_string());
    let (rows, problems) = Rows::begin(file, &|_| false).map_err(unreadable)?;
    let Some(mut rows) = rows.filter(|_| problems.is_empty()) else { return Err(Stop::Changed(Some(1))) };
    let (mut number, mut ready) = (0, Vec::new());
    let send = |ready: &mut Vec<Row>| {
        if file.has_changed().map_err(unreadable)? {
            return Err(Stop::Changed(None));
        }
        // If the receiver is gone, the run has stopped.
        Ok(ready.is_empty() || to.blocking_send(FeedItem::Rows(std::mem::take(ready))).is_ok())
    };
    while let Some(row) = rows.next().map_err(unreadable)? {
        number += 1;
        let RowRead { line, digest, content, .. } = row;
        let seen = scratch.seen(number).map_err(|error| Stop::Unreadable(error.to_string()))?;
        match (seen, content) {
            (Some(RowRecord { digest: before, is_settled }), Ok(row)) if before == digest => {
                if !is_settled {
                    ready.push(row);
                }
            }
            _ => return Err(Stop::Changed(Some(line))),
        }
        if ready.len() >= AT_ONCE && !send(&mut ready)? {
            return Ok(());
        }
    }
    if number != inspected {
        return Err(Stop::Changed(None));
    }
    send(&mut ready).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_while_reading_does_not_look_like_the_end_of_the_file() {
        let mut rows = feed_by(|_| unreachable!("a bug"));
        assert!(matches!(rows.recv().await, Some(FeedItem::Stop(Stop::Internal))));
        assert!(rows.recv().await.is_none());
    }
}
