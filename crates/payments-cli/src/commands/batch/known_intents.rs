//! What the journal knows about the rows of a file, read from a thread that may block.

use payments_journal::{Intent, IntentKey, Journal, Pages, StateName, StoreError};
use tokio::runtime::Handle;

use crate::call::admission::find_all;
use crate::failure::{Failure, Situation};

/// A journal that is not empty.
pub(super) struct KnownIntents {
    journal: Journal,
    /// Of every intent.
    pages: Pages<'static>,
    runtime: Handle,
}

impl KnownIntents {
    /// `None` for an empty journal.
    pub(super) async fn of(journal: &Journal) -> Result<Option<Self>, Failure> {
        let first = journal.pages(StateName::ALL).next().await;
        let first = first.map_err(|error| cannot_read_journal(&error))?;
        let pages = journal.pages(StateName::ALL);
        let this = || Self { journal: journal.clone(), pages, runtime: Handle::current() };
        Ok(first.is_some_and(|intents| !intents.is_empty()).then(this))
    }

    /// The intent of each key.
    pub(super) fn find(&self, keys: &[IntentKey]) -> Result<Vec<Option<Intent>>, Failure> {
        let found = self.runtime.block_on(find_all(&self.journal, keys.iter().cloned()));
        found.map_err(|error| cannot_read_journal(&error))
    }

    /// The next intents, up to `most`, that are asked for.
    pub(super) fn next(
        &mut self,
        most: usize,
        mut is_it: impl FnMut(&Intent) -> bool,
    ) -> Result<Vec<Intent>, Failure> {
        let mut found = Vec::new();
        while found.len() < most
            && let Some(intents) =
                self.runtime.block_on(self.pages.next()).map_err(|error| cannot_read_journal(&error))?
        {
            found.extend(intents.into_iter().filter(&mut is_it).take(most - found.len()));
        }
        Ok(found)
    }

    /// Those that were not read yet by [`Self::next`].
    pub(super) fn into_pages(self) -> Pages<'static> {
        self.pages
    }
}

fn cannot_read_journal(error: &StoreError) -> Failure {
    let message = format!("the journal cannot be read; nothing was sent: {error:#}");
    Failure { situation: Situation::Journal, ..Failure::not_processed("journal", message) }
}

#[cfg(test)]
mod tests {
    use payments_fake::FakeGateway;
    use payments_journal::{JournaledClient, MemoryStore};
    use payments_model::{Amount, ConvenienceFee, TokenTransaction};

    use super::*;

    #[test]
    fn intents_that_are_not_asked_for_use_up_no_limit() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let journal = runtime.block_on(async {
            let journal = Journal::open(MemoryStore::new()).await.unwrap();
            let client = JournaledClient::new(FakeGateway::new().client(), journal.clone());
            let payment =
                TokenTransaction::builder("tok_approved", Amount::from_cents(1), ConvenienceFee::Inactive);
            let payment = payment.build().unwrap();
            for key in ["a", "b", "c", "d"] {
                client.process_token(&IntentKey::new(key).unwrap(), &payment).await.unwrap();
            }
            journal
        });
        let mut known = runtime.block_on(KnownIntents::of(&journal)).unwrap().expect("it is not empty");
        let found = known.next(1, |intent| intent.key.as_str() > "b").unwrap();
        assert_eq!(found.iter().map(|intent| intent.key.as_str()).collect::<Vec<_>>(), ["c"]);
    }
}
