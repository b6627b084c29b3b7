use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Does the work. If `progress` stays the same for the whole timeout, calls `abort`, which must make the work end.
pub(crate) fn watched<T>(
    timeout: Duration,
    progress: impl Fn() -> usize + Send,
    abort: impl FnOnce() + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (ended, wait_for_end) = mpsc::channel::<()>();
    let watchdog = move || {
        let mut before = progress();
        while wait_for_end.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
            // A slow machine may need this long for many calls, so only a time without progress counts.
            let now = progress();
            if now == before {
                return abort();
            }
            before = now;
        }
    };
    thread::scope(|scope| {
        scope.spawn(watchdog);
        let output = work();
        drop(ended);
        output
    })
}
