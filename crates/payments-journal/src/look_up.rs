//! Resolves an intent as a transaction that was looked up, through either client.

use payments_core::Client;
use payments_model::TransactionRecord;

use crate::resolve_error::Reason;
use crate::{Intent, Journal, Resolution, ResolveError};

impl Journal {
    /// Looks up the transaction of the resolution, and resolves the intent if nothing contradicts it.
    pub(crate) async fn look_up_and_resolve(
        &self,
        client: &Client,
        read: &Intent,
        resolution: Resolution,
    ) -> Result<(Intent, TransactionRecord), ResolveError> {
        let failed = |reason| Err(ResolveError(reason));
        let Some(transaction_id) = resolution.verdict.processed_as() else {
            return failed(Reason::NothingToLookUp);
        };
        read.check_service(client.service())?;
        if let Some(refusal) = read.refusal_of(&resolution) {
            return failed(Reason::Refused(refusal, read.clone().into()));
        }
        let attempt = resolution.attempt.unwrap_or(read.attempts);
        let Some(request) = read.request_of(attempt) else {
            return failed(Reason::RequestDropped(read.key.clone(), attempt));
        };
        let found = client.transaction(transaction_id).await;
        let record = found.map_err(|error| ResolveError(Reason::LookUp(error)))?;
        let mut contradictions = request.contradictions(&record);
        if record.transaction_id != *transaction_id {
            contradictions.insert(0, "its record is of another transaction".to_owned());
        }
        if !contradictions.is_empty() {
            return failed(Reason::Contradicted(contradictions));
        }
        let resolution = Resolution { is_unverified: false, ..resolution };
        Ok((self.resolve_of_service(read, resolution, client.service()).await?, record.into_data()))
    }
}

impl Intent {
    /// Refuses another service than its own: what was found there proves nothing about it.
    pub(crate) fn check_service(&self, called: &str) -> Result<(), ResolveError> {
        match &self.service {
            Some(recorded) if recorded != called => {
                let (recorded, called) = (recorded.clone(), called.to_owned());
                Err(ResolveError(Reason::OtherService { key: self.key.clone(), recorded, called }))
            }
            _ => Ok(()),
        }
    }
}
