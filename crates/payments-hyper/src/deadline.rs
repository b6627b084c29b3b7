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

/// A timer that fires even in a task that has used up tokio's cooperative budget.
pub(crate) type DeadlineTimer = Unconstrained<Sleep>;

/// A timer on the current runtime, or an error if it has no time driver: tokio panics in that case.
pub(crate) fn timer_at(at: Instant) -> Result<DeadlineTimer, TransportError> {
    catch_unwind(|| unconstrained(tokio::time::sleep_until(at)))
        .map_err(|_panic| missing("the tokio runtime has no time driver: build the runtime with enable_all"))
}

/// The instant `duration` after `start`, or one in the far future if the clock cannot represent it.
pub(crate) fn after(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration).unwrap_or_else(|| start + FAR_FUTURE)
}

pub(crate) const FAR_FUTURE: Duration = Duration::from_hours(30 * 365 * 24);

/// The output of `work`, or `None` if the timer fired first. Work that completes at the same moment is in time.
pub(crate) async fn before<F: Future>(
    timer: Pin<&mut DeadlineTimer>,
    work: Pin<&mut F>,
) -> Option<F::Output> {
    match select(work, timer).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// Polls `call`. A missing runtime or network driver, on which tokio panics, becomes an error.
///
/// tokio can be asked whether there is a runtime, but not whether it has the driver, so that panic is caught.
/// If `has_connection` returns true, the request may have been sent.
pub(crate) fn poll_call<T>(
    call: Pin<&mut impl Future<Output = Result<T, TransportError>>>,
    has_connection: impl Fn() -> bool,
    cx: &mut Context<'_>,
) -> Poll<Result<T, TransportError>> {
    if Handle::try_current().is_err() && !has_connection() {
        return Poll::Ready(Err(missing("a tokio runtime is missing: make the call inside one")));
    }
    catch_unwind(AssertUnwindSafe(|| call.poll(cx))).unwrap_or_else(|_panic| {
        Poll::Ready(Err(if has_connection() {
            TransportError::unknown(TransportErrorKind::Other).with_source("the transport panicked")
        } else {
            missing(
                "connecting panicked, because the tokio runtime has no network driver or was shut down: build the \
                 runtime with enable_all",
            )
        }))
    })
}

fn missing(what: &'static str) -> TransportError {
    TransportError::not_processed(TransportErrorKind::Configuration).with_source(what)
}
