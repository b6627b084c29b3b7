use tokio::sync::watch;

/// Tells whoever holds a clone that the server is to stop.
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
    pub(crate) async fn begun(&mut self) {
        // An error means that the switch is gone, and with it the server's owner.
        let _ = self.0.wait_for(|begun| *begun).await;
    }
}

impl ShutdownSwitch {
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }
}
