//! The pages of a journal, of which the last ones are read again.

use std::collections::{HashSet, VecDeque};
use std::mem;

use payments_journal::{Intent, IntentKey, Pages, StoreError};

/// Every intent once. With PostgreSQL a row gets its position before it is visible: if its transaction ends late, it appears among
/// rows that were read before. So whoever continues after the end reads the last pages again.
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
