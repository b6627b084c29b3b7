use std::time::{Duration, Instant};

use payments_core::{Sleep, Timer};

/// tokio's clock, for a [`Client`](payments_core::Client). It must be used within a tokio runtime.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "it is complete: a clock has nothing to set")]
pub struct TokioTimer;

impl Timer for TokioTimer {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}
