//! A billing run that may be killed at any moment and started again, and charges nobody twice.
//!
//! Copy `program`: each charge is written down in a journal before it is sent, under a key that comes from the invoice.
//! This example loses one answer and kills the program in the middle, and then runs it again. What the person at the end
//! does is in `docs/reconciling.md`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::{env, fs};

use anyhow::{Context as _, bail};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_journal::{IntentKey, IntentState, Journal, JournaledClient, SqliteStore, StateName};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build();

    // A file on a local disk, the same one for every run. Several machines share a `PostgresStore` in its place.
    let journal = Journal::open(SqliteStore::open(setting("PAYMENTS_JOURNAL")?)?).await?;
    let client = JournaledClient::new(client, journal);

    let invoices = fs::read_to_string(setting("INVOICES")?)?;
    for line in invoices.lines() {
        let Some((invoice, token, amount)) = fields(line) else {
            bail!("this is no invoice: {line}");
        };
        charge(&client, invoice, token, amount.parse()?).await?;
    }
    show_what_a_person_must_look_at(client.journal()).await?;
    // So that the file alone is the journal once this program has ended.
    client.journal().close().await;
    Ok(())
}

async fn charge(client: &JournaledClient, invoice: &str, token: &str, amount: Amount) -> anyhow::Result<()> {
    // From what is being paid, never from a clock or a random number: a new key would be a new charge.
    let key = IntentKey::new(invoice)?;
    let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive).reference_no(invoice);
    match client.process_token(&key, &payment.build()?).await {
        Ok(charged) if charged.is_from_the_journal() => println!("{invoice}: was paid by an earlier run"),
        Ok(charged) => {
            println!("{invoice}: paid, transaction {}", charged.transaction_id);
            // It is paid all the same. Keep the line above: with its id a person resolves the key.
            if let Some(error) = charged.not_recorded {
                return Err(error.into());
            }
        }
        Err(error) => match error.outcome() {
            // This says something about us and nothing about the invoice, and would refuse every other one too. Once it is
            // mended, `Journal::reopen` lets the key be sent again.
            Outcome::Rejected if is_about_us(&error) => return Err(error.into()),
            // The key stands for another request: this one is never sent under it. The text says what became of that one.
            _ if error.is_key_reused() => println!("{invoice}: not sent: {error}"),
            // The next run sends it.
            Outcome::NotProcessed => println!("{invoice}: not sent: {error}"),
            // The next run says the same. Another card is one explicit call with the same key: `after_rejection`.
            Outcome::Rejected => println!("{invoice}: refused: {error}"),
            // No run sends it again, until a person has resolved it. If only the journal could not be asked, nothing was sent
            // now, and the next run with the same key tells.
            Outcome::Unknown => println!("{invoice}: UNKNOWN: {error}"),
        },
    }
    Ok(())
}

/// A key that is wrong, a right that is missing, or too many requests.
fn is_about_us(error: &payments_journal::Error) -> bool {
    let status = error.call_error().and_then(payments_core::Error::http_status);
    status.is_some_and(|status| matches!(status.as_u16(), 401 | 403 | 429))
}

async fn show_what_a_person_must_look_at(journal: &Journal) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let page = journal.list(StateName::UNRESOLVED, after, 100).await?;
        for intent in &page.intents {
            let amount = intent.request.amount.map_or_else(String::new, |amount| format!(" of {amount}"));
            let sent_at = humantime::format_rfc3339_seconds(intent.begun_at);
            let why = match &intent.state {
                IntentState::Unknown(failure) => &*failure.kind,
                _ => "another run is sending it at this moment",
            };
            println!("for a person: {}{amount}, sent at {sent_at} ({why})", intent.key);
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let (invoice, rest) = line.split_once(',')?;
    let (token, amount) = rest.split_once(',')?;
    Some((invoice, token, amount))
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: a sandbox in the service's place, and the program above in a process of its own, twice.
fn main() -> anyhow::Result<()> {
    use std::sync::mpsc;
    use std::time::Duration;

    use payments_core::OperationName;
    use payments_examples::{Program, assert_nothing_wrong_was_said, show_books};
    use payments_fake::Fault;
    use payments_sandbox::{Exchange, Sandbox};

    /// What the run is to charge: the key, the token and the amount of each invoice.
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
    let (tell, charges_that_came) = mpsc::channel();
    let tell = move |_: &Exchange| tell.send(()).expect("who is told lives longer than the sandbox");
    let sandbox = Sandbox::builder().seed(7).on_exchange(tell).start_blocking()?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("invoices.csv"), INVOICES)?;
    let billing_run = || -> anyhow::Result<Program> {
        let program = Program::with(&sandbox)?.env("PAYMENTS_JOURNAL", folder.path().join("billing.db"));
        Ok(program.env("INVOICES", folder.path().join("invoices.csv")))
    };
    let charged = || -> Vec<_> { sandbox.gateway().ledger().charged().map(|entry| entry.amount).collect() };

    println!("-- the first run, killed while invoice-4 is under way:");
    let token_payment = Fault::on(OperationName::TokenTransaction);
    sandbox.gateway().arm(token_payment.after_commit().close().nth(2));
    sandbox.gateway().arm(token_payment.after_commit().stall().nth(4));
    let mut first_run = billing_run()?.start()?;
    for _ in 0..4 {
        charges_that_came.recv_timeout(Duration::from_mins(1))?;
    }
    first_run.kill()?;
    first_run.wait()?;
    assert_eq!(
        charged(),
        [10_00, 20_00, 40_00].map(Amount::from_cents),
        "and two of them it does not know of"
    );

    println!("-- the second run, with the same journal:");
    let said = billing_run()?.run()?;

    show_books(&sandbox.gateway().ledger());
    assert_nothing_wrong_was_said(&said, &["paid", "was paid", "UNKNOWN"], &sandbox.gateway().ledger());
    assert_eq!(
        charged(),
        [10_00, 20_00, 40_00, 50_00].map(Amount::from_cents),
        "somebody was charged wrongly"
    );
    Ok(())
}
