use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use futures_util::future::Shared;

use crate::StoreError;
use crate::sqlite_store::owners::Owner;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::problem::SqliteError;
use crate::sqlite_store::session::Session;
use crate::sqlite_store::{open_flag, problem};

/// A thread that makes the changes, all waiting ones in one commit.
pub(super) struct Writer {
    /// A `None` in it ends the thread, and is the last that is sent.
    jobs: Mutex<Option<mpsc::Sender<Option<Job>>>>,
    /// Fails when the thread has ended.
    pub(super) running: Shared<oneshot::Receiver<()>>,
    place: Arc<Place>,
    pub(super) poison: Poison,
}

/// Why the store has stopped, after a failure.
pub(super) type Poison = Arc<OnceLock<StoreError>>;

/// One change or one batch of a purge, and who waits for it.
struct Job {
    work: Work,
    caller: Caller,
    purpose: Purpose,
    /// Whether the caller gets an error if the witnesses could not be written.
    is_watched: bool,
}

/// What a job is for.
pub(super) enum Purpose {
    /// An outcome, which cannot be obtained again: a transaction that changed nothing is repeated until this time.
    Outcome(Instant),
    Other,
}

/// What a job does in the transaction. It is done again if the transaction is repeated.
type Work = Box<dyn FnMut(&mut Session) -> rusqlite::Result<()> + Send>;

/// Gets the result of the transaction when it has ended.
type Caller = oneshot::Sender<Result<(), StoreError>>;

impl Writer {
    /// The thread writes until [`end`](Self::end) is called or this is dropped. Then it closes the journal. Only `end` waits for
    /// that.
    pub(super) fn start(
        mut session: Session,
        owner: Arc<Owner>,
        reader: JoinHandle<()>,
    ) -> Result<Self, StoreError> {
        let (place, (jobs, received)) = (session.place.clone(), mpsc::channel());
        let (until_ended, running) = oneshot::channel();
        let (poison, jobs) = (Poison::default(), Mutex::new(Some(jobs)));
        let this = Self { jobs, running: running.shared(), place: place.clone(), poison: poison.clone() };
        let work = move || {
            let mut jobs = Vec::new();
            match serve(&mut session, &received, &mut jobs) {
                Ok(()) => {
                    // The reader ends first, because the last connection to close removes the log, and only the writer may.
                    // If the reader panicked, its callers have got an error.
                    let _ = reader.join();
                    if !place.is_displaced() {
                        open_flag::close(&place, session.connection, &owner);
                    }
                }
                Err(Stop { reason, is_in_doubt }) => {
                    // Closing also releases the file if a transaction is open. The log stays: after a failed sync it is unknown
                    // how much of it is on the disk, and the next process that opens the file reads it again. Callers get the
                    // error only after the file is closed.
                    drop(session);
                    let of_later = poison.get_or_init(|| problem::poisoned(place.path(), &reason));
                    let in_doubt = is_in_doubt.then(|| problem::in_doubt(place.path(), &reason));
                    let error = in_doubt.as_ref().unwrap_or(of_later);
                    for job in jobs {
                        // Fails only if the caller has left.
                        let _ = job.caller.send(Err(error.clone()));
                    }
                    // Jobs received from now on were not started.
                    for job in received.into_iter().flatten() {
                        let _ = job.caller.send(Err(of_later.clone()));
                    }
                    let _ = reader.join();
                }
            }
            owner.release();
            drop(until_ended);
        };
        let thread = thread::Builder::new().name("payments-journal-writer".to_owned());
        thread.spawn(work).map_err(|error| problem::unavailable(this.place.path(), error))?;
        Ok(this)
    }

    /// Ends the thread after the jobs before this, and waits for it.
    pub(super) async fn end(&self) {
        if let Some(jobs) = self.jobs().take() {
            // Fails only if the thread has already ended.
            let _ = jobs.send(None);
        }
        // Nothing is ever sent on this channel, so this returns when the thread has ended.
        let _ = self.running.clone().await;
    }

