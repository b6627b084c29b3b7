use std::time::Duration;

use super::random::RandomSource;
use crate::error::FailedCall;

/// The pause before the next attempt of a lookup, or `None` if there is no next attempt. An operation that moves money is never
/// retried.
///
/// It doubles with every attempt. Half of it is fixed and half is random. `Retry-After` lengthens it.
pub(super) fn pause(
    retries: u32,
    attempt: u32,
    call: &FailedCall,
    random: &dyn RandomSource,
) -> Option<Duration> {
    if attempt > retries || !call.is_transient() {
        return None;
    }
    let doubled = FIRST_PAUSE.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST_PAUSE);
    let spread = u32::try_from(random.next() % 1024).expect("a remainder of 1024 fits");
    let pause = doubled / 2 + doubled / 2 * spread / 1024;
    Some(pause.max(call.retry_after().unwrap_or_default()))
}

/// Chosen by this SDK: three attempts in total.
pub(super) const DEFAULT_RETRIES: u32 = 2;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::{TransportError, TransportErrorKind};

    struct Always(u64);

    impl RandomSource for Always {
        fn next(&self) -> u64 {
            self.0
        }
    }

    fn failed(error: TransportError) -> FailedCall {
        FailedCall::of_cause(Cause::Transport(error, None))
    }

    #[test]
    fn half_of_a_pause_is_fixed_and_half_is_random_d12() {
        let closed = failed(TransportError::not_processed(TransportErrorKind::Closed));
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
            let pause = pause(u32::MAX, attempt, &closed, &Always(number));
            assert_eq!(pause, Some(Duration::from_millis(milliseconds)), "{attempt} {number}");
        }
    }

    #[test]
    fn an_invalid_certificate_is_not_retried_d12() {
        let pause = |error| pause(DEFAULT_RETRIES, 1, &failed(error), &Always(0));
        let tls = || TransportError::not_processed(TransportErrorKind::Tls);
        assert_eq!(pause(tls().permanent()), None);
        assert!(pause(tls()).is_some(), "the network interrupted the handshake");
    }

    #[test]
    fn a_transport_that_is_configured_wrongly_needs_a_fix_d12_d56() {
        let configuration = || TransportError::not_processed(TransportErrorKind::Configuration);
        assert!(configuration().is_permanent() && failed(configuration()).needs_a_fix());
        assert_eq!(pause(DEFAULT_RETRIES, 1, &failed(configuration()), &Always(0)), None);
    }

    #[test]
    fn there_is_one_pause_per_retry_d12() {
        let error = failed(TransportError::not_processed(TransportErrorKind::Closed));
        for retries in [0, 1, 2] {
            let pauses = (1..9).map_while(|attempt| pause(retries, attempt, &error, &Always(0)));
            assert_eq!(pauses.count(), retries as usize);
        }
    }
}
