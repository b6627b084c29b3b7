use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use payments_core::{Sleep, Timer, blocking};

/// A clock that only the test moves: no sleep waits for real time, and no runtime is needed.
///
/// Clones share the clock. There are two kinds:
///
/// - [`ManualClock::new`] stands still until [`advance`](Self::advance) is called, which wakes every sleep that is due.
/// - [`ManualClock::auto`] moves automatically: as soon as a sleep is polled, the clock jumps to the earliest end of any
///   pending sleep. A deadline of a minute then passes at once, and sleeps end in the right order. The clock is paused
///   while a [`Gate`](crate::Gate) of the same gateway holds a request, because the test is about to do something. Use it
///   in tests with one call at a time; with several, a sleep of one call moves the time of all.
///
/// ```
/// use std::time::Duration;
/// use payments_core::Timer;
/// use payments_fake::{ManualClock, block_on};
///
/// let clock = ManualClock::auto();
/// block_on(clock.sleep(Duration::from_secs(3600)));
/// assert_eq!(clock.elapsed(), Duration::from_secs(3600));
/// ```
#[derive(Clone)]
pub struct ManualClock(Arc<Inner>);

struct Inner {
    start: Instant,
    auto: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    elapsed: Duration,
    /// Pending sleeps. A sleep has no waker until its first poll.
    sleeps: BTreeMap<SleepKey, Option<Waker>>,
    next_age: u64,
    /// How many [`Pause`]s stop the automatic clock.
    pauses: usize,
}

impl State {
    /// The time after this duration.
    fn after(&self, duration: Duration) -> Duration {
        self.elapsed.saturating_add(duration).min(LAST)
    }
}

/// When the sleep ends, and its age.
type SleepKey = (Duration, u64);

impl ManualClock {
    /// A clock that stands still until it is [advanced](Self::advance).
    #[allow(clippy::new_without_default, reason = "a gateway's clock is automatic by default")]
    pub fn new() -> Self {
        Self::with_auto(false)
    }

    /// A clock that jumps to the end of the earliest sleep as soon as one is polled.
    pub fn auto() -> Self {
        Self::with_auto(true)
    }

    fn with_auto(auto: bool) -> Self {
        Self(Arc::new(Inner { start: Instant::now(), auto, state: Mutex::default() }))
    }