    /// Returns once the work is durable. If SQLite fails, so does the whole transaction. Any other error of the work concerns only
    /// one row, which was then not changed.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        purpose: Purpose,
        mut work: impl FnMut(&mut Session) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        const GONE: &str = "it was closed, or its writer thread has panicked";
        let path = self.place.path();
        let (caller, committed) = oneshot::channel();
        let (sender, results) = mpsc::channel();
        let work = Box::new(move |session: &mut Session| {
            let result = match work(session) {
                Ok(value) => Ok(value),
                Err(SqliteError::Store(error)) => Err(error),
                Err(SqliteError::Sqlite(error)) => return Err(error),
            };
            // Fails only if the caller has left.
            let _ = sender.send(result);
            Ok(())
        });
        let job = Job { work, caller, purpose, is_watched: false };
        if self.jobs().as_ref().is_none_or(|jobs| jobs.send(Some(job)).is_err()) {
            return Err(self.poison.get().cloned().unwrap_or_else(|| problem::poisoned(path, GONE)));
        }
        committed.await.unwrap_or_else(|_| Err(problem::in_doubt(path, GONE)))?;
        results.try_iter().last().expect("the work ran before the commit")
    }

    fn jobs(&self) -> MutexGuard<'_, Option<mpsc::Sender<Option<Job>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the store stops.
struct Stop {
    reason: String,
    /// Nothing shows whether the jobs of the transaction were done.
    is_in_doubt: bool,
}

impl Stop {
    fn new(reason: impl Display, is_in_doubt: bool) -> Self {
        Self { reason: reason.to_string(), is_in_doubt }
    }
}

/// Runs jobs until the channel is closed or something fails. Then `jobs` has those of the failed transaction.
fn serve(
    session: &mut Session,
    received: &mpsc::Receiver<Option<Job>>,
    jobs: &mut Vec<Job>,
) -> Result<(), Stop> {
    let mut is_closing = false;
    loop {
        let mut next = if jobs.is_empty() {
            let Ok(first) = received.recv() else { return Ok(()) };
            Some(first)
        } else {
            received.try_recv().ok()
        };
        while let Some(message) = next {
            if let Some(job) = message {
                jobs.push(job);
            } else {
                is_closing = true;
            }
            if jobs.len() >= MAX_JOBS_PER_COMMIT {
                break;
            }
            next = received.try_recv().ok();
            if next.is_none() {
                // Let callers that are about to send a job share the commit, which costs much more than a yield.
                thread::yield_now();
                next = received.try_recv().ok();
            }
        }
        if jobs.is_empty() {
            continue;
        }
        if let Err(refusal) = transact(session, jobs)? {
            let now = Instant::now();
            let is_over =
                |job: &mut Job| is_closing || !matches!(job.purpose, Purpose::Outcome(until) if until > now);
            for job in jobs.extract_if(.., is_over) {
                let _ = job.caller.send(Err(refusal.clone()));
            }
            if !jobs.is_empty() {
                thread::sleep(RETRY_PAUSE);
            }
            continue;
        }
        let witnessed = session.witness();
        for job in jobs.drain(..) {
            // Anything else, such as an end, is recorded anyway.
            let result = if job.is_watched { witnessed.clone() } else { Ok(()) };
            let _ = job.caller.send(result);
        }
        // After every caller has got its result.
        session.checkpoint().map_err(|error| Stop::new(error, false))?;
    }
}

/// Runs all jobs in one transaction, which is durable when this returns. The inner error means that nothing was changed,
/// and that the same transaction may succeed later.
fn transact(session: &mut Session, jobs: &mut [Job]) -> Result<Result<(), StoreError>, Stop> {
    if !session.begin(jobs.len()).map_err(|error| Stop::new(error, false))? {
        return Ok(Err(problem::busy(session.place.path())));
    }
    let worked = jobs.iter_mut().try_for_each(|job| {
        session.is_watched = false;
        (job.work)(session)?;
        job.is_watched = session.is_watched;
        Ok(())
    });
    let is_committing = worked.is_ok();
    match worked.and_then(|()| session.commit()) {
        // Checked again, because a commit to a removed file is lost.
        Ok(()) if session.place.is_displaced() => Err(Stop::new(problem::DISPLACED, true)),
        Ok(()) => Ok(Ok(())),
        // The write that failed was one to the log, before the sync. Without its last page the transaction does not count.
        Err(error) if problem::is_full(&error) && session.roll_back().is_ok() => {
            Ok(Err(problem::full(session.place.path())))
        }
        Err(error) => Err(Stop::new(error, is_committing)),
    }
}

/// Limits the memory of a commit, and the time for which others wait for it.
const MAX_JOBS_PER_COMMIT: usize = 1024;

/// Between two tries of a transaction.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
