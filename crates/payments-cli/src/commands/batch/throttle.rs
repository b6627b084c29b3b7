//! Decides when the next charge may start: the rate, and pauses while the service has problems. The caller passes the time.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// The rate, the limit of charges in flight, and the current pause.
#[derive(Debug)]
pub(super) struct Throttle {
    /// The time between two starts, if a rate is set.
    interval: Option<Duration>,
    next: Option<Instant>,
    /// How many charges may be in flight now, and at most.
    in_flight_limit: usize,
    max_in_flight: usize,
    patience: Duration,
    backoff: Option<Backoff>,
    /// The number of pauses. A charge that started before a pause says nothing about the service after it.
    epoch: u64,
    unknown_in_a_row: u32,
}

/// The service cannot be reached, asks to wait, or does not respond as it should.
#[derive(Clone, Copy, Debug)]
struct Backoff {
    since: Instant,
    until: Instant,
    /// The number of pauses so far.
    pauses: u32,
}

/// When a charge may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Now,
    At(Instant),
    /// The limit of charges in flight is reached.
    WhenOneEnds,
}

/// Identifies the pause after which a charge started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    epoch: u64,
}

/// The error of a pause that would be longer than the rest of `--patience`.
type Paused = Result<(), Duration>;

/// Chosen by this command: a restart of the service takes a few short pauses, and during an outage one charge a minute is
/// tried.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Chosen by this command: one lost response can be chance, this many in a row cannot.
const UNKNOWN_BEFORE_PAUSE: u32 = 5;

/// How far a run may catch up with its rate after a delay.
const MAX_CATCH_UP: Duration = Duration::from_millis(50);

impl Throttle {
    pub(super) fn new(max_in_flight: usize, interval: Option<Duration>, patience: Duration) -> Self {
        Self {
            interval,
            next: None,
            in_flight_limit: max_in_flight,
            max_in_flight,
            patience,
            backoff: None,
            epoch: 0,
            unknown_in_a_row: 0,
        }
    }

    pub(super) fn may_start(&self, now: Instant, in_flight: usize) -> Start {
        if in_flight >= self.in_flight_limit {
            return Start::WhenOneEnds;
        }
        let pause = self.backoff.map(|backoff| backoff.until);
        match pause.into_iter().chain(self.next).max() {
            Some(at) if at > now => Start::At(at),
            _ => Start::Now,
        }
    }

    /// Records the start of a charge.
    pub(super) fn start(&mut self, now: Instant) -> Ticket {
        if let Some(interval) = self.interval {
            let earliest = now.checked_sub(MAX_CATCH_UP).unwrap_or(now);
            let due = self.next.unwrap_or(now).max(earliest);
            self.next = Some(due + interval);
        }
        Ticket { epoch: self.epoch }
    }

    /// The service has responded as it should, with any result.
    pub(super) fn responded(&mut self, ticket: Ticket) {
        self.unknown_in_a_row = 0;
        if ticket.epoch == self.epoch {
            self.backoff = None;
            // One more for each good response doubles the limit in each round.
            self.in_flight_limit = self.max_in_flight.min(self.in_flight_limit + 1);
        }
    }

    /// The request provably did not reach the service.
    pub(super) fn not_reached(&mut self, ticket: Ticket, now: Instant) -> Paused {
        self.pause(ticket, now, None)
    }

    /// The outcome is unknown.
    pub(super) fn unknown(&mut self, ticket: Ticket, now: Instant) -> Paused {
        self.unknown_in_a_row += 1;
        if self.unknown_in_a_row < UNKNOWN_BEFORE_PAUSE {
            return Ok(());
        }
        self.pause(ticket, now, None)
    }

    /// HTTP 429, with the pause that the service asks for.
    pub(super) fn throttled(&mut self, ticket: Ticket, now: Instant, asked: Option<Duration>) -> Paused {
        self.unknown_in_a_row = 0;
        self.pause(ticket, now, asked)
    }

    /// How long to wait for an outage to end.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The end of the current pause.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.backoff.map(|backoff| backoff.until)
    }

    fn pause(&mut self, ticket: Ticket, now: Instant, asked: Option<Duration>) -> Paused {
        let asked = asked.unwrap_or_default();
        let (since, pauses) = self.backoff.map_or((now, 1), |backoff| (backoff.since, backoff.pauses + 1));
        // A pause is compared before it is added: the service may ask for any number of seconds.
        let left = self.patience.saturating_sub(now.saturating_duration_since(since));
        if let Some(backoff) = &mut self.backoff
            && ticket.epoch != self.epoch
        {
            // Another charge in flight had the same problem; it may ask for a longer pause.
            backoff.until = backoff.until.max(now + asked.min(left));
            return if asked > left { Err(left) } else { Ok(()) };
        }
        let pause = asked.max(backoff_delay(pauses));
        if pause > left {
            return Err(left);
        }
        self.epoch += 1;
        self.in_flight_limit = 1;
        self.backoff = Some(Backoff { since, until: now + pause, pauses });
        Ok(())
    }
}

