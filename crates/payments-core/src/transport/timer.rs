use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A pending sleep.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The client's clock: real time from a runtime, or time that a test moves by hand.
///
/// `payments-hyper` has `TokioTimer`, `payments-fake` has `ManualClock`.
pub trait Timer: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Instant;

    /// The current time of day, which observers are told. The system's, unless a clock for tests has its own.
    fn system_time(&self) -> SystemTime {
        SystemTime::now()
    }

    /// A future that ends once `duration` has passed since this call.
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
