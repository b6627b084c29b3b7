//! What the rounds of this test have seen.

use std::fmt;

/// Counts over all rounds.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the names match the printed ones")]
pub(crate) struct Figures {
    pub(crate) rounds: u64,
    pub(crate) rows: u64,
    pub(crate) runs: u64,
    pub(crate) kills: u64,
    /// The part of `kills` with two runs on the same file.
    pub(crate) kills_in_pairs: u64,
    pub(crate) runs_without_service: u64,
    pub(crate) transmissions: u64,
    pub(crate) faults: u64,
    pub(crate) late: u64,
    /// Killed after the row was written and before the service received the charge.
    pub(crate) killed_before_arrival: u64,
    pub(crate) killed_after_arrival: u64,
    pub(crate) unknown_by_response: u64,
    /// The part of `unknown_by_response` with a good response that came too late on a busy machine.
    pub(crate) unknown_by_late_response: u64,
    pub(crate) unknown_and_charged: u64,
    pub(crate) unknown_and_not_charged: u64,
    pub(crate) reopened: u64,
    pub(crate) torn_results: u64,
    /// Older copies of the journal.
    pub(crate) put_back: u64,
    /// Runs that were refused because of that, after which a person named what was sent.
    pub(crate) accepted: u64,
    pub(crate) became_unknown: u64,
    pub(crate) charged: u64,
    pub(crate) charged_cents: u64,
}

impl Figures {
    /// A run that did not cover these cases proves nothing.
    pub(crate) fn assert_every_case_occurred(&self) {
        assert!(self.kills >= 2 * self.rounds, "too few kills: {self}");
        assert!(self.killed_before_arrival > 0, "none killed between the row and the service: {self}");
        assert!(self.killed_after_arrival > 0, "none killed between the charge and its end: {self}");
        assert!(self.unknown_by_response > self.unknown_by_late_response, "no response was lost: {self}");
        assert!(
            self.unknown_and_charged > 0 && self.unknown_and_not_charged > 0,
            "not both occurred: {self}"
        );
        assert!(self.reopened > 0 && self.late > 0, "{self}");
    }

    pub(crate) fn assert_copies_were_put_back(&self) {
        assert!(self.put_back > 0, "no copy was put back: {self}");
        assert!(self.accepted > 0 && self.became_unknown > 0, "none was noticed: {self}");
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let charged_sum = format!("{}.{:02}", self.charged_cents / 100, self.charged_cents % 100);
        for (name, count) in [
            ("rounds", self.rounds),
            ("rows", self.rows),
            ("runs", self.runs),
            ("  killed", self.kills),
            ("    two runs on one file", self.kills_in_pairs),
            ("  without a service", self.runs_without_service),
            ("transmissions", self.transmissions),
            ("  with a fault", self.faults),
            ("  that took effect late", self.late),
            ("unknown: killed, never arrived", self.killed_before_arrival),
            ("unknown: killed, arrived", self.killed_after_arrival),
            ("unknown: by the response", self.unknown_by_response),
            ("  a good one, too late", self.unknown_by_late_response),
            ("unknown, and charged", self.unknown_and_charged),
            ("unknown, and not charged", self.unknown_and_not_charged),
            ("reopened by a person", self.reopened),
            ("torn lines of results", self.torn_results),
            ("older copies put back", self.put_back),
            ("  noticed, and accepted", self.accepted),
            ("  keys that became unknown", self.became_unknown),
            ("charged", self.charged),
        ] {
            writeln!(f, "{name:<34} {count:>10}")?;
        }
        write!(f, "{:<34} {charged_sum:>10}", "amount charged")
    }
}
