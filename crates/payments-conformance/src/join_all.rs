use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Runs all futures at once within one, and gives their outputs in order.
///
/// Only those are polled that were woken, as a runtime would do with tasks.
pub(crate) async fn join_all<'a, T: Send + 'a>(
    futures: impl IntoIterator<Item = impl Future<Output = T> + Send + 'a>,
) -> Vec<T> {
    let mut slots: Vec<Slot<'a, T>> = futures.into_iter().map(Slot::of).collect();
    poll_fn(|cx| {
        let mut all = true;
        for slot in &mut slots {
            all &= slot.poll(cx);
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    slots.into_iter().filter_map(|slot| slot.output).collect()
}

struct Slot<'a, T> {
    /// `None` once it has ended: dropped at once, as a runtime drops a task.
    future: Option<Pin<Box<dyn Future<Output = T> + Send + 'a>>>,
    output: Option<T>,
    bell: Arc<Bell>,
    waker: Waker,
}

/// Rung when one future is to be polled again.
struct Bell {
    rung: AtomicBool,
    outer: Mutex<Option<Waker>>,
}

impl<'a, T> Slot<'a, T> {
    fn of(future: impl Future<Output = T> + Send + 'a) -> Self {
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), outer: Mutex::new(None) });
        Self { future: Some(Box::pin(future)), output: None, waker: Waker::from(Arc::clone(&bell)), bell }
    }

    /// Whether the future has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(future) = &mut self.future else { return true };
        // Before the flag is read, so that a bell rung in between wakes the whole again.
        *self.bell.outer.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        if self.bell.rung.swap(false, Ordering::SeqCst)
            && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&self.waker))
        {
            self.future = None;
            self.output = Some(output);
        }
        self.future.is_none()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::SeqCst);
        let outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}
