//! Outcomes that could not be written, which are kept and written later.

use std::collections::BTreeMap;
use std::future::{Future, ready};
#[cfg(feature = "tokio")]
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use futures_util::future::{Either, Shared as SharedFuture, select};
use payments_core::{SystemTimer, Timer as _};
use pollster::block_on;
#[cfg(feature = "tokio")]
use tokio::{runtime::Handle, time::sleep};

use crate::{Change, FlushError, IntentKey, IntentStore, LateEnd, StoreError, events};

/// Ends of attempts that could not be written yet. They are written before anything new begins, and in the background.
#[derive(Default)]
pub(crate) struct Unwritten {
    ends: Mutex<Ends>,
    background: Background,
    is_closed: AtomicBool,
}

/// Where ends are written in the background.
#[derive(Clone, Copy, Default)]
pub(crate) enum Background {
    /// In a task of the runtime in which the attempt has ended.
    #[cfg(feature = "tokio")]
    #[default]
    Task,
    #[cfg_attr(not(feature = "tokio"), default)]
    Thread,
}

#[derive(Default)]
struct Ends {
    /// By the order in which they were added.
    waiting: BTreeMap<u64, UnwrittenEnd>,
    next_number: u64,
    /// Ready once the call that writes them has ended.
    writing: Option<SharedFuture<oneshot::Receiver<()>>>,
    /// How many tries to write one have ended.
    tries: u64,
    /// How often writing them has stopped, and why it did the last time.
    stops: u64,
    stopped: Option<StoreError>,
    /// Alive while there are [`Retries`].
    retries: Weak<()>,
}

struct UnwrittenEnd {
    change: Change,
    /// Why the store does not accept it, although it accepts others.
    refusal: Option<StoreError>,
}

impl Unwritten {
    pub(crate) fn new(background: Background) -> Self {
        Self { background, ..Self::default() }
    }

    /// Keeps an end, and starts to write it in the background. `error` is why it could not be written.
    pub(crate) fn add(
        self: &Arc<Self>,
        store: &Arc<dyn IntentStore>,
        change: Change,
        error: Option<&StoreError>,
    ) {
        let refusal = error.and_then(|error| refusal(error, change.key()));
        let mut ends = self.ends();
        let number = ends.next_number;
        ends.next_number += 1;
        ends.waiting.insert(number, UnwrittenEnd { change, refusal });
        // Under the lock, so that there is one task or thread.
        if ends.retries.strong_count() == 0 {
            let running = Arc::new(());
            ends.retries = Arc::downgrade(&running);
            let (store, unwritten) = (Arc::downgrade(store), Arc::downgrade(self));
            let retries = Retries { store, unwritten, _running: running };
            match self.background {
                #[cfg(feature = "tokio")]
                Background::Task => {
                    if let Ok(runtime) = Handle::try_current() {
                        // Tokio panics in a runtime without a timer.
                        runtime.spawn(retries.run(|pause| catch_unwind(|| sleep(pause)).ok()));
                    }
                }
                Background::Thread => {
                    let thread = thread::Builder::new().name("payments-journal-retries".to_owned());
                    // Without a thread, the ends are written before anything new begins.
                    let wait = |pause| {
                        thread::sleep(pause);
                        Some(ready(()))
                    };
                    let _ = thread.spawn(move || block_on(retries.run(wait)));
                }
            }
        }
    }

    /// Writes all ends and returns them, also with an error.
    pub(crate) async fn write_all(&self, store: &dyn IntentStore) -> Result<Vec<LateEnd>, FlushError> {
        let mut late = Vec::new();
        let written = self.write(store, |_| true, &mut late).await;
        let Err(error) = written.and_then(|()| self.refusal(|_| true)) else { return Ok(late) };
        late.extend(self.ends().waiting.values().filter_map(|end| LateEnd::waiting(&end.change)));
        Err(FlushError { late_ends: late, error })
    }

