//! `payments demo`: every operation and every documented error, and the client's word beside the sandbox's ledger.

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
    let transport = HyperTransport::builder().build()?;
    let client = |key: &str| -> Result<Client, Error> {
        let endpoint = Endpoint::new(&sandbox.base_url(), ApiKey::new(key)?)?;
        Ok(Client::builder(endpoint, transport.clone(), TokioTimer::new()).build())
    };
    let (client, stranger) = (client(&sandbox.api_key())?, client("not_the_key_of_this_sandbox")?);
    let mut demo = Demo { gateway: sandbox.gateway().clone(), steps: Vec::new(), out, shape, style };
    demo.text(&format!(
        "A sandbox of the payment service listens on {},\n\
         and a client sends it every operation over a real socket. No account, no network, no money.\n",
        sandbox.base_url()
    ))?;

    demo.chapter("Payments")?;
    let sale = card(10_50, TransactionType::Sale, test_values::VISA, PAYER)?;
    let sold = demo.call("card sale", &client, &sale, Expected::SALE).await?;
    let auth = card(25_00, TransactionType::Auth, test_values::MASTERCARD, PAYER)?;
    if let Some(id) = demo.call("card authorisation", &client, &auth, Expected::AUTHORISATION).await? {
        demo.call("void of that authorisation", &client, &void(id), Expected::VOID).await?;
    }
    demo.call("ACH payment", &client, &ach()?, Expected::SALE).await?;
    let approved = token(test_values::TOK_APPROVED)?;
    demo.call("token payment", &client, &approved, Expected::SALE).await?;

    demo.chapter("Look-ups")?;
    if let Some(id) = sold {
        demo.call("look-up of that card sale", &client, &id, Expected::FOUND).await?;
    }
    let customer = CustomerId::new(test_values::CUSTOMER)?;
    demo.call("look-up of a customer", &client, &customer, Expected::FOUND).await?;

    demo.chapter("Every documented error, and a declined card")?;
    demo.call("card sale, wrong API key", &stranger, &sale, Expected::refused(401)).await?;
    let elsewhere = Payer { postal_code: test_values::INVALID_POSTAL_CODE, ..PAYER };
    let elsewhere = card(10_50, TransactionType::Sale, test_values::VISA, elsewhere)?;
    demo.call("card sale, bad postal code", &client, &elsewhere, Expected::refused(400)).await?;
    let removed = token(test_values::TOK_REMOVED)?;
    demo.call("token payment, removed token", &client, &removed, Expected::refused(400)).await?;
    let nobodys = TransactionId::new("txn_nobody_has")?;
    demo.call("void, unknown transaction", &client, &void(nobodys.clone()), Expected::refused(400)).await?;
    demo.call("look-up, unknown transaction", &client, &nobodys, Expected::refused(404)).await?;
    let nobody = CustomerId::new("cus_nobody_is")?;
    demo.call("look-up, unknown customer", &client, &nobody, Expected::refused(404)).await?;
    let declined = card(99_99, TransactionType::Sale, test_values::DECLINED, PAYER)?;
    demo.call("card sale, declined card", &client, &declined, Expected::DECLINE).await?;

    demo.chapter("A charge whose answer is lost after the service made it")?;
    demo.gateway.arm(Fault::response_lost(OperationName::Transaction));
    let lost = card(77_00, TransactionType::Sale, test_values::VISA, PAYER)?;
    demo.call("card sale, answer lost", &client, &lost, Expected::LOST_SALE).await?;

    let agrees = demo.compare()?;
    sandbox.shutdown().await?;
    Ok(if agrees { ExitCode::Processed } else { ExitCode::Other })
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

