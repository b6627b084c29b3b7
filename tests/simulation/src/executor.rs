use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// Polls futures on one thread, one at a time.
///
/// [`World`](crate::world::World) chooses which of the ready tasks is polled next.
#[derive(Default)]
pub(crate) struct Executor {
    /// `None` after a task has ended or was dropped.
    tasks: Vec<Option<Task>>,
    ready: Arc<Ready>,
}

/// The future of a task, without a result.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    /// The call that it runs for.
    owner: usize,
    work: Work,
    signal: Arc<Signal>,
}

impl Executor {
    /// Adds a task, ready to be polled, and returns its number.
    pub(crate) fn spawn(&mut self, owner: usize, work: Work) -> usize {
        let task = self.tasks.len();
        let ready = Arc::clone(&self.ready);
        let signal = Arc::new(Signal { task, ready, is_queued: AtomicBool::new(false) });
        signal.wake_by_ref();
        self.tasks.push(Some(Task { owner, work, signal }));
        task
    }

    /// The number of ready tasks. Some of them may have been dropped meanwhile.
    pub(crate) fn ready(&self) -> usize {
        self.ready.queue().len()
    }

    /// Removes the ready task at this index from the queue. Returns it with its owner, or `None` if it was dropped.
    pub(crate) fn next(&self, index: usize) -> Option<(usize, usize)> {
        let task = self.ready.queue().swap_remove(index);
        Some((task, self.tasks[task].as_ref()?.owner))
    }

    /// Polls a task once. Returns whether it has ended.
    pub(crate) fn poll(&mut self, task: usize) -> bool {
        let Some(Task { work, signal, .. }) = &mut self.tasks[task] else { return true };
        // Cleared before the poll, so that a task that wakes itself is polled again.
        signal.is_queued.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(signal));
        let has_ended = work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        if has_ended {
            self.drop_task(task);
        }
        has_ended
    }

    /// Drops a task's future.
    pub(crate) fn drop_task(&mut self, task: usize) {
        self.tasks[task] = None;
    }
}

/// The woken tasks, each listed once.
#[derive(Default)]
struct Ready(Mutex<Vec<usize>>);

impl Ready {
    fn queue(&self) -> MutexGuard<'_, Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waker of one task.
struct Signal {
    task: usize,
    ready: Arc<Ready>,
    is_queued: AtomicBool,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            self.ready.queue().push(self.task);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    #[test]
    fn several_wakes_lead_to_one_poll_and_none_of_a_dropped_task() {
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let slot = Arc::clone(&waker);
        let mut executor = Executor::default();
        let task = executor.spawn(
            7,
            Box::pin(poll_fn(move |context| {
                if slot.lock().unwrap().replace(context.waker().clone()).is_some() {
                    return Poll::Ready(());
                }
                Poll::Pending
            })),
        );
        assert_eq!(executor.next(0), Some((task, 7)));
        assert!(!executor.poll(task));
        assert_eq!(executor.ready(), 0);
        let waker = waker.lock().unwrap().clone().unwrap();
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!(executor.ready(), 1);
        assert_eq!(executor.next(0), Some((task, 7)));
        assert!(executor.poll(task));
        assert!(executor.poll(task), "it has ended");

        let dropped = executor.spawn(0, Box::pin(std::future::pending()));
        executor.drop_task(dropped);
        assert_eq!(executor.next(0), None, "the wake of the dropped task");
    }
}
