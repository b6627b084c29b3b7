//! Charges that others make with the journal while a run goes on: the same payment may be among them in another spelling.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::mem;
use std::time::Duration;

use payments_journal::{Intent, IntentKey, IntentRequest, IntentState, Journal, Pages, StoreError};
use tokio::task::yield_now;
use tokio::time::Instant;

use super::billing_file::BillingRow;
use super::earlier_charges::Twins;
use super::hashes::Hashes;
use crate::call::admission::find_all;
use crate::call::same_payment::{Compared, EarlierCharges, Fate, Scope};

/// The charges that were not made when the file was checked.
pub(super) struct Newcomers {
    journal: Journal,
    /// The intents that were not compared with the file.
    pages: RecentPages,
    /// Of the file.
    keys: Hashes,
    /// New charges of other keys, keys that the check has met and that moved no money until then, and those of the file whose outcomes
    /// have become unknown.
    charges: EarlierCharges,
    /// The file's keys that have just ended as unknown in this run.
    just_ended: Vec<IntentKey>,
    /// The file's keys that were being sent, by whichever run.
    sending_in_file: BTreeSet<IntentKey>,
    look_at: Instant,
}

/// Chosen by this command: how often it looks, at most. Two charges at the same moment do not see each other.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A twentieth of the time: a fast run alone adds many rows, which are read too.
const SHARE_OF_TIME: u32 = 20;

/// Chosen by this command: so many rows are compared in milliseconds.
const ROWS_AT_ONCE: usize = 256;

impl Newcomers {
    pub(super) fn new(
        journal: Journal,
        pages: RecentPages,
        mut keys: Hashes,
        charges: EarlierCharges,
    ) -> Self {
        keys.sort();
        Self {
            journal,
            pages,
            keys,
            charges,
            just_ended: Vec::new(),
            sending_in_file: BTreeSet::new(),
            look_at: Instant::now(),
        }
    }

    /// A row of the file has become unknown: no other row that may be the same payment is sent any more.
    pub(super) fn became_unknown(&mut self, row: &BillingRow) {
        self.just_ended.push(row.key.clone());
    }

    /// Reads new rows, unless it has just done so.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let is_due = begun >= self.look_at;
        let mut keys = mem::take(&mut self.just_ended);
        if is_due {
            keys.extend(self.charges.undecided());
            keys.extend(mem::take(&mut self.sending_in_file));
        }
        for intent in find_all(&self.journal, keys).await?.into_iter().flatten() {
            self.add(intent);
        }
        if !is_due {
            return Ok(());
        }
        while let Some(intents) = self.pages.next().await? {
            for intent in intents {
                self.add(intent);
            }
        }
        let now = Instant::now();
        self.look_at = now + LOOK_EVERY.max((now - begun) * SHARE_OF_TIME);
        Ok(())
    }

    /// The rows of the file that were charged, and which others have charged under another key since the file was checked.
    pub(super) async fn charged_twice(
        &mut self,
        rows: impl Iterator<Item = BillingRow>,
    ) -> Result<Twins, StoreError> {
        self.look_at = Instant::now();
        self.look().await?;
        let mut found = Vec::new();
        if self.charges.may_have_twins() {
            for (number, row) in rows.enumerate() {
                // A signal or the time limit can end this.
                if number % ROWS_AT_ONCE == 0 {
                    yield_now().await;
                }
                if let Some(other) = self.charges.twin((&row.key, &IntentRequest::from(&row.payment))) {
                    found.push((row.line, row.key, other.clone()));
                }
            }
        }
        let intents = find_all(&self.journal, found.iter().map(|(_, key, _)| key.clone())).await?;
        let mut twins = Twins::default();
        for ((line, key, other), intent) in found.iter().zip(intents) {
            if intent.is_some_and(|intent| Fate::from(&intent).is_made()) {
                twins.add(*line, key, other);
            }
        }
        Ok(twins)
    }

    fn add(&mut self, intent: Intent) {
        match intent.state {
            _ if !self.keys.have(&intent.key) => self.charges.add(intent, Scope::Run),
            IntentState::Unknown(_) => self.charges.add(intent, Scope::File),
            IntentState::Sending => _ = self.sending_in_file.insert(intent.key),
            _ => {}
        }
    }

    /// What they mean for the row.
    pub(super) fn compare(&self, row: &BillingRow) -> Compared<'_> {
        self.charges.compare((&row.key, &IntentRequest::from(&row.payment)))
    }
}

/// Every intent once. With PostgreSQL a row gets its position before it is visible: if its transaction ends late, it appears among
/// rows that were read before. So reading on after the end reads the last pages again.
pub(super) struct RecentPages {
    pages: Pages<'static>,
    /// Where each of the last pages begins, and its keys.
    last: VecDeque<(Pages<'static>, Vec<IntentKey>)>,
    /// The keys of those at the last end.
    seen: HashSet<IntentKey>,
}

/// Chosen by this command: at least so many full pages, less one, are read again.
const READ_AGAIN: usize = 2;

impl RecentPages {
    pub(super) fn of(pages: Pages<'static>) -> Self {
        Self { pages, last: VecDeque::new(), seen: HashSet::new() }
    }

    /// As that of [`Pages`].
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Intent>>, StoreError> {
        let start = self.pages.clone();
        let Some(mut intents) = self.pages.next().await? else {
            let last = mem::take(&mut self.last);
            if let Some((first, _)) = last.front() {
                self.pages = first.clone();
            }
            self.seen = last.into_iter().flat_map(|(_, keys)| keys).collect();
            return Ok(None);
        };
        self.last.push_back((start, intents.iter().map(|intent| intent.key.clone()).collect()));
        if self.last.len() > READ_AGAIN {
            self.last.pop_front();
        }
        intents.retain(|intent| !self.seen.contains(&intent.key));
        Ok(Some(intents))
    }
}