/// Doubles each time, with jitter between half and all of it, so that many clients do not return at once.
fn backoff_delay(pauses: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << (pauses - 1).min(16)).min(LONGEST_PAUSE);
    let chance = u32::try_from(RandomState::new().hash_one(pauses) % 512).unwrap_or_default();
    longest * (512 + chance) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(5);

    fn at(throttle: &Throttle, now: Instant) -> Instant {
        match throttle.may_start(now, 0) {
            Start::Now => now,
            Start::At(at) => at,
            Start::WhenOneEnds => unreachable!("nothing is in flight"),
        }
    }

    #[test]
    fn rate_spaces_starts_evenly_and_limits_catching_up() {
        let interval = Duration::from_millis(20);
        let mut throttle = Throttle::new(8, Some(interval), LONG);
        let begun = Instant::now();
        let mut now = begun;
        for number in 0..100 {
            now = at(&throttle, now);
            assert_eq!(now - begun, interval * number);
            throttle.start(now);
        }
        // After a second without starts, three may start at once and not fifty.
        now += Duration::from_secs(1);
        let mut at_once = 0;
        while throttle.may_start(now, 0) == Start::Now {
            throttle.start(now);
            at_once += 1;
        }
        assert_eq!(at_once, 3);
    }

    #[test]
    fn in_flight_limit_is_kept() {
        let throttle = Throttle::new(2, None, LONG);
        let now = Instant::now();
        assert_eq!(throttle.may_start(now, 1), Start::Now);
        assert_eq!(throttle.may_start(now, 2), Start::WhenOneEnds);
    }

    #[test]
    fn outage_is_probed_by_one_charge_at_a_time_with_longer_pauses() {
        let mut throttle = Throttle::new(32, None, LONG);
        let mut now = Instant::now();
        let tickets: Vec<_> = (0..32).map(|_| throttle.start(now)).collect();
        for ticket in tickets {
            throttle.not_reached(ticket, now).expect("one outage, one pause");
        }
        let mut longest = FIRST_PAUSE;
        loop {
            let until = at(&throttle, now);
            assert!((longest / 2..=longest).contains(&(until - now)), "{:?} of {longest:?}", until - now);
            now = until;
            assert_eq!(throttle.may_start(now, 1), Start::WhenOneEnds, "one at a time");
            longest = (longest * 2).min(LONGEST_PAUSE);
            let ticket = throttle.start(now);
            if throttle.not_reached(ticket, now).is_err() {
                break;
            }
        }
        assert_eq!(longest, LONGEST_PAUSE, "the pauses reached the maximum");
    }

    #[test]
    fn good_responses_end_the_pause_and_raise_the_limit() {
        let mut throttle = Throttle::new(4, None, LONG);
        let mut now = Instant::now();
        let (early, late) = (throttle.start(now), throttle.start(now));
        throttle.not_reached(early, now).expect("patience");
        throttle.responded(late);
        assert!(throttle.paused_until().is_some(), "a response to an earlier charge does not end the pause");
        now = at(&throttle, now);
        for limit in 1..=4 {
            assert_eq!(throttle.may_start(now, limit), Start::WhenOneEnds);
            assert_eq!(throttle.may_start(now, limit - 1), Start::Now);
            let ticket = throttle.start(now);
            throttle.responded(ticket);
        }
        assert_eq!(throttle.paused_until(), None);
        assert_eq!(throttle.may_start(now, 4), Start::WhenOneEnds);
        // The next outage starts with the shortest pause.
        let ticket = throttle.start(now);
        throttle.not_reached(ticket, now).expect("patience");
        assert!(at(&throttle, now) - now <= FIRST_PAUSE);
    }

    #[test]
    fn requested_pause_is_kept_or_exceeds_patience() {
        let mut throttle = Throttle::new(4, None, LONG);
        let now = Instant::now();
        let (first, second) = (throttle.start(now), throttle.start(now));
        throttle.throttled(first, now, Some(Duration::from_secs(7))).expect("patience");
        assert_eq!(at(&throttle, now) - now, Duration::from_secs(7));
        throttle.throttled(second, now, Some(Duration::from_secs(9))).expect("patience");
        assert_eq!(at(&throttle, now) - now, Duration::from_secs(9), "the longer of them");
        let hour = Duration::from_hours(1);
        let late = now + Duration::from_secs(299);
        let asked = Some(Duration::from_secs(2));
        let left = Duration::from_secs(1);
        assert_eq!(throttle.throttled(second, late, asked), Err(left), "299 s are over");
        assert_eq!(throttle.throttled(second, now, Some(hour)), Err(LONG));
    }

    #[test]
    fn requested_pause_of_any_length_does_not_overflow_d54() {
        for seconds in [i64::MAX as u64, i64::MAX as u64 - 1, u64::MAX, u64::from(u32::MAX)] {
            let pause = Duration::new(seconds, 999_999_999);
            for patience in [Duration::ZERO, LONG, Duration::from_hours(24)] {
                let mut throttle = Throttle::new(4, None, patience);
                let now = Instant::now();
                let (first, second) = (throttle.start(now), throttle.start(now));
                assert_eq!(throttle.throttled(first, now, Some(pause)), Err(patience));
                // The same for a charge that started before another pause.
                let _ = throttle.throttled(first, now, Some(Duration::ZERO));
                assert_eq!(throttle.throttled(second, now, Some(pause)), Err(patience));
                assert!(at(&throttle, now) <= now + patience);
            }
        }
    }

    #[test]
    fn only_many_unknown_outcomes_in_a_row_cause_a_pause() {
        let mut throttle = Throttle::new(4, None, LONG);
        let now = Instant::now();
        for _ in 0..10 {
            for _ in 1..UNKNOWN_BEFORE_PAUSE {
                let ticket = throttle.start(now);
                throttle.unknown(ticket, now).expect("patience");
            }
            let ticket = throttle.start(now);
            throttle.responded(ticket);
        }
        assert_eq!(throttle.paused_until(), None);
        for _ in 0..UNKNOWN_BEFORE_PAUSE {
            let ticket = throttle.start(now);
            throttle.unknown(ticket, now).expect("patience");
        }
        assert!(throttle.paused_until().is_some());
    }
}
