use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::sqlite_store::place::Place;

/// Settings that only tests change.
pub(super) struct Settings {
    /// How long to wait for another process.
    pub(super) max_wait: Duration,
    /// How long the write of an outcome is retried.
    pub(super) retry_time: Duration,
    /// A second witness.
    pub(super) witness: Option<PathBuf>,
    pub(super) commit: Commit,
    pub(super) clock: Clock,
}

/// The machine's clock.
pub(super) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_wait: Place::MAX_WAIT,
            retry_time: Duration::from_secs(30),
            witness: None,
            commit: Box::new(|connection| connection.execute_batch("COMMIT")),
            clock: Arc::new(SystemTime::now),
        }
    }
}

/// Ends a transaction durably. Tests inject failures here that no disk produces on demand.
pub(super) type Commit = Box<dyn FnMut(&Connection) -> rusqlite::Result<()> + Send>;
