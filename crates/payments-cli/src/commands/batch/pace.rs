//! When the next charge may begin: the rate, and the pauses after signs of trouble. It knows no clock of its own.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// What is known of how the service takes the run.
#[derive(Debug)]
pub(super) struct Pace {
    /// From one beginning to the next, if a rate is set.
    interval: Option<Duration>,
    next: Option<Instant>,
    /// How many may be in flight now, and at most.
    width: usize,
    widest: usize,
    patience: Duration,
    trouble: Option<Trouble>,
    /// Counts the pauses: what began before a pause says nothing new about what comes after it.
    epoch: u64,
    unknown_in_a_row: u32,
}

/// The service cannot be reached, asks to wait, or does not answer as it should.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    since: Instant,
    until: Instant,
    /// How many pauses there were.
    pauses: u32,
}

/// Whether a charge may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Now,
    At(Instant),
    /// As many as may be are in flight.
    WhenOneEnds,
}

/// Says when a charge began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    epoch: u64,
}

/// The trouble lasts longer than there is patience for; the next pause would be this long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfPatience {
    pub(super) pause: Duration,
}

/// Chosen by this command: a restart of the service is over in a few of the first pauses, and an outage is asked after
/// once a minute.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Chosen by this command: one lost answer is an accident, this many without any good one between them are none.
const UNKNOWN_IS_TROUBLE: u32 = 5;

/// How far a run that was held up may catch up with its rate.
const CATCH_UP: Duration = Duration::from_millis(50);

impl Pace {
    pub(super) fn new(widest: usize, interval: Option<Duration>, patience: Duration) -> Self {
        Self {
            interval,
            next: None,
            width: widest,
            widest,
            patience,
            trouble: None,
            epoch: 0,
            unknown_in_a_row: 0,
        }
    }

    pub(super) fn may_start(&self, now: Instant, in_flight: usize) -> Start {
        if in_flight >= self.width {
            return Start::WhenOneEnds;
        }
        let pause = self.trouble.map(|trouble| trouble.until);
        match pause.into_iter().chain(self.next).max() {
            Some(at) if at > now => Start::At(at),
            _ => Start::Now,
        }
    }

    /// A charge begins.
    pub(super) fn start(&mut self, now: Instant) -> Ticket {
        if let Some(interval) = self.interval {
            let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
            let due = self.next.unwrap_or(now).max(earliest);
            self.next = Some(due + interval);
        }
        Ticket { epoch: self.epoch }
    }

    /// The service has answered as it should, whatever it said.
    pub(super) fn answered(&mut self, ticket: Ticket) {
        self.unknown_in_a_row = 0;
        if ticket.epoch == self.epoch {
            self.trouble = None;
            // One more for each good answer: twice as many in each round.
            self.width = self.widest.min(self.width + 1);
        }
    }

    /// Nothing of it has reached the service.
    pub(super) fn not_reached(&mut self, ticket: Ticket, now: Instant) -> Result<(), OutOfPatience> {
        self.pause(ticket, now, None)
    }

    /// What became of it is unknown.
    pub(super) fn unknown(&mut self, ticket: Ticket, now: Instant) -> Result<(), OutOfPatience> {
        self.unknown_in_a_row += 1;
        if self.unknown_in_a_row < UNKNOWN_IS_TROUBLE {
            return Ok(());
        }
        self.pause(ticket, now, None)
    }

    /// HTTP 429, with the pause that the service asks for.
    pub(super) fn throttled(
        &mut self,
        ticket: Ticket,
        now: Instant,
        asked: Option<Duration>,
    ) -> Result<(), OutOfPatience> {
        self.unknown_in_a_row = 0;
        self.pause(ticket, now, asked)
    }

    /// How long trouble is waited out.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Until when nothing begins, if there is trouble.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.trouble.map(|trouble| trouble.until)
    }

    fn pause(&mut self, ticket: Ticket, now: Instant, asked: Option<Duration>) -> Result<(), OutOfPatience> {
        let asked = asked.unwrap_or_default();
        if let Some(trouble) = &mut self.trouble
            && ticket.epoch != self.epoch
        {
            // The same trouble, seen by another charge that was in flight; it may ask for longer.
            trouble.until = trouble.until.max(now + asked.min(self.patience));
            return if asked > self.patience { Err(OutOfPatience { pause: asked }) } else { Ok(()) };
        }
        let (since, pauses) = self.trouble.map_or((now, 1), |trouble| (trouble.since, trouble.pauses + 1));
        let pause = asked.max(back_off(pauses));
        if now + pause > since + self.patience {
            return Err(OutOfPatience { pause });
        }
        self.epoch += 1;
        self.width = 1;
        self.trouble = Some(Trouble { since, until: now + pause, pauses });
        Ok(())
    }
}

