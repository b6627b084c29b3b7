use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A pending sleep.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The client's clock: a runtime's timer, or one that a test advances.
///
/// `payments-hyper` has `TokioTimer`, `payments-fake` has `ManualClock`.
pub trait Timer: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Instant;

    /// The current time of day, for the events of an observer. The system's by default; a clock for tests can replace it.
    fn system_time(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Returns a future that is ready once `duration` has passed since this call.
    fn sleep(&self, duration: Duration) -> Sleep;
}

impl<T: Timer + ?Sized> Timer for Arc<T> {
    fn now(&self) -> Instant {
        T::now(self)
    }

    fn system_time(&self) -> SystemTime {
        T::system_time(self)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        T::sleep(self, duration)
    }
}