/// How a call is meant to end; a demonstration that shows something else has failed too.
#[derive(Clone, Copy, Debug)]
struct Expected {
    outcome: &'static str,
    /// Of a refusal.
    http_status: Option<u16>,
    /// The one entry of the ledger that the call makes or changes.
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

/// What the SDK returned. Made from that alone, never from the sandbox.
#[derive(Clone, Debug, Default)]
struct Said {
    outcome: &'static str,
    /// Of a refusal.
    http_status: Option<u16>,
    /// Of a payment or a void, a declined one too.
    id: Option<TransactionId>,
    details: String,
    /// What a person does about an unknown outcome.
    next_step: Option<String>,
}

impl Said {
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
        match error.failed_outcome() {
            FailedOutcome::Invalid | FailedOutcome::NotProcessed => {
                Self { outcome: "not processed", details: error.to_string(), ..Self::default() }
            }
            FailedOutcome::Rejected => {
                let http_status = error.http_status().map(|status| status.as_u16());
                let id = error.transaction_id().cloned();
                let mut details = error.reason().unwrap_or("no reason given").to_owned();
                if let Some(status) = http_status {
                    details = format!("HTTP {status}: {details}");
                }
                if let Some(id) = &id {
                    details = format!("{details} ({id})");
                }
                Self { outcome: "rejected", http_status, id, details, next_step: None }
            }
            FailedOutcome::Unknown => {
                let details = match error.transport_error() {
                    Some(error) => error.kind().description().to_owned(),
                    None => error.to_string(),
                };
                let to_look_up = failure::to_look_up(error);
                let next_step =
                    failure::after_unknown(to_look_up.as_ref(), error.search_by().unwrap_or("time"));
                Self { outcome: UNKNOWN, details, next_step: Some(next_step), ..Self::default() }
            }
        }
    }

