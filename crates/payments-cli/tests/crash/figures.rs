//! What a run of this test has seen.

use std::fmt;

/// Counts over all rounds.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names, reason = "they are what is printed")]
pub(crate) struct Figures {
    pub(crate) rounds: u64,
    pub(crate) rows: u64,
    pub(crate) runs: u64,
    pub(crate) kills: u64,
    /// Of them, with a second run at work on the same file.
    pub(crate) kills_of_two: u64,
    pub(crate) runs_without_a_service: u64,
    pub(crate) transmissions: u64,
    pub(crate) faults: u64,
    pub(crate) late: u64,
    /// Killed between the row and the service.
    pub(crate) killed_before_it_arrived: u64,
    pub(crate) killed_after_it_arrived: u64,
    pub(crate) unknown_by_an_answer: u64,
    /// Of them, by a good answer that came too late on a busy machine.
    pub(crate) unknown_by_slowness: u64,
    pub(crate) unknown_and_charged: u64,
    pub(crate) unknown_and_not_charged: u64,
    pub(crate) reopened: u64,
    pub(crate) torn_results: u64,
    pub(crate) charged: u64,
    pub(crate) charged_cents: u64,
}

impl Figures {
    /// A run in which nothing happened proves nothing.
    pub(crate) fn assert_meant_something(&self) {
        assert!(self.kills >= 2 * self.rounds, "runs were killed: {self}");
        assert!(
            self.killed_before_it_arrived > 0,
            "some were killed between the row and the service: {self}"
        );
        assert!(self.killed_after_it_arrived > 0, "some were killed between the charge and its end: {self}");
        assert!(self.unknown_by_an_answer > self.unknown_by_slowness, "answers were lost: {self}");
        assert!(self.unknown_and_charged > 0 && self.unknown_and_not_charged > 0, "both happened: {self}");
        assert!(self.reopened > 0 && self.late > 0, "{self}");
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rounds,
            rows,
            runs,
            kills,
            kills_of_two,
            runs_without_a_service,
            transmissions,
            faults,
            late,
            killed_before_it_arrived,
            killed_after_it_arrived,
            unknown_by_an_answer,
            unknown_by_slowness,
            unknown_and_charged,
            unknown_and_not_charged,
            reopened,
            torn_results,
            charged,
            charged_cents,
        } = self;
        let charged_sum = format!("{}.{:02}", charged_cents / 100, charged_cents % 100);
        for (name, count) in [
            ("rounds", rounds),
            ("rows", rows),
            ("runs", runs),
            ("  killed", kills),
            ("    two at work on one file", kills_of_two),
            ("  with nobody to send to", runs_without_a_service),
            ("transmissions", transmissions),
            ("  that met a fault", faults),
            ("  that took effect late", late),
            ("unknown: killed, never arrived", killed_before_it_arrived),
            ("unknown: killed, arrived", killed_after_it_arrived),
            ("unknown: by the answer", unknown_by_an_answer),
            ("  a good one, too late", unknown_by_slowness),
            ("unknown, and charged", unknown_and_charged),
            ("unknown, and not charged", unknown_and_not_charged),
            ("reopened by a person", reopened),
            ("lines of results torn", torn_results),
            ("charged", charged),
        ] {
            writeln!(f, "{name:<34} {count:>10}")?;
        }
        write!(f, "{:<34} {charged_sum:>10}", "charged, in money")
    }
}
