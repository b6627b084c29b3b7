//! The steps of every change, in every store.

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
            return Ok(taken);
        }
        transaction.write(found.as_ref(), &row).await?;
        Ok(Applied::Written { row, same_transaction_as })
    }
}
