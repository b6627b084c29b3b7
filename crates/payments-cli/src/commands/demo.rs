//! `payments demo`: every operation and every documented error, and the client's results next to the sandbox's ledger.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::time::SystemTime;

use payments_core::{ApiKey, CallError, Client, Endpoint, Error, OperationName};
use payments_fake::{EntryKind, FakeGateway, Fault, LedgerEntry, test_values};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, Payer, TokenTransaction,
    TransactionId, TransactionRequest, TransactionType, ValidationError, Void,
};
use payments_sandbox::Sandbox;
use tokio::runtime;

use crate::args::OutputShape;
use crate::call::Call;
use crate::failure::{FailedOutcome, Failure, Purpose};
use crate::output::Output;
use crate::report::{Effect, ExitCode, Processed, Report, advice};
use crate::settings::PrintedCommands;
use crate::style::{Style, Tone, for_terminal};
use crate::{stderr, stdout};

/// Runs the demo. Its output is text, also in a pipe.
pub(super) fn run(requested: Option<OutputShape>, output: &Output) -> ExitCode {
    if requested == Some(OutputShape::Json) {
        let message = "this command shows text and takes no --output json; nothing was sent";
        return output.write(&Report::from(Failure::usage(message)));
    }
    let stdout = io::stdout();
    let result =
        runtime::Builder::new_current_thread().enable_all().build().map_err(Into::into).and_then(|runtime| {
            let gateway = FakeGateway::builder().wall_clock(SystemTime::now).ignore_unfired_faults().build();
            runtime.block_on(async {
                let sandbox = Sandbox::builder().gateway(gateway).start().await?;
                run_demo(sandbox, &mut stdout.lock(), output).await
            })
        });
    match result {
        Ok(()) => ExitCode::Processed,
        Err(error) if error.downcast_ref().is_some_and(stdout::is_closed) => ExitCode::Other,
        Err(error) => {
            stderr::write_last(format!("payments: the demo could not finish: {error}\n"));
            ExitCode::Other
        }
    }
}

type DemoResult<T = ()> = Result<T, Box<dyn StdError>>;

async fn run_demo(sandbox: Sandbox, out: &mut dyn Write, output: &Output) -> DemoResult {
    let style = output.stdout;
    let transport = HyperTransport::builder().build()?;
    let endpoint = Endpoint::new(sandbox.base_url(), ApiKey::new(sandbox.api_key())?)?;
    let client = Client::builder(endpoint, transport, TokioTimer::new()).build();
    let unauthorized = client.with_api_key(ApiKey::new("not_the_key_of_this_sandbox")?);
    let mut demo = Demo { gateway: sandbox.gateway().clone(), out, style, commands: &output.commands };
    demo.text(&format!(
        "A sandbox of the payment service is listening on\n{}.\n\
         A client sends it every operation. No account, no network, no money.\n\
         Next to each result is what the sandbox's own ledger says.\n\n",
        sandbox.base_url()
    ))?;
    let columns = format!("  {:TITLE$}  {:>AMOUNT$}  {:OUTCOME$}  sandbox", "call", "amount", "client");
    demo.text(&format!("{}\n", style.paint(Tone::Dim, &columns)))?;

    demo.heading("Payments")?;
    let sale = card(10_50, TransactionType::Sale, test_values::VISA, PAYER)?;
    let sold = demo.call("card sale", &client, &sale).await?;
    let auth = card(25_00, TransactionType::Auth, test_values::MASTERCARD, PAYER)?;
    if let Some(id) = demo.call("card authorization", &client, &auth).await? {
        demo.call("void of it", &client, &Void::new(id).with_reason("ordered twice")?).await?;
    }
    demo.call("ACH payment", &client, &ach()?).await?;
    demo.call("token payment", &client, &token(test_values::TOK_APPROVED)?).await?;

    demo.heading("Lookups")?;
    if let Some(id) = sold {
        demo.call("lookup of the sale", &client, &id).await?;
    }
    demo.call("lookup of a customer", &client, &CustomerId::new(test_values::CUSTOMER)?).await?;

    demo.heading("Every documented error, and a declined card")?;
    demo.call("sale, wrong API key", &unauthorized, &sale).await?;
    let payer = Payer { postal_code: test_values::INVALID_POSTAL_CODE, ..PAYER };
    let bad_postal_code = card(10_50, TransactionType::Sale, test_values::VISA, payer)?;
    demo.call("sale, bad postal code", &client, &bad_postal_code).await?;
    demo.call("payment, removed token", &client, &token(test_values::TOK_REMOVED)?).await?;
    let unknown = TransactionId::new("txn_unknown")?;
    demo.call("void, unknown id", &client, &Void::new(unknown.clone())).await?;
    demo.call("lookup, unknown id", &client, &unknown).await?;
    demo.call("customer, unknown id", &client, &CustomerId::new("cus_unknown")?).await?;
    let declined = card(99_99, TransactionType::Sale, test_values::DECLINED, PAYER)?;
    demo.call("sale, declined card", &client, &declined).await?;

    demo.heading("A charge whose response is lost after the service processed it")?;
    demo.gateway.arm(Fault::response_lost(OperationName::Transaction));
    let lost = card(77_00, TransactionType::Sale, test_values::VISA, PAYER)?;
    demo.call("sale, response lost", &client, &lost).await?;

    let ledger = demo.gateway.ledger();
    let total = ledger.charged_total().map(|total| total.to_string());
    demo.text(&format!(
        "\n{} payments were charged, {} in total.\n\
         Next: `payments sandbox` runs the same service for your own programs.\n",
        ledger.charged().count(),
        total.as_deref().unwrap_or("too much to count")
    ))?;
    sandbox.shutdown().await?;
    Ok(())
}

