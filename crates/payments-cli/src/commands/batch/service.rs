//! The service behind the journal, as a run needs it.

use std::sync::Arc;
use std::time::SystemTime;

use payments_journal::{Intent, IntentKey, JournaledClient, StoreError};

use super::row::Row;
use super::run::{Charged, World};
use crate::journaled_call;
use crate::processed::Processed;
use crate::report::Report;
use crate::settings::Settings;

/// Sends charges.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) client: JournaledClient,
    pub(super) settings: Arc<Settings>,
}

impl World for Service {
    async fn charge(&self, row: &Row) -> Charged {
        self.client.process_token(&row.key, &row.payment).await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.client.journal().settle().await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.client.journal().find(key).await
    }

    fn report(&self, row: &Row, charged: &Charged, at: SystemTime) -> Report {
        let Self { settings, .. } = self;
        match charged {
            Ok(journaled) => {
                Report::Processed(Processed::journaled(journaled.clone(), &row.key, |success| {
                    Processed::moved(success, success.to_json(), &success.transaction_id)
                }))
            }
            Err(error) => journaled_call::failed(error, &row.payment, settings, at).into(),
        }
    }

    fn reference(&self, row: &Row) -> Option<String> {
        row.payment.reference_no().map(|text| self.settings.without_key(text))
    }
}
