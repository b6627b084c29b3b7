//! Which row is next: one to be tried again, else one of the file, else one that another process was sending.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::billing_file::BillingRow;
use super::charge_result::FinishedCharge;

/// Chosen by this command: how often the journal is asked about the rows that other processes are sending, once no other rows
/// are left.
const POLL_OTHERS_EVERY: Duration = Duration::from_millis(500);

/// The rows that are neither in flight nor counted.
pub(super) struct RowQueue<'a> {
    pub(super) rows: Peekable<Box<dyn Iterator<Item = BillingRow> + 'a>>,
    /// Rows that did not reach the service, to be tried again.
    waiting: VecDeque<FinishedCharge>,
    /// Rows that another process is sending.
    elsewhere: Vec<FinishedCharge>,
    /// Since when only those rows are left.
    waiting_for_others_since: Option<Instant>,
    poll_others_at: Option<Instant>,
}

/// What to do next.
pub(super) enum Next {
    Row(Arc<BillingRow>),
    /// Ask again at that time.
    At(Instant),
    /// Ask again when a charge has ended.
    Nothing,
    /// Ask again at once: the wait for so many rows of other processes begins.
    OthersAreSending(usize),
    /// Other processes have been sending the rest for longer than `--patience`.
    OthersTakeTooLong,
}

impl<'a> RowQueue<'a> {
    pub(super) fn new(rows: Box<dyn Iterator<Item = BillingRow> + 'a>) -> Self {
        Self {
            rows: rows.peekable(),
            waiting: VecDeque::new(),
            elsewhere: Vec::new(),
            waiting_for_others_since: None,
            poll_others_at: None,
        }
    }

    pub(super) fn has_more(&mut self) -> bool {
        self.rows.peek().is_some() || !self.waiting.is_empty() || !self.elsewhere.is_empty()
    }

    pub(super) fn next(&mut self, now: Instant, none_is_in_flight: bool, patience: Duration) -> Next {
        loop {
            if let Some(FinishedCharge { row, .. }) = self.waiting.pop_front() {
                return Next::Row(row);
            }
            if let Some(row) = self.rows.next() {
                return Next::Row(Arc::new(row));
            }
            if !none_is_in_flight || self.elsewhere.is_empty() {
                return Next::Nothing;
            }
            let Some(since) = self.waiting_for_others_since else {
                self.waiting_for_others_since = Some(now);
                return Next::OthersAreSending(self.elsewhere.len());
            };
            if now >= since + patience {
                return Next::OthersTakeTooLong;
            }
            let poll_at = *self.poll_others_at.get_or_insert(now + POLL_OTHERS_EVERY);
            if poll_at > now {
                return Next::At(poll_at);
            }
            self.poll_others_at = None;
            self.waiting.extend(self.elsewhere.drain(..));
        }
    }

    /// Takes back a row that did not reach the service.
    pub(super) fn try_again(&mut self, ended: FinishedCharge) {
        self.one_has_ended();
        self.waiting.push_back(ended);
    }

    /// Takes back a row that another process is sending.
    pub(super) fn ask_again(&mut self, ended: FinishedCharge) {
        self.elsewhere.push(ended);
    }

    /// A charge has ended that no other process is sending, so the wait for others begins anew.
    pub(super) fn one_has_ended(&mut self) {
        self.waiting_for_others_since = None;
    }

    /// The rows that were taken back, which are not sent any more.
    pub(super) fn drain(&mut self) -> Vec<FinishedCharge> {
        let elsewhere = mem::take(&mut self.elsewhere);
        mem::take(&mut self.waiting).into_iter().chain(elsewhere).collect()
    }
}
