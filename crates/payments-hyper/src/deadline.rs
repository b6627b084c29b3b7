use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant, Sleep};

/// A timer that cannot be starved by a peer who never stops sending: it does not take part in tokio's budget for
/// cooperative tasks, which such a peer uses up in each poll.
pub(crate) type Alarm = Unconstrained<Sleep>;

/// A timer for the current runtime, or the panic that tokio raises where there is none.
pub(crate) fn alarm(at: Instant) -> Result<Alarm, Box<dyn Any + Send>> {
    catch_unwind(|| unconstrained(tokio::time::sleep_until(at)))
}

/// The instant `duration` after `start`; one far away where the clock cannot count that far.
pub(crate) fn after(start: Instant, duration: Duration) -> Instant {
    const FAR_AWAY: Duration = Duration::from_hours(30 * 365 * 24);
    start.checked_add(duration).unwrap_or_else(|| start + FAR_AWAY)
}

/// What `work` gave, or `None` if the alarm rang first. Work that ends in the same moment counts as in time.
pub(crate) fn before<F: Future>(
    mut alarm: Pin<&mut Alarm>,
    mut work: Pin<&mut F>,
) -> impl Future<Output = Option<F::Output>> {
    poll_fn(move |cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => alarm.as_mut().poll(cx).map(|()| None),
    })
}

/// Runs `work`, turning a panic within it into an error.
///
/// For connecting alone: tokio offers no way to ask whether a runtime was built with its network driver, and panics
/// where it was not.
pub(crate) async fn no_panic<F: Future>(work: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut work = pin!(work);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
