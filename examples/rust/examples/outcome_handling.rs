//! What to do after each outcome: ship, send again, ask the customer, stop, or park and reconcile.
//!
//! Copy `what_now`, which decides. The rest shows a program in which everything goes wrong once.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::env;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use http::StatusCode;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId, Violation};
use payments_core::{ApiKey, Client, Endpoint, ErrorKind, Outcome};
use payments_hyper::{HyperTransport, TokioTimer};

/// What to do about an order after its payment.
enum WhatNow {
    Ship(TransactionId),
    /// Nothing was charged, and the order is fine.
    SendAgain {
        after: Duration,
    },
    /// Nothing was charged. The customer must use another card or correct the input.
    AskTheCustomer(String),
    /// Nothing was charged, and no payment can succeed until someone fixes the program or its settings.
    StopAndCallTheEngineer(String),
    /// It may be charged. A person must find out: by the transaction, if there is one, or by amount, time and reference.
    Park {
        transaction_id: Option<TransactionId>,
        why: String,
    },
}

/// Sends the payment once, and decides by the outcome alone what to do next.
async fn what_now(client: &Client, payment: &TokenTransaction) -> WhatNow {
    let error = match client.process_token(payment).await {
        Ok(charged) => return WhatNow::Ship(charged.into_data().transaction_id),
        Err(error) => error,
    };
    match error.outcome() {
        // The service provably did nothing: it is safe to send it again, now or later. Waiting does not fix a wrong setting, or a
        // certificate that is not trusted or has expired.
        Outcome::NotProcessed
            if error.kind() == ErrorKind::Configuration || error.failed_call().needs_a_fix() =>
        {
            WhatNow::StopAndCallTheEngineer(error.to_string())
        }
        Outcome::NotProcessed => WhatNow::SendAgain { after: Duration::from_secs(5) },

        // The service refused. Who must change something?
        Outcome::Rejected => match error.http_status() {
            // Nobody: there were too many requests. Send it again, but not before the requested time.
            Some(StatusCode::TOO_MANY_REQUESTS) => {
                WhatNow::SendAgain { after: error.retry_after().unwrap_or(Duration::from_mins(1)) }
            }
            // We: the API key is wrong, or our own proxy or firewall refused the request.
            Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                WhatNow::StopAndCallTheEngineer(error.to_string())
            }
            _ if error.kind() == ErrorKind::RefusedByIntermediary => {
                WhatNow::StopAndCallTheEngineer(error.to_string())
            }
            // The customer. The reason is the service's text: show it to people, never test it in code.
            _ => WhatNow::AskTheCustomer(error.reason().unwrap_or("no reason given").to_owned()),
        },

        // It may be charged. Do not send it again, do not call it failed, do not pay it another way.
        Outcome::Unknown => {
            WhatNow::Park { transaction_id: error.transaction_id().cloned(), why: error.to_string() }
        }
    }
}

/// Pays one order and prints the next step.
async fn pay(client: &Client, reference: &str, payment: &TokenTransaction) {
    let started = SystemTime::now();
    match what_now(client, payment).await {
        WhatNow::Ship(id) => println!("{reference}: paid as {id}, ship it"),
        WhatNow::SendAgain { after } => {
            println!("{reference}: nothing was charged, back into the queue for {} s", after.as_secs());
        }
        WhatNow::AskTheCustomer(reason) => {
            println!("{reference}: refused, ask the customer for another card ({reason})");
        }
        WhatNow::StopAndCallTheEngineer(error) => {
            println!("{reference}: STOP, no payment can work before this is fixed\n    {error}");
        }
        WhatNow::Park { transaction_id, why } => {
            println!("{reference}: PARKED, may be charged\n    {why}");
            if let Some(id) = transaction_id {
                look_up(client, &id).await;
            } else {
                let (amount, started) = (payment.amount(), humantime::format_rfc3339_seconds(started));
                println!(
                    "    look in the service's reports for {amount} with reference {reference}, at or after {started}"
                );
            }
        }
    }
}

