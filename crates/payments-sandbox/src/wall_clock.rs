use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The sandbox's time of day: the computer's, unless somebody has moved or stopped it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallClock(Arc<Mutex<Hands>>);

#[derive(Clone, Copy, Debug)]
struct Hands {
    shown: SystemTime,
    /// The computer's time when they showed that, or nothing while they are frozen.
    then: Option<SystemTime>,
}

impl Default for Hands {
    fn default() -> Self {
        Self { shown: SystemTime::UNIX_EPOCH, then: Some(SystemTime::UNIX_EPOCH) }
    }
}

impl WallClock {
    pub(crate) fn now(&self) -> SystemTime {
        let Hands { shown, then } = *self.hands();
        match then.map(|then| SystemTime::now().duration_since(then)) {
            None => shown,
            Some(Ok(since)) => shown + since,
            Some(Err(before)) => shown - before.duration(),
        }
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.hands().then.is_none()
    }

    /// Sets it, and stops it there or lets it run on.
    pub(crate) fn set(&self, shown: SystemTime, frozen: bool) {
        *self.hands() = Hands { shown, then: (!frozen).then(SystemTime::now) };
    }

    /// Back to the computer's clock.
    pub(crate) fn reset(&self) {
        *self.hands() = Hands::default();
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_frozen_clock_moves_only_when_it_is_moved() {
        let clock = WallClock::default();
        let then = UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        clock.set(clock.now(), true);
        clock.set(then, clock.is_frozen());
        assert_eq!((clock.now(), clock.is_frozen()), (then, true));
        clock.set(clock.now(), false);
        assert!(clock.now() >= then && !clock.is_frozen());
    }

    #[test]
    fn a_running_clock_runs_on_from_where_it_was_set() {
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
