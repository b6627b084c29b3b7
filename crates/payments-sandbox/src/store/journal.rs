use std::collections::VecDeque;
use std::future::{pending, ready};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use payments_fake::{Change, ChangeLog, Flushed, NotDurable};
use tokio::sync::{oneshot, watch};

use crate::StoreError;

/// What waits to be written, and who waits for it. Between the gateway, which must not be held up, and the writer.
#[derive(Clone)]
pub(crate) struct Journal(Arc<Shared>);

/// A change that waits.
pub(crate) struct Entry {
    /// The place of its tenant in the order of the keys.
    pub(crate) tenant: usize,
    pub(crate) change: Change,
    /// Whether it is the last of those that must be in one commit.
    ends_group: bool,
}

struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    /// Tells the writer that there is something to do.
    work: Condvar,
    failure: watch::Sender<Option<StoreError>>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Entry>,
    /// How many changes there were since the start, and how many of them are in the file.
    appended: u64,
    durable: u64,
    /// In the order of what they wait for.
    waiters: VecDeque<Waiter>,
    phase: Phase,
}

/// Somebody who may go on when this many changes are in the file; let go of without a word, they never are.
struct Waiter {
    needs: u64,
    go_on: oneshot::Sender<()>,
}

/// They follow each other in this order, and some are left out.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Changes are taken and written.
    #[default]
    Open,
    /// What was taken is still written.
    Closing,
    /// All that was taken is in the file, which is closed.
    Closed,
    /// Something was taken that could not be written.
    Failed,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(Arc::new(Shared {
            path,
            state: Mutex::default(),
            work: Condvar::new(),
            failure: watch::Sender::new(None),
        }))
    }

    /// The file's path, for errors.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Moves what waits into `batch`, but not many more than a commit should hold, and waits until there is something. Every
    /// group is in it as a whole or not at all. Nothing more will ever come if nothing has come.
    pub(crate) fn take(&self, batch: &mut Vec<Entry>) {
        let mut state = self.state();
        while state.queue.is_empty() && state.phase == Phase::Open {
            state = self.0.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let beyond = state.queue.iter().skip(MAX_BATCH - 1).position(|entry| entry.ends_group);
        let count = beyond.map_or(state.queue.len(), |beyond| MAX_BATCH + beyond);
        batch.extend(state.queue.drain(..count));
    }

    /// So many more of the changes that were taken are in the file: whoever waited for them goes on.
    pub(crate) fn committed(&self, count: usize) {
        let mut state = self.state();
        state.durable += count as u64;
        let durable = state.durable;
        let covered = state.waiters.partition_point(|waiter| waiter.needs <= durable);
        let released: Vec<_> = state.waiters.drain(..covered).collect();
        // Whoever is woken may call the gateway, which appends.
        drop(state);
        for waiter in released {
            // An error means that the client went away.
            let _ = waiter.go_on.send(());
        }
    }

    /// Nothing more is written, for this reason.
    pub(crate) fn fail(&self, error: StoreError) {
        let left = self.end(Phase::Failed);
        // Before anybody is woken, so that whoever is told can ask for the reason.
        self.0.failure.send_replace(Some(error));
        drop(left);
    }

    /// Takes no more changes; the writer writes what was taken.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Closing;
            self.0.work.notify_one();
        }
    }

    /// The writer has written everything that was taken.
    pub(crate) fn closed(&self) {
        drop(self.end(Phase::Closed));
    }

    /// What is left. Dropping it wakes the waiters, which must not happen under the lock.
    fn end(&self, phase: Phase) -> (VecDeque<Entry>, VecDeque<Waiter>) {
        let mut state = self.state();
        state.phase = phase;
        let State { queue, waiters, .. } = &mut *state;
        (std::mem::take(queue), std::mem::take(waiters))
    }

    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.0.failure.borrow().clone()
    }

    /// Ends when there is a [`failure`](Self::failure).
    pub(crate) fn failed(&self) -> impl Future<Output = StoreError> + Send + use<> {
        let mut failure = self.0.failure.subscribe();
        async move {
            let failed = failure.wait_for(Option::is_some).await;
            match failed.ok().and_then(|failure| failure.clone()) {
                Some(error) => error,
                // The journal is gone, and nothing can fail any more.
                None => pending().await,
            }
        }
    }

    /// A panic elsewhere is no reason to stop writing: every change of the state is complete before anything can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bounds the memory of a commit and the time until the first waiter goes on. The group that reaches it is still taken.
const MAX_BATCH: usize = 4096;

impl ChangeLog for Journal {
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>) {
        let mut state = self.state();
        if state.phase != Phase::Open {
            // It will never be durable, and whoever asks is told.
            state.appended += 1;
            return;
        }
        // The writer sleeps only over an empty queue.
        if state.queue.is_empty() {
            self.0.work.notify_one();
        }
        let before = state.queue.len();
        state.queue.extend(group.map(|(tenant, change)| Entry { tenant, change, ends_group: false }));
        state.appended += (state.queue.len() - before) as u64;
        if let Some(last) = state.queue.back_mut() {
            last.ends_group = true;
        }
    }

    fn flushed(&self) -> Flushed {
        let mut state = self.state();
        match state.phase {
            Phase::Failed => Box::pin(ready(Err(NotDurable::default()))),
            _ if state.durable == state.appended => Box::pin(ready(Ok(()))),
            Phase::Closed => Box::pin(ready(Err(NotDurable::default()))),
            Phase::Open | Phase::Closing => {
                let (go_on, told) = oneshot::channel();
                let needs = state.appended;
                state.waiters.push_back(Waiter { needs, go_on });
                Box::pin(async { told.await.map_err(|_| NotDurable::default()) })
            }
        }
    }
}
