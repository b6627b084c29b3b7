use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::{LookupError, TransportErrorKind};

/// How often a lookup is retried, and how long it pauses. Operations that move money are never retried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryPolicy {
    pub(crate) retries: u32,
}

impl RetryPolicy {
    /// Chosen by this SDK: a lookup is tried three times in all.
    pub(crate) const DEFAULT: Self = Self { retries: 2 };

    const FIRST_PAUSE: Duration = Duration::from_millis(200);
    const LONGEST_PAUSE: Duration = Duration::from_secs(5);

    /// The pause before the next attempt of a lookup, or `None` if there should be none.
    ///
    /// Doubles with every attempt, half of it fixed and half of it spread; `Retry-After` lengthens it.
    pub(crate) fn pause(self, attempt: u32, error: &LookupError, jitter: &dyn Jitter) -> Option<Duration> {
        if attempt > self.retries || !is_passing(error) {
            return None;
        }
        let doubled = Self::FIRST_PAUSE.saturating_mul(1 << (attempt - 1).min(16)).min(Self::LONGEST_PAUSE);
        let spread = u32::try_from(jitter.next() % 1024).expect("a remainder of 1024 fits");
        let pause = doubled / 2 + doubled / 2 * spread / 1024;
        let asked_for = error.failure().metadata().and_then(|metadata| metadata.pause).unwrap_or_default();
        Some(pause.max(asked_for))
    }
}

/// Whether the same lookup may well succeed a moment later.
fn is_passing(error: &LookupError) -> bool {
    match error.http_status().map(|status| status.as_u16()) {
        // An unreadable 2xx is read again; a refusal in a 2xx's body is an answer.
        Some(200..=299) => error.is_unclear(),
        Some(status) => matches!(status, 408 | 425 | 429 | 500..=599),
        // A certificate or a setup that is wrong now will be wrong in a second.
        None => error.transport_error().is_some_and(|error| {
            !matches!(error.kind(), TransportErrorKind::Tls | TransportErrorKind::Configuration)
        }),
    }
}

/// Random numbers: they spread the pauses between a lookup's attempts, so that many clients do not return all at once, and name
/// the calls that an observer is told of.
pub trait Jitter: Send + Sync + 'static {
    /// Any number, evenly spread over all of `u64`.
    fn next(&self) -> u64;
}

/// The standard library's randomly keyed hasher: random enough to spread pauses, and no dependency.
#[derive(Debug)]
pub(crate) struct RandomJitter;

impl Jitter for RandomJitter {
    fn next(&self) -> u64 {
        RandomState::new().hash_one(0_u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Cause, Failure};
    use crate::{OperationName, TransportError};

    struct Always(u64);

    impl Jitter for Always {
        fn next(&self) -> u64 {
            self.0
        }
    }

    fn failed(kind: TransportErrorKind) -> LookupError {
        let cause = Cause::Transport(TransportError::not_processed(kind));
        LookupError::new(Failure::new(Some(OperationName::GetTransaction), cause))
    }

    #[test]
    fn half_of_a_pause_is_fixed_and_half_of_it_is_spread_d12() {
        let policy = RetryPolicy { retries: u32::MAX };
        for (attempt, number, milliseconds) in [
            (1, 0, 100),
            (1, 512, 150),
            (1, 1024 + 256, 125),
            (1, u64::MAX - 255, 175),
            (2, 512, 300),
            (3, 512, 600),
            (5, 512, 2400),
            (6, 0, 2500),
            (6, 512, 3750),
            (u32::MAX, 512, 3750),
        ] {
            let pause = policy.pause(attempt, &failed(TransportErrorKind::Closed), &Always(number));
            assert_eq!(pause, Some(Duration::from_millis(milliseconds)), "{attempt} {number}");
        }
    }

    #[test]
    fn a_certificate_that_is_wrong_now_is_wrong_in_a_second_d12() {
        let pause = |kind| RetryPolicy::DEFAULT.pause(1, &failed(kind), &Always(0));
        assert_eq!(pause(TransportErrorKind::Tls), None);
        assert!(pause(TransportErrorKind::Connect).is_some());
    }

    #[test]
    fn there_are_as_many_pauses_as_repetitions_d12() {
        let error = failed(TransportErrorKind::Closed);
        for retries in [0, 1, 2] {
            let pauses =
                (1..9).map_while(|attempt| RetryPolicy { retries }.pause(attempt, &error, &Always(0)));
            assert_eq!(pauses.count(), retries as usize);
        }
    }

    #[test]
    fn many_clients_do_not_return_all_at_once() {
        let numbers: std::collections::HashSet<u64> = (0..100).map(|_| RandomJitter.next()).collect();
        assert!(numbers.len() > 90, "{numbers:?}");
    }
}