    /// Writes what must be written before this key begins. An end of another key that was refused is left alone.
    pub(crate) async fn write_before(
        &self,
        key: &IntentKey,
        store: &dyn IntentStore,
    ) -> Result<(), StoreError> {
        self.write(store, |end| end.refusal.is_none() || end.change.key() == key, &mut Vec::new()).await?;
        self.refusal(|refused| refused == key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends().waiting.is_empty()
    }

    /// Ends the retries in the background.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Writes these ends, the oldest first. An end that the store refuses is kept, and the others go on. Any other error would be
    /// the same for all, so it stops.
    async fn write(
        &self,
        store: &dyn IntentStore,
        is_due: impl Fn(&UnwrittenEnd) -> bool + Send + Sync,
        late: &mut Vec<LateEnd>,
    ) -> Result<(), StoreError> {
        let (writing, is_written) = oneshot::channel();
        self.wait_for_turn(&is_due, is_written.shared()).await?;
        // Dropped when this call has ended, also if it is canceled.
        let _writing = writing;
        let mut from = 0;
        loop {
            let (number, change) = {
                let ends = self.ends();
                let due = ends.waiting.range(from..).find(|(_, end)| is_due(end));
                let Some((number, end)) = due else { return Ok(()) };
                (*number, end.change.clone())
            };
            from = number + 1;
            // Each is removed only after it is written: a call that is canceled here leaves it to the next one. A row that has
            // changed meanwhile is not changed again.
            let tried = store.apply(change.clone()).await;
            self.ends().tries += 1;
            match tried {
                Ok(applied) => {
                    events::same_transaction(&applied);
                    if self.ends().waiting.remove(&number).is_none() {
                        continue;
                    }
                    let end = LateEnd::applied(&change, applied);
                    match &end {
                        Some(LateEnd { is_recorded: true, intent: Some(row), .. }) => {
                            events::second_charges(row);
                        }
                        Some(LateEnd { is_recorded: false, key, ending, .. }) => {
                            events::not_recorded(key, ending, &StoreError::changed_meanwhile());
                        }
                        _ => {}
                    }
                    late.extend(end);
                }
                Err(error) => {
                    let mut ends = self.ends();
                    // Otherwise another call has written it.
                    let Some(end) = ends.waiting.get_mut(&number) else { continue };
                    let Some(refusal) = refusal(&error, change.key()) else {
                        let error = error.of_outcome(change.key());
                        ends.stops += 1;
                        ends.stopped = Some(error.clone());
                        return Err(error);
                    };
                    let is_known = end.refusal.replace(refusal.clone()).is_some();
                    // It is logged once.
                    if let (false, Some(ending)) = (is_known, change.ending()) {
                        events::not_recorded(change.key(), ending, &refusal);
                    }
                }
            }
        }
    }

    /// Waits until no other call writes ends, if one is due: then each is written once. Calls that wait for one that fails, fail with
    /// it: a dead database may take half a minute to fail, and each call would wait that long. But no call waits for one that stands
    /// still, whose runtime may not run. Two may then write the same end, and one of them finds it written.
    async fn wait_for_turn(
        &self,
        is_due: impl Fn(&UnwrittenEnd) -> bool + Send,
        own: SharedFuture<oneshot::Receiver<()>>,
    ) -> Result<(), StoreError> {
        let stops_before = self.ends().stops;
        let mut stands_still = false;
        loop {
            let (other, tries) = {
                let mut ends = self.ends();
                if !ends.waiting.values().any(&is_due) {
                    return Ok(());
                }
                if ends.stops != stops_before
                    && let Some(error) = &ends.stopped
                {
                    return Err(error.clone());
                }
                let is_writing = |other: &SharedFuture<_>| other.peek().is_none() && !stands_still;
                let Some(other) = ends.writing.clone().filter(is_writing) else {
                    ends.writing = Some(own);
                    return Ok(());
                };
                (other, ends.tries)
            };
            let waited = select(other, SystemTimer::new().sleep(PATIENCE)).await;
            stands_still = matches!(waited, Either::Right(_)) && self.ends().tries == tries;
        }
    }

    /// The refusals of these keys as one error.
    fn refusal(&self, of: impl Fn(&IntentKey) -> bool) -> Result<(), StoreError> {
        let ends = self.ends();
        let refused = ends.waiting.values().filter(|end| of(end.change.key()));
        let mut refusals = refused.filter_map(|end| end.refusal.as_ref());
        let Some(first) = refusals.next() else { return Ok(()) };
        let shown = refusals.by_ref().take(MAX_SHOWN - 1);
        let all = shown.fold(first.clone(), StoreError::and);
        Err(match refusals.count() {
            0 => all,
            more => all.and(format_args!("so it is for {more} more")),
        })
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of an end that only this end has, or `None` if the store accepts nothing at the moment.
fn refusal(error: &StoreError, key: &IntentKey) -> Option<StoreError> {
    let is_of_the_store = error.is_unavailable() || error.is_in_doubt() || error.is_poisoned();
    (!is_of_the_store).then(|| error.clone().of_outcome(key))
}

/// Writes ends until the journal is dropped or closed, or all are written, and does not keep it open between two tries.
struct Retries {
    store: Weak<dyn IntentStore>,
    unwritten: Weak<Unwritten>,
    _running: Arc<()>,
}

impl Retries {
    /// `wait` is `None` where nothing can wait.
    async fn run<W: Future<Output = ()>>(self, wait: impl Fn(Duration) -> Option<W>) {
        let mut pause = MIN_PAUSE;
        while let Some(waiting) = wait(pause) {
            waiting.await;
            let (Some(store), Some(unwritten)) = (self.store.upgrade(), self.unwritten.upgrade()) else {
                return;
            };
            let is_due =
                |end: &UnwrittenEnd| end.refusal.is_none() && !unwritten.is_closed.load(Ordering::Relaxed);
            match unwritten.write(&*store, is_due, &mut Vec::new()).await {
                Ok(()) => {
                    let mut ends = unwritten.ends();
                    if !ends.waiting.values().any(is_due) {
                        ends.retries = Weak::new();
                        return;
                    }
                    pause = MIN_PAUSE;
                }
                // It accepts nothing until it is opened again.
                Err(error) if error.is_poisoned() => return,
                Err(_) => pause = (pause * 2).min(MAX_PAUSE),
            }
        }
    }
}

/// How long one call waits for another one that makes no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two tries in the background.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Keys that one error names.
const MAX_SHOWN: usize = 5;
