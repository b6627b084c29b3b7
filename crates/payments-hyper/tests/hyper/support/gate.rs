use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// Returns two functions: each call of the first lets one call of the second return. The first may be called after the second was
/// dropped.
pub(crate) fn gate() -> (impl Fn() + Send + Sync + 'static, impl Fn() + Send + Sync + 'static) {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let open = move || sender.send(()).unwrap_or(());
    (open, move || receiver.lock().unwrap().recv_timeout(TIMEOUT).expect("the gate is opened"))
}

/// A failing test must end.
const TIMEOUT: Duration = Duration::from_secs(30);