/// Prints a parked payment's transaction for the person who decides.
async fn look_up(client: &Client, id: &TransactionId) {
    match client.transaction(id).await {
        Ok(record) => {
            // The meaning of a Status code is not published, so a program cannot conclude that it is charged.
            let status = record.status.value().map_or("none", String::as_str);
            println!("    {id} exists, Status {status}: a person must compare it with a good one");
        }
        // Even "not found" proves nothing: the payment may still arrive.
        Err(error) => {
            println!(
                "    {id} could not be looked up, which does not mean that it was not charged\n    {error}"
            );
        }
    }
}

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let client = connect(&setting("PAYMENTS_BASE_URL")?, &setting("PAYMENTS_API_KEY")?)?;

    // The customer's input is checked before anything is sent, and every violation is reported at once.
    let typed = TokenTransaction::builder("", Amount::from_cents(0), ConvenienceFee::Inactive).build();
    let error = typed.err().context("an empty token was accepted")?;
    println!("order 1: nothing was sent, the form shows what to fix");
    for violation in error.violations() {
        println!("    {}", as_text(violation));
    }

    // The connection is refused. Nothing was sent, so the same order may be sent again.
    let unreachable = setting("UNREACHABLE_BASE_URL")?;
    let order = payment("tok_approved", 20_00, "order 2")?;
    pay(&connect(&unreachable, &setting("PAYMENTS_API_KEY")?)?, "order 2", &order).await;
    pay(&client, "order 2", &order).await;

    let declined = payment("tok_declined", 30_00, "order 3")?;
    pay(&client, "order 3", &declined).await;

    // The service fails for the next orders: `main` below arms the faults.
    for (reference, cents) in [("order 4", 40_00), ("order 5", 50_00), ("order 6", 60_00)] {
        pay(&client, reference, &payment("tok_approved", cents, reference)?).await;
    }

    let with_revoked_key = connect(&setting("PAYMENTS_BASE_URL")?, "a_revoked_key")?;
    pay(&with_revoked_key, "order 7", &payment("tok_approved", 70_00, "order 7")?).await;
    Ok(())
}

fn payment(token: &str, cents: i64, reference: &str) -> anyhow::Result<TokenTransaction> {
    let amount = Amount::from_cents(cents);
    let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive).reference_no(reference);
    Ok(payment.build()?)
}

fn connect(base_url: &str, key: &str) -> anyhow::Result<Client> {
    let endpoint = Endpoint::new(base_url, ApiKey::new(key)?)?;
    Ok(Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build())
}

fn as_text(violation: &Violation) -> String {
    format!("{} {}", violation.field(), violation.rule())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::{ClosedPort, Program, assert_reports_match, show_ledger};
    use payments_fake::{FakeGateway, Fault};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    let closed_port = ClosedPort::new()?;
    let token_payment = Fault::on(OperationName::TokenTransaction);
    // The third request is order 4: order 1 was never sent, and order 2 arrived once.
    let busy = token_payment.before_commit().status(StatusCode::TOO_MANY_REQUESTS).retry_after("30");
    sandbox.gateway().arm(busy.skip(2));
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).skip(3));
    // The whole response except its last byte.
    sandbox.gateway().arm(token_payment.after_commit().truncate(usize::MAX).skip(4));
    let output = Program::with(&sandbox)?.env("UNREACHABLE_BASE_URL", closed_port.base_url()).run()?;

    let ledger = sandbox.gateway().ledger();
    show_ledger(&ledger);
    assert_reports_match(&output, &["paid", "PARKED"], &ledger);
    // Order 2 was charged once, although it was sent twice. So were both parked orders, which the program cannot know.
    let charged: Vec<_> = ledger.charged().map(|entry| entry.amount).collect();
    assert_eq!(charged, [20_00, 50_00, 60_00].map(Amount::from_cents), "wrong charges");
    Ok(())
}