    /// Moves the time forward and wakes every sleep that is due. After a hundred years the clock stands still.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.elapsed = state.after(by);
        let last = (state.elapsed, u64::MAX);
        let later = state.sleeps.split_off(&last);
        let due = std::mem::replace(&mut state.sleeps, later);
        drop(state);
        due.into_values().flatten().for_each(Waker::wake);
    }

    /// When the earliest pending sleep ends, on the scale of [`elapsed`](Self::elapsed), or `None` if there is none.
    ///
    /// A test with several calls at once uses it to advance the clock from one end to the next, so that no sleep is
    /// skipped:
    ///
    /// ```
    /// use std::time::Duration;
    /// use payments_core::Timer;
    /// use payments_fake::ManualClock;
    ///
    /// let clock = ManualClock::new();
    /// let _later = clock.sleep(Duration::from_secs(5));
    /// let _sooner = clock.sleep(Duration::from_secs(2));
    /// let next = clock.next_end().expect("two sleeps are pending");
    /// clock.advance(next - clock.elapsed());
    /// assert_eq!(clock.elapsed(), Duration::from_secs(2));
    /// ```
    pub fn next_end(&self) -> Option<Duration> {
        let state = self.state();
        let ((end, _), _) = state.sleeps.first_key_value()?;
        Some(state.elapsed.max(*end))
    }

    /// How far this clock has moved since it was created.
    pub fn elapsed(&self) -> Duration {
        self.state().elapsed
    }

    /// The time of day by this clock, for the dates of responses. It starts at 2030-01-01T00:00:00Z, whatever the real
    /// date is, so that a run repeats byte for byte.
    pub fn system_time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + EPOCH + self.elapsed()
    }

    /// Stops the automatic clock until the guard is dropped.
    pub(crate) fn pause(&self) -> Pause {
        self.state().pauses += 1;
        Pause(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer for ManualClock {
    fn now(&self) -> Instant {
        self.0.start + self.elapsed()
    }

    fn system_time(&self) -> SystemTime {
        Self::system_time(self)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let mut state = self.state();
        let key = (state.after(duration), state.next_age);
        state.next_age += 1;
        state.sleeps.insert(key, None);
        drop(state);
        Box::pin(ManualSleep { clock: self.clone(), key })
    }
}

/// A sleep blocks the thread until the clock has moved, automatically or from another thread.
impl blocking::Timer for ManualClock {
    fn now(&self) -> Instant {
        Timer::now(self)
    }

    fn system_time(&self) -> SystemTime {
        Self::system_time(self)
    }

    fn sleep(&self, duration: Duration) {
        block_on(Timer::sleep(self, duration));
    }
}

/// Shows only what is the same in every run.
impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}

struct ManualSleep {
    clock: ManualClock,
    key: SleepKey,
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { clock, key } = &*self;
        // No code of a waker runs while the lock is held: it may drop a task that sleeps too.
        let waker = context.waker().clone();
        let mut state = clock.state();
        if state.elapsed >= key.0 {
            let removed = state.sleeps.remove(key);
            drop(state);
            drop(removed);
            return Poll::Ready(());
        }
        if !clock.0.auto || state.pauses > 0 {
            let replaced = state.sleeps.insert(*key, Some(waker));
            drop(state);
            drop(replaced);
            return Poll::Pending;
        }
        // One sleep ends per poll, the earliest of all, so that its waiter runs before the time moves on.
        state.sleeps.entry(*key).or_default();
        let (earliest, its_waker) = state.sleeps.pop_first().expect("this sleep was just added");
        state.elapsed = state.elapsed.max(earliest.0);
        drop(state);
        if let Some(its_waker) = its_waker {
            its_waker.wake();
        }
        if earliest == *key {
            return Poll::Ready(());
        }
        // Even if this one ends at the same time: the older one is first, and its waiter has not run yet.
        waker.wake();
        Poll::Pending
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        let waker = self.clock.state().sleeps.remove(&self.key);
        drop(waker);
    }
}

/// Pauses the automatic clock while it exists.
pub(crate) struct Pause(ManualClock);

