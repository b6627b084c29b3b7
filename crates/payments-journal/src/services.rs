//! Counts and sums of a journal, and what a person may do with all intents of a service.

use std::time::SystemTime;

use crate::liveness::Liveness;
use crate::resolving::check_texts;
use crate::service_change::{ServiceChange, check_name};
use crate::summary::Summary;
use crate::{Journal, ServiceError, ServiceIntents, StoreError};

impl Journal {
    /// How many intents are in each state, their sum and the oldest of them, for a gauge or an alert. An intent that a dead owner
    /// left as sending counts as unknown.
    ///
    /// It reads every row in one query: seconds with a million rows.
    ///
    /// ```
    /// use payments_journal::{Journal, MemoryStore, StateName};
    ///
    /// # async fn example(journal: Journal) -> Result<(), payments_journal::StoreError> {
    /// let unknown = journal.summary().await?.state(StateName::Unknown).clone();
    /// println!("{} unknown", unknown.count);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub async fn summary(&self) -> Result<Summary, StoreError> {
        self.summarize(None).await
    }

    /// The intents of this service, or all.
    async fn summarize(&self, service: Option<&str>) -> Result<Summary, StoreError> {
        let mut live = Liveness::of(self.store());
        loop {
            let tallies = self.store().summarize(service).await?;
            let senders = tallies.iter().filter_map(|tally| tally.sender.as_ref()).collect();
            if live.are_known(senders).await? {
                return Ok(Summary::of(tallies, |sender| live.is_dead(sender)));
            }
        }
    }

    /// The intents of this [service](crate::Intent::service), to decide about with
    /// [`rename_service`](Self::rename_service) or [`forget_service`](Self::forget_service). Nothing is changed.
    ///
    /// # Errors
    ///
    /// If there are none, or if they cannot be read.
    pub async fn intents_of_service(&self, service: &str) -> Result<ServiceIntents, ServiceError> {
        let intents = self.summarize(Some(service)).await?;
        // Intents whose service is not known are of none.
        if service.is_empty() || intents.count() == 0 {
            return Err(ServiceError::none(service));
        }
        Ok(ServiceIntents { service: service.to_owned(), intents })
    }

    /// Gives the intents of a service another one, by a person's decision: its host was renamed. **They then answer calls to the
    /// new service.** If it is another service after all, a payment that was never made there is reported as processed.
    ///
    /// `read` is what the person has seen. If the journal has other intents of that service by now, nothing is changed. The earlier
    /// name is kept in the [history](crate::Intent::history) of each. Everything is done in one transaction, in which nothing else
    /// is written: **nothing can be charged meanwhile**, which is seconds with a million rows.
    ///
    /// A key is unique in a journal, so no two intents can get the same key. But intents of both services may have the same
    /// transaction. Then they are not one service, and it is refused. These rules are chosen by this SDK.
    ///
    /// # Errors
    ///
    /// If the intents have changed, if one is being sent, if two have the same transaction, if no client would call the new name,
    /// if `by` has more than [`MAX_TEXT_BYTES`](crate::Resolution::MAX_TEXT_BYTES), or if the journal cannot be read or written.
    pub async fn rename_service(
        &self,
        read: &ServiceIntents,
        to: &str,
        by: &str,
    ) -> Result<(), ServiceError> {
        check_name("the new name", to).map_err(ServiceError::name)?;
        check_texts(by, None)?;
        self.change_service(ServiceChange::new(read, Some(to), by, SystemTime::now())).await
    }

    /// Removes the intents of a service, by a person's decision: a rehearsal was run with production's journal. **Their keys are
    /// new again, so a call with one of them charges**, whatever their age.
    ///
    /// `read` is what the person has seen. If the journal has other intents of that service by now, nothing is changed. Everything
    /// is done in one transaction, in which nothing else is written: **nothing can be charged meanwhile**, which is seconds with a
    /// million rows.
    ///
    /// An unknown intent is never forgotten, because that would lose a possible charge: [resolve](Self::resolve) it first. This is
    /// chosen by this SDK.
    ///
    /// # Errors
    ///
    /// If the intents have changed, if one is being sent or unknown, if `by` has more than
    /// [`MAX_TEXT_BYTES`](crate::Resolution::MAX_TEXT_BYTES), or if the journal cannot be read or written.
    pub async fn forget_service(&self, read: &ServiceIntents, by: &str) -> Result<(), ServiceError> {
        check_texts(by, None)?;
        self.change_service(ServiceChange::new(read, None, by, SystemTime::now())).await
    }

    async fn change_service(&self, change: ServiceChange) -> Result<(), ServiceError> {
        // Every intent that is still `sending` after this is being sent.
        self.mark_crashed().await?;
        self.flush().await.map_err(StoreError::from)?;
        self.store().change_service(change).await?.map_or(Ok(()), Err)
    }
}
