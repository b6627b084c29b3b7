//! `payments demo`: every operation and every documented error, and the client's word beside the sandbox's ledger.

mod call;

use std::error::Error as StdError;
use std::future::Future;
use std::io::{self, Write};
use std::time::SystemTime;

use payments_core::{ApiKey, Client, Endpoint, Error, OperationName};
use payments_fake::{EntryKind, EntryState, FakeGateway, Fault, test_values};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, Payer, TokenTransaction,
    TransactionId, TransactionType, ValidationError, Void,
};
use payments_sandbox::Sandbox;
use serde_json::json;
use tokio::runtime;

use self::call::{Asked, Call, Entry, Expected, Said, entries};
use super::refuse_client_settings;
use crate::args::{GlobalOptions, OutputShape};
use crate::exit_code::ExitCode;
use crate::stderr;
use crate::style::{Style, Tone, for_terminal, in_json};

/// Text unless JSON is asked for by name: the lines are its point, also in a pipe.
pub(super) fn run(options: &GlobalOptions) -> ExitCode {
    if let Some(refused) = refuse_client_settings(options) {
        return refused;
    }
    let shape = options.output.unwrap_or(OutputShape::Text);
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let played =
        runtime::Builder::new_current_thread().enable_all().build().map_err(Into::into).and_then(|runtime| {
            // A fault that does not strike shows in the comparison; it must not end the demonstration with a panic.
            let gateway = FakeGateway::builder().wall_clock(SystemTime::now).ignore_unfired_faults().build();
            runtime.block_on(async {
                let sandbox = Sandbox::builder().gateway(gateway).start().await?;
                play(sandbox, &mut stdout.lock(), shape, style).await
            })
        });
    played.unwrap_or_else(|error: Box<dyn StdError>| {
        // The exit code says it too.
        stderr::write_last(format!("payments: the demonstration could not run to its end: {error}\n"));
        ExitCode::Other
    })
}

type Played<T = ()> = Result<T, Box<dyn StdError>>;

async fn play(sandbox: Sandbox, out: &mut dyn Write, shape: OutputShape, style: Style) -> Played<ExitCode> {
    let mut demo = Demo { gateway: sandbox.gateway().clone(), calls: Vec::new(), out, shape, style };
    demo.text(&format!(
        "A sandbox of the payment service listens on {},\n\
         and a client sends it every operation over a real socket. No account, no network, no money.\n",
        sandbox.base_url()
    ))?;
    let transport = HyperTransport::builder().build()?;
    let client = |key: &str| -> Result<Client, Error> {
        let endpoint = Endpoint::new(&sandbox.base_url(), ApiKey::new(key)?)?;
        Ok(Client::builder(endpoint, transport.clone(), TokioTimer::new()).build())
    };
    let (client, stranger) = (client(&sandbox.api_key())?, client("not_the_key_of_this_sandbox")?);
    let sale = demo.payments(&client).await?;
    demo.lookups(&client, sale).await?;
    demo.refusals(&client, &stranger).await?;
    demo.lost_response(&client).await?;
    let agrees = demo.compare()?;
    sandbox.shutdown().await?;
    Ok(if agrees { ExitCode::Processed } else { ExitCode::Other })
}

struct Demo<'a> {
    gateway: FakeGateway,
    calls: Vec<Call>,
    out: &'a mut dyn Write,
    shape: OutputShape,
    style: Style,
}

