use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::fault::{Fault, LONGEST_WAIT, ask};
use super::link::Backend;
use super::pool::Pool;
use crate::{IntentKey, StoreError};

/// Statements of which nobody has heard how they ended. They may still be on their way.
///
/// What is read while such a statement is on its way can be wrong a moment later: a beginning that was looked for and taken
/// for lost would appear, and its key stay in doubt. So before its key is touched again, the server's process that was to
/// execute it is ended; what it has not done then, it never does.
#[derive(Debug, Default)]
pub(super) struct Fence(Mutex<Vec<(IntentKey, Backend)>>);

impl Fence {
    /// The backend may still change the row of this key.
    pub(super) fn raise(&self, key: IntentKey, backend: Backend) {
        self.lock().push((key, backend));
    }

    /// Until no earlier statement can change the row of this key any more.
    pub(super) async fn wait_for(&self, key: &IntentKey, pool: &Pool) -> Result<(), StoreError> {
        loop {
            let next = self.lock().iter().find(|(of, _)| of == key).map(|(_, backend)| *backend);
            let Some(backend) = next else { return Ok(()) };
            end(backend, pool).await?;
            self.lock().retain(|(of, ended)| (of, ended) != (key, &backend));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(IntentKey, Backend)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end(backend: Backend, pool: &Pool) -> Result<(), StoreError> {
    let lease = pool.lease().await?;
    let began = Instant::now();
    while began.elapsed() < LONGEST_WAIT {
        let rows = ask(lease.link.client.query(END, &[&backend.pid, &backend.began])).await;
        if rows.map_err(Fault::of_reading)?.is_empty() {
            lease.give_back();
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err(StoreError::unavailable("an earlier connection to the journal's database does not end"))
}

/// No row once it is gone.
const END: &str = "
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid = $1 AND (extract(epoch FROM backend_start) * 1000000)::bigint = $2";
