use std::time::{Duration, Instant};

use futures_timer::Delay;
use payments_core::{Sleep, Timer};
use tokio::runtime::Handle;

use crate::deadline::{self, FAR_FUTURE};

/// tokio's clock: the [`Timer`](payments_core::Timer) for a client that uses [`HyperTransport`](crate::HyperTransport).
///
/// Outside a tokio runtime, where tokio would panic, a sleep uses a timer thread and still ends on time. The same holds in a
/// runtime without a time driver, where tokio's panic is caught (see [Runtime](crate#runtime)).
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "complete: a clock has no settings")]
pub struct TokioTimer;

impl TokioTimer {
    /// Creates the timer.
    pub const fn new() -> Self {
        Self
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let ends = deadline::after(tokio::time::Instant::now(), duration);
        let tokio_sleep = Handle::try_current().ok().and_then(|_| deadline::timer_at(ends).ok());
        match tokio_sleep {
            Some(sleep) => Box::pin(sleep),
            None => Box::pin(Delay::new(duration.min(FAR_FUTURE))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::{Context, Wake, Waker};

    use super::*;

    struct Signal(mpsc::Sender<()>);

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            self.0.send(()).expect("the test receives it");
        }
    }

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_sleep_outside_a_runtime_wakes_its_task_and_ends() {
        let (signal, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Signal(signal)));
        let mut cx = Context::from_waker(&waker);
        let started = Instant::now();
        let mut sleep = TokioTimer::new().sleep(SHORT);
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        woken.recv().unwrap();
        assert!(started.elapsed() >= SHORT);
        assert!(sleep.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn a_sleep_in_a_runtime_without_a_time_driver_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { TokioTimer::new().sleep(SHORT).await });
    }

    #[tokio::test]
    async fn a_sleep_in_a_runtime_does_not_end_early() {
        let started = TokioTimer::new().now();
        TokioTimer::new().sleep(SHORT).await;
        assert!(started.elapsed() >= SHORT);
    }
}
