use std::time::{Duration, Instant};

use payments_core::{Sleep, Timer};

use crate::shutdown::Shutdown;

/// The runtime's clock: a served fake keeps real time. A shutdown ends whatever is waited for.
pub(crate) struct RealTime(pub(crate) Shutdown);

impl Timer for RealTime {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let mut shutdown = self.0.clone();
        Box::pin(async move {
            tokio::select! {
                () = tokio::time::sleep(duration) => {}
                () = shutdown.begun() => {}
            }
        })
    }
}
