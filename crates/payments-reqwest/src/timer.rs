use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use payments_core::{Sleep, Timer};
use tokio::runtime::Handle;

/// tokio's timer, for a client that uses [`ReqwestTransport`](crate::ReqwestTransport).
///
/// Outside a runtime, or in one without a time driver, a sleep still ends on time. All such sleeps share one thread.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "it is complete: it has no settings")]
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
        // tokio has no check for a time driver: without one it panics.
        let tokio_sleep =
            Handle::try_current().ok().and_then(|_| catch_unwind(|| tokio::time::sleep(duration)).ok());
        match tokio_sleep {
            Some(sleep) => Box::pin(sleep),
            None => Box::pin(Delay::new(duration)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_sleep_ends_without_a_runtime_or_a_time_driver() {
        let started = Instant::now();
        payments_fake::block_on(TokioTimer::new().sleep(SHORT));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { TokioTimer::new().sleep(SHORT).await });
        assert!(started.elapsed() >= SHORT * 2);
    }

    #[tokio::test]
    async fn a_sleep_in_a_runtime_does_not_end_early() {
        let started = TokioTimer::new().now();
        TokioTimer::new().sleep(SHORT).await;
        assert!(started.elapsed() >= SHORT);
    }
}
