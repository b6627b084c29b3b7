use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{Either, select};
use payments_core::{TransportError, TransportErrorKind};
use tokio::runtime::Handle;
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant, Sleep};

/// A timer that ends also in a task that has used up tokio's budget for cooperative tasks.
pub(crate) type Alarm = Unconstrained<Sleep>;

/// A timer for the current runtime, or the error of a call that has none: tokio panics there.
pub(crate) fn alarm(at: Instant) -> Result<Alarm, TransportError> {
    catch_unwind(|| unconstrained(tokio::time::sleep_until(at)))
        .map_err(|_panic| missing("the tokio runtime's time driver is missing: build it with enable_all"))
}

/// The instant `duration` after `start`; one far away where the clock cannot count that far.
pub(crate) fn after(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration).unwrap_or_else(|| start + FAR_AWAY)
}

pub(crate) const FAR_AWAY: Duration = Duration::from_hours(30 * 365 * 24);

/// The output of `work`, or `None` if the alarm ended first. Work that ends in the same moment counts as in time.
pub(crate) async fn before<F: Future>(alarm: Pin<&mut Alarm>, work: Pin<&mut F>) -> Option<F::Output> {
    match select(work, alarm).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// Polls `call` where tokio panics if its runtime or the runtime's network driver is missing. Here it is an error.
///
/// Whether there is a runtime can be asked first. tokio offers no such question for the driver, so the panic is caught.
/// `has_connection` says whether the request may have been sent.
pub(crate) fn poll_call<T>(
    call: Pin<&mut impl Future<Output = Result<T, TransportError>>>,
    has_connection: impl Fn() -> bool,
    cx: &mut Context<'_>,
) -> Poll<Result<T, TransportError>> {
    if Handle::try_current().is_err() && !has_connection() {
        return Poll::Ready(Err(missing("a tokio runtime is missing: make the call within one")));
    }
    catch_unwind(AssertUnwindSafe(|| call.poll(cx))).unwrap_or_else(|_panic| {
        Poll::Ready(Err(if has_connection() {
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
