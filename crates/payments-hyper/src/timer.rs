use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use payments_core::{Sleep, SystemTimer, Timer};
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;

/// tokio's clock: the [`Timer`](payments_core::Timer) for a client that uses [`HyperTransport`](crate::HyperTransport).
///
/// Outside a tokio runtime, where tokio would panic, a sleep is that of [`SystemTimer`] and still ends on time. The same holds in
/// a runtime without a time driver, where tokio's panic is caught (see [Runtime](crate#runtime)).
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
        let tokio_sleep =
            Handle::try_current().ok().and_then(|_| catch_unwind(|| tokio::time::sleep(duration)).ok());
        match tokio_sleep {
            // Fires even in a task that has used up tokio's cooperative budget.
            Some(sleep) => Box::pin(unconstrained(sleep)),
            None => SystemTimer::new().sleep(duration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

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
