use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use payments_core::{Sleep, Timer};
use tokio::runtime::Handle;

/// tokio's clock: the [`Timer`] for a client that uses [`ReqwestTransport`](crate::ReqwestTransport).
///
/// Where tokio has no clock, outside of a runtime or in one without its time driver, a sleep still ends in time,
/// on a thread that all such sleeps share.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "it is complete: a clock has nothing to set")]
pub struct TokioTimer;

impl TokioTimer {
    /// tokio's clock.
    pub const fn new() -> Self {
        Self
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        // tokio can be asked for a runtime, but not for its time driver: without one it panics.
        let of_tokio =
            Handle::try_current().ok().and_then(|_| catch_unwind(|| tokio::time::sleep(duration)).ok());
        match of_tokio {
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
    fn a_sleep_ends_without_a_runtime_and_without_a_time_driver() {
        let started = Instant::now();
        payments_fake::block_on(TokioTimer::new().sleep(SHORT));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { TokioTimer::new().sleep(SHORT).await });
        assert!(started.elapsed() >= SHORT * 2);
    }

    #[tokio::test]
    async fn a_sleep_in_a_runtime_ends_and_not_too_early() {
        let started = TokioTimer::new().now();
        TokioTimer::new().sleep(SHORT).await;
        assert!(started.elapsed() >= SHORT);
    }
}
