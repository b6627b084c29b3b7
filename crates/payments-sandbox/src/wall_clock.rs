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

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_frozen_clock_changes_only_when_it_is_set() {
        let clock = WallClock::default();
        let then = UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        clock.set(clock.now(), true);
        clock.set(then, clock.is_frozen());
        assert_eq!((clock.now(), clock.is_frozen()), (then, true));
        clock.set(clock.now(), false);
        assert!(clock.now() >= then && !clock.is_frozen());
    }

    #[test]
    fn a_running_clock_continues_from_the_set_time() {
        let clock = WallClock::default();
        for then in [UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(4_000_000_000)] {
            clock.set(then, false);
            let first = clock.now();
            let since = first.duration_since(then).unwrap();
            assert!(since < Duration::from_mins(1) && clock.now() >= first);
        }
        clock.reset();
        assert!(clock.now() <= SystemTime::now());
    }
}
