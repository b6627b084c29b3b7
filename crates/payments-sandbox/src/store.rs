//! What a gateway holds, kept in one SQLite file.
//!
//! [`DataFile`] takes the file and restores a gateway from it. From then on the gateway appends its changes to the journal,
//! and one thread, the writer, owns the connection: it takes everything that waits, commits it in one transaction and
//! wakes who waited. While it syncs, the next changes gather, so that commits are grouped without any clock.

use std::fmt;
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

mod data_file;
mod journal;
mod schema;
mod store_error;
mod writer;

pub use data_file::DataFile;
use journal::Journal;
pub use store_error::StoreError;
use writer::Writer;

/// Keeps every change of a gateway in its [`DataFile`], for as long as it lives.
///
/// [`close`](Self::close) it when the gateway is no longer served. Dropping it does the same, but waits on the current
/// thread and tells nobody what went wrong. Whoever still calls the gateway after that is
/// [told](payments_fake::NotDurable) that nothing is kept any more.
#[must_use = "dropped, it closes the file, and nothing is kept any more"]
pub struct Store {
    journal: Journal,
    /// Ends with the writer, when the file is closed.
    closed: oneshot::Receiver<()>,
    writer: Option<JoinHandle<()>>,
}

impl Store {
    /// Gives the connection to a writer of its own.
    fn start(connection: Connection, tenants: Vec<i64>, journal: Journal) -> std::io::Result<Self> {
        let writer = Writer { connection, tenants, journal: journal.clone() };
        let (closing, closed) = oneshot::channel();
        let thread = thread::Builder::new().name("payments-store".to_owned()).spawn(move || {
            let _closing = closing;
            writer.run();
        })?;
        Ok(Self { journal, closed, writer: Some(thread) })
    }

    /// Ends when something could not be written, and says what; never, if everything is kept.
    ///
    /// From that moment on nothing more is written and no payment is answered. What was answered before is in the file.
    /// An error of the disk is final: the only way on is to end the process, mend what is wrong and start again.
    pub fn failed(&self) -> impl Future<Output = StoreError> + Send + use<> {
        self.journal.failed()
    }

    /// Writes what is left, closes the file and lets others have it.
    ///
    /// # Errors
    ///
    /// If something could not be written, now or [before](Self::failed).
    pub async fn close(mut self) -> Result<(), StoreError> {
        self.journal.close();
        // The writer never sends; it lets go.
        let _ = (&mut self.closed).await;
        self.journal.failure().map_or(Ok(()), Err)
    }
}

/// Waits for the writer, at most for what is left to be written: whoever drops a store may open its file again at once.
impl Drop for Store {
    fn drop(&mut self) {
        self.journal.close();
        if let Some(writer) = self.writer.take() {
            // A panic there was made a failure there.
            let _ = writer.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { journal, closed: _, writer: _ } = self;
        f.debug_struct("Store").field("failure", &journal.failure()).finish_non_exhaustive()
    }
}
