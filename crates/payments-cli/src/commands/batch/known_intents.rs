//! What the journal knows about the rows of a file, read from a thread that may block.

use payments_journal::{Intent, IntentKey, Journal, StateName, StoreError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::failure::Failure;

/// A journal that is not empty.
pub(super) struct KnownIntents {
    journal: Journal,
    runtime: Handle,
}

/// How many intents are read together.
const PAGE: usize = 1000;

impl KnownIntents {
    /// `None` for an empty journal.
    pub(super) async fn of(journal: &Journal) -> Result<Option<Self>, Failure> {
        let page =
            journal.list(StateName::ALL, None, 1).await.map_err(|error| cannot_read_journal(&error))?;
        let this = || Self { journal: journal.clone(), runtime: Handle::current() };
        Ok((!page.intents.is_empty()).then(this))
    }

    /// The intent of each key.
    pub(super) fn find(&self, keys: &[IntentKey]) -> Result<Vec<Option<Intent>>, Failure> {
        let finding = async {
            let mut lookups = JoinSet::new();
            for (index, key) in keys.iter().cloned().enumerate() {
                let journal = self.journal.clone();
                lookups.spawn(async move { (index, journal.find(&key).await) });
            }
            let mut found: Vec<_> = keys.iter().map(|_| None).collect();
            for (index, result) in lookups.join_all().await {
                found[index] = result.map_err(|error| cannot_read_journal(&error))?;
            }
            Ok(found)
        };
        self.runtime.block_on(finding)
    }

    /// The first intents, up to `most`, whose reference is asked for and is not their key.
    pub(super) fn with_references(
        &self,
        is_asked: impl Fn(&str) -> bool,
        most: usize,
    ) -> Result<Vec<Intent>, Failure> {
        let is_it = |intent: &Intent| {
            let reference = intent.request.reference.as_deref();
            reference.is_some_and(|reference| reference != intent.key.as_str() && is_asked(reference))
        };
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let reading = self.journal.list(StateName::ALL, after, PAGE);
            let page = self.runtime.block_on(reading).map_err(|error| cannot_read_journal(&error))?;
            found.extend(page.intents.into_iter().filter(is_it).take(most - found.len()));
            after = page.next;
            if after.is_none() || found.len() >= most {
                return Ok(found);
            }
        }
    }
}

fn cannot_read_journal(error: &StoreError) -> Failure {
    with_earlier_runs(Failure::not_processed(
        "journal",
        format!("the journal cannot be read; nothing was sent: {error:#}"),
    ))
}

/// This run sent nothing, but only the journal knows what earlier runs have sent.
pub(super) fn with_earlier_runs(failure: Failure) -> Failure {
    let message = format!(
        "{}; earlier runs may have paid rows of this file: do not pay them another way",
        failure.message
    );
    Failure { message, ..failure }
}
