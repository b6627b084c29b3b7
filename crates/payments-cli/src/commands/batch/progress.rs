//! How far the run is, on stderr: a bar on a terminal, else a line every few seconds.

use std::time::Duration;

use tokio::time::Instant;

use super::screen::{Scene, Screen};
use crate::batch_report::Tallies;

/// Shows it.
#[derive(Debug)]
pub(super) struct Progress {
    /// None in tests of other things.
    screen: Option<Screen>,
    begun: Instant,
    /// How many rows had ended before the run.
    before: u64,
    last: Instant,
    pause: Duration,
}

/// What may keep the run from going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldUp {
    /// By the service, or by what is known of it.
    pub(super) paused_until: Option<Instant>,
    pub(super) in_flight: usize,
    /// When one of those in flight last ended.
    pub(super) quiet_since: Instant,
}

/// From then on somebody wonders. Each charge waits for the journal before and after it waits for the service.
const QUIET: Duration = Duration::from_secs(5);

/// From one line to the next.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

impl Progress {
    pub(super) fn begin(tallies: &Tallies, now: Instant) -> Self {
        let before = ended(tallies);
        let (screen, is_bar) = Screen::of_stderr(before, tallies.total.count);
        let pause = if is_bar { Duration::ZERO } else { BETWEEN_LINES };
        Self { screen: Some(screen), begun: now, before, last: now, pause }
    }

    #[cfg(test)]
    pub(super) fn hidden(now: Instant) -> Self {
        Self { screen: None, begun: now, before: 0, last: now, pause: Duration::ZERO }
    }

    /// Shows where the run stands, not more often than anybody reads it.
    pub(super) fn show(&mut self, tallies: &Tallies, now: Instant, held_up: HeldUp) {
        let Some(screen) = self.screen.as_ref().filter(|_| now >= self.last + self.pause) else { return };
        let message = self.message(tallies, now, held_up);
        screen.show(Scene::Standing { ended: ended(tallies), total: tallies.total.count, message });
        self.last = now;
    }

    /// A line that stays.
    pub(super) fn tell(&self, text: String) {
        if let Some(screen) = &self.screen {
            screen.show(Scene::Remark(text));
        }
    }

    /// Takes the bar away, so that the summary stands alone.
    pub(super) fn end(self) {
        if let Some(screen) = self.screen {
            screen.close();
        }
    }

    fn message(&self, tallies: &Tallies, now: Instant, held_up: HeldUp) -> String {
        let seconds = (now - self.begun).as_secs().max(1);
        let ended = ended(tallies);
        let rate = (ended - self.before) / seconds;
        let left = tallies.total.count - ended;
        let time_left = left
            .checked_div(rate)
            .map(|seconds| format!(", {} left", humantime::format_duration(Duration::from_secs(seconds))))
            .filter(|_| left > 0)
            .unwrap_or_default();
        let held_up = held_up.message(now);
        let processed = tallies.processed.plus(tallies.earlier.processed).count;
        let rejected = tallies.rejected.plus(tallies.earlier.rejected).count;
        let unknown = tallies.unknown.plus(tallies.earlier.unknown).count;
        format!("{processed} processed, {rejected} rejected, {unknown} unknown, {rate}/s{time_left}{held_up}")
    }
}

impl HeldUp {
    fn message(self, now: Instant) -> String {
        let Self { paused_until, in_flight, quiet_since } = self;
        let quiet = now.saturating_duration_since(quiet_since);
        match paused_until.filter(|until| *until > now) {
            Some(until) => format!(", pausing for {} s", (until - now).as_secs() + 1),
            None if in_flight > 0 && quiet >= QUIET => format!(
                ", {in_flight} in flight have waited for the journal or the service for {} s",
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

    #[test]
    fn a_message_has_counts_rate_and_time_left() {
        let mut tallies = Tallies::default();
        (0..100).for_each(|_| tallies.total.add(Amount::from_cents(1)));
        (0..10).for_each(|_| tallies.earlier.processed.add(Amount::from_cents(1)));
        let begun = Instant::now();
        let progress = Progress { before: 10, ..Progress::hidden(begun) };
        (0..20).for_each(|_| tallies.processed.add(Amount::from_cents(1)));
        tallies.unknown.add(Amount::from_cents(1));
        let now = begun + Duration::from_secs(3);
        let busy = HeldUp { paused_until: None, in_flight: 8, quiet_since: now };
        assert_eq!(
            progress.message(&tallies, now, busy),
            "30 processed, 0 rejected, 1 unknown, 7/s, 9s left"
        );
        let paused = progress.message(&tallies, begun, HeldUp { paused_until: Some(now), ..busy });
        assert_eq!(paused, "30 processed, 0 rejected, 1 unknown, 21/s, 3s left, pausing for 4 s");
    }

    #[test]
    fn a_journal_that_does_not_answer_is_told_as_soon_as_anybody_wonders() {
        let now = Instant::now();
        let quiet = HeldUp { paused_until: None, in_flight: 2, quiet_since: now };
        assert_eq!(quiet.message(now + QUIET / 2), "");
        let later = now + Duration::from_secs(7);
        assert_eq!(quiet.message(later), ", 2 in flight have waited for the journal or the service for 7 s");
        assert_eq!(HeldUp { in_flight: 0, ..quiet }.message(later), "");
        let paused = HeldUp { paused_until: Some(later + Duration::from_millis(500)), ..quiet };
        assert_eq!(paused.message(later), ", pausing for 1 s");
    }
}
