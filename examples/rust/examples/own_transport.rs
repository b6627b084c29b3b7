//! A transport of one's own: around any other one, a switch that stops all payments, and a count of what became of each.
//!
//! Copy `Guarded` and fill in what you want around every call, and the module `tests` with it: it finds out whether the
//! result still keeps the contract that every transport must keep.
//!
//! ```console
//! $ cargo test -p payments-examples --example own_transport
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

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

/// Any transport, which sends payments only while they are not stopped.
///
/// What it must not do, and neither must yours: send twice, follow a redirect, add to a request or change it, make an
/// error of a status, claim more than the transport below can prove, go on when its future is dropped, or print a request,
/// whose body has the card.
#[derive(Debug)]
struct Guarded<T> {
    inner: T,
    desk: Arc<Desk>,
}

/// What the people who operate the program see and may do.
#[derive(Debug, Default)]
struct Desk {
    payments_are_stopped: AtomicBool,
    handed_on: AtomicU64,
    answered: AtomicU64,
    never_left: AtomicU64,
    may_have_left: AtomicU64,
}

impl<T: Transport> Transport for Guarded<T> {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let desk = &*self.desk;
        if request.operation().moves_money() && desk.payments_are_stopped.load(Ordering::SeqCst) {
            // The request is still in our hands, which is proof that not one byte of it has left.
            let stopped = TransportError::not_processed(TransportErrorKind::Cancelled);
            return Err(stopped.with_source("payments are stopped by the operator"));
        }

        // Once, as it is, with its deadlines and its cap. If this future is dropped the one below is, and that ends the
        // attempt; it then counts as handed on and nothing more.
        desk.handed_on.fetch_add(1, Ordering::SeqCst);
        let result = self.inner.send(request).await;

        let count = match result.as_ref().map_err(TransportError::delivery) {
            Ok(_) | Err(Delivery::Answered(_)) => &desk.answered,
            Err(Delivery::NotProcessed) => &desk.never_left,
            Err(Delivery::Unknown) => &desk.may_have_left,
        };
        count.fetch_add(1, Ordering::SeqCst);
        result
    }
}

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let desk = Arc::new(Desk::default());
    let transport = Guarded { inner: HyperTransport::builder().build()?, desk: Arc::clone(&desk) };
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, transport, TokioTimer::new()).build();

    pay(&client, "invoice 1").await?;
    pay(&client, "invoice 2").await?;

    println!("the operator stops payments");
    desk.payments_are_stopped.store(true, Ordering::SeqCst);
    pay(&client, "invoice 3").await?;

    println!("and lets them go on");
    desk.payments_are_stopped.store(false, Ordering::SeqCst);
    pay(&client, "invoice 3").await?;

    let read = |count: &AtomicU64| count.load(Ordering::SeqCst);
    println!(
        "{} handed on: {} answered, {} never left, {} may have left",
        read(&desk.handed_on),
        read(&desk.answered),
        read(&desk.never_left),
        read(&desk.may_have_left)
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

/// Only for the example: a sandbox in the service's place, and the program above in a process of its own.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::{Program, assert_nothing_wrong_was_said, show_books};
    use payments_fake::Fault;
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().seed(7).start_blocking()?;
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).nth(2));
    let said = Program::with(&sandbox)?.run()?;

    let ledger = sandbox.gateway().ledger();
    show_books(&ledger);
    assert_nothing_wrong_was_said(&said, &["processed", "unknown"], &ledger);
    let charged: Vec<_> = ledger.charged().filter_map(|entry| entry.reference_no.as_deref()).collect();
    assert_eq!(charged, ["invoice 1", "invoice 2", "invoice 3"], "one charge for each invoice");
    assert_eq!(sandbox.gateway().requests().len(), 3, "and nothing was sent while payments were stopped");
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
            Guarded { inner: HyperTransport::builder().build().unwrap(), desk: Arc::default() }
        }

        fn block_on<F>(&self, future: F) -> F::Output
        where
            F: Future + Send,
            F::Output: Send,
        {
            self.runtime.block_on(future)
        }

        // A transport with TLS of its own leaves this out, and trusts `Setup::authority_pem`.
        fn abilities(&self) -> Abilities {
            Abilities::default().without(Ability::Https, "TLS is the affair of the transport below")
        }

        fn debug(&self, transport: &Self::Transport) -> Option<String> {
            Some(format!("{transport:?}"))
        }
    }

    // One named test for each contract.
    payments_conformance::contract_tests!(GuardedStack { runtime: Runtime::new().unwrap() });
}
