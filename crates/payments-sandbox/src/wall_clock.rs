use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The sandbox's time of day: the system clock, unless it was moved or frozen.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallClock(Arc<Mutex<Setting>>);

#[derive(Clone, Copy, Debug)]
struct Setting {
    /// The time that was set.
    time: SystemTime,
    /// The system time when it was set; `None` while the clock is frozen.
    set_at: Option<SystemTime>,
}

impl Default for Setting {
    fn default() -> Self {
        Self { time: SystemTime::UNIX_EPOCH, set_at: Some(SystemTime::UNIX_EPOCH) }
    }
}

impl WallClock {
    pub(crate) fn now(&self) -> SystemTime {
        let Setting { time, set_at } = *self.setting();
        match set_at.map(|set_at| SystemTime::now().duration_since(set_at)) {
            None => time,
            Some(Ok(since)) => time + since,
            Some(Err(before)) => time - before.duration(),
        }
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.setting().set_at.is_none()
    }

    /// Sets the clock, and freezes it or lets it run.
    pub(crate) fn set(&self, time: SystemTime, frozen: bool) {
        *self.setting() = Setting { time, set_at: (!frozen).then(SystemTime::now) };
    }

    /// Returns to the system clock.
    pub(crate) fn reset(&self) {
        *self.setting() = Setting::default();
    }

    fn setting(&self) -> MutexGuard<'_, Setting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