impl Demo<'_> {
    /// Returns the id of the card sale, if it was processed.
    async fn payments(&mut self, client: &Client) -> Played<Option<TransactionId>> {
        self.chapter("Payments")?;
        let payment = card(10_50, TransactionType::Sale, test_values::VISA, PAYER)?;
        let sale = self.card("card sale", client, &payment, Expected::Processed).await?;

        let payment = card(25_00, TransactionType::Auth, test_values::MASTERCARD, PAYER)?;
        let held = self.card("card authorisation", client, &payment, Expected::Processed).await?;
        if let Some(id) = held {
            self.void("void of that authorisation", client, id, Expected::Processed).await?;
        }

        let amount = Amount::from_cents(80_00);
        let payment = AchTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, PAYER)
            .account_field("RoutingNumber", "021000021")
            .account_field("AccountNumber", "000123456789")
            .build()?;
        let call = async { Said::of(client.process_ach(&payment).await.map(|it| it.transaction_id.clone())) };
        self.call("ACH payment", Some(Asked::sale(amount)), Expected::Processed, call).await?;
        self.token("token payment", client, test_values::TOK_APPROVED, Expected::Processed).await?;
        Ok(sale)
    }

    async fn lookups(&mut self, client: &Client, sale: Option<TransactionId>) -> Played {
        self.chapter("Look-ups")?;
        if let Some(id) = sale {
            let truth = self.gateway.ledger().entry(&id).map(|entry| entry.record.clone());
            let call = async {
                Said::of_lookup(client.transaction(&id).await, |record| {
                    let (amount, number) = (shown(record.amount.value()), shown(record.card_number.value()));
                    (format!("{amount} on card {number}"), truth.as_ref() == Some(record.data()))
                })
            };
            self.call("look-up of that card sale", None, Expected::Found, call).await?;
        }
        let id = CustomerId::new(test_values::CUSTOMER)?;
        // The sandbox's own record, asked for past the network.
        let truth = self.gateway.client().customer(&id).await.ok();
        let call = async {
            Said::of_lookup(client.customer(&id).await, |record| {
                let is_true = truth.is_some_and(|truth| truth.data() == record.data());
                (format!("{id}: {}", shown(record.customer_name.value())), is_true)
            })
        };
        self.call("look-up of a customer", None, Expected::Found, call).await?;
        Ok(())
    }

    async fn refusals(&mut self, client: &Client, stranger: &Client) -> Played {
        self.chapter("Every documented error, and a declined card")?;
        let payment = card(10_50, TransactionType::Sale, test_values::VISA, PAYER)?;
        self.card("card sale, wrong API key", stranger, &payment, Expected::Rejected(401)).await?;
        let elsewhere = Payer { postal_code: test_values::INVALID_POSTAL_CODE, ..PAYER };
        let payment = card(10_50, TransactionType::Sale, test_values::VISA, elsewhere)?;
        self.card("card sale, bad postal code", client, &payment, Expected::Rejected(400)).await?;
        let token = test_values::TOK_REMOVED;
        self.token("token payment, removed token", client, token, Expected::Rejected(400)).await?;
        let nobody = TransactionId::new("txn_nobody_has")?;
        self.void("void, unknown transaction", client, nobody.clone(), Expected::Rejected(400)).await?;
        let nothing = || ("something".to_owned(), false);
        let call = async { Said::of_lookup(client.transaction(&nobody).await, |_| nothing()) };
        self.call("look-up, unknown transaction", None, Expected::Rejected(404), call).await?;
        let nobody = CustomerId::new("cus_nobody_is")?;
        let call = async { Said::of_lookup(client.customer(&nobody).await, |_| nothing()) };
        self.call("look-up, unknown customer", None, Expected::Rejected(404), call).await?;
        let payment = card(99_99, TransactionType::Sale, test_values::DECLINED, PAYER)?;
        self.card("card sale, declined card", client, &payment, Expected::Rejected(200)).await?;
        Ok(())
    }

    async fn lost_response(&mut self, client: &Client) -> Played {
        self.chapter("A charge whose answer is lost after the service made it")?;
        self.gateway.arm(Fault::response_lost(OperationName::Transaction));
        let payment = card(77_00, TransactionType::Sale, test_values::VISA, PAYER)?;
        self.card("card sale, answer lost", client, &payment, Expected::Unknown).await?;
        Ok(())
    }

    async fn card(
        &mut self,
        title: &'static str,
        client: &Client,
        payment: &CardTransaction,
        expected: Expected,
    ) -> Played<Option<TransactionId>> {
        let kind = match payment.transaction_type() {
            TransactionType::Auth => EntryKind::Authorisation,
            _ => EntryKind::Sale,
        };
        let asked = Asked { kind, state: EntryState::Approved, amount: Some(payment.amount()), id: None };
        let call = async { Said::of(client.process_card(payment).await.map(|it| it.transaction_id.clone())) };
        self.call(title, Some(asked), expected, call).await
    }

    async fn token(&mut self, title: &'static str, client: &Client, id: &str, expected: Expected) -> Played {
        let amount = Amount::from_cents(45_00);
        let payment = TokenTransaction::builder(id, amount, ConvenienceFee::Inactive)
            .gateway_customer_id(test_values::GATEWAY_CUSTOMER)
            .reference_no("invoice 1843")
            .build()?;
        let call =
            async { Said::of(client.process_token(&payment).await.map(|it| it.transaction_id.clone())) };
        self.call(title, Some(Asked::sale(amount)), expected, call).await?;
        Ok(())
    }

    async fn void(
        &mut self,
        title: &'static str,
        client: &Client,
        id: TransactionId,
        expected: Expected,
    ) -> Played {
        let void = Void::new(id.clone()).reason("ordered twice");
        let call = async { Said::of(client.void(&void).await.map(|it| it.voided.clone())) };
        self.call(title, Some(Asked::void(id)), expected, call).await?;
        Ok(())
    }

    /// Makes one call, keeps what it changed in the sandbox's ledger, and shows the line. Returns the id of what was
    /// processed.
    async fn call(
        &mut self,
        title: &'static str,
        asked: Option<Asked>,
        expected: Expected,
        call: impl Future<Output = Said>,
    ) -> Played<Option<TransactionId>> {
        let before = entries(&self.gateway.ledger());
        self.gateway.clear_requests();
        let said = call.await;
        let received = self.gateway.requests().len();
        let changed = call::changed(&before, entries(&self.gateway.ledger()));
        let call = Call { title, asked, expected, said, received, changed };
        let (amount, outcome) = (call.amount(), self.outcome(&call.said));
        let details = for_terminal(&call.said.details());
        self.text(&format!("  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {details}\n"))?;
        if let Said::Unknown { next_step, .. } = &call.said {
            for advice in ["it may have been charged: do not send it again", next_step] {
                let advice = self.style.paint(Tone::Doubtful, advice);
                self.text(&format!("    {advice}\n"))?;
            }
        }
        let id = match &call.said {
            Said::Processed(id) => Some(id.clone()),
            _ => None,
        };
        self.calls.push(call);
        Ok(id)
    }

    /// Shows what the client said beside the ledger, and returns whether they agree everywhere.
    fn compare(&mut self) -> io::Result<bool> {
        let ledger = self.gateway.ledger();
        let now = entries(&ledger);
        let total = ledger.charged_total().map(|total| total.to_string());
        let wrong = self.calls.iter().filter(|call| !call.agrees()).count();
        let is_accounted_for =
            |entry: &&Entry| self.calls.iter().flat_map(|call| &call.changed).any(|it| it.id == entry.id);
        let unaccounted = now.iter().filter(|entry| !is_accounted_for(entry)).count();
        let agrees = wrong == 0 && unaccounted == 0;
        if self.shape == OutputShape::Json {
            let document = json!({
                "agree": agrees,
                "unaccounted_payments": unaccounted,
                "charged": total,
                "calls": self.calls.iter().map(|call| call.to_json(&now)).collect::<Vec<_>>(),
            });
            writeln!(self.out, "{}", in_json(&document.to_string()))?;
            self.out.flush()?;
            return Ok(agrees);
        }
        self.show_calls(&now)?;
        let count = self.calls.len();
        let mut complaints = Vec::new();
        if wrong > 0 {
            complaints.push(format!("They disagree on {wrong} of {count} calls."));
        }
        if unaccounted > 0 {
            let payments = if unaccounted == 1 { "payment" } else { "payments" };
            complaints.push(format!("The ledger holds {unaccounted} {payments} that no call accounts for."));
        }
        if !agrees {
            let complaints = self.style.paint(Tone::Bad, &complaints.join("\n"));
            self.text(&format!("\n{complaints}\n"))?;
            return Ok(false);
        }
        let verdict = self.style.paint(Tone::Good, &format!("They agree on all {count} calls."));
        let (charged, total) = (ledger.charged().count(), total.as_deref().unwrap_or("too much to count"));
        self.text(&format!(
            "\n{verdict}\n\
             Each reached the sandbox exactly once; {charged} payments, {total} in all, are charged.\n\
             Next: `payments sandbox` serves the same service to a program of your own.\n"
        ))?;
        Ok(true)
    }

    fn show_calls(&mut self, now: &[Entry]) -> io::Result<()> {
        self.chapter("What the client believed, beside what the sandbox's own ledger says")?;
        let heading = format!(
            "  {:TITLE$}  {:>AMOUNT$}  {:OUTCOME$}  {:TRUTH$}  agree",
            "call", "amount", "client said", "sandbox has"
        );
        let heading = self.style.paint(Tone::Faint, &heading);
        self.text(&format!("{heading}\n"))?;
        let calls = std::mem::take(&mut self.calls);
        for call in &calls {
            let (title, amount, outcome) = (call.title, call.amount(), self.outcome(&call.said));
            let verdict = match (call.agrees(), &call.said) {
                (false, _) => self.style.paint(Tone::Bad, "NO"),
                (true, Said::Unknown { .. }) => self.style.paint(Tone::Good, "yes: cannot know"),
                (true, _) => self.style.paint(Tone::Good, "yes"),
            };
            let truth = call.truth(now);
            self.text(&format!(
                "  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {truth:TRUTH$}  {verdict}\n"
            ))?;
        }
        for call in calls.iter().filter(|call| matches!(call.said, Said::Unknown { .. })) {
            let ledger = match call.changed.as_slice() {
                [] => "The ledger shows that nothing was charged.".to_owned(),
                [Entry { kind, amount, id, .. }] => format!(
                    "The ledger shows the {} of {amount} as {id}: a second try would have charged twice.",
                    kind.as_str()
                ),
                _ => "The ledger shows it more than once.".to_owned(),
            };
            let title = call.title;
            self.text(&format!(
                "\n{title}: without an answer the client rightly does not know.\n{ledger}\n"
            ))?;
        }
        self.calls = calls;
        Ok(())
    }

    fn chapter(&mut self, title: &str) -> io::Result<()> {
        let title = self.style.paint(Tone::Heading, title);
        self.text(&format!("\n{title}\n"))
    }

    /// The outcome, padded and in its tone.
    fn outcome(&self, said: &Said) -> String {
        let tone = match said {
            Said::Processed(_) | Said::Found { .. } => Tone::Good,
            Said::Rejected { .. } | Said::NotProcessed(_) => Tone::Bad,
            Said::Unknown { .. } => Tone::Doubtful,
        };
        self.style.paint(tone, &format!("{:OUTCOME$}", said.outcome()))
    }

    /// Flushed at once: somebody watches.
    fn text(&mut self, text: &str) -> io::Result<()> {
        if self.shape == OutputShape::Json {
            return Ok(());
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Widths of the columns.
const TITLE: usize = 28;
const AMOUNT: usize = 6;
const OUTCOME: usize = 11;
const TRUTH: usize = 27;

fn card(
    cents: i64,
    transaction_type: TransactionType,
    number: &str,
    payer: Payer<'_>,
) -> Result<CardTransaction, ValidationError> {
    let (amount, card) = (Amount::from_cents(cents), Card { number, cvv: "123", expiry: "12/33" });
    CardTransaction::builder(amount, transaction_type, ConvenienceFee::Inactive, card, payer).build()
}

/// Nobody: every part of it is reserved for examples.
const PAYER: Payer<'static> = Payer {
    customer_name: "Ada Example",
    email: "ada@example.com",
    country_code: "+1",
    phone_number: "555-0199",
    country: "US",
    postal_code: "94105",
    ip_address: "203.0.113.7",
};

fn shown(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn played(sandbox: Sandbox) -> (ExitCode, String) {
        let mut out = Vec::new();
        let exit_code = play(sandbox, &mut out, OutputShape::Text, Style::Plain).await.unwrap();
        (exit_code, String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn an_undisturbed_sandbox_and_the_client_agree() {
        let (exit_code, text) = played(Sandbox::start().await.unwrap()).await;
        assert_eq!(exit_code, ExitCode::Processed, "{text}");
        assert!(text.contains("They agree on all 15 calls."), "{text}");
    }

    #[tokio::test]
    async fn a_call_that_ends_otherwise_than_scripted_fails_the_demonstration() {
        let sandbox = Sandbox::start().await.unwrap();
        sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
        let (exit_code, text) = played(sandbox).await;
        assert_eq!(exit_code, ExitCode::Other, "{text}");
        assert!(text.contains("They disagree on 1 of 15 calls."), "{text}");
    }

    #[tokio::test]
    async fn a_payment_that_no_call_accounts_for_fails_the_demonstration() {
        let sandbox = Sandbox::start().await.unwrap();
        let payment =
            TokenTransaction::builder("tok_approved", Amount::from_cents(1), ConvenienceFee::Inactive);
        sandbox.gateway().client().process_token(&payment.build().unwrap()).await.unwrap();
        let (exit_code, text) = played(sandbox).await;
        assert_eq!(exit_code, ExitCode::Other, "{text}");
        assert!(text.contains("The ledger holds 1 payment that no call accounts for."), "{text}");
    }
}
