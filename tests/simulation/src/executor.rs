use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// Polls futures on one thread, one at a time and in whatever order it is told.
///
/// It decides nothing: [`World`](crate::world::World) asks how many are ready and says which of them is polled next.
#[derive(Default)]
pub(crate) struct Executor {
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
    spawned: u64,
}

/// What a task works on: a future without a result.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One task of an executor. A key of a task that has ended names no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskKey {
    place: usize,
    age: u64,
}

struct Task {
    age: u64,
    /// On whose behalf it runs.
    owner: usize,
    work: Work,
    signal: Arc<Signal>,
    waker: Waker,
}

impl Executor {
    /// Takes a task on, ready to be polled.
    pub(crate) fn spawn(&mut self, owner: usize, work: Work) -> TaskKey {
        self.spawned += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        let key = TaskKey { place, age: self.spawned };
        let signal =
            Arc::new(Signal { key, ready: Arc::clone(&self.ready), is_queued: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&signal));
        waker.wake_by_ref();
        self.tasks[place] = Some(Task { age: key.age, owner, work, signal, waker });
        key
    }

    /// How many tasks want to be polled. Some of them may have been dropped meanwhile.
    pub(crate) fn ready(&self) -> usize {
        self.ready.queue().len()
    }

    /// Takes the ready task at this place out of the queue, with whom it runs for; nothing if it is no more.
    pub(crate) fn next(&self, index: usize) -> Option<(TaskKey, usize)> {
        let key = self.ready.queue().swap_remove(index);
        let task = self.tasks[key.place].as_ref().filter(|task| task.age == key.age)?;
        Some((key, task.owner))
    }

    /// Polls a task once; says whether it has ended.
    pub(crate) fn poll(&mut self, key: TaskKey) -> bool {
        let Some(task) = self.tasks[key.place].as_mut().filter(|task| task.age == key.age) else {
            return true;
        };
        // Before the poll: a task that wakes itself is polled again.
        task.signal.is_queued.store(false, Ordering::Relaxed);
        let has_ended = task.work.as_mut().poll(&mut Context::from_waker(&task.waker)).is_ready();
        if has_ended {
            self.drop_task(key);
        }
        has_ended
    }

    /// Drops a task's future where it is.
    pub(crate) fn drop_task(&mut self, key: TaskKey) {
        if self.tasks[key.place].as_ref().is_some_and(|task| task.age == key.age) {
            self.tasks[key.place] = None;
            self.free.push(key.place);
        }
    }
}

/// The tasks that were woken, each once.
#[derive(Default)]
struct Ready(Mutex<Vec<TaskKey>>);

impl Ready {
    fn queue(&self) -> MutexGuard<'_, Vec<TaskKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What wakes one task.
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
    fn a_task_is_polled_only_when_it_was_woken_and_once_for_many_wakes() {
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
        assert!(executor.poll(key), "it is no more");
    }

    #[test]
    fn a_dropped_task_is_not_taken_for_the_one_in_its_place() {
        let mut executor = Executor::default();
        let dropped = executor.spawn(0, Box::pin(std::future::pending()));
        executor.drop_task(dropped);
        let other = executor.spawn(1, Box::pin(std::future::pending()));
        assert_eq!(executor.next(0), None, "the dropped one's wake");
        assert_eq!(executor.next(0), Some((other, 1)));
    }
}
