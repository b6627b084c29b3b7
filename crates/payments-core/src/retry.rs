use std::time::Duration;

use crate::{Error, Jitter, Outcome, TransportErrorKind};

/// How often a look-up is repeated, and how long it pauses. Operations that move money are never repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryPolicy {
    pub(crate) retries: u32,
}

impl RetryPolicy {
    /// Chosen by this SDK: a look-up is tried three times in all.
    pub(crate) const DEFAULT: Self = Self { retries: 2 };

    const FIRST_PAUSE: Duration = Duration::from_millis(200);
    const LONGEST_PAUSE: Duration = Duration::from_secs(5);

    /// The pause before the next attempt of a look-up, or `None` if there should be none.
    ///
    /// Doubles with every attempt, half of it fixed and half of it spread; `Retry-After` lengthens it.
    pub(crate) fn pause(self, attempt: u32, error: &Error, jitter: &dyn Jitter) -> Option<Duration> {
        if attempt > self.retries || !is_passing(error) {
            return None;
        }
        let doubled = Self::FIRST_PAUSE.saturating_mul(1 << (attempt - 1).min(16)).min(Self::LONGEST_PAUSE);
        let spread = u32::try_from(jitter.next() % 1024).expect("a remainder of 1024 fits");
        let pause = doubled / 2 + doubled / 2 * spread / 1024;
        let asked_for = error.metadata().and_then(|metadata| metadata.pause).unwrap_or_default();
        Some(pause.max(asked_for))
    }
}

/// Whether the same look-up may well succeed a moment later.
fn is_passing(error: &Error) -> bool {
    match error.http_status().map(|status| status.as_u16()) {
        // An unreadable 2xx is read again; a refusal in a 2xx's body is an answer.
        Some(200..=299) => error.outcome() == Outcome::NotProcessed,
        Some(status) => matches!(status, 408 | 425 | 429 | 500..=599),
        // A certificate that is wrong now will be wrong in a second.
        None => error.transport_kind().is_some_and(|kind| kind != TransportErrorKind::Tls),
    }
}
