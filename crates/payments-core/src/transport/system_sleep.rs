//! The sleeps of [`SystemTimer`](super::timer::SystemTimer): one thread wakes the tasks of all sleeps of a process.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Error as IoError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use super::process_id::ProcessId;

/// The threads of this process and of those that it was forked from. A forked process has a copy of its parent's memory, but
/// not its threads, and a lock that another thread held at that moment is never released in it. So each process uses an
/// unused place here, which it takes without a lock.
static THREADS: [TimerThread; 16] = [const { TimerThread::new() }; 16];

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// How often a sleep looks at the clock if there is no thread to wake its task.
const WITHOUT_A_THREAD: Duration = Duration::from_millis(1);

/// A sleep's end, and a number, because several can end at once.
type End = (Instant, u64);

/// A future that is ready at an instant.
pub(super) struct SystemSleep {
    end: End,
    /// Has this sleep's waker.
    thread: Option<&'static TimerThread>,
}

impl SystemSleep {
    pub(super) fn until(end: Instant) -> Self {
        Self { end: (end, NUMBERS.fetch_add(1, Ordering::Relaxed)), thread: None }
    }

    fn poll_with(&mut self, thread: Option<&'static TimerThread>, context: &Context<'_>) -> Poll<()> {
        if Instant::now() >= self.end.0 {
            return Poll::Ready(());
        }
        self.thread = thread.filter(|thread| thread.wake_at(self.end, context.waker()).is_ok());
        if self.thread.is_none() {
            // The system is out of threads. A call must still end on time, so its task is busy until then.
            sleep(WITHOUT_A_THREAD);
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Future for SystemSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Only a sleep that begins after the fork can be in a process with the number of an ancestor: no runtime survives a fork.
        let thread = self.thread.filter(|thread| thread.process().has_current_number());
        self.poll_with(thread.or_else(TimerThread::of_this_process), context)
    }
}

impl Drop for SystemSleep {
    fn drop(&mut self) {
        // Not if the process was forked since the poll.
        if let Some(thread) = self.thread.filter(|thread| thread.process().has_current_number()) {
            thread.forget(self.end);
        }
    }
}

/// A thread that wakes tasks.
struct TimerThread {
    /// The [`ProcessId`] of the thread; 0 if it is unused.
    process: AtomicU64,
    sleeps: Mutex<Sleeps>,
    /// Another sleep is the first to end.
    changed: Condvar,
}

struct Sleeps {
    is_running: bool,
    wakers: BTreeMap<End, Waker>,
}

impl TimerThread {
    const fn new() -> Self {
        let sleeps = Sleeps { is_running: false, wakers: BTreeMap::new() };
        Self { process: AtomicU64::new(0), sleeps: Mutex::new(sleeps), changed: Condvar::new() }
    }

    /// `None` if this process has more ancestors that slept than there are places.
    fn of_this_process() -> Option<&'static Self> {
        Self::place_of(ProcessId::current(), &THREADS)
    }

    fn place_of(process: ProcessId, threads: &[Self]) -> Option<&Self> {
        threads.iter().find(|thread| thread.process().is(process) || thread.is_taken_by(process))
    }

    fn process(&self) -> ProcessId {
        ProcessId::from_bits(self.process.load(Ordering::Relaxed))
    }

    fn is_taken_by(&self, process: ProcessId) -> bool {
        let (unused, ours) = (0, process.to_bits());
        match self.process.compare_exchange(unused, ours, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => true,
            Err(other) => ProcessId::from_bits(other).is(process),
        }
    }

    /// Wakes the task at the end of the sleep. The first one starts the thread.
    fn wake_at(&'static self, end: End, waker: &Waker) -> Result<(), IoError> {
        // No code of a waker runs while the lock is held: it may drop a task that sleeps too.
        let waker = waker.clone();
        let mut sleeps = self.lock();
        if !sleeps.is_running {
            let builder = Builder::new().name("payments-timer".to_owned());
            builder.spawn(|| self.run())?;
            sleeps.is_running = true;
        }
        let is_first = sleeps.wakers.first_key_value().is_none_or(|(first, _)| end < *first);
        let replaced = sleeps.wakers.insert(end, waker);
        drop(sleeps);
        drop(replaced);
        if is_first {
            self.changed.notify_one();
        }
        Ok(())
    }

    fn forget(&self, end: End) {
        let waker = self.lock().wakers.remove(&end);
        drop(waker);
    }