/// Twice as long each time, between half of it and all of it by chance, so that many clients do not come back at once.
fn back_off(pauses: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << (pauses - 1).min(16)).min(LONGEST_PAUSE);
    let chance = u32::try_from(RandomState::new().hash_one(pauses) % 512).unwrap_or_default();
    longest * (512 + chance) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(5);

    fn at(pace: &Pace, now: Instant) -> Instant {
        match pace.may_start(now, 0) {
            Start::Now => now,
            Start::At(at) => at,
            Start::WhenOneEnds => unreachable!("nothing is in flight"),
        }
    }

    #[test]
    fn a_rate_spaces_beginnings_evenly_and_lets_little_be_caught_up() {
        let interval = Duration::from_millis(20);
        let mut pace = Pace::new(8, Some(interval), LONG);
        let begun = Instant::now();
        let mut now = begun;
        for number in 0..100 {
            now = at(&pace, now);
            assert_eq!(now - begun, interval * number);
            pace.start(now);
        }
        // Nothing began for a second: not fifty at once, but three.
        now += Duration::from_secs(1);
        let mut at_once = 0;
        while pace.may_start(now, 0) == Start::Now {
            pace.start(now);
            at_once += 1;
        }
        assert_eq!(at_once, 3);
    }

    #[test]
    fn no_more_are_in_flight_than_allowed() {
        let pace = Pace::new(2, None, LONG);
        let now = Instant::now();
        assert_eq!(pace.may_start(now, 1), Start::Now);
        assert_eq!(pace.may_start(now, 2), Start::WhenOneEnds);
    }

    #[test]
    fn an_outage_is_asked_after_by_one_charge_at_a_time_with_ever_longer_pauses() {
        let mut pace = Pace::new(32, None, LONG);
        let mut now = Instant::now();
        let tickets: Vec<_> = (0..32).map(|_| pace.start(now)).collect();
        for ticket in tickets {
            pace.not_reached(ticket, now).expect("one outage, one pause");
        }
        let mut longest = FIRST_PAUSE;
        loop {
            let until = at(&pace, now);
            assert!((longest / 2..=longest).contains(&(until - now)), "{:?} of {longest:?}", until - now);
            now = until;
            assert_eq!(pace.may_start(now, 1), Start::WhenOneEnds, "one at a time");
            longest = (longest * 2).min(LONGEST_PAUSE);
            let ticket = pace.start(now);
            if pace.not_reached(ticket, now).is_err() {
                break;
            }
        }
        assert_eq!(longest, LONGEST_PAUSE, "it was waited for minutes");
    }

    #[test]
    fn good_answers_end_the_trouble_and_widen_the_run_again() {
        let mut pace = Pace::new(4, None, LONG);
        let mut now = Instant::now();
        let (early, late) = (pace.start(now), pace.start(now));
        pace.not_reached(early, now).expect("patience");
        pace.answered(late);
        assert!(pace.paused_until().is_some(), "an answer to what began before it is no news");
        now = at(&pace, now);
        for width in 1..=4 {
            assert_eq!(pace.may_start(now, width), Start::WhenOneEnds);
            assert_eq!(pace.may_start(now, width - 1), Start::Now);
            let ticket = pace.start(now);
            pace.answered(ticket);
        }
        assert_eq!(pace.paused_until(), None);
        assert_eq!(pace.may_start(now, 4), Start::WhenOneEnds);
        // The next trouble begins with the shortest pause.
        let ticket = pace.start(now);
        pace.not_reached(ticket, now).expect("patience");
        assert!(at(&pace, now) - now <= FIRST_PAUSE);
    }

    #[test]
    fn a_pause_that_is_asked_for_is_kept_or_refused_whole() {
        let mut pace = Pace::new(4, None, LONG);
        let now = Instant::now();
        let (first, second) = (pace.start(now), pace.start(now));
        pace.throttled(first, now, Some(Duration::from_secs(7))).expect("patience");
        assert_eq!(at(&pace, now) - now, Duration::from_secs(7));
        pace.throttled(second, now, Some(Duration::from_secs(9))).expect("patience");
        assert_eq!(at(&pace, now) - now, Duration::from_secs(9), "the longest of them");
        let hour = Duration::from_hours(1);
        assert_eq!(pace.throttled(second, now, Some(hour)), Err(OutOfPatience { pause: hour }));
    }

    #[test]
    fn without_patience_the_first_trouble_is_the_last() {
        let mut pace = Pace::new(4, None, Duration::ZERO);
        let ticket = pace.start(Instant::now());
        assert!(pace.not_reached(ticket, Instant::now()).is_err());
    }

    #[test]
    fn only_many_unknown_outcomes_in_a_row_are_trouble() {
        let mut pace = Pace::new(4, None, LONG);
        let now = Instant::now();
        for _ in 0..10 {
            for _ in 1..UNKNOWN_IS_TROUBLE {
                let ticket = pace.start(now);
                pace.unknown(ticket, now).expect("patience");
            }
            let ticket = pace.start(now);
            pace.answered(ticket);
        }
        assert_eq!(pace.paused_until(), None);
        for _ in 0..UNKNOWN_IS_TROUBLE {
            let ticket = pace.start(now);
            pace.unknown(ticket, now).expect("patience");
        }
        assert!(pace.paused_until().is_some());
    }
}
