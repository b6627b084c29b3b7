use std::time::Duration;

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
}