    fn run(&self) -> ! {
        let mut sleeps = self.lock();
        loop {
            let left = sleeps
                .wakers
                .first_key_value()
                .map(|(end, _)| end.0.saturating_duration_since(Instant::now()));
            sleeps = match left {
                None => self.changed.wait(sleeps).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    let first = sleeps.wakers.pop_first();
                    drop(sleeps);
                    // A waker that panics must not end the sleeps of others.
                    let _ = catch_unwind(AssertUnwindSafe(|| first.map(|(_, waker)| waker.wake())));
                    self.lock()
                }
                Some(left) => {
                    self.changed.wait_timeout(sleeps, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sleeps> {
        self.sleeps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;
    use std::{fs, ptr};

    use super::*;

    /// Sends its number when its task is woken.
    struct Signal(mpsc::Sender<usize>, usize);

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            // The test may have ended.
            let _ = self.0.send(self.1);
        }
    }

    fn waker(signal: &mpsc::Sender<usize>, number: usize) -> Waker {
        Waker::from(Arc::new(Signal(signal.clone(), number)))
    }

    fn sleep_of(duration: Duration) -> SystemSleep {
        SystemSleep::until(Instant::now() + duration)
    }

    fn poll(sleep: &mut SystemSleep, waker: &Waker) -> Poll<()> {
        Pin::new(sleep).poll(&mut Context::from_waker(waker))
    }

    #[test]
    fn sleeps_end_in_their_order_and_the_dropped_ones_never() {
        let (signal, woken) = mpsc::channel();
        // One beginning, so that a pause between two of them on a busy machine changes no order.
        let begun = Instant::now();
        let mut sleeps: Vec<_> = [900, 300, 600, 3_600_000, 450]
            .into_iter()
            .enumerate()
            .map(|(number, milliseconds)| {
                let mut sleep = SystemSleep::until(begun + Duration::from_millis(milliseconds));
                assert!(poll(&mut sleep, &waker(&signal, number)).is_pending());
                sleep
            })
            .collect();
        drop(sleeps.pop());
        for expected in [1, 2, 0] {
            assert_eq!(woken.recv().unwrap(), expected);
            assert!(Instant::now() >= sleeps[expected].end.0);
            assert!(poll(&mut sleeps[expected], Waker::noop()).is_ready());
        }
        assert!(poll(&mut sleeps[3], Waker::noop()).is_pending());
        let is_kept = |sleep: &SystemSleep| sleep.thread.unwrap().lock().wakers.contains_key(&sleep.end);
        assert!(is_kept(&sleeps[3]), "the long sleep");
    }

    #[test]
    fn a_dropped_sleep_keeps_nothing_of_its_task() {
        let (signal, _woken) = mpsc::channel();
        let task = Arc::new(Signal(signal, 0));
        let mut sleep = sleep_of(Duration::from_hours(1));
        assert!(poll(&mut sleep, &Waker::from(Arc::clone(&task))).is_pending());
        assert!(poll(&mut sleep, &Waker::from(Arc::clone(&task))).is_pending());
        assert_eq!(Arc::strong_count(&task), 2, "the last waker only");
        drop(sleep);
        assert_eq!(Arc::strong_count(&task), 1);
    }

    /// A task that owns a sleep is dropped with its waker, which is dropped with another sleep.
    #[test]
    fn a_waker_that_owns_a_sleep_can_be_dropped_and_one_that_panics_ends_no_other() {
        struct Owner(#[expect(dead_code, reason = "dropped")] SystemSleep);
        impl Wake for Owner {
            fn wake(self: Arc<Self>) {
                panic!("a waker that panics");
            }
        }
        let owner = || {
            let mut owned = sleep_of(Duration::from_hours(1));
            assert!(poll(&mut owned, Waker::noop()).is_pending());
            Waker::from(Arc::new(Owner(owned)))
        };
        let mut sleep = sleep_of(Duration::from_millis(300));
        assert!(poll(&mut sleep, &owner()).is_pending());
        assert!(poll(&mut sleep, &owner()).is_pending());
        let mut dropped = sleep_of(Duration::from_hours(1));
        assert!(poll(&mut dropped, &owner()).is_pending());
        drop(dropped);

        let (signal, woken) = mpsc::channel();
        let mut later = sleep_of(Duration::from_millis(300));
        assert!(poll(&mut later, &waker(&signal, 7)).is_pending());
        assert_eq!(woken.recv().unwrap(), 7);
    }

    #[test]
    fn many_sleeps_end_on_time_over_one_thread() {
        const SLEEPS: usize = 10_000;
        let (signal, woken) = mpsc::channel();
        let sleeps: Vec<_> = (0..SLEEPS)
            .map(|number| {
                let mut sleep = sleep_of(Duration::from_millis((number % 50 + 1) as u64));
                // It may have ended already.
                if poll(&mut sleep, &waker(&signal, number)).is_ready() {
                    signal.send(number).unwrap();
                }
                sleep
            })
            .collect();
        for _ in 0..SLEEPS {
            let number = woken.recv().unwrap();
            assert!(Instant::now() >= sleeps[number].end.0);
        }
        if cfg!(target_os = "linux") {
            let threads = fs::read_dir("/proc/self/task").unwrap().filter(|thread| {
                let name = fs::read_to_string(thread.as_ref().unwrap().path().join("comm"));
                name.is_ok_and(|name| name.trim() == "payments-timer")
            });
            assert_eq!(threads.count(), 1);
        }
    }

    #[test]
    fn a_sleep_without_a_thread_ends_on_time() {
        let (signal, woken) = mpsc::channel();
        let waker = waker(&signal, 0);
        let mut sleep = sleep_of(Duration::from_millis(300));
        let mut polls = 0;
        while sleep.poll_with(None, &Context::from_waker(&waker)).is_pending() {
            woken.recv().unwrap();
            polls += 1;
        }
        assert!(Instant::now() >= sleep.end.0);
        assert!((1..=300).contains(&polls), "{polls}");
    }

    #[test]
    fn each_process_has_its_own_place_d51() {
        let threads = [TimerThread::new(), TimerThread::new()];
        let place = |bits| {
            let found = TimerThread::place_of(ProcessId::from_bits(bits), &threads)?;
            threads.iter().position(|thread| ptr::eq(thread, found))
        };
        // The second is a descendant with the number of the first.
        let [first, second, third] = [0x7_0000_0001, 0x7_0000_0002, 0x8_0000_0001];
        let places = [first, second, first, second, third].map(place);
        assert_eq!(places, [Some(0), Some(1), Some(0), Some(1), None]);
    }
}