/// Not a real person: all of these values are reserved for examples.
const PAYER: Payer<'static> = Payer {
    customer_name: "Ada Example",
    email: "ada@example.com",
    country_code: "+1",
    phone_number: "555-0199",
    country: "US",
    postal_code: "94105",
    ip_address: "203.0.113.7",
};

fn card(
    cents: i64,
    transaction_type: TransactionType,
    number: &str,
    payer: Payer<'_>,
) -> Result<TransactionRequest, ValidationError> {
    let (amount, card) = (Amount::from_cents(cents), Card { number, cvv: "123", expiry: "12/33" });
    let payment =
        CardTransaction::builder(amount, transaction_type, ConvenienceFee::Inactive, card, payer).build()?;
    Ok(TransactionRequest::Card(payment))
}

fn ach() -> Result<TransactionRequest, ValidationError> {
    let amount = Amount::from_cents(80_00);
    let payment = AchTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, PAYER)
        .account_field("RoutingNumber", "021000021")
        .account_field("AccountNumber", "000123456789")
        .build()?;
    Ok(TransactionRequest::Ach(payment))
}

fn token(id: &str) -> Result<TokenTransaction, ValidationError> {
    TokenTransaction::builder(id, Amount::from_cents(45_00), ConvenienceFee::Inactive)
        .gateway_customer_id(test_values::GATEWAY_CUSTOMER)
        .reference_no("invoice 1843")
        .build()
}

/// The outcome as the client returned it, without any information from the sandbox. After a failure also why, then what to do.
fn returned(
    result: &Result<Processed, impl CallError>,
    commands: &PrintedCommands,
) -> (&'static str, Tone, Vec<String>) {
    let error = match result {
        Ok(Processed { effect: Effect::Moved(_), .. }) => {
            return ("processed", Tone::Success, Vec::new());
        }
        Ok(_) => return ("found", Tone::Success, Vec::new()),
        Err(error) => error,
    };
    let call = error.failed_call();
    match FailedOutcome::of_call(error) {
        FailedOutcome::Unknown => {
            let cause = call.transport_error().map(|cause| cause.kind().description().to_owned());
            let step = error.as_payment().and_then(Error::next_step);
            let mut details = vec![
                cause.unwrap_or_else(|| error.to_string()),
                "it may have been charged: do not send it again".to_owned(),
            ];
            details.extend(step.map(|step| advice::after_unknown(false, step, commands)));
            ("UNKNOWN", Tone::Warning, details)
        }
        FailedOutcome::Rejected => {
            let status = call.http_status().map(|status| format!("HTTP {}: ", status.as_u16()));
            let reason = call.reason().unwrap_or("no reason given");
            ("rejected", Tone::Error, vec![status.unwrap_or_default() + reason])
        }
        FailedOutcome::Invalid | FailedOutcome::NotProcessed => {
            ("not processed", Tone::Error, vec![error.to_string()])
        }
    }
}

struct Demo<'a> {
    gateway: FakeGateway,
    out: &'a mut dyn Write,
    style: Style,
    commands: &'a PrintedCommands,
}

impl Demo<'_> {
    /// Makes a call, and shows its result next to the ledger. Returns the id if it was processed.
    async fn call<C: Call>(
        &mut self,
        title: &'static str,
        client: &Client,
        call: &C,
    ) -> DemoResult<Option<TransactionId>> {
        let before = self.payments();
        let result = call.send(client).await;
        let mut changed = self.payments();
        changed.retain(|entry| {
            !before.iter().any(|it| it.transaction_id() == entry.transaction_id() && it.state == entry.state)
        });
        let (outcome, tone, details) = returned(&result, self.commands);
        let amount = call.facts().and_then(|facts| facts.amount);
        let amount = amount.map(|amount| amount.to_string()).unwrap_or_default();
        let shown = self.style.paint(tone, &format!("{outcome:OUTCOME$}"));
        let entries = changed.iter().map(|entry| format!("{} {}", entry.kind.as_str(), entry.state.as_str()));
        let ledger = match &*changed {
            [] if C::PURPOSE == Purpose::MoveMoney => "nothing charged".to_owned(),
            [] => "no change".to_owned(),
            _ => entries.collect::<Vec<_>>().join(" + "),
        };
        self.text(&format!("  {title:TITLE$}  {amount:>AMOUNT$}  {shown}  {ledger}\n"))?;
        for line in details {
            let line = self.style.paint(tone, &for_terminal(&line));
            self.text(&format!("      {line}\n"))?;
        }
        if let (Err(error), [entry]) = (&result, &*changed)
            && FailedOutcome::of_call(error) == FailedOutcome::Unknown
        {
            self.text(&format!(
                "\nWithout a response the client cannot know the outcome.\n\
                 The ledger has the {} of {} as {}:\nsending it again would have charged twice.\n",
                entry.kind.as_str(),
                entry.amount,
                entry.transaction_id()
            ))?;
        }
        Ok(match result {
            Ok(Processed { effect: Effect::Moved(id), .. }) => Some(id),
            _ => None,
        })
    }

    /// The ledger without its voids: a void shows as the state of its payment.
    fn payments(&self) -> Vec<LedgerEntry> {
        let ledger = self.gateway.ledger();
        ledger.entries().iter().filter(|entry| entry.kind != EntryKind::Void).cloned().collect()
    }

    fn heading(&mut self, title: &str) -> io::Result<()> {
        let title = self.style.paint(Tone::Heading, title);
        self.text(&format!("\n{title}\n"))
    }

    /// Flushed at once, because a person is watching.
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Widths of the columns.
const TITLE: usize = 22;
const AMOUNT: usize = 6;
const OUTCOME: usize = 9;
