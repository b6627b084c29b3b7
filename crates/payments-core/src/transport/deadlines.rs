use std::time::Duration;

/// How long one attempt may take, both counted from the first poll of [`Transport::send`](crate::Transport::send).
///
/// Neither can be absent: a payment that never ends is a payment whose outcome nobody learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    connect: Duration,
    total: Duration,
}

impl Deadlines {
    /// Chosen by this SDK: name resolution, TCP and TLS together may take 10 seconds.
    pub const DEFAULT_CONNECT: Duration = Duration::from_secs(10);

    /// Chosen by this SDK: 60 seconds to the last byte of the answer.
    ///
    /// A client that gives up early turns good payments into unknown ones, so this is generous.
    pub const DEFAULT_TOTAL: Duration = Duration::from_mins(1);

    /// Chosen by this SDK: whoever asks for more than a year gets a year, and no clock has to count beyond its range.
    pub const LONGEST: Duration = Duration::from_hours(365 * 24);

    /// Deadlines for one attempt; a connect deadline above the total is cut to it.
    pub fn new(connect: Duration, total: Duration) -> Self {
        let total = total.min(Self::LONGEST);
        Self { connect: connect.min(total), total }
    }

    /// Until a connection must stand: name resolution, TCP and TLS together.
    pub const fn connect(self) -> Duration {
        self.connect
    }

    /// Until the last byte of the answer's body must have been read.
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
        for asked in [year, year + Duration::from_nanos(1), Duration::MAX] {
            let deadlines = Deadlines::new(asked, asked);
            assert_eq!((deadlines.connect(), deadlines.total()), (year, year));
        }
    }
}
