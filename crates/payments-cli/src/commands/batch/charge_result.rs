//! The result of a charge.

use std::sync::Arc;
use std::time::SystemTime;

use payments_journal::{Error, Journaled};
use payments_model::TransactionReceipt;

use super::billing_file::BillingRow;
use super::throttle::Ticket;

/// The result of a charge.
pub(super) type ChargeResult = Result<Journaled<TransactionReceipt>, Error>;

/// A charge that ended.
pub(super) struct FinishedCharge {
    pub(super) row: Arc<BillingRow>,
    pub(super) ticket: Ticket,
    pub(super) charged: ChargeResult,
    /// When it began.
    pub(super) at: SystemTime,
}

#[cfg(test)]
pub(super) mod tests {
    use payments_core::{Client, Transport, TransportError, TransportRequest, TransportResponse};
    use payments_fake::FakeGateway;
    use payments_hyper::TokioTimer;
    use payments_journal::{IntentKey, Journal, JournaledClient, MemoryStore};
    use payments_model::{Amount, ConvenienceFee, TokenTransaction};

    use super::*;

    pub(in super::super) const PAID: &str =
        r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1"}}"#;
    /// A proxy's.
    pub(in super::super) const PAGE: &str = "<html>no</html>";
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
        // One that never ends stays in progress. In paused time, this ends only when nothing else can happen.
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
