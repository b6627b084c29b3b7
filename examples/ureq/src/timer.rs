use std::time::{Duration, Instant};

use futures_timer::Delay;
use payments_core::{Sleep, Timer};

/// A clock that needs no runtime, for a [`Client`](payments_core::Client).
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "it is complete: a clock has nothing to set")]
pub struct ThreadTimer;

impl Timer for ThreadTimer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(Delay::new(duration))
    }
}
