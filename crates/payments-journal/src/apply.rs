//! The steps of every change, in every store.

use crate::intent::base_url;
use crate::service_change::{ServiceChange, ServiceError};
use crate::summary::Tally;
use crate::{Applied, Change, Intent, IntentKey};

/// A transaction of a store that has read the row of a change. Nothing else writes that row until it ends.
pub(crate) trait RowTransaction {
    type Error;

    /// Fails if entries may be missing, so it is not known whether money has moved.
    async fn check_history(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Another intent than the one of this row that holds the [transaction](Change::transaction_to_search) of the change.
    async fn holder(&mut self, change: &Change, row: &Intent) -> Result<Option<IntentKey>, Self::Error>;

    /// Writes the row in place of `found`. A begin is refused if entries may be missing.
    async fn write(&mut self, found: Option<&Intent>, row: &Intent) -> Result<(), Self::Error>;
}

impl Change {
    /// Makes this change of the row that was found.
    pub(crate) async fn apply_to<T: RowTransaction>(
        &self,
        found: Option<Intent>,
        transaction: &mut T,
    ) -> Result<Applied, T::Error> {
        let row = match self.decide(found.as_ref()) {
            Ok(row) => row,
            Err(why) => {
                if self.reports_that_nothing_moved(found.as_ref()) {
                    transaction.check_history().await?;
                }
                return Ok(Applied::Refused(why, found));
            }
        };
        let same_transaction_as = transaction.holder(self, &row).await?;
        if let Some(taken) = self.taken_by(same_transaction_as.as_ref()) {
            return Ok(Applied::Refused(taken, found));
        }
        transaction.write(found.as_ref(), &row).await?;
        Ok(Applied::Written { row, same_transaction_as })
    }
}

/// A transaction of a store in which nothing else writes an intent. After an error or a refusal it is rolled back.
pub(crate) trait ServiceTransaction {
    type Error;

    /// Adds up the intents of this service.
    async fn tallies(&mut self, service: &str) -> Result<Vec<Tally>, Self::Error>;

    /// At most [`NAMED`](crate::service_change::NAMED) keys of the service that hold a transaction which an intent of another one at
    /// this base URL holds too.
    async fn same_transactions(&mut self, service: &str, at: &str) -> Result<Vec<String>, Self::Error>;

    /// [Renames](ServiceChange::renamed) every intent of the service to this. What they say is as old as before.
    async fn rename(&mut self, change: &ServiceChange, to: &str) -> Result<(), Self::Error>;

    /// Removes every intent of this service.
    async fn forget(&mut self, service: &str) -> Result<(), Self::Error>;

    /// Keeps who has done it.
    async fn record(&mut self, _: &ServiceChange) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl ServiceChange {
    /// Makes this change, or returns why not.
    pub(crate) async fn apply_to<T: ServiceTransaction>(
        &self,
        transaction: &mut T,
    ) -> Result<Option<ServiceError>, T::Error> {
        let service = self.service();
        let refusal = self.refusal(transaction.tallies(service).await?);
        if refusal.is_some() {
            return Ok(refusal);
        }
        if let Some(to) = self.new_name() {
            let same = transaction.same_transactions(service, base_url(to)).await?;
            let refusal = Self::same_transactions(same);
            if refusal.is_some() {
                return Ok(refusal);
            }
            transaction.rename(self, to).await?;
        } else {
            transaction.forget(service).await?;
        }
        transaction.record(self).await?;
        Ok(None)
    }
}