impl Drop for Pause {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.pauses -= 1;
        if !self.0.0.auto || state.pauses > 0 {
            return;
        }
        // Sleeps that were polled during the pause are polled again, which moves the clock.
        let wakers: Vec<_> = state.sleeps.values_mut().filter_map(Option::take).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// When the clock ends: no instant and no date may overflow.
const LAST: Duration = Duration::from_hours(100 * 365 * 24);

/// 2030-01-01T00:00:00Z.
const EPOCH: Duration = Duration::new(1_893_456_000, 0);

/// Runs one future to completion on this thread, for tests and examples without a runtime.
///
/// The futures of this crate need nothing else: they wait for each other and for a [`ManualClock`](crate::ManualClock),
/// never for a socket.
///
/// ```
/// assert_eq!(payments_fake::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Wake;
    use std::thread;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn is_ready(future: Pin<&mut impl Future>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_sleep_ends_exactly_when_it_is_due() {
        let clock = ManualClock::new();
        let mut sleep = pin!(clock.sleep(SECOND * 2));
        assert!(!is_ready(sleep.as_mut()));
        clock.advance(SECOND);
        assert!(!is_ready(sleep.as_mut()));
        clock.advance(SECOND);
        assert!(is_ready(sleep.as_mut()));
        // It starts at its call and not at its first poll.
        let mut sleep = pin!(clock.sleep(SECOND));
        clock.advance(SECOND);
        assert!(is_ready(sleep.as_mut()));
    }

    #[test]
    fn advancing_wakes_a_sleeper_on_another_thread() {
        let clock = ManualClock::new();
        let sleeper = thread::spawn({
            let clock = clock.clone();
            move || block_on(clock.sleep(SECOND))
        });
        while !clock.state().sleeps.values().any(Option::is_some) {
            thread::yield_now();
        }
        clock.advance(SECOND);
        sleeper.join().unwrap();
    }

    #[test]
    fn a_dropped_sleep_is_removed() {
        let clock = ManualClock::auto();
        drop(clock.sleep(SECOND));
        block_on(clock.sleep(SECOND * 5));
        assert_eq!(clock.elapsed(), SECOND * 5);
        assert!(clock.state().sleeps.is_empty());
    }

    /// A task that owns a sleep is dropped with its waker, which is dropped with another sleep.
    #[test]
    fn a_waker_that_owns_a_sleep_can_be_dropped() {
        struct Owner(#[expect(dead_code, reason = "dropped")] Mutex<Sleep>);
        impl Wake for Owner {
            fn wake(self: Arc<Self>) {}
        }
        let clock = ManualClock::new();
        let poll = |sleep: &mut Sleep| {
            let owner = Waker::from(Arc::new(Owner(Mutex::new(clock.sleep(SECOND * 9)))));
            sleep.as_mut().poll(&mut Context::from_waker(&owner))
        };
        let mut sleep = clock.sleep(SECOND);
        assert!(poll(&mut sleep).is_pending());
        assert!(poll(&mut sleep).is_pending());
        clock.advance(SECOND);
        assert!(poll(&mut sleep).is_ready());
        let mut dropped = clock.sleep(SECOND);
        assert!(poll(&mut dropped).is_pending());
        drop(dropped);
        assert!(clock.state().sleeps.is_empty());
    }

    #[test]
    fn automatic_time_ends_the_earliest_sleep_first() {
        let clock = ManualClock::auto();
        let mut early = pin!(clock.sleep(SECOND));
        let mut late = pin!(clock.sleep(SECOND * 9));
        assert!(!is_ready(late.as_mut()), "the earlier sleep ends first, although it was not polled yet");
        assert_eq!(clock.elapsed(), SECOND);
        assert!(is_ready(early.as_mut()));
        assert!(is_ready(late.as_mut()));
        assert_eq!(clock.elapsed(), SECOND * 9);
    }

    #[test]
    fn the_older_of_two_simultaneous_sleeps_ends_first() {
        let clock = ManualClock::auto();
        let mut deadline = pin!(clock.sleep(SECOND));
        let mut work = pin!(clock.sleep(SECOND));
        assert!(!is_ready(work.as_mut()), "the waiter of the older sleep runs first");
        assert!(is_ready(deadline.as_mut()));
        assert!(is_ready(work.as_mut()));
    }

    #[test]
    fn the_longest_sleep_overflows_no_time() {
        let clock = ManualClock::auto();
        block_on(Timer::sleep(&clock, Duration::MAX));
        clock.advance(Duration::MAX);
        let ends = (Timer::now(&clock), clock.system_time());
        block_on(Timer::sleep(&clock, SECOND));
        assert_eq!((Timer::now(&clock), clock.system_time()), ends, "it stands still at its end");
    }

    #[test]
    fn a_pause_stops_automatic_time() {
        let clock = ManualClock::auto();
        let pause = clock.pause();
        let mut sleep = pin!(clock.sleep(SECOND));
        assert!(!is_ready(sleep.as_mut()));
        assert_eq!(clock.elapsed(), Duration::ZERO);
        drop(pause);
        assert!(is_ready(sleep.as_mut()));
    }

    #[test]
    fn the_time_of_day_starts_in_2030_and_moves_with_time() {
        let clock = ManualClock::new();
        clock.advance(SECOND * 61);
        assert_eq!(httpdate::fmt_http_date(clock.system_time()), "Tue, 01 Jan 2030 00:01:01 GMT");
        assert_eq!(Timer::system_time(&clock), clock.system_time());
    }
}
