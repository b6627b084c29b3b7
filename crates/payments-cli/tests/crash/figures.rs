//! What the rounds of this test have seen.

/// Counts over all rounds.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names, reason = "they are printed as the result")]
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
        assert!(self.kills >= 2 * self.rounds, "too few kills: {self:?}");
        assert!(self.killed_before_arrival > 0, "none killed between the row and the service: {self:?}");
        assert!(self.killed_after_arrival > 0, "none killed between the charge and its end: {self:?}");
        assert!(self.unknown_by_response > self.unknown_by_late_response, "no response was lost: {self:?}");
        assert!(
            self.unknown_and_charged > 0 && self.unknown_and_not_charged > 0,
            "not both occurred: {self:?}"
        );
        assert!(self.reopened > 0 && self.late > 0, "{self:?}");
    }

    pub(crate) fn assert_copies_were_put_back(&self) {
        assert!(self.put_back > 0, "no copy was put back: {self:?}");
        assert!(self.accepted > 0 && self.became_unknown > 0, "none was noticed: {self:?}");
    }
}
