use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use payments_fake::unversioned::representable;

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

impl Setting {
    fn now(self) -> SystemTime {
        representable(match self.set_at.map(|set_at| SystemTime::now().duration_since(set_at)) {
            None => self.time,
            Some(Ok(since)) => self.time + since,
            Some(Err(before)) => self.time - before.duration(),
        })
    }
}

impl WallClock {
    pub(crate) fn now(&self) -> SystemTime {
        self.setting().now()
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.setting().set_at.is_none()
    }

    /// Sets the clock to what `change` makes of its time, unless that is `None`, and freezes it or lets it run. Without `frozen`, that
    /// stays as it is.
    pub(crate) fn change(
        &self,
        frozen: Option<bool>,
        change: impl FnOnce(SystemTime) -> Option<SystemTime>,
    ) -> Option<()> {
        let mut setting = self.setting();
        let time = change(setting.now())?;
        let is_frozen = setting.set_at.is_none();
        let set_at = (!frozen.unwrap_or(is_frozen)).then(SystemTime::now);
        *setting = Setting { time, set_at };
        Some(())
    }

    /// Returns to the system clock.
    pub(crate) fn reset(&self) {
        *self.setting() = Setting::default();
    }

    fn setting(&self) -> MutexGuard<'_, Setting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_at_either_end_of_time_stays_there() {
        let hour = Duration::from_hours(1);
        let last = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        // The system clock steps back, or runs on.
        for (time, set_at) in
            [(SystemTime::UNIX_EPOCH, SystemTime::now() + hour), (last, SystemTime::now() - hour)]
        {
            let now = Setting { time, set_at: Some(set_at) }.now();
            assert_eq!(now, time);
        }
    }
}
