//! `payments demo`: every operation and every documented error, and the client's results next to the sandbox's ledger.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::time::SystemTime;

use payments_core::{ApiKey, Client, Endpoint, Error, OperationName};
use payments_fake::{EntryKind, EntryState, FakeGateway, Fault, Ledger, test_values};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, Payer, TokenTransaction,
    TransactionId, TransactionRequest, TransactionType, ValidationError, Void,
};
use payments_sandbox::Sandbox;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::runtime;

use super::refuse_client_settings;
use crate::args::{GlobalOptions, OutputShape};
use crate::call::Call;
use crate::exit_code::ExitCode;
use crate::failure::{self, CallError, FailedOutcome, Purpose};
use crate::report::{Effect, Processed};
use crate::style::{Style, Tone, for_terminal, in_json};
use crate::text::counted;
use crate::{stderr, stdout};

/// Runs the demo. Its output is text, also in a pipe, unless JSON is requested.
pub(super) fn run(options: &GlobalOptions) -> ExitCode {
    if let Some(refused) = refuse_client_settings(options) {
        return refused;
    }
    let shape = options.output.unwrap_or(OutputShape::Text);
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let result =
        runtime::Builder::new_current_thread().enable_all().build().map_err(Into::into).and_then(|runtime| {
            // A fault that is not used shows in the comparison. It must not panic.
            let gateway = FakeGateway::builder().wall_clock(SystemTime::now).ignore_unfired_faults().build();
            runtime.block_on(async {
                let sandbox = Sandbox::builder().gateway(gateway).start().await?;
                run_demo(sandbox, &mut stdout.lock(), shape, style).await
            })
        });
    result.unwrap_or_else(|error: Box<dyn StdError>| {
        if error.downcast_ref().is_some_and(stdout::is_closed) {
            return ExitCode::Other;
        }
        stderr::write_last(format!("payments: the demo could not finish: {error}\n"));
        ExitCode::Other
    })
}

type DemoResult<T = ()> = Result<T, Box<dyn StdError>>;

