use std::future::Future;
use std::time::Duration;

use payments_core::{Sleep, Timer};
use tokio::sync::watch;
use tokio::time::timeout;

/// The signal to stop the server.
///
/// As a timer it uses the runtime's clock, and a shutdown ends every sleep.
#[derive(Clone)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// The shutdown begins when the sender is set to true, or dropped with all that can set it.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (switch, receiver) = watch::channel(false);
        (switch, Self(receiver))
    }

    /// Waits until the shutdown begins.
    pub(crate) fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.0.clone();
        async move { drop(receiver.wait_for(|begun| *begun).await) }
    }
}

impl Timer for Shutdown {
    fn now(&self) -> std::time::Instant {
        std::time::Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let begun = self.begun();
        Box::pin(async move { drop(timeout(duration, begun).await) })
    }
}
