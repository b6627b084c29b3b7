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
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
    spawned: u64,
}

/// The future of a task, without a result.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Identifies a task of an executor. The key of an ended task is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskKey {
    slot: usize,
    number: u64,
}

struct Task {
    number: u64,
    /// The call that it runs for.
    owner: usize,
    work: Work,
    signal: Arc<Signal>,
    waker: Waker,
}

impl Executor {
    /// Adds a task, ready to be polled.
    pub(crate) fn spawn(&mut self, owner: usize, work: Work) -> TaskKey {
        self.spawned += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        let key = TaskKey { slot, number: self.spawned };
        let signal =
            Arc::new(Signal { key, ready: Arc::clone(&self.ready), is_queued: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&signal));
        waker.wake_by_ref();
        self.tasks[slot] = Some(Task { number: key.number, owner, work, signal, waker });
        key
    }

    /// The number of ready tasks. Some of them may have been dropped meanwhile.
    pub(crate) fn ready(&self) -> usize {
        self.ready.queue().len()
    }

    /// Removes the ready task at this index from the queue. Returns it with its owner, or `None` if it was dropped.
    pub(crate) fn next(&self, index: usize) -> Option<(TaskKey, usize)> {
        let key = self.ready.queue().swap_remove(index);
        let task = self.tasks[key.slot].as_ref().filter(|task| task.number == key.number)?;
        Some((key, task.owner))
    }

    /// Polls a task once. Returns whether it has ended.
    pub(crate) fn poll(&mut self, key: TaskKey) -> bool {
        let Some(task) = self.tasks[key.slot].as_mut().filter(|task| task.number == key.number) else {
            return true;
        };
        // Cleared before the poll, so that a task that wakes itself is polled again.
        task.signal.is_queued.store(false, Ordering::Relaxed);
        let has_ended = task.work.as_mut().poll(&mut Context::from_waker(&task.waker)).is_ready();
        if has_ended {
            self.drop_task(key);
        }
        has_ended
    }

    /// Drops a task's future.
    pub(crate) fn drop_task(&mut self, key: TaskKey) {
        if self.tasks[key.slot].as_ref().is_some_and(|task| task.number == key.number) {
            self.tasks[key.slot] = None;
            self.free.push(key.slot);
        }
    }
}

/// The woken tasks, each listed once.
#[derive(Default)]
struct Ready(Mutex<Vec<TaskKey>>);

impl Ready {
    fn queue(&self) -> MutexGuard<'_, Vec<TaskKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waker of one task.
struct Signal {
    key: TaskKey,
    ready: Arc<Ready>,
    is_queued: AtomicBool,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            self.ready.queue().push(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    #[test]
    fn several_wakes_lead_to_one_poll() {
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let slot = Arc::clone(&waker);
        let mut executor = Executor::default();
        let key = executor.spawn(
            7,
            Box::pin(poll_fn(move |context| {
                if slot.lock().unwrap().replace(context.waker().clone()).is_some() {
                    return Poll::Ready(());
                }
                Poll::Pending
            })),
        );
        assert_eq!(executor.next(0), Some((key, 7)));
        assert!(!executor.poll(key));
        assert_eq!(executor.ready(), 0);
        let waker = waker.lock().unwrap().clone().unwrap();
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!(executor.ready(), 1);
        assert_eq!(executor.next(0), Some((key, 7)));
        assert!(executor.poll(key));
        assert!(executor.poll(key), "it has ended");
    }

    #[test]
    fn a_dropped_task_is_not_mistaken_for_its_successor() {
        let mut executor = Executor::default();
        let dropped = executor.spawn(0, Box::pin(std::future::pending()));
        executor.drop_task(dropped);
        let other = executor.spawn(1, Box::pin(std::future::pending()));
        assert_eq!(executor.next(0), None, "the wake of the dropped task");
        assert_eq!(executor.next(0), Some((other, 1)));
    }
}
