//! The same charges without a journal: the client alone, as many in flight as the billing run has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint};
use payments_hyper::{HyperTransport, TokioTimer};
use tokio::runtime;
use tokio::task::JoinSet;

use super::TOKEN;
use crate::flags::ChargePlain;

/// Makes them in this process, to its end.
pub(crate) fn run(asked: &ChargePlain) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(charge_all(asked))
}

async fn charge_all(asked: &ChargePlain) -> anyhow::Result<()> {
    let endpoint = Endpoint::new(&asked.base_url, ApiKey::new(&asked.api_key)?)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build();
    let next = Arc::new(AtomicU32::new(0));
    let mut all = JoinSet::new();
    for _ in 0..asked.in_flight {
        let (client, next, count) = (client.clone(), Arc::clone(&next), asked.count);
        all.spawn(async move {
            loop {
                let row = next.fetch_add(1, Ordering::Relaxed);
                if row >= count {
                    return anyhow::Ok(());
                }
                client.process_token(&payment(row)?).await?;
            }
        });
    }
    while let Some(ended) = all.join_next().await {
        ended.context("a charge panicked")??;
    }
    Ok(())
}

/// As a row of the billing file says it.
fn payment(row: u32) -> anyhow::Result<TokenTransaction> {
    let cents = i64::from((1 + row % 900) * 100 + row % 100);
    let builder = TokenTransaction::builder(TOKEN, Amount::from_cents(cents), ConvenienceFee::Inactive);
    Ok(builder.gateway_customer_id("gc_1").reference_no(format!("order {row:07}")).build()?)
}