async fn run_demo(
    sandbox: Sandbox,
    out: &mut dyn Write,
    shape: OutputShape,
    style: Style,
) -> DemoResult<ExitCode> {
    let transport = HyperTransport::builder().build()?;
    let client = |key: &str| -> Result<Client, Error> {
        let endpoint = Endpoint::new(&sandbox.base_url(), ApiKey::new(key)?)?;
        Ok(Client::builder(endpoint, transport.clone(), TokioTimer::new()).build())
    };
    let (client, unauthorized) = (client(&sandbox.api_key())?, client("not_the_key_of_this_sandbox")?);
    let mut demo = Demo { gateway: sandbox.gateway().clone(), steps: Vec::new(), out, shape, style };
    demo.text(&format!(
        "A sandbox of the payment service is listening on {}.\n\
         A client sends it every operation over a real socket. No account, no network, no money.\n",
        sandbox.base_url()
    ))?;

    demo.heading("Payments")?;
    let sale = card(10_50, TransactionType::Sale, test_values::VISA, PAYER)?;
    let sold = demo.call("card sale", &client, &sale, Expected::SALE).await?;
    let auth = card(25_00, TransactionType::Auth, test_values::MASTERCARD, PAYER)?;
    if let Some(id) = demo.call("card authorization", &client, &auth, Expected::AUTHORISATION).await? {
        demo.call("void of that authorization", &client, &void(id), Expected::VOID).await?;
    }
    demo.call("ACH payment", &client, &ach()?, Expected::SALE).await?;
    let approved = token(test_values::TOK_APPROVED)?;
    demo.call("token payment", &client, &approved, Expected::SALE).await?;

    demo.heading("Lookups")?;
    if let Some(id) = sold {
        demo.call("lookup of that card sale", &client, &id, Expected::FOUND).await?;
    }
    let customer = CustomerId::new(test_values::CUSTOMER)?;
    demo.call("lookup of a customer", &client, &customer, Expected::FOUND).await?;

    demo.heading("Every documented error, and a declined card")?;
    demo.call("card sale, wrong API key", &unauthorized, &sale, Expected::refused(401)).await?;
    let payer = Payer { postal_code: test_values::INVALID_POSTAL_CODE, ..PAYER };
    let bad_postal_code = card(10_50, TransactionType::Sale, test_values::VISA, payer)?;
    demo.call("card sale, bad postal code", &client, &bad_postal_code, Expected::refused(400)).await?;
    let removed = token(test_values::TOK_REMOVED)?;
    demo.call("token payment, removed token", &client, &removed, Expected::refused(400)).await?;
    let unknown_id = TransactionId::new("txn_unknown")?;
    demo.call("void, unknown transaction", &client, &void(unknown_id.clone()), Expected::refused(400))
        .await?;
    demo.call("lookup, unknown transaction", &client, &unknown_id, Expected::refused(404)).await?;
    let unknown_customer = CustomerId::new("cus_unknown")?;
    demo.call("lookup, unknown customer", &client, &unknown_customer, Expected::refused(404)).await?;
    let declined = card(99_99, TransactionType::Sale, test_values::DECLINED, PAYER)?;
    demo.call("card sale, declined card", &client, &declined, Expected::DECLINE).await?;

    demo.heading("A charge whose response is lost after the service processed it")?;
    demo.gateway.arm(Fault::response_lost(OperationName::Transaction));
    let lost = card(77_00, TransactionType::Sale, test_values::VISA, PAYER)?;
    demo.call("card sale, response lost", &client, &lost, Expected::LOST_SALE).await?;

    let agrees = demo.compare()?;
    sandbox.shutdown().await?;
    Ok(if agrees { ExitCode::Processed } else { ExitCode::Other })
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

fn void(id: TransactionId) -> Void {
    Void::new(id).reason("ordered twice")
}

/// The expected result of a call. The demo fails if a call has another result.
#[derive(Clone, Copy, Debug)]
struct Expected {
    outcome: &'static str,
    /// If the call is rejected.
    http_status: Option<u16>,
    /// The ledger entry that the call creates or changes.
    entry: Option<(EntryKind, EntryState)>,
}

const UNKNOWN: &str = "UNKNOWN";

impl Expected {
    const SALE: Self = Self::processed(EntryKind::Sale, EntryState::Approved);
    const AUTHORISATION: Self = Self::processed(EntryKind::Authorisation, EntryState::Approved);
    const VOID: Self = Self::processed(EntryKind::Authorisation, EntryState::Voided);
    const FOUND: Self = Self { outcome: "found", http_status: None, entry: None };
    const DECLINE: Self = Self { entry: Some((EntryKind::Sale, EntryState::Declined)), ..Self::refused(200) };
    const LOST_SALE: Self = Self { outcome: UNKNOWN, ..Self::SALE };

    const fn processed(kind: EntryKind, state: EntryState) -> Self {
        Self { outcome: "processed", http_status: None, entry: Some((kind, state)) }
    }

    const fn refused(http_status: u16) -> Self {
        Self { outcome: "rejected", http_status: Some(http_status), entry: None }
    }
}

/// What the SDK returned, without any information from the sandbox.
#[derive(Clone, Debug, Default)]
struct ClientResult {
    outcome: &'static str,
    /// If the call was rejected.
    http_status: Option<u16>,
    /// Of a payment or a void, even if it was declined.
    id: Option<TransactionId>,
    details: String,
    /// What to do about an unknown outcome.
    next_step: Option<String>,
}

impl ClientResult {
    fn processed(id: TransactionId) -> Self {
        Self { outcome: "processed", details: id.to_string(), id: Some(id), ..Self::default() }
    }

    fn found(record: &RawValue) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Record<'a> {
            #[serde(borrow)]
            amount: Option<&'a RawValue>,
            card_number: Option<String>,
            customer_id: Option<String>,
            customer_name: Option<String>,
        }

        let Record { amount, card_number, customer_id, customer_name } = serde_json::from_str(record.get())?;
        let details = match (amount, card_number) {
            (Some(amount), Some(card_number)) => format!("{amount} on card {card_number}"),
            _ => format!("{}: {}", customer_id.unwrap_or_default(), customer_name.unwrap_or_default()),
        };
        Ok(Self { outcome: "found", details, ..Self::default() })
    }

    fn failed(error: &impl CallError) -> Self {
        match error.outcome() {
            FailedOutcome::Invalid | FailedOutcome::NotProcessed => {
                Self { outcome: "not processed", details: error.to_string(), ..Self::default() }
            }
            FailedOutcome::Rejected => {
                let http_status = error.failed_call().http_status().map(|status| status.as_u16());
                let id = error.as_payment().and_then(|error| error.transaction_id()).cloned();
                let mut details = error.failed_call().reason().unwrap_or("no reason given").to_owned();
                if let Some(status) = http_status {
                    details = format!("HTTP {status}: {details}");
                }
                if let Some(id) = &id {
                    details = format!("{details} ({id})");
                }
                Self { outcome: "rejected", http_status, id, details, next_step: None }
            }
            FailedOutcome::Unknown => {
                let details = match error.failed_call().transport_error() {
                    Some(error) => error.kind().description().to_owned(),
                    None => error.to_string(),
                };
                let to_look_up = failure::to_look_up(error);
                let search_by = error.as_payment().and_then(Error::search_by).unwrap_or("time");
                let next_step = failure::after_unknown(to_look_up.as_ref(), search_by);
                Self { outcome: UNKNOWN, details, next_step: Some(next_step), ..Self::default() }
            }
        }
    }

    /// The outcome, padded and coloured.
    fn outcome(&self, style: Style) -> String {
        let tone = match self.outcome {
            "processed" | "found" => Tone::Success,
            UNKNOWN => Tone::Warning,
            _ => Tone::Error,
        };
        style.paint(tone, &format!("{:OUTCOME$}", self.outcome))
    }
}

