//! Charges that others make with the journal while a run goes on: the same payment may be among them in another spelling.

use std::collections::HashMap;
use std::time::Duration;

use payments_journal::{Intent, IntentRequest, Pages, StoreError};
use tokio::time::Instant;

use super::billing_file::BillingRow;
use super::hashes::Hashes;
use crate::call::same_payment::{is_sent_again, names, why_not_sent};

/// The intents of other keys than the file's that are newer than the check of the file.
pub(super) struct Newcomers {
    pages: Pages<'static>,
    /// Of the file.
    keys: Hashes,
    service: String,
    by_name: HashMap<String, Vec<Intent>>,
    look_at: Instant,
}

/// Chosen by this command: how often it looks, at most. Two charges at the same moment do not see each other.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A twentieth of the time: a fast run alone adds many rows, which are read too.
const SHARE_OF_TIME: u32 = 20;

impl Newcomers {
    /// `pages` are those that were not compared with the file.
    pub(super) fn new(pages: Pages<'static>, mut keys: Hashes, service: String) -> Self {
        keys.sort();
        Self { pages, keys, service, by_name: HashMap::new(), look_at: Instant::now() }
    }

    /// Reads what is new, unless it has just done so.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        if begun < self.look_at {
            return Ok(());
        }
        while let Some(intents) = self.pages.next().await? {
            for intent in intents {
                if !self.keys.have(&intent.key) && intent.is_of(&self.service) && !is_sent_again(&intent) {
                    for name in names(intent.key.as_str(), intent.request.reference.as_deref()) {
                        self.by_name.entry(name).or_default().push(intent.clone());
                    }
                }
            }
        }
        let now = Instant::now();
        self.look_at = now + LOOK_EVERY.max((now - begun) * SHARE_OF_TIME);
        Ok(())
    }

    /// Why the row is not sent, if one of them is the same payment, and what to do about it.
    pub(super) fn same_as(&self, row: &BillingRow) -> Option<[String; 2]> {
        if self.by_name.is_empty() {
            return None;
        }
        let request = IntentRequest::from(&row.payment);
        let names = names(row.key.as_str(), row.payment.reference_no());
        let mut others = names.iter().filter_map(|name| self.by_name.get(name)).flatten();
        others.find_map(|intent| why_not_sent(intent, &self.service, &row.key, &request))
    }
}
