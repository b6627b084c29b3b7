use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use payments_core::{Sleep, Timer};
use tokio::runtime::Handle;

use crate::deadline;

/// tokio's clock: the [`Timer`](payments_core::Timer) to give a client that uses [`HyperTransport`](crate::HyperTransport).
///
/// Outside of a tokio runtime, where tokio itself would panic, a sleep still ends in time, on a thread of its own. So does
/// one in a runtime without its time driver, after tokio's panic was caught (see [Runtime](crate#runtime)).
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "it is complete: a clock has nothing to set")]
pub struct TokioTimer;

impl TokioTimer {
    /// tokio's clock.
    pub const fn new() -> Self {
        Self
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let ends = deadline::after(tokio::time::Instant::now(), duration);
        let tokio_sleep = Handle::try_current().ok().and_then(|_| deadline::alarm(ends).ok());
        match tokio_sleep {
            Some(sleep) => Box::pin(sleep),
            None => Box::pin(ThreadSleep { ends: ends.into_std(), waker: Arc::default(), thread: None }),
        }
    }
}

/// A sleep without a runtime.
struct ThreadSleep {
    ends: Instant,
    waker: Arc<Mutex<Option<Waker>>>,
    /// Started by the first poll: most sleeps are a deadline that is never waited for.
    thread: Option<thread::JoinHandle<()>>,
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        if Instant::now() >= self.ends {
            return Poll::Ready(());
        }
        if self.thread.is_none() {
            let (ends, waker) = (self.ends, Arc::clone(&self.waker));
            self.thread = Some(thread::spawn(move || wake_at(ends, &waker)));
        }
        Poll::Pending
    }
}

impl Drop for ThreadSleep {
    fn drop(&mut self) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// Wakes whoever waits at `ends`, or ends earlier once nobody does.
fn wake_at(ends: Instant, waker: &Mutex<Option<Waker>>) {
    loop {
        let time_left = ends.saturating_duration_since(Instant::now());
        let mut waiting = waker.lock().unwrap_or_else(PoisonError::into_inner);
        if time_left.is_zero() || waiting.is_none() {
            if let Some(waker) = waiting.take() {
                waker.wake();
            }
            return;
        }
        drop(waiting);
        thread::park_timeout(time_left);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;

    use super::*;

    struct Signal(mpsc::Sender<()>);

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            self.0.send(()).expect("the test waits for it");
        }
    }

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_sleep_outside_of_a_runtime_wakes_its_task_and_ends() {
        let (signal, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Signal(signal)));
        let mut cx = Context::from_waker(&waker);
        let started = Instant::now();
        let mut sleep = TokioTimer::new().sleep(SHORT);
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        woken.recv().unwrap();
        assert!(started.elapsed() >= SHORT);
        assert!(sleep.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn a_dropped_sleep_leaves_no_thread_behind() {
        let mut sleep = ThreadSleep {
            ends: Instant::now() + Duration::from_hours(1),
            waker: Arc::default(),
            thread: None,
        };
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let thread = sleep.thread.take().unwrap();
        let handle = thread.thread().clone();
        drop(sleep);
        handle.unpark();
        thread.join().unwrap();
    }

    #[test]
    fn a_sleep_in_a_runtime_without_a_time_driver_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { TokioTimer::new().sleep(SHORT).await });
    }

    #[tokio::test]
    async fn a_sleep_in_a_runtime_ends_and_not_too_early() {
        let started = TokioTimer::new().now();
        TokioTimer::new().sleep(SHORT).await;
        assert!(started.elapsed() >= SHORT);
    }
}
