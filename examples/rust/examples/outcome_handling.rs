//! What a business does after each outcome: ship, send again, ask the customer, stop, or park and reconcile.
//!
//! Copy `next_step`: it has the decisions. The rest shows a morning on which everything goes wrong once.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::env;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use http::StatusCode;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId, Violation};
use payments_core::{ApiKey, Client, Endpoint, Outcome, RetryAfter};
use payments_hyper::{HyperTransport, TokioTimer};

/// What is to be done about an order that was to be paid.
enum NextStep {
    Ship(TransactionId),
    /// Nothing was charged, and nothing is wrong with the order.
    SendAgain {
        after: Duration,
    },
    /// Nothing was charged, and will not be before the customer takes another card or corrects what was typed.
    AskTheCustomer(String),
    /// Nothing was charged, and nothing will be before somebody has mended the program or its settings.
    StopAndCallTheEngineer(String),
    /// It may be charged. A person finds out, by the transaction if there is one, else by amount, time and reference.
    Park {
        transaction_id: Option<TransactionId>,
        why: String,
    },
}

/// Sends the payment once, and decides by the outcome alone what may be done next.
async fn next_step(client: &Client, payment: &TokenTransaction) -> NextStep {
    let error = match client.process_token(payment).await {
        Ok(charged) => return NextStep::Ship(charged.into_data().transaction_id),
        Err(error) => error,
    };
    match error.outcome() {
        // Provably nothing was acted upon: sending it again is safe, now or in an hour.
        Outcome::NotProcessed if error.is_configuration() => {
            NextStep::StopAndCallTheEngineer(error.to_string())
        }
        Outcome::NotProcessed => NextStep::SendAgain { after: Duration::from_secs(5) },

        // The answer is no. Who has to change something?
        Outcome::Rejected => match error.http_status() {
            // Nobody: it was refused for coming too soon. It comes again, and not sooner than asked.
            Some(StatusCode::TOO_MANY_REQUESTS) => {
                NextStep::SendAgain { after: error.retry_after().map_or(Duration::from_mins(1), pause) }
            }
            // We: the key is wrong, or a proxy or firewall of ours said no in the service's place.
            Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                NextStep::StopAndCallTheEngineer(error.to_string())
            }
            _ if error.is_intermediary() => NextStep::StopAndCallTheEngineer(error.to_string()),
            // The customer. The reason is the service's own text: for people, never for an `if`.
            _ => NextStep::AskTheCustomer(error.reason().unwrap_or("no reason given").to_owned()),
        },

        // It may be charged. Not sent again, not called failed, not paid in another way.
        Outcome::Unknown => {
            NextStep::Park { transaction_id: error.transaction_id().cloned(), why: error.to_string() }
        }
    }
}

fn pause(asked: RetryAfter) -> Duration {
    match asked {
        RetryAfter::Delay(pause) => pause,
        RetryAfter::Date(date) => date.duration_since(SystemTime::now()).unwrap_or_default(),
        _ => Duration::from_mins(1),
    }
}

/// Takes the payment of one order as far as it can be taken without a person.
async fn settle(client: &Client, reference: &str, payment: &TokenTransaction) {
    let started = SystemTime::now();
    match next_step(client, payment).await {
        NextStep::Ship(id) => println!("{reference}: paid as {id}, ship it"),
        NextStep::SendAgain { after } => {
            println!("{reference}: nothing was charged, back into the queue for {} s", after.as_secs());
        }
        NextStep::AskTheCustomer(reason) => {
            println!("{reference}: nothing was charged, ask the customer for another card ({reason})");
        }
        NextStep::StopAndCallTheEngineer(error) => {
            println!("{reference}: STOP, no payment can work before this is mended\n    {error}");
        }
        NextStep::Park { transaction_id, why } => {
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

/// Shows a parked payment's transaction to the person who decides.
async fn look_up(client: &Client, id: &TransactionId) {
    match client.transaction(id).await {
        Ok(record) => {
            // The meaning of a Status code is not published, so no program can say "charged" from it.
            let status = record.status.value().map_or("none", String::as_str);
            println!("    {id} is there, Status {status}: a person compares it with a good one");
        }
        // Not even "not found" is proof: the payment may still be on its way.
        Err(error) => {
            println!("    {id} cannot be shown, which does not mean that it was not charged\n    {error}");
        }
    }
}

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let client = connect(&setting("PAYMENTS_BASE_URL")?, &setting("PAYMENTS_API_KEY")?)?;

    // What a customer typed is checked before anything is sent, and every violation is named at once.
    let typed = TokenTransaction::builder("", Amount::from_cents(0), ConvenienceFee::Inactive).build();
    let error = typed.err().context("a token without a letter was taken for one")?;
    println!("order 1: nothing was sent, the form shows what to mend");
    for violation in error.violations() {
        println!("    {}", as_text(violation));
    }

    // Nobody can be reached. Nothing left this machine, so the same order may be sent again, and is.
    let nowhere = setting("UNPLUGGED_BASE_URL")?;
    let order = payment("tok_approved", 20_00, "order 2")?;
    settle(&connect(&nowhere, &setting("PAYMENTS_API_KEY")?)?, "order 2", &order).await;
    settle(&client, "order 2", &order).await;

    let declined = payment("tok_declined", 30_00, "order 3")?;
    settle(&client, "order 3", &declined).await;

    // The service has a bad morning: `main` below says what it does to the next ones.
    for (reference, cents) in [("order 4", 40_00), ("order 5", 50_00), ("order 6", 60_00)] {
        settle(&client, reference, &payment("tok_approved", cents, reference)?).await;
    }

    let with_an_old_key = connect(&setting("PAYMENTS_BASE_URL")?, "a_key_that_was_withdrawn")?;
    settle(&with_an_old_key, "order 7", &payment("tok_approved", 70_00, "order 7")?).await;
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

/// Only for the example: a sandbox in the service's place, and the program above in a process of its own.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::{Program, Unplugged, assert_nothing_wrong_was_said, show_books};
    use payments_fake::Fault;
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().seed(7).start_blocking()?;
    let nowhere = Unplugged::new()?;
    let token_payment = Fault::on(OperationName::TokenTransaction);
    // The third that it sees is order 4: order 1 was never sent, and order 2 came once.
    let busy = token_payment.before_commit().status(StatusCode::TOO_MANY_REQUESTS).retry_after("30");
    sandbox.gateway().arm(busy.nth(3));
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).nth(4));
    // The whole answer but its last byte.
    sandbox.gateway().arm(token_payment.after_commit().truncate(usize::MAX).nth(5));
    let said = Program::with(&sandbox)?.env("UNPLUGGED_BASE_URL", nowhere.base_url()).run()?;

    let ledger = sandbox.gateway().ledger();
    show_books(&ledger);
    assert_nothing_wrong_was_said(&said, &["paid", "PARKED"], &ledger);
    // Order 2 once, although it was sent twice; and both parked ones, which the program could not know.
    let charged: Vec<_> = ledger.charged().map(|entry| entry.amount).collect();
    assert_eq!(charged, [20_00, 50_00, 60_00].map(Amount::from_cents), "somebody was charged wrongly");
    Ok(())
}
