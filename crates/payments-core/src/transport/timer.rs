use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::system_sleep::SystemSleep;

/// A pending sleep.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The client's clock: a runtime's timer, or one that a test advances.
///
/// [`SystemTimer`] works everywhere. `payments-hyper` has `TokioTimer`, `payments-fake` has `ManualClock`.
pub trait Timer: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Instant;

    /// The current time of day, for the events of an observer. The system's by default; a clock for tests can replace it.
    fn system_time(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Returns a future that is ready once `duration` has passed since this call.
    fn sleep(&self, duration: Duration) -> Sleep;
}

impl<T: Timer + ?Sized> Timer for Arc<T> {
    fn now(&self) -> Instant {
        T::now(self)
    }

    fn system_time(&self) -> SystemTime {
        T::system_time(self)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        T::sleep(self, duration)
    }
}

/// The operating system's clock. It needs no runtime: all sleeps of a process share one thread.
///
/// A process that was forked starts its own thread. If no thread can be started, a task that sleeps is polled every millisecond, so
/// that a call still ends on time. A waker must not block, because the thread wakes one task after the other.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "complete: a clock has no settings")]
pub struct SystemTimer;

impl SystemTimer {
    /// Creates the timer.
    pub const fn new() -> Self {
        Self
    }
}

impl Timer for SystemTimer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(SystemSleep::until(Instant::now() + duration.min(LONGEST_SLEEP)))
    }
}

/// The end of a sleep is an instant, which must not overflow.
const LONGEST_SLEEP: Duration = Duration::from_hours(30 * 365 * 24);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Wake, Waker};

    use super::*;

    struct Signal(mpsc::Sender<()>);

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            self.0.send(()).expect("the test receives it");
        }
    }

    #[test]
    fn a_sleep_outside_a_runtime_wakes_its_task_and_ends() {
        const SHORT: Duration = Duration::from_millis(300);
        let (signal, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Signal(signal)));
        let mut cx = Context::from_waker(&waker);
        let started = Instant::now();
        let mut sleep = SystemTimer::new().sleep(SHORT);
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        woken.recv().unwrap();
        assert!(started.elapsed() >= SHORT);
        assert!(sleep.as_mut().poll(&mut cx).is_ready());
        assert!(SystemTimer::new().sleep(Duration::MAX).as_mut().poll(&mut cx).is_pending());
    }
}
