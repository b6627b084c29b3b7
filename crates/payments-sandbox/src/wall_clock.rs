use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The sandbox's time of day: the computer's, unless somebody has moved or stopped it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallClock(Arc<Mutex<Hands>>);

#[derive(Clone, Copy, Debug)]
enum Hands {
    /// So far ahead of the computer's clock, or behind it.
    Running {
        ahead: Duration,
        behind: Duration,
    },
    Frozen(SystemTime),
}

impl Default for Hands {
    fn default() -> Self {
        Self::Running { ahead: Duration::ZERO, behind: Duration::ZERO }
    }
}

impl WallClock {
    pub(crate) fn now(&self) -> SystemTime {
        self.hands().now()
    }

    pub(crate) fn is_frozen(&self) -> bool {
        matches!(*self.hands(), Hands::Frozen(_))
    }

    /// Stops it, or lets it run on from where it stands.
    pub(crate) fn freeze(&self, frozen: bool) {
        let mut hands = self.hands();
        let now = hands.now();
        *hands = if frozen { Hands::Frozen(now) } else { Hands::running_from(now) };
    }

    /// Sets it; a frozen clock stays frozen.
    pub(crate) fn set(&self, to: SystemTime) {
        let mut hands = self.hands();
        *hands = match *hands {
            Hands::Frozen(_) => Hands::Frozen(to),
            Hands::Running { .. } => Hands::running_from(to),
        };
    }

    /// Back to the computer's clock.
    pub(crate) fn reset(&self) {
        *self.hands() = Hands::default();
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hands {
    fn now(self) -> SystemTime {
        match self {
            Self::Running { ahead, behind } => SystemTime::now() + ahead - behind,
            Self::Frozen(at) => at,
        }
    }

    fn running_from(at: SystemTime) -> Self {
        let now = SystemTime::now();
        Self::Running {
            ahead: at.duration_since(now).unwrap_or_default(),
            behind: now.duration_since(at).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_frozen_clock_moves_only_when_it_is_moved() {
        let clock = WallClock::default();
        let then = UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        clock.freeze(true);
        clock.set(then);
        assert_eq!((clock.now(), clock.is_frozen()), (then, true));
        clock.freeze(false);
        assert!(clock.now() >= then && !clock.is_frozen());
    }

    #[test]
    fn a_running_clock_runs_on_from_where_it_was_set() {
        let clock = WallClock::default();
        for then in [UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(4_000_000_000)] {
            clock.set(then);
            let first = clock.now();
            let since = first.duration_since(then).unwrap();
            assert!(since < Duration::from_mins(1) && clock.now() >= first);
        }
        clock.reset();
        assert!(clock.now() <= SystemTime::now());
    }
}
