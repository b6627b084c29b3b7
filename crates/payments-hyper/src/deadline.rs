use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use payments_core::{TransportError, TransportErrorKind};
use tokio::runtime::Handle;
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant, Sleep};

/// A timer that cannot be starved by a peer who never stops sending: it does not take part in tokio's budget for
/// cooperative tasks, which such a peer uses up in each poll.
pub(crate) type Alarm = Unconstrained<Sleep>;

/// A timer for the current runtime, or the error of a call that has none: tokio panics there.
pub(crate) fn alarm(at: Instant) -> Result<Alarm, TransportError> {
    catch_unwind(|| unconstrained(tokio::time::sleep_until(at)))
        .map_err(|_panic| missing("the tokio runtime's time driver is missing: build it with enable_all"))
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

/// Polls `call` where tokio panics if its runtime or the runtime's network driver is missing. Here it is an error.
///
/// Whether there is a runtime can be asked first. tokio offers no such question for the driver, so the panic is caught.
/// `is_taken` says whether the call has a connection, on which the request may have been sent.
pub(crate) fn poll_call<T>(
    call: Pin<&mut impl Future<Output = Result<T, TransportError>>>,
    is_taken: &AtomicBool,
    cx: &mut Context<'_>,
) -> Poll<Result<T, TransportError>> {
    if !is_taken.load(Ordering::Relaxed) && Handle::try_current().is_err() {
        return Poll::Ready(Err(missing("a tokio runtime is missing: make the call within one")));
    }
    catch_unwind(AssertUnwindSafe(|| call.poll(cx))).unwrap_or_else(|_panic| {
        Poll::Ready(Err(if is_taken.load(Ordering::Relaxed) {
            TransportError::unknown(TransportErrorKind::Other).with_source("the transport panicked")
        } else {
            missing(
                "connecting panicked: the tokio runtime's network driver is missing or was shut down, \
                 build it with enable_all",
            )
        }))
    })
}

fn missing(what: &'static str) -> TransportError {
    TransportError::not_processed(TransportErrorKind::Configuration).with_source(what)
}