/// One payment of the sandbox's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    id: TransactionId,
    kind: EntryKind,
    state: EntryState,
    amount: Amount,
}

impl Entry {
    /// Every payment in the ledger, in order.
    fn all(ledger: &Ledger) -> Vec<Self> {
        let payments = ledger.entries().iter().filter(|entry| entry.kind != EntryKind::Void);
        let entry = |entry: &payments_fake::LedgerEntry| Self {
            id: entry.transaction_id().clone(),
            kind: entry.kind,
            state: entry.state,
            amount: entry.amount,
        };
        payments.map(entry).collect()
    }
}

/// One call of the demo: the client's result, and what changed in the sandbox's ledger.
#[derive(Clone, Debug)]
struct Step {
    title: &'static str,
    amount: Option<Amount>,
    moves_money: bool,
    expected: Expected,
    client_result: ClientResult,
    /// How many requests the sandbox received.
    received: usize,
    /// The entries of the ledger that are new or have changed their state.
    changed: Vec<Entry>,
}

impl Step {
    /// Whether the call ended as expected, reached the sandbox exactly once, and the ledger confirms the client's result.
    ///
    /// After an unknown outcome the sandbox may have processed the payment once or not at all, but never twice.
    fn agrees(&self) -> bool {
        let Self { amount, expected, client_result, received, changed, .. } = self;
        let is_confirmed = match changed.as_slice() {
            [] => expected.entry.is_none() || client_result.outcome == UNKNOWN,
            [entry] => {
                expected.entry == Some((entry.kind, entry.state))
                    && amount.is_none_or(|amount| amount == entry.amount)
                    && client_result.id.as_ref().is_none_or(|id| *id == entry.id)
            }
            _ => false,
        };
        (client_result.outcome, client_result.http_status) == (expected.outcome, expected.http_status)
            && is_confirmed
            && *received == 1
    }

    /// What the sandbox did. `now` is its ledger at the end.
    fn sandbox_state(&self, now: &[Entry]) -> String {
        let change = |entry: &Entry| {
            let is_voided_now = now.iter().any(|it| it.id == entry.id && it.state == EntryState::Voided);
            match entry.state {
                EntryState::Voided => format!("{} voided", entry.id),
                EntryState::Approved if is_voided_now => format!("{}, voided later", kind(entry.kind)),
                state => format!("{} {}", kind(entry.kind), state.as_str()),
            }
        };
        if self.changed.is_empty() {
            return if self.moves_money { "nothing charged" } else { "no change" }.to_owned();
        }
        self.changed.iter().map(change).collect::<Vec<_>>().join(" + ")
    }

    fn amount(&self) -> String {
        self.amount.map(|amount| amount.to_string()).unwrap_or_default()
    }
}

fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Authorisation => "authorization",
        kind => kind.as_str(),
    }
}

