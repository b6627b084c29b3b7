//! A transport around another one, with a switch that stops all payments and a count of the results.
//!
//! Copy `Guarded` and add what you want around every call. Copy the module `tests` too: it checks the contract that every
//! transport must keep.
//!
//! ```console
//! $ cargo test -p payments-examples --example own_transport
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{
    ApiKey, Client, Delivery, Endpoint, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_hyper::{HyperTransport, TokioTimer};

/// Wraps any transport and refuses payments while they are stopped.
///
/// A transport must not send twice, follow a redirect, change a request, turn a status into an error, claim more than the
/// inner transport can prove, continue when its future is dropped, or print a request, whose body contains the card.
#[derive(Debug)]
struct Guarded<T> {
    inner: T,
    controls: Arc<Controls>,
}

/// The operator's switch and counters.
#[derive(Debug, Default)]
struct Controls {
    payments_stopped: AtomicBool,
    passed_on: AtomicU64,
    answered: AtomicU64,
    not_processed: AtomicU64,
    unknown: AtomicU64,
}

impl<T: Transport> Transport for Guarded<T> {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let controls = &*self.controls;
        if request.operation().moves_money() && controls.payments_stopped.load(Ordering::SeqCst) {
            // The request was not passed on, which proves that no byte of it was sent.
            let stopped = TransportError::not_processed(TransportErrorKind::Cancelled);
            return Err(stopped.with_source("payments are stopped by the operator"));
        }

        // Once, unchanged, with its deadlines and its size limit. Dropping this future drops the inner one, which ends the
        // attempt. Such a call counts only as passed on.
        controls.passed_on.fetch_add(1, Ordering::SeqCst);
        let result = self.inner.send(request).await;

        let count = match result.as_ref().map_err(TransportError::delivery) {
            Ok(_) | Err(Delivery::Answered(_)) => &controls.answered,
            Err(Delivery::NotProcessed) => &controls.not_processed,
            Err(Delivery::Unknown) => &controls.unknown,
        };
        count.fetch_add(1, Ordering::SeqCst);
        result
    }
}

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let controls = Arc::new(Controls::default());
    let transport = Guarded { inner: HyperTransport::builder().build()?, controls: Arc::clone(&controls) };
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, transport, TokioTimer::new()).build();

    pay(&client, "invoice 1").await?;
    pay(&client, "invoice 2").await?;

    println!("the operator stops payments");
    controls.payments_stopped.store(true, Ordering::SeqCst);
    pay(&client, "invoice 3").await?;

    println!("the operator resumes payments");
    controls.payments_stopped.store(false, Ordering::SeqCst);
    pay(&client, "invoice 3").await?;

    let read = |count: &AtomicU64| count.load(Ordering::SeqCst);
    println!(
        "{} passed on: {} answered, {} not processed, {} unknown",
        read(&controls.passed_on),
        read(&controls.answered),
        read(&controls.not_processed),
        read(&controls.unknown)
    );
    Ok(())
}

async fn pay(client: &Client, invoice: &str) -> anyhow::Result<()> {
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive);
    match client.process_token(&payment.reference_no(invoice).build()?).await {
        Ok(charged) => println!("{invoice}: processed, transaction {}", charged.transaction_id),
        Err(error) => println!("{invoice}: {}, {error:#}", error.outcome()),
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::{Program, assert_reports_match, show_ledger};
    use payments_fake::{FakeGateway, Fault};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).skip(1));
    let output = Program::with(&sandbox)?.run()?;

    let ledger = sandbox.gateway().ledger();
    show_ledger(&ledger);
    assert_reports_match(&output, &["processed", "unknown"], &ledger);
    let charged: Vec<_> = ledger.charged().filter_map(|entry| entry.reference_no.as_deref()).collect();
    assert_eq!(charged, ["invoice 1", "invoice 2", "invoice 3"], "not one charge per invoice");
    assert_eq!(sandbox.gateway().requests().len(), 3, "a request was sent while payments were stopped");
    Ok(())
}

#[cfg(test)]
mod tests {
    use payments_conformance::{Abilities, Ability, Setup, Stack};
    use tokio::runtime::Runtime;

    use super::*;

    struct GuardedStack {
        runtime: Runtime,
    }

    impl Stack for GuardedStack {
        type Transport = Guarded<HyperTransport>;

        fn transport(&self, _: &Setup) -> Self::Transport {
            Guarded { inner: HyperTransport::builder().build().unwrap(), controls: Arc::default() }
        }

        fn block_on<F>(&self, future: F) -> F::Output
        where
            F: Future + Send,
            F::Output: Send,
        {
            self.runtime.block_on(future)
        }

        // A transport with its own TLS omits this, and trusts `Setup::authority_pem`.
        fn abilities(&self) -> Abilities {
            Abilities::default().without(Ability::Https, "the inner transport does TLS")
        }

        fn debug(&self, transport: &Self::Transport) -> Option<String> {
            Some(format!("{transport:?}"))
        }
    }

    // Generates one test for each contract of these themes, which a wrapper can break. Without `themes`, it is every contract.
    payments_conformance::contract_tests!(
        GuardedStack { runtime: Runtime::new().unwrap() },
        themes: requests, answers, lost_answers, never_sent, connections, secrecy,
    );
}
