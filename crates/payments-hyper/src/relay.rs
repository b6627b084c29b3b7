use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// A waker that lasts as long as its connection and wakes the task that waits for it now.
///
/// hyper and the socket keep it from call to call. The waker of a task would be registered anew by every call, and between two
/// calls it would keep the memory of the last one's task alive for as long as the connection stays idle.
pub(crate) struct Relay {
    waker: Waker,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting(Mutex<Option<Waker>>);

impl Relay {
    pub(crate) fn new() -> Self {
        let waiting = Arc::<Waiting>::default();
        Self { waker: Waker::from(Arc::clone(&waiting)), waiting }
    }

    /// The context to poll the connection with, which from now on wakes the task of this one.
    pub(crate) fn to(&self, task: &Context<'_>) -> Context<'_> {
        let is_known = self.waiting.lock().as_ref().is_some_and(|waiting| waiting.will_wake(task.waker()));
        if !is_known {
            self.waiting.replace(Some(task.waker().clone()));
        }
        Context::from_waker(&self.waker)
    }

    /// Wakes nobody from now on.
    pub(crate) fn to_nobody(&self) {
        self.waiting.replace(None);
    }
}

impl Waiting {
    fn replace(&self, waiting: Option<Waker>) {
        let previous = mem::replace(&mut *self.lock(), waiting);
        // Not with the lock held: it may be the last of its task, and who knows whom that wakes when it goes.
        drop(previous);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        // Nothing can panic half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A copy, for the same reason.
        let waiting = self.lock().clone();
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A task that wakes somebody when it goes.
    struct WakesWhenDropped(Waker);

    impl Wake for WakesWhenDropped {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for WakesWhenDropped {
        fn drop(&mut self) {
            self.0.wake_by_ref();
        }
    }

    #[test]
    fn a_task_that_wakes_its_connection_when_it_goes_does_not_wait_for_itself() {
        let relay = Relay::new();
        let to_last_task = || Waker::from(Arc::new(WakesWhenDropped(relay.waker.clone())));
        relay.to(&Context::from_waker(&to_last_task()));
        relay.to(&Context::from_waker(&to_last_task()));
        relay.to_nobody();
    }

    #[test]
    fn whoever_waits_now_is_woken_and_nobody_else() {
        let relay = Relay::new();
        let (first, second) = (Arc::<Count>::default(), Arc::<Count>::default());
        let wake = |count: &Arc<Count>| {
            let waker = Waker::from(Arc::clone(count));
            relay.to(&Context::from_waker(&waker)).waker().clone()
        };
        let kept = wake(&first);
        assert!(kept.will_wake(&wake(&second)), "it is the same for every task");
        kept.wake_by_ref();
        assert_eq!((first.0.load(Ordering::Relaxed), second.0.load(Ordering::Relaxed)), (0, 1));

        relay.to_nobody();
        kept.wake_by_ref();
        assert_eq!(second.0.load(Ordering::Relaxed), 1);
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1), "no task is kept");
    }
}
