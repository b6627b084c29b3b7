//! The progress of the run on stderr: a bar on a terminal, else a line every few seconds.

use std::time::Duration;

use tokio::time::Instant;

use crate::report::run::Tallies;
use crate::stderr::{self, Item};

/// Shows the progress.
pub(super) struct Progress {
    is_bar: bool,
    screen: Box<dyn Fn(Item)>,
    begun: Instant,
    /// The number of rows that had ended before the run.
    before: u64,
    last: Instant,
    pause: Duration,
}

/// What the run may be waiting for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitState {
    /// The end of the current pause.
    pub(super) paused_until: Option<Instant>,
    /// Why the run pauses.
    pub(super) last_problem: &'static str,
    pub(super) in_flight: usize,
    /// When a charge last ended.
    pub(super) quiet_since: Instant,
}

/// After this time without an outcome, the message says so. Each charge waits for the journal, then for the service, then
/// for the journal.
const QUIET: Duration = Duration::from_secs(5);

/// The time between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

impl Progress {
    /// On stderr.
    pub(super) fn begin(tallies: &Tallies, now: Instant) -> Self {
        Self::on(stderr::is_terminal(), stderr::show, tallies, now)
    }

    pub(super) fn on(is_bar: bool, screen: impl Fn(Item) + 'static, tallies: &Tallies, now: Instant) -> Self {
        let pause = if is_bar { Duration::ZERO } else { BETWEEN_LINES };
        Self { is_bar, screen: Box::new(screen), begun: now, before: ended(tallies), last: now, pause }
    }

    /// Shows the progress, but not too often.
    pub(super) fn show(&mut self, tallies: &Tallies, now: Instant, wait_state: WaitState) {
        if now < self.last + self.pause {
            return;
        }
        let (ended, total) = (ended(tallies), tallies.total.count);
        let message = self.message(tallies, now, wait_state);
        (self.screen)(if self.is_bar {
            Item::Bar { ended, total, message }
        } else {
            Item::Text(format!("{ended} of {total}: {message}\n"))
        });
        self.last = now;
    }

    /// Prints a line that is not replaced.
    pub(super) fn print_line(&self, text: &str) {
        (self.screen)(Item::Text(format!("{text}\n")));
    }

    /// Removes the bar before the summary is shown.
    pub(super) fn end(&self) {
        if self.is_bar {
            (self.screen)(Item::NoBar);
        }
    }

    fn message(&self, tallies: &Tallies, now: Instant, wait_state: WaitState) -> String {
        let ended = ended(tallies);
        let (done, left) = (u128::from(ended - self.before), tallies.total.count - ended);
        let millis = (now - self.begun).as_millis();
        let tenths = (done * 10_000).checked_div(millis).unwrap_or_default();
        let rate =
            if tenths < 100 { format!("{}.{}", tenths / 10, tenths % 10) } else { (tenths / 10).to_string() };
        let time_left = (done > 0 && left > 0).then(|| {
            let seconds = (u128::from(left) * millis).div_ceil(done * 1000);
            let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
            format!(", {} left", humantime::format_duration(seconds))
        });
        let time_left = time_left.unwrap_or_default();
        let wait_state = wait_state.message(now);
        let (processed, rejected) = (tallies.all_processed().count, tallies.all_rejected().count);
        let unknown = tallies.all_unknown().count;
        format!(
            "{processed} processed, {rejected} rejected, {unknown} unknown, {rate}/s{time_left}{wait_state}"
        )
    }
}

impl WaitState {
    fn message(self, now: Instant) -> String {
        let Self { paused_until, last_problem, in_flight, quiet_since } = self;
        let quiet = now.saturating_duration_since(quiet_since);
        match paused_until.filter(|until| *until > now) {
            Some(until) => format!(", pausing for {} s ({last_problem})", (until - now).as_secs() + 1),
            None if in_flight > 0 && quiet >= QUIET => format!(
                ", {in_flight} in flight have been waiting for the journal or the service for {} s",
                quiet.as_secs()
            ),
            None => String::new(),
        }
    }
}

fn ended(tallies: &Tallies) -> u64 {
    tallies.total.count - tallies.not_started().count
}

#[cfg(test)]
mod tests {
    use payments_model::Amount;

    use super::*;

    fn busy(quiet_since: Instant) -> WaitState {
        WaitState { paused_until: None, last_problem: "", in_flight: 8, quiet_since }
    }

    #[test]
    fn message_has_counts_rate_and_time_left() {
        let mut tallies = Tallies::default();
        (0..100).for_each(|_| tallies.total.add(Amount::from_cents(1)));
        (0..10).for_each(|_| tallies.earlier.processed.add(Amount::from_cents(1)));
        let begun = Instant::now();
        let progress = Progress::on(true, |_| {}, &tallies, begun);
        (0..20).for_each(|_| tallies.processed.add(Amount::from_cents(1)));
        tallies.unknown.add(Amount::from_cents(1));
        let now = begun + Duration::from_secs(3);
        let message = progress.message(&tallies, now, busy(now));
        assert_eq!(message, "30 processed, 0 rejected, 1 unknown, 7.0/s, 10s left");
        let paused = WaitState { paused_until: Some(now), last_problem: "connect", ..busy(now) };
        let paused = progress.message(&tallies, begun + Duration::from_secs(1), paused);
        assert_eq!(paused, "30 processed, 0 rejected, 1 unknown, 21/s, 4s left, pausing for 3 s (connect)");
    }

    #[test]
    fn rate_is_exact_below_a_second() {
        for (millis, ended, expected) in [
            (1800, 108, "60/s, 15s left"),
            (500, 30, "60/s, 17s left"),
            (2000, 1, "0.5/s, 33m 18s left"),
            (60_000, 1, "0.0/s, 16h 39m left"),
            (7000, 0, "0.0/s"),
            (0, 0, "0.0/s"),
            (10_000, 999, "99/s, 1s left"),
            (10_000, 1000, "100/s"),
        ] {
            let mut tallies = Tallies::default();
            (0..1000).for_each(|_| tallies.total.add(Amount::from_cents(1)));
            let begun = Instant::now();
            let progress = Progress::on(true, |_| {}, &tallies, begun);
            (0..ended).for_each(|_| tallies.processed.add(Amount::from_cents(1)));
            let now = begun + Duration::from_millis(millis);
            let message = progress.message(&tallies, now, busy(now));
            assert_eq!(message, format!("{ended} processed, 0 rejected, 0 unknown, {expected}"));
        }
    }

    #[test]
    fn long_wait_for_the_journal_is_shown() {
        let now = Instant::now();
        let quiet = WaitState { in_flight: 2, ..busy(now) };
        assert_eq!(quiet.message(now + QUIET / 2), "");
        let later = now + Duration::from_secs(7);
        let waiting = ", 2 in flight have been waiting for the journal or the service for 7 s";
        assert_eq!(quiet.message(later), waiting);
        assert_eq!(WaitState { in_flight: 0, ..quiet }.message(later), "");
        let until = Some(later + Duration::from_millis(500));
        let paused = WaitState { paused_until: until, last_problem: "HTTP 429", ..quiet };
        assert_eq!(paused.message(later), ", pausing for 1 s (HTTP 429)");
    }
}
