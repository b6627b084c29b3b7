//! How long a registry that is busy or late is waited for.

use std::time::{Duration, SystemTime};

/// A stock of waiting time for one run.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    next: Duration,
}

impl Patience {
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_mins(1);

    pub(crate) fn new(stock: Duration) -> Self {
        Self { left: stock, next: Self::FIRST }
    }

    /// How long to wait now: as long as was asked for, else twice as long as the last time. `None` when there is not so
    /// much left: asking again sooner than was asked for only makes a busy registry busier.
    ///
    /// No time at all, or a date that is over by the clock of this machine, is as good as nothing asked: it would be
    /// asked for again and again, and no patience would end.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let asked = asked.filter(|asked| *asked >= self.next);
        let wait = asked.unwrap_or(self.next);
        if asked.is_none() {
            self.next = (self.next * 2).min(Self::LONGEST);
        }
        self.left = self.left.checked_sub(wait)?;
        Some(wait)
    }

    /// Something went well: the next trouble is a new one.
    pub(crate) fn renew(&mut self) {
        self.next = Self::FIRST;
    }
}

/// What a registry or the words of cargo about it ask to wait: the header `Retry-After`, in seconds or as a date, or the
/// sentence "try again after" with a date, in which crates.io names the end of a limit.
pub(crate) fn asked_wait(words: &str, now: SystemTime) -> Option<Duration> {
    let after = |mark: &str| {
        let lower = words.to_ascii_lowercase();
        let at = lower.find(mark)? + mark.len();
        Some(words[at..].lines().next().unwrap_or_default().trim())
    };
    let header = after("retry-after:").and_then(|value| retry_after(value, now));
    header.or_else(|| until(after("try again after ")?, now))
}

/// The value of the header `Retry-After`.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    value.parse().ok().map(Duration::from_secs).or_else(|| until(value, now))
}

/// The time to the date that the text begins with.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    const LENGTH: usize = "Wed, 21 Oct 2015 07:28:00 GMT".len();
    let date = httpdate::parse_http_date(text.get(..LENGTH)?).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let mut patience = Patience::new(Duration::from_secs(100));
        let waits: Vec<_> = std::iter::from_fn(|| patience.next(None)).map(|wait| wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn what_is_asked_for_is_kept_or_not_waited_at_all() {
        let mut patience = Patience::new(Duration::from_secs(10));
        assert_eq!(patience.next(Some(Duration::from_secs(7))), Some(Duration::from_secs(7)));
        assert_eq!(patience.next(Some(Duration::from_secs(4))), None);
    }

    #[test]
    fn to_be_asked_for_no_time_at_all_ends_too() {
        let mut patience = Patience::new(Duration::from_secs(100));
        let waits = std::iter::from_fn(|| patience.next(Some(Duration::ZERO)));
        assert_eq!(waits.take(100).map(|wait| wait.as_secs()).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn both_forms_of_retry_after_and_the_sentence_are_read() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2015 07:00:00 GMT").unwrap();
        let seconds = |words: &str| asked_wait(words, now).map(|wait| wait.as_secs());
        assert_eq!(seconds("got 429\nheaders:\n\tRetry-After: 17\nbody:\n"), Some(17));
        assert_eq!(seconds("retry-after: Wed, 21 Oct 2015 07:28:00 GMT"), Some(28 * 60));
        assert_eq!(seconds("Please try again after Wed, 21 Oct 2015 07:10:00 GMT and see"), Some(600));
        assert_eq!(seconds("retry-after: Wed, 21 Oct 2015 06:28:00 GMT"), Some(0));
        assert_eq!(seconds("status 503"), None);
    }
}