struct Demo<'a> {
    gateway: FakeGateway,
    steps: Vec<Step>,
    out: &'a mut dyn Write,
    shape: OutputShape,
    style: Style,
}

impl Demo<'_> {
    /// Makes a call, records what it changed in the sandbox's ledger, and shows a line. Returns the id if it was processed.
    async fn call<C: Call>(
        &mut self,
        title: &'static str,
        client: &Client,
        call: &C,
        expected: Expected,
    ) -> DemoResult<Option<TransactionId>> {
        let moves_money = C::PURPOSE == Purpose::MoveMoney;
        // The sandbox's own record, without the network.
        let record = if moves_money { None } else { call.send(&self.gateway.client()).await.ok() };
        let before = Entry::all(&self.gateway.ledger());
        self.gateway.clear_requests();
        let client_result = match call.send(client).await {
            Ok(Processed { effect: Effect::Moved { transaction_id }, .. }) => ClientResult::processed(
                call.facts()
                    .and_then(|facts| facts.transaction_id.cloned())
                    .map_or_else(|| TransactionId::new(transaction_id), Ok)?,
            ),
            Ok(Processed { data, .. }) if record.is_some_and(|record| record.data.get() == data.get()) => {
                ClientResult::found(&data)?
            }
            Ok(_) => ClientResult {
                outcome: "mismatch",
                details: "a record that the sandbox does not have".to_owned(),
                ..ClientResult::default()
            },
            Err(error) => ClientResult::failed(&error),
        };
        let received = self.gateway.requests().len();
        let mut changed = Entry::all(&self.gateway.ledger());
        changed.retain(|entry| !before.contains(entry));
        let step = Step {
            title,
            amount: call.facts().and_then(|facts| facts.amount),
            moves_money,
            expected,
            client_result,
            received,
            changed,
        };
        let (amount, outcome) = (step.amount(), step.client_result.outcome(self.style));
        let details = for_terminal(&step.client_result.details);
        self.text(&format!("  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {details}\n"))?;
        if let Some(next_step) = &step.client_result.next_step {
            for advice in ["it may have been charged: do not send it again", next_step] {
                let advice = self.style.paint(Tone::Warning, advice);
                self.text(&format!("    {advice}\n"))?;
            }
        }
        let id = step.client_result.id.clone().filter(|_| step.client_result.outcome == "processed");
        self.steps.push(step);
        Ok(id)
    }

    /// Shows the client's results next to the ledger, and returns whether they agree for every call.
    fn compare(&mut self) -> io::Result<bool> {
        let ledger = self.gateway.ledger();
        let now = Entry::all(&ledger);
        let steps = std::mem::take(&mut self.steps);
        let count = steps.len();
        let wrong = steps.iter().filter(|step| !step.agrees()).count();
        let known: Vec<_> = steps.iter().flat_map(|step| &step.changed).map(|entry| &entry.id).collect();
        let unaccounted = now.iter().filter(|entry| !known.contains(&&entry.id)).count();
        let agrees = wrong == 0 && unaccounted == 0;
        let total = ledger.charged_total().map(|total| total.to_string());
        if self.shape == OutputShape::Json {
            let call = |step: &Step| {
                json!({
                    "call": step.title,
                    "amount": step.amount.map(|amount| amount.to_string()),
                    "client_said": step.client_result.outcome,
                    "details": step.client_result.details,
                    "sandbox_has": step.sandbox_state(&now),
                    "agree": step.agrees(),
                })
            };
            let document = json!({
                "agree": agrees,
                "unaccounted_payments": unaccounted,
                "charged": total,
                "calls": steps.iter().map(call).collect::<Vec<_>>(),
            });
            writeln!(self.out, "{}", in_json(&document.to_string()))?;
            self.out.flush()?;
            return Ok(agrees);
        }
        self.heading("The client's results and the sandbox's own ledger")?;
        let heading = format!(
            "  {:TITLE$}  {:>AMOUNT$}  {:OUTCOME$}  {:SANDBOX$}  agree",
            "call", "amount", "client", "sandbox"
        );
        self.text(&format!("{}\n", self.style.paint(Tone::Dim, &heading)))?;
        for step in &steps {
            let agrees = match (step.agrees(), step.client_result.outcome) {
                (false, _) => self.style.paint(Tone::Error, "NO"),
                (true, UNKNOWN) => self.style.paint(Tone::Success, "yes: cannot know"),
                (true, _) => self.style.paint(Tone::Success, "yes"),
            };
            let (title, amount, sandbox_state) = (step.title, step.amount(), step.sandbox_state(&now));
            let outcome = step.client_result.outcome(self.style);
            self.text(&format!(
                "  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {sandbox_state:SANDBOX$}  {agrees}\n"
            ))?;
        }
        for step in steps.iter().filter(|step| step.client_result.outcome == UNKNOWN) {
            let ledger = match step.changed.as_slice() {
                [] => "The ledger shows that nothing was charged.".to_owned(),
                [Entry { kind, amount, id, .. }] => format!(
                    "The ledger has the {} of {amount} as {id}: sending it again would have charged twice.",
                    self::kind(*kind)
                ),
                _ => "The ledger has it more than once.".to_owned(),
            };
            let title = step.title;
            self.text(&format!(
                "\n{title}: without a response the client cannot know the outcome.\n{ledger}\n"
            ))?;
        }
        let mut disagreements = Vec::new();
        if wrong > 0 {
            disagreements.push(format!("They disagree on {wrong} of {count} calls."));
        }
        if unaccounted > 0 {
            let payments = counted(unaccounted as u64, "payment");
            disagreements.push(format!("The ledger has {payments} that no call accounts for."));
        }
        if !agrees {
            let disagreements = self.style.paint(Tone::Error, &disagreements.join("\n"));
            self.text(&format!("\n{disagreements}\n"))?;
            return Ok(false);
        }
        let agreement = self.style.paint(Tone::Success, &format!("They agree on all {count} calls."));
        let (charged, total) = (ledger.charged().count(), total.as_deref().unwrap_or("too much to count"));
        self.text(&format!(
            "\n{agreement}\n\
             Each reached the sandbox exactly once. {charged} payments were charged, {total} in total.\n\
             Next: `payments sandbox` runs the same service for your own programs.\n"
        ))?;
        Ok(true)
    }

    fn heading(&mut self, title: &str) -> io::Result<()> {
        let title = self.style.paint(Tone::Heading, title);
        self.text(&format!("\n{title}\n"))
    }

    /// Flushed at once, because a person is watching.
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
const SANDBOX: usize = 27;

