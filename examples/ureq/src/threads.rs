use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when they are needed and end when they are not.
///
/// There is no queue: who finds all of them busy is told at once, because a deadline could pass unseen in a queue.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    most: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Each of these has an idle thread that was woken for it.
    jobs: VecDeque<Job>,
    idle: usize,
    running: usize,
    closed: bool,
}

impl Threads {
    const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

    pub(crate) fn at_most(most: usize) -> Self {
        Self { shared: Arc::default(), most }
    }

    /// Has `job` done by a thread of its own.
    ///
    /// # Errors
    ///
    /// If there is none, and no more may be started or can be. The job is dropped undone.
    pub(crate) fn start(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.shared.state();
        if state.idle > state.jobs.len() {
            state.jobs.push_back(Box::new(job));
            self.shared.changed.notify_one();
            return Ok(());
        }
        if state.running >= self.most {
            return Err(io::Error::other(format!("all {} threads for calls are busy", self.most)));
        }
        let shared = Arc::clone(&self.shared);
        let work = move || shared.work(Box::new(job));
        thread::Builder::new().name("payments-call".to_owned()).spawn(work)?;
        state.running += 1;
        Ok(())
    }
}

impl Drop for Threads {
    /// Idle threads end; the others end when their jobs have.
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn work(&self, first: Job) {
        let mut job = Some(first);
        while let Some(current) = job {
            // The panic was printed; who waits for the job learns that nothing came of it.
            let _ = catch_unwind(AssertUnwindSafe(current));
            job = self.next();
        }
    }

    /// Waits for a job; without one for too long, this thread is none of them any more.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        state.idle += 1;
        let nothing_to_do = |state: &mut State| state.jobs.is_empty() && !state.closed;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, Threads::IDLE_TIMEOUT, nothing_to_do)
            .unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        let job = state.jobs.pop_front();
        if job.is_none() {
            state.running -= 1;
        }
        job
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").field("most", &self.most).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Generous: it only keeps a test that fails from waiting for ever.
    const AMPLE: Duration = Duration::from_mins(1);

    /// The name of the thread that does the next job.
    fn thread_of_next_job(threads: &Threads) -> thread::ThreadId {
        let (tell, told) = mpsc::channel();
        threads.start(move || tell.send(thread::current().id()).unwrap()).unwrap();
        told.recv_timeout(AMPLE).unwrap()
    }

    fn wait_until_idle(threads: &Threads, count: usize) {
        while threads.shared.state().idle != count {
            thread::yield_now();
        }
    }

    #[test]
    fn a_thread_that_is_free_is_used_again() {
        let threads = Threads::at_most(2);
        let first = thread_of_next_job(&threads);
        wait_until_idle(&threads, 1);
        assert_eq!(thread_of_next_job(&threads), first);
    }

    #[test]
    fn one_call_too_many_is_refused_and_not_kept_waiting() {
        let threads = Threads::at_most(1);
        let (release, gate) = mpsc::channel::<()>();
        threads.start(move || gate.recv().unwrap_or_default()).unwrap();
        let refused = threads.start(|| {}).unwrap_err();
        assert_eq!(refused.to_string(), "all 1 threads for calls are busy");
        drop(release);
        wait_until_idle(&threads, 1);
        assert!(threads.start(|| {}).is_ok());
    }

    #[test]
    fn a_job_that_panics_takes_no_thread_with_it() {
        let threads = Threads::at_most(1);
        threads.start(|| panic!("on purpose")).unwrap();
        wait_until_idle(&threads, 1);
        thread_of_next_job(&threads);
    }
}
