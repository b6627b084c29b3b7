use std::time::{Duration, Instant};

use payments_core::{Sleep, Timer};

/// The runtime's clock: a served fake keeps real time.
#[derive(Debug)]
pub(crate) struct RealTime;

impl Timer for RealTime {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}