#[cfg(test)]
mod tests {
    use super::*;

    async fn demo(sandbox: Sandbox) -> (ExitCode, String) {
        let mut out = Vec::new();
        let exit_code = run_demo(sandbox, &mut out, OutputShape::Text, Style::Plain).await.unwrap();
        (exit_code, String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn client_and_sandbox_agree() {
        let (exit_code, text) = demo(Sandbox::start().await.unwrap()).await;
        assert_eq!(exit_code, ExitCode::Processed, "{text}");
        assert!(text.contains("They agree on all 15 calls."), "{text}");
    }

    #[tokio::test]
    async fn unexpected_result_fails_the_demo() {
        let sandbox = Sandbox::start().await.unwrap();
        sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
        let (exit_code, text) = demo(sandbox).await;
        assert_eq!(exit_code, ExitCode::Other, "{text}");
        assert!(text.contains("They disagree on 1 of 15 calls."), "{text}");
    }

    #[tokio::test]
    async fn unaccounted_payment_fails_the_demo() {
        let sandbox = Sandbox::start().await.unwrap();
        let payment =
            TokenTransaction::builder("tok_approved", Amount::from_cents(1), ConvenienceFee::Inactive);
        sandbox.gateway().client().process_token(&payment.build().unwrap()).await.unwrap();
        let (exit_code, text) = demo(sandbox).await;
        assert_eq!(exit_code, ExitCode::Other, "{text}");
        assert!(text.contains("The ledger has 1 payment that no call accounts for."), "{text}");
    }

    const AMOUNT: Amount = Amount::from_cents(10_50);

    fn id(text: &str) -> TransactionId {
        TransactionId::new(text).unwrap()
    }

    fn entry(text: &str, state: EntryState) -> Entry {
        Entry { id: id(text), kind: EntryKind::Sale, state, amount: AMOUNT }
    }

    fn approved(text: &str) -> Entry {
        entry(text, EntryState::Approved)
    }

    fn sale(expected: Expected, client_result: ClientResult, changed: Vec<Entry>) -> Step {
        Step {
            title: "sale",
            amount: Some(AMOUNT),
            moves_money: true,
            expected,
            client_result,
            received: 1,
            changed,
        }
    }

    fn paid(changed: Vec<Entry>) -> Step {
        sale(Expected::SALE, ClientResult::processed(id("txn_1")), changed)
    }

    #[test]
    fn payment_agrees_only_with_its_own_charge() {
        assert!(paid(vec![approved("txn_1")]).agrees());
        assert!(!paid(vec![]).agrees(), "not charged at all");
        assert!(!paid(vec![approved("txn_2")]).agrees(), "another id");
        assert!(!paid(vec![entry("txn_1", EntryState::Declined)]).agrees());
        assert!(!paid(vec![approved("txn_1"), approved("txn_2")]).agrees(), "charged twice");
        let other_amount = Entry { amount: Amount::from_cents(10_51), ..approved("txn_1") };
        assert!(!paid(vec![other_amount]).agrees());
        let only_authorized = Entry { kind: EntryKind::Authorisation, ..approved("txn_1") };
        assert!(!paid(vec![only_authorized]).agrees());
    }

    #[test]
    fn call_received_twice_or_never_does_not_agree() {
        for received in [0, 2] {
            assert!(!Step { received, ..paid(vec![approved("txn_1")]) }.agrees(), "{received}");
        }
    }

    #[test]
    fn refusal_agrees_with_no_charge_and_decline_with_its_own_payment() {
        let refused = |expected: Expected, id, changed| {
            let client_result =
                ClientResult { outcome: "rejected", http_status: Some(200), id, ..ClientResult::default() };
            sale(expected, client_result, changed)
        };
        assert!(refused(Expected::refused(200), None, vec![]).agrees());
        let declined = |id, changed| refused(Expected::DECLINE, id, changed);
        assert!(declined(Some(id("txn_1")), vec![entry("txn_1", EntryState::Declined)]).agrees());
        assert!(!declined(Some(id("txn_1")), vec![entry("txn_2", EntryState::Declined)]).agrees());
        for expected in [Expected::DECLINE, Expected::refused(200)] {
            assert!(!refused(expected, None, vec![approved("txn_1")]).agrees(), "charged after all");
        }
        let other_status = refused(Expected::refused(401), None, vec![]);
        assert!(!other_status.agrees(), "not the expected refusal");
    }

    #[test]
    fn unknown_outcome_agrees_with_at_most_one_charge() {
        let unknown = |changed| {
            sale(Expected::LOST_SALE, ClientResult { outcome: UNKNOWN, ..ClientResult::default() }, changed)
        };
        assert!(unknown(vec![]).agrees());
        assert!(unknown(vec![approved("txn_1")]).agrees());
        assert!(!unknown(vec![approved("txn_1"), approved("txn_2")]).agrees());
    }

    #[test]
    fn not_processed_is_not_an_expected_result() {
        let client_result = ClientResult { outcome: "not processed", ..ClientResult::default() };
        assert!(!sale(Expected::LOST_SALE, client_result.clone(), vec![]).agrees());
        assert!(!sale(Expected::LOST_SALE, client_result, vec![approved("txn_1")]).agrees());
    }

    #[test]
    fn void_agrees_only_with_the_void_of_its_transaction() {
        let void = |voided: &[&str]| {
            let voided = voided
                .iter()
                .map(|id| Entry { kind: EntryKind::Authorisation, ..entry(id, EntryState::Voided) });
            let void = sale(Expected::VOID, ClientResult::processed(id("txn_1")), voided.collect());
            Step { amount: None, ..void }
        };
        assert!(void(&["txn_1"]).agrees());
        assert!(!void(&["txn_2"]).agrees());
        assert!(!void(&[]).agrees());
    }

    #[test]
    fn lookup_agrees_only_with_an_unchanged_ledger() {
        let lookup = |outcome, changed| {
            let lookup = sale(Expected::FOUND, ClientResult { outcome, ..ClientResult::default() }, changed);
            Step { amount: None, moves_money: false, ..lookup }
        };
        assert!(lookup("found", vec![]).agrees());
        assert!(!lookup("mismatch", vec![]).agrees());
        assert!(!lookup("found", vec![approved("txn_1")]).agrees());
    }
}
