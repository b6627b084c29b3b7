//! Charges that others make with the journal while a run goes on: the same payment may be among them in another spelling.

use std::time::Duration;

use payments_journal::{IntentRequest, Journal, Pages, StoreError};
use tokio::time::Instant;

use super::billing_file::BillingRow;
use super::hashes::Hashes;
use crate::call::admission::find_all;
use crate::call::same_payment::EarlierCharges;

/// The charges of other keys than the file's that were not made when the file was checked.
pub(super) struct Newcomers {
    journal: Journal,
    /// The intents that were not compared with the file.
    pages: Pages<'static>,
    /// Of the file.
    keys: Hashes,
    /// New charges, and keys that the check has met and that moved no money until then.
    charges: EarlierCharges,
    look_at: Instant,
}

/// Chosen by this command: how often it looks, at most. Two charges at the same moment do not see each other.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A twentieth of the time: a fast run alone adds many rows, which are read too.
const SHARE_OF_TIME: u32 = 20;

impl Newcomers {
    pub(super) fn new(
        journal: Journal,
        pages: Pages<'static>,
        mut keys: Hashes,
        charges: EarlierCharges,
    ) -> Self {
        keys.sort();
        Self { journal, pages, keys, charges, look_at: Instant::now() }
    }

    /// Reads what is new, unless it has just done so.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        if begun < self.look_at {
            return Ok(());
        }
        for intent in find_all(&self.journal, self.charges.undecided()).await?.into_iter().flatten() {
            self.charges.add(intent);
        }
        while let Some(intents) = self.pages.next().await? {
            for intent in intents.into_iter().filter(|intent| !self.keys.have(&intent.key)) {
                self.charges.add(intent);
            }
        }
        let now = Instant::now();
        self.look_at = now + LOOK_EVERY.max((now - begun) * SHARE_OF_TIME);
        Ok(())
    }

    /// Why the row is not sent, if one of them is the same payment, and what to do about it.
    pub(super) fn same_as(&self, row: &BillingRow) -> Option<[String; 2]> {
        self.charges.same_as(&row.key, &IntentRequest::from(&row.payment))
    }
}