    /// The outcome, padded and in its tone.
    fn outcome(&self, style: Style) -> String {
        let tone = match self.outcome {
            "processed" | "found" => Tone::Good,
            UNKNOWN => Tone::Doubtful,
            _ => Tone::Bad,
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
    /// Every payment of the ledger, in its order.
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

/// One call of the demonstration: what the client said of it, and what it changed in the sandbox's ledger.
#[derive(Clone, Debug)]
struct Step {
    title: &'static str,
    amount: Option<Amount>,
    moves_money: bool,
    expected: Expected,
    said: Said,
    /// How many requests the sandbox received.
    received: usize,
    /// What is new in the ledger, or in another state than before.
    changed: Vec<Entry>,
}

impl Step {
    /// Whether the call ended as expected, reached the sandbox exactly once, and the ledger confirms what the client said.
    ///
    /// After an unknown outcome the sandbox may have done what was asked or not, but never twice.
    fn agrees(&self) -> bool {
        let Self { amount, expected, said, received, changed, .. } = self;
        let is_confirmed = match changed.as_slice() {
            [] => expected.entry.is_none() || said.outcome == UNKNOWN,
            [entry] => {
                expected.entry == Some((entry.kind, entry.state))
                    && amount.is_none_or(|amount| amount == entry.amount)
                    && said.id.as_ref().is_none_or(|id| *id == entry.id)
            }
            _ => false,
        };
        (said.outcome, said.http_status) == (expected.outcome, expected.http_status)
            && is_confirmed
            && *received == 1
    }

    /// What the sandbox did; `now` is its ledger at the end.
    fn truth(&self, now: &[Entry]) -> String {
        let change = |entry: &Entry| {
            let is_voided_now = now.iter().any(|it| it.id == entry.id && it.state == EntryState::Voided);
            match entry.state {
                EntryState::Voided => format!("{} voided", entry.id),
                EntryState::Approved if is_voided_now => format!("{}, voided later", entry.kind.as_str()),
                state => format!("{} {}", entry.kind.as_str(), state.as_str()),
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

struct Demo<'a> {
    gateway: FakeGateway,
    steps: Vec<Step>,
    out: &'a mut dyn Write,
    shape: OutputShape,
    style: Style,
}

impl Demo<'_> {
    /// Makes one call, keeps what it changed in the sandbox's ledger, and shows the line. Returns the id of what was
    /// processed.
    async fn call<C: Call>(
        &mut self,
        title: &'static str,
        client: &Client,
        call: &C,
        expected: Expected,
    ) -> Played<Option<TransactionId>> {
        let moves_money = C::PURPOSE == Purpose::MoveMoney;
        // What the sandbox has on record, asked past the network.
        let truth = if moves_money { None } else { call.send(&self.gateway.client()).await.ok() };
        let before = Entry::all(&self.gateway.ledger());
        self.gateway.clear_requests();
        let said = match call.send(client).await {
            Ok(Processed { effect: Effect::Moved { transaction_id }, .. }) => Said::processed(
                call.transaction().cloned().map_or_else(|| TransactionId::new(transaction_id), Ok)?,
            ),
            Ok(Processed { data, .. }) if truth.is_some_and(|truth| truth.data.get() == data.get()) => {
                Said::found(&data)?
            }
            Ok(_) => Said {
                outcome: "misled",
                details: "a record that the sandbox does not have".to_owned(),
                ..Said::default()
            },
            Err(error) => Said::failed(&error),
        };
        let received = self.gateway.requests().len();
        let mut changed = Entry::all(&self.gateway.ledger());
        changed.retain(|entry| !before.contains(entry));
        let step = Step { title, amount: call.amount(), moves_money, expected, said, received, changed };
        let (amount, outcome) = (step.amount(), step.said.outcome(self.style));
        let details = for_terminal(&step.said.details);
        self.text(&format!("  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {details}\n"))?;
        if let Some(next_step) = &step.said.next_step {
            for advice in ["it may have been charged: do not send it again", next_step] {
                let advice = self.style.paint(Tone::Doubtful, advice);
                self.text(&format!("    {advice}\n"))?;
            }
        }
        let id = step.said.id.clone().filter(|_| step.said.outcome == "processed");
        self.steps.push(step);
        Ok(id)
    }

    /// Shows what the client said beside the ledger, and returns whether they agree everywhere.
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
                    "client_said": step.said.outcome,
                    "details": step.said.details,
                    "sandbox_has": step.truth(&now),
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
        self.chapter("What the client believed, beside what the sandbox's own ledger says")?;
        let heading = format!(
            "  {:TITLE$}  {:>AMOUNT$}  {:OUTCOME$}  {:TRUTH$}  agree",
            "call", "amount", "client said", "sandbox has"
        );
        self.text(&format!("{}\n", self.style.paint(Tone::Faint, &heading)))?;
        for step in &steps {
            let verdict = match (step.agrees(), step.said.outcome) {
                (false, _) => self.style.paint(Tone::Bad, "NO"),
                (true, UNKNOWN) => self.style.paint(Tone::Good, "yes: cannot know"),
                (true, _) => self.style.paint(Tone::Good, "yes"),
            };
            let (title, amount, truth) = (step.title, step.amount(), step.truth(&now));
            let outcome = step.said.outcome(self.style);
            self.text(&format!(
                "  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {truth:TRUTH$}  {verdict}\n"
            ))?;
        }
        for step in steps.iter().filter(|step| step.said.outcome == UNKNOWN) {
            let ledger = match step.changed.as_slice() {
                [] => "The ledger shows that nothing was charged.".to_owned(),
                [Entry { kind, amount, id, .. }] => format!(
                    "The ledger shows the {} of {amount} as {id}: a second try would have charged twice.",
                    kind.as_str()
                ),
                _ => "The ledger shows it more than once.".to_owned(),
            };
            let title = step.title;
            self.text(&format!(
                "\n{title}: without an answer the client rightly does not know.\n{ledger}\n"
            ))?;
        }
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

    fn chapter(&mut self, title: &str) -> io::Result<()> {
        let title = self.style.paint(Tone::Heading, title);
        self.text(&format!("\n{title}\n"))
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

    fn sale(expected: Expected, said: Said, changed: Vec<Entry>) -> Step {
        Step { title: "sale", amount: Some(AMOUNT), moves_money: true, expected, said, received: 1, changed }
    }

    fn paid(changed: Vec<Entry>) -> Step {
        sale(Expected::SALE, Said::processed(id("txn_1")), changed)
    }

    #[test]
    fn a_payment_agrees_with_exactly_its_own_charge() {
        assert!(paid(vec![approved("txn_1")]).agrees());
        assert!(!paid(vec![]).agrees(), "not charged at all");
        assert!(!paid(vec![approved("txn_2")]).agrees(), "another id");
        assert!(!paid(vec![entry("txn_1", EntryState::Declined)]).agrees());
        assert!(!paid(vec![approved("txn_1"), approved("txn_2")]).agrees(), "charged twice");
        let other_amount = Entry { amount: Amount::from_cents(10_51), ..approved("txn_1") };
        assert!(!paid(vec![other_amount]).agrees());
        let only_held = Entry { kind: EntryKind::Authorisation, ..approved("txn_1") };
        assert!(!paid(vec![only_held]).agrees());
    }

    #[test]
    fn a_call_that_arrives_twice_or_never_agrees_with_nothing() {
        for received in [0, 2] {
            assert!(!Step { received, ..paid(vec![approved("txn_1")]) }.agrees(), "{received}");
        }
    }

    #[test]
    fn a_refusal_agrees_with_nothing_and_a_decline_with_its_own_payment() {
        let refused = |expected: Expected, id, changed| {
            let said = Said { outcome: "rejected", http_status: Some(200), id, ..Said::default() };
            sale(expected, said, changed)
        };
        assert!(refused(Expected::refused(200), None, vec![]).agrees());
        let declined = |id, changed| refused(Expected::DECLINE, id, changed);
        assert!(declined(Some(id("txn_1")), vec![entry("txn_1", EntryState::Declined)]).agrees());
        assert!(!declined(Some(id("txn_1")), vec![entry("txn_2", EntryState::Declined)]).agrees());
        for expected in [Expected::DECLINE, Expected::refused(200)] {
            assert!(!refused(expected, None, vec![approved("txn_1")]).agrees(), "charged after all");
        }
        let other_status = refused(Expected::refused(401), None, vec![]);
        assert!(!other_status.agrees(), "not what the demonstration is to show");
    }

    #[test]
    fn an_unknown_outcome_agrees_with_one_charge_or_none_and_never_with_two() {
        let unknown =
            |changed| sale(Expected::LOST_SALE, Said { outcome: UNKNOWN, ..Said::default() }, changed);
        assert!(unknown(vec![]).agrees());
        assert!(unknown(vec![approved("txn_1")]).agrees());
        assert!(!unknown(vec![approved("txn_1"), approved("txn_2")]).agrees());
    }

    #[test]
    fn what_was_not_processed_is_not_what_the_demonstration_is_to_show() {
        let said = Said { outcome: "not processed", ..Said::default() };
        assert!(!sale(Expected::LOST_SALE, said.clone(), vec![]).agrees());
        assert!(!sale(Expected::LOST_SALE, said, vec![approved("txn_1")]).agrees());
    }

    #[test]
    fn a_void_agrees_with_the_void_of_that_transaction() {
        let void = |voided: &[&str]| {
            let voided = voided
                .iter()
                .map(|id| Entry { kind: EntryKind::Authorisation, ..entry(id, EntryState::Voided) });
            let void = sale(Expected::VOID, Said::processed(id("txn_1")), voided.collect());
            Step { amount: None, ..void }
        };
        assert!(void(&["txn_1"]).agrees());
        assert!(!void(&["txn_2"]).agrees());
        assert!(!void(&[]).agrees());
    }

    #[test]
    fn a_lookup_agrees_with_a_ledger_that_it_left_alone() {
        let look = |outcome, changed| {
            let look = sale(Expected::FOUND, Said { outcome, ..Said::default() }, changed);
            Step { amount: None, moves_money: false, ..look }
        };
        assert!(look("found", vec![]).agrees());
        assert!(!look("misled", vec![]).agrees());
        assert!(!look("found", vec![approved("txn_1")]).agrees());
    }
}
