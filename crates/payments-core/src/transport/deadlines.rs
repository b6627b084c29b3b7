//! How long an attempt may take, and what every transport needs to keep that.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long one attempt may take: to connect, and in total. Both are counted from the first poll of
/// [`Transport::send`](crate::Transport::send).
///
/// A call of a process that was stopped beyond the total deadline ends up to 120 ms after the process continues: see
/// [`grace_after_stop`](crate::transport::grace_after_stop).
///
/// Neither can be disabled: a payment that never ends is a payment whose outcome nobody learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    connect: Duration,
    total: Duration,
}

impl Deadlines {
    /// Chosen by this SDK: 10 seconds for name resolution, TCP and TLS together.
    pub const DEFAULT_CONNECT: Duration = Duration::from_secs(10);

    /// Chosen by this SDK: 60 seconds to the last byte of the response.
    ///
    /// This is generous, because a client that gives up early turns good payments into unknown ones.
    pub const DEFAULT_TOTAL: Duration = Duration::from_mins(1);

    /// Chosen by this SDK: a longer deadline is shortened to a year, so that no clock overflows.
    pub const LONGEST: Duration = Duration::from_hours(365 * 24);

    /// Creates the deadlines of one attempt. A connect deadline above the total is shortened to it.
    pub fn new(connect: Duration, total: Duration) -> Self {
        let total = total.min(Self::LONGEST);
        Self { connect: connect.min(total), total }
    }

    /// The time in which the connection must be open: name resolution, TCP and TLS together.
    pub const fn connect(self) -> Duration {
        self.connect
    }

    /// The time in which the last byte of the response body must be read.
    pub const fn total(self) -> Duration {
        self.total
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { connect: Self::DEFAULT_CONNECT, total: Self::DEFAULT_TOTAL }
    }
}

/// The output of `work`, or `None` if `limit` ends first.
///
/// The work is polled first, so evidence that is ready at the same moment is never discarded. The limit is not polled if the work
/// is ready at once.
pub async fn before<T>(limit: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let (mut limit, mut work) = (pin!(limit), pin!(work));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// How much longer a call lasts if the timer of its `deadline` fires at `now`: `None`, unless that is clearly late. Ask once for each
/// call: when this time is over too, the call ends.
///
/// Then this process was stopped, by Ctrl-Z, `docker pause` or a debugger. Responses may have arrived meanwhile, and when the process
/// continues, its timers fire before its HTTP stack has read them. Without a short grace, answered payments would be unknown.
///
/// Only for a request that may have been sent. One that was not sent by its deadline must never be sent.
pub fn grace_after_stop(deadline: Instant, now: Instant) -> Option<Duration> {
    (now.saturating_duration_since(deadline) > CLEARLY_LATE).then_some(GRACE)
}

/// Chosen by this SDK: later than the timers of a busy machine fire.
const CLEARLY_LATE: Duration = Duration::from_millis(250);

/// Chosen by this SDK: enough to read a response that is here.
const GRACE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_deadline_is_longer_than_a_year_d23() {
        let year = Duration::from_hours(8760);
        for requested in [year, year + Duration::from_nanos(1), Duration::MAX] {
            let deadlines = Deadlines::new(requested, requested);
            assert_eq!((deadlines.connect(), deadlines.total()), (year, year));
        }
    }

    #[test]
    fn only_a_timer_that_fires_clearly_late_gives_a_grace_d23() {
        let deadline = Instant::now();
        assert_eq!(grace_after_stop(deadline + CLEARLY_LATE, deadline), None);
        assert_eq!(grace_after_stop(deadline, deadline + CLEARLY_LATE), None);
        let late = deadline + CLEARLY_LATE + Duration::from_nanos(1);
        assert_eq!(grace_after_stop(deadline, late), Some(GRACE));
    }
}
