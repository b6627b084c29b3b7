use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::origin::Origin;

/// Idle connections, the longest idle first.
///
/// There is no background task: connections that were idle for too long are closed when the next one is taken or put
/// back, and a closed one is found out by the exchange that tries it.
pub(crate) struct Pool {
    idle: Mutex<VecDeque<Idle>>,
    idle_timeout: Duration,
    max_idle: usize,
}

struct Idle {
    origin: Origin,
    /// A socket belongs to the runtime it was opened in: another one would wait for news of it in vain.
    runtime: runtime::Id,
    since: Instant,
    connection: Box<Connection>,
}

impl Pool {
    pub(crate) fn new(idle_timeout: Duration, max_idle: usize) -> Self {
        Self { idle: Mutex::new(VecDeque::new()), idle_timeout, max_idle }
    }

    /// The connection to `origin` that was used last: the one least likely to have been closed meanwhile.
    pub(crate) fn take(
        &self,
        origin: &Origin,
        runtime: runtime::Id,
        now: Instant,
    ) -> Option<Box<Connection>> {
        let mut idle = self.lock();
        let expired = self.expired(&mut idle, now);
        let newest = idle.iter().rposition(|idle| idle.runtime == runtime && idle.origin == *origin);
        let taken = newest.and_then(|index| idle.remove(index));
        drop(idle);
        // Closing sockets is for outside of the lock.
        drop(expired);
        taken.map(|idle| idle.connection)
    }

    pub(crate) fn put(&self, origin: Origin, runtime: runtime::Id, connection: Box<Connection>) {
        if self.idle_timeout.is_zero() {
            // It would only stay open until the next call throws it away.
            return;
        }
        let now = Instant::now();
        let mut idle = self.lock();
        let expired = self.expired(&mut idle, now);
        idle.push_back(Idle { origin, runtime, since: now, connection });
        let surplus = if idle.len() > self.max_idle { idle.pop_front() } else { None };
        drop(idle);
        drop((expired, surplus));
    }

    fn expired(&self, idle: &mut VecDeque<Idle>, now: Instant) -> Vec<Idle> {
        let is_fresh = |idle: &Idle| now.saturating_duration_since(idle.since) < self.idle_timeout;
        let fresh = idle.iter().position(is_fresh);
        match fresh {
            Some(0) => Vec::new(),
            fresh => idle.drain(..fresh.unwrap_or(idle.len())).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Idle>> {
        // Nothing can panic half-way through a change, so a poisoned list is a whole list.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
