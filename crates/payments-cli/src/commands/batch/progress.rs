//! How far the run is, on stderr: a bar on a terminal, else a line every few seconds.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::batch_report::Tallies;

/// Shows it.
#[derive(Debug)]
pub(super) struct Progress {
    shown: Shown,
    begun: Instant,
    /// How many rows had ended before the run.
    before: u64,
}

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines { last: Instant },
}

/// From one line to the next.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

impl Progress {
    pub(super) fn begin(tallies: &Tallies, now: Instant) -> Self {
        let before = ended(tallies);
        let shown = if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(5);
            let bar = ProgressBar::with_draw_target(Some(tallies.total.count), target).with_position(before);
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Shown::Bar(bar)
        } else {
            Shown::Lines { last: now }
        };
        Self { shown, begun: now, before }
    }

    #[cfg(test)]
    pub(super) fn hidden(now: Instant) -> Self {
        Self { shown: Shown::Bar(ProgressBar::hidden()), begun: now, before: 0 }
    }

    /// Shows where the run stands, not more often than anybody reads it.
    pub(super) fn show(&mut self, tallies: &Tallies, now: Instant, paused_until: Option<Instant>) {
        match &self.shown {
            Shown::Bar(bar) => {
                bar.set_position(ended(tallies));
                bar.set_message(self.message(tallies, now, paused_until));
            }
            Shown::Lines { last } if now >= *last + BETWEEN_LINES => {
                let message = self.message(tallies, now, paused_until);
                // A run goes on if nobody can read of it.
                let _ = writeln!(io::stderr(), "{} of {}: {message}", ended(tallies), tallies.total.count);
                self.shown = Shown::Lines { last: now };
            }
            Shown::Lines { .. } => {}
        }
    }

    /// A line that stays.
    pub(super) fn tell(&self, text: &str) {
        let write = || {
            let _ = writeln!(io::stderr(), "{text}");
        };
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(write),
            Shown::Lines { .. } => write(),
        }
    }

    /// Takes the bar away, so that the summary stands alone.
    pub(super) fn end(self) {
        if let Shown::Bar(bar) = self.shown {
            bar.finish_and_clear();
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
        let progress = Progress { shown: Shown::Lines { last: begun }, begun, before: 10 };
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
