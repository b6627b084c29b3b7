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
    pub(super) fn show(&mut self, tallies: &Tallies, now: Instant, paused_until: Option<Instant>) {
        let Some(screen) = self.screen.as_ref().filter(|_| now >= self.last + self.pause) else { return };
        let message = self.message(tallies, now, paused_until);
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

    fn message(&self, tallies: &Tallies, now: Instant, paused_until: Option<Instant>) -> String {
        let seconds = (now - self.begun).as_secs().max(1);
        let ended = ended(tallies);
        let rate = (ended - self.before) / seconds;
        let left = tallies.total.count - ended;
        let time_left = left
            .checked_div(rate)
            .map(|seconds| format!(", {} left", humantime::format_duration(Duration::from_secs(seconds))))
            .filter(|_| left > 0)
            .unwrap_or_default();
        let pause = paused_until
            .filter(|until| *until > now)
            .map(|until| format!(", pausing for {} s", (until - now).as_secs() + 1))
            .unwrap_or_default();
        let processed = tallies.processed.plus(tallies.earlier.processed).count;
        let rejected = tallies.rejected.plus(tallies.earlier.rejected).count;
        let unknown = tallies.unknown.plus(tallies.earlier.unknown).count;
        format!("{processed} processed, {rejected} rejected, {unknown} unknown, {rate}/s{time_left}{pause}")
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
        assert_eq!(
            progress.message(&tallies, now, None),
            "30 processed, 0 rejected, 1 unknown, 7/s, 9s left"
        );
        let paused = progress.message(&tallies, begun, Some(now));
        assert_eq!(paused, "30 processed, 0 rejected, 1 unknown, 21/s, 3s left, pausing for 4 s");
    }
}
