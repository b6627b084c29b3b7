use std::time::{Duration, Instant};

use payments_core::{Sleep, Timer};
use tokio::sync::watch;

/// Tells whoever holds a clone that the server is to stop.
///
/// As a timer it is the runtime's clock, and a shutdown ends whatever is waited for.
#[derive(Clone)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// Begins the shutdown when told to, or when it is dropped.
pub(crate) struct ShutdownSwitch(watch::Sender<bool>);

impl Shutdown {
    pub(crate) fn new() -> (ShutdownSwitch, Self) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownSwitch(sender), Self(receiver))
    }

    /// Waits until the shutdown begins.
    pub(crate) fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.0.clone();
        // An error means that the switch is gone, and with it the server's owner.
        async move { drop(receiver.wait_for(|begun| *begun).await) }
    }
}

impl ShutdownSwitch {
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Timer for Shutdown {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let begun = self.begun();
        Box::pin(async move {
            tokio::select! {
                () = tokio::time::sleep(duration) => {}
                () = begun => {}
            }
        })
    }
}
