use std::time::Duration;

use crate::load::Burst;
use crate::report::{Goal, Report, Short};
use crate::server::Server;

/// The processor time that a server spent on its turns. Unlike a rate it hardly depends on what else the machine does.
#[derive(Default)]
pub(super) struct Spent {
    time: Option<Duration>,
    answers: u32,
}

impl Spent {
    /// Adds a turn; gives its rate.
    pub(super) fn count(
        &mut self,
        server: &Server,
        turn: impl FnOnce() -> anyhow::Result<Burst>,
    ) -> anyhow::Result<f64> {
        let before = server.processor_time();
        let burst = turn()?;
        let spent = server.processor_time().zip(before).map(|(after, before)| after.saturating_sub(before));
        self.time = spent.map(|spent| spent + self.time.unwrap_or_default());
        self.answers += burst.answers;
        Ok(burst.rate())
    }

    /// What the first spent on each answer, beside what the `other` did.
    pub(super) fn report(first: &Self, second: &Self, other: &str, name: &str, report: &mut Report) {
        match (first.per_answer_us(), second.per_answer_us()) {
            (Some(first), Some(second)) => {
                let note = format!("{other}: {} µs", Short(second));
                report.figure(name, first, "µs", Goal::None, &note);
            }
            _ => report.not_measured(name, "only Linux tells the processor time of a process"),
        }
    }

    fn per_answer_us(&self) -> Option<f64> {
        Some(self.time?.as_secs_f64() * 1e6 / f64::from(self.answers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_is_shared_by_all_answers() {
        let spent = Spent { time: Some(Duration::from_millis(3)), answers: 200 };
        assert!((spent.per_answer_us().unwrap() - 15.0).abs() < 1e-9);
        assert_eq!(Spent { time: None, answers: 200 }.per_answer_us(), None);
    }
}
