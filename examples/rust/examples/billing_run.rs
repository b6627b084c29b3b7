//! A billing run that can be killed at any moment and started again without charging anyone twice.
//!
//! Copy `program`. It records each charge in a journal before sending it, under a key derived from the invoice. This
//! example loses one response, kills the program in the middle, and runs it again. `docs/reconciling.md` describes how a
//! person resolves what is left.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::{env, fs};

use anyhow::{Context as _, bail};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_journal::{Cause, IntentKey, IntentState, Journal, JournaledClient, SqliteStore, StateName};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build();

    // A file on a local disk, the same for every run. Several machines share a `PostgresStore` instead.
    let journal = Journal::open(SqliteStore::open(setting("PAYMENTS_JOURNAL")?)?).await?;
    let client = JournaledClient::new(client, journal);

    let invoices = fs::read_to_string(setting("INVOICES")?)?;
    for line in invoices.lines() {
        let Some((invoice, token, amount)) = fields(line) else {
            bail!("not an invoice: {line}");
        };
        charge(&client, invoice, token, amount.parse()?).await?;
    }
    list_unresolved(client.journal()).await?;
    // After this, the file alone is the complete journal.
    client.journal().close().await;
    Ok(())
}

async fn charge(client: &JournaledClient, invoice: &str, token: &str, amount: Amount) -> anyhow::Result<()> {
    // Derive the key from what is paid, never from a clock or a random number: a new key is a new charge.
    let key = IntentKey::new(invoice)?;
    let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive).reference_no(invoice);
    match client.process_token(&key, &payment.build()?).await {
        Ok(charged) if charged.is_from_the_journal() => println!("{invoice}: paid by an earlier run"),
        Ok(charged) => {
            println!("{invoice}: paid, transaction {}", charged.transaction_id);
            // It is paid even if the journal could not record it. Keep the line above: a person needs its id to resolve the key.
            if let Some(error) = charged.write_error {
                return Err(error.into());
            }
        }
        Err(error) => match error.outcome() {
            // Such a refusal is not about the invoice, and would refuse every other invoice too. After the fix, `Journal::reopen`
            // allows sending the key again.
            Outcome::Rejected if !error.is_decline() => return Err(error.into()),
            // The key belongs to another request, so this one is never sent under it. The error reports the other one's outcome.
            _ if matches!(error.cause(), Cause::KeyReused { .. }) => println!("{invoice}: not sent: {error}"),
            // The next run sends it.
            Outcome::NotProcessed => println!("{invoice}: not sent: {error}"),
            // The next run reports the same. To try another card, call `after_rejection` with the same key.
            Outcome::Rejected => println!("{invoice}: refused: {error}"),
            // No run sends it again until a person has resolved it. If only the journal was unavailable, nothing was sent now,
            // and the next run reports the outcome.
            Outcome::Unknown => println!("{invoice}: UNKNOWN: {error}"),
        },
    }
    Ok(())
}

async fn list_unresolved(journal: &Journal) -> anyhow::Result<()> {
    let mut pages = journal.pages(StateName::UNRESOLVED);
    while let Some(intents) = pages.next().await? {
        for intent in intents {
            let amount = intent.request.amount.map_or_else(String::new, |amount| format!(" of {amount}"));
            let sent_at = humantime::format_rfc3339_seconds(intent.begun_at);
            let why = match &intent.state {
                IntentState::Unknown(failure) => failure.kind.as_str(),
                _ => "another run is sending it now",
            };
            println!("for a person: {}{amount}, sent at {sent_at} ({why})", intent.key);
        }
    }
    Ok(())
}

fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let (invoice, rest) = line.split_once(',')?;
    let (token, amount) = rest.split_once(',')?;
    Some((invoice, token, amount))
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process, twice.
fn main() -> anyhow::Result<()> {
    use std::sync::mpsc;
    use std::time::Duration;

    use payments_core::OperationName;
    use payments_examples::{Program, assert_reports_match, show_ledger};
    use payments_fake::{FakeGateway, Fault};
    use payments_sandbox::{Exchange, Sandbox};

    /// The key, token and amount of each invoice.
    const INVOICES: &str = "\
invoice-1,tok_approved,10.00
invoice-2,tok_approved,20.00
invoice-3,tok_declined,30.00
invoice-4,tok_approved,40.00
invoice-5,tok_approved,50.00
";

    if Program::is_this_process() {
        return program();
    }
    let (sender, received_charges) = mpsc::channel();
    let notify = move |_: &Exchange| sender.send(()).expect("the receiver outlives the sandbox");
    let sandbox = Sandbox::builder()
        .fresh_gateway(FakeGateway::builder().seed(7))
        .on_exchange(notify)
        .start_blocking()?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("invoices.csv"), INVOICES)?;
    let billing_run = || -> anyhow::Result<Program> {
        let program = Program::with(&sandbox)?.env("PAYMENTS_JOURNAL", folder.path().join("billing.db"));
        Ok(program.env("INVOICES", folder.path().join("invoices.csv")))
    };
    let charged = || -> Vec<_> { sandbox.gateway().ledger().charged().map(|entry| entry.amount).collect() };

    println!("-- the first run, killed while invoice-4 is in flight:");
    let token_payment = Fault::on(OperationName::TokenTransaction);
    sandbox.gateway().arm(token_payment.after_commit().close().skip(1));
    sandbox.gateway().arm(token_payment.after_commit().stall().skip(3));
    let mut first_run = billing_run()?.start()?;
    for _ in 0..4 {
        received_charges.recv_timeout(Duration::from_mins(1))?;
    }
    first_run.kill()?;
    first_run.wait()?;
    assert_eq!(charged(), [10_00, 20_00, 40_00].map(Amount::from_cents), "wrong charges after the first run");

    println!("-- the second run, with the same journal:");
    let output = billing_run()?.run()?;

    show_ledger(&sandbox.gateway().ledger());
    assert_reports_match(&output, &["paid", "UNKNOWN"], &sandbox.gateway().ledger());
    assert_eq!(
        charged(),
        [10_00, 20_00, 40_00, 50_00].map(Amount::from_cents),
        "wrong charges after the second run"
    );
    Ok(())
}
