//! What a run needs from the service and the journal.

use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use payments_journal::{Error, Intent, IntentKey, Journaled, JournaledClient, StoreError};
use payments_model::TransactionReceipt;

use super::super::calls::of_receipt;
use super::billing_file::Row;
use crate::journaled_call;
use crate::report::{Processed, Report};
use crate::settings::Settings;

/// The result of a charge.
pub(super) type ChargeResult = Result<Journaled<TransactionReceipt>, Error>;

/// What a run needs from the service and the journal.
pub(super) trait ChargeService: Clone + Send + Sync + 'static {
    /// Charges the row, if the journal allows it.
    fn charge(&self, row: &Row) -> impl Future<Output = ChargeResult> + Send;

    /// Lets the journal record what it could not record before.
    fn settle(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The journal's intent with this key.
    fn find(&self, key: &IntentKey) -> impl Future<Output = Result<Option<Intent>, StoreError>> + Send;

    /// The result for the file of `--results`.
    fn report(&self, row: &Row, charged: &ChargeResult, at: SystemTime) -> Report;

    /// The row's own reference, without the API key.
    fn reference(&self, row: &Row) -> Option<String>;
}

/// Charges through a client with a journal.
#[derive(Clone, Debug)]
pub(super) struct LiveService {
    pub(super) client: JournaledClient,
    pub(super) settings: Arc<Settings>,
}

impl ChargeService for LiveService {
    async fn charge(&self, row: &Row) -> ChargeResult {
        self.client.process_token(&row.key, &row.payment).await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.client.journal().settle().await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.client.journal().find(key).await
    }

    fn report(&self, row: &Row, charged: &ChargeResult, at: SystemTime) -> Report {
        let Self { settings, .. } = self;
        match charged {
            Ok(journaled) => Report::Processed(Processed::journaled(journaled.clone(), &row.key, of_receipt)),
            Err(error) => journaled_call::failed(error, &row.payment, settings, at).into(),
        }
    }

    fn reference(&self, row: &Row) -> Option<String> {
        row.payment.reference_no().map(|text| self.settings.reference_without_key(text))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use payments_core::{Client, Transport, TransportError, TransportRequest, TransportResponse};
    use payments_fake::FakeGateway;
    use payments_hyper::TokioTimer;
    use payments_journal::{Journal, MemoryStore};
    use payments_model::{Amount, ConvenienceFee, TokenTransaction};

    use super::*;

    pub(in super::super) const PAID: &str =
        r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1"}}"#;
    pub(in super::super) const DECLINED: &str = r#"{"status":"failed","status_code":400,"msg":"no"}"#;

    pub(in super::super) struct Panics;

    impl Transport for Panics {
        async fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
            unreachable!("a bug")
        }
    }

    /// The result of one charge.
    pub(in super::super) async fn charge_over(transport: impl Transport) -> ChargeResult {
        charge(&client(transport).await).await
    }

    /// The result of a charge whose key the journal already has.
    pub(in super::super) async fn charge_twice(transport: impl Transport) -> ChargeResult {
        let client = client(transport).await;
        let first = tokio::spawn({
            let client = client.clone();
            async move { charge(&client).await }
        });
        let key = IntentKey::new("k1").expect("a key");
        while client.journal().find(&key).await.expect("it is readable").is_none() {
            tokio::task::yield_now().await;
        }
        // One that never ends stays in progress.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(100), first).await;
        charge(&client).await
    }

    async fn client(transport: impl Transport) -> JournaledClient {
        let client = Client::builder(FakeGateway::new().endpoint(), transport, TokioTimer::new()).build();
        JournaledClient::new(client, Journal::open(MemoryStore::new()).await.expect("it opens"))
    }

    async fn charge(client: &JournaledClient) -> ChargeResult {
        let payment = TokenTransaction::builder("tok_1", Amount::from_cents(1_00), ConvenienceFee::Inactive);
        let payment = payment.build().expect("a payment");
        client.process_token(&IntentKey::new("k1").expect("a key"), &payment).await
    }
}
