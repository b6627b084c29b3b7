use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// A gate: what opens it, as often as it is to be passed, and what waits at it. Whoever is gone waits no longer.
pub(crate) fn gate() -> (impl Fn() + Send + Sync + 'static, impl Fn() + Send + Sync + 'static) {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let open = move || sender.send(()).unwrap_or(());
    (open, move || receiver.lock().unwrap().recv_timeout(PATIENCE).expect("the gate opens"))
}

/// A test that goes wrong must end all the same.
const PATIENCE: Duration = Duration::from_secs(30);
