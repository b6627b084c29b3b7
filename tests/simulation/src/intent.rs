use std::sync::Arc;
use std::time::Duration;

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, Payer, TokenTransaction,
    TransactionId, TransactionRecord, TransactionType, Void,
};
use payments_core::{Client, Error, FailedCall, LookupError, OperationName, Success};
use payments_fake::test_values::{TEST_VALUES, TestEffect, TestField};

use crate::Ending;
use crate::plan::pick;
use crate::shared::CallResult;

/// A payment, void or lookup that a caller wants once, over one or more calls.
pub(crate) struct Intent {
    pub(crate) request: Arc<Request>,
    /// The kind of request, for the trace.
    pub(crate) what: &'static str,
    /// The amount, if it is a payment.
    pub(crate) cents: Option<i64>,
    /// The tenant whose key the caller has, or `UNKNOWN_TENANT`.
    pub(crate) tenant: usize,
    pub(crate) calls: Vec<usize>,
    /// How many calls have not ended.
    pub(crate) live: u32,
    /// How many charges or voids the ledger shows for it.
    pub(crate) effects: u32,
    /// Its id in the ledger.
    pub(crate) id: Option<String>,
}

/// A request to the service.
pub(crate) enum Request {
    Card(CardTransaction),
    Ach(AchTransaction),
    Token(TokenTransaction),
    Void(Void),
    Transaction(TransactionId),
    Customer(CustomerId),
}

/// The ids and tokens that callers can use in requests.
#[derive(Default)]
pub(crate) struct KnownIds {
    /// Every transaction, with its tenant.
    pub(crate) transactions: Vec<(usize, TransactionId)>,
    /// The authorisations among them.
    pub(crate) authorisations: Vec<(usize, TransactionId)>,
    /// Tokens that payments created.
    pub(crate) tokens: Vec<(usize, String)>,
}

/// The tenant of the key that the service does not know.
pub(crate) const UNKNOWN_TENANT: usize = 2;

/// The prefix of a void's reason, before the number of its intent.
pub(crate) const VOID_REASON: &str = "intent-";

/// The amounts of intent `n` are `(n + 1) * STRIDE` cents plus a random rest, so that an amount identifies its intent.
const STRIDE: i64 = 1_000;

/// The intent that an amount identifies.
pub(crate) fn number_of(amount: Amount) -> Option<usize> {
    usize::try_from(amount.to_cents()? / STRIDE - 1).ok()
}

impl Intent {
    /// Draws the intent with this number. Its amount or reason contains the number.
    pub(crate) fn draw(rng: &mut fastrand::Rng, number: usize, known: &KnownIds) -> Self {
        let tenant = if rng.u8(..14) == 0 { UNKNOWN_TENANT } else { rng.usize(..UNKNOWN_TENANT) };
        let ((request, what), amount) = match rng.u8(..100) {
            0..30 => draw_card(rng, number),
            30..36 => draw_ach(rng, number),
            36..51 => draw_token(rng, number, tenant, known),
            51..65 => (draw_void(rng, number, tenant, known), None),
            65..82 => (draw_transaction(rng, tenant, known), None),
            _ => (draw_customer(rng), None),
        };
        let cents = amount.and_then(Amount::to_cents);
        Self {
            request: Arc::new(request),
            what,
            cents,
            tenant,
            calls: Vec::new(),
            live: 0,
            effects: 0,
            id: None,
        }
    }

    /// Whether it is a payment.
    pub(crate) fn is_charge(&self) -> bool {
        matches!(self.request.operation(), OperationName::Transaction | OperationName::TokenTransaction)
    }
}

impl Request {
    pub(crate) fn operation(&self) -> OperationName {
        match self {
            Self::Card(_) | Self::Ach(_) => OperationName::Transaction,
            Self::Token(_) => OperationName::TokenTransaction,
            Self::Void(_) => OperationName::Void,
            Self::Transaction(_) => OperationName::GetTransaction,
            Self::Customer(_) => OperationName::GetCustomer,
        }
    }

    /// The id in the request.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Void(void) => Some(void.transaction_id().as_str()),
            Self::Transaction(id) => Some(id.as_str()),
            Self::Customer(id) => Some(id.as_str()),
            Self::Card(_) | Self::Ach(_) | Self::Token(_) => None,
        }
    }

    /// Whether its id is not valid in a path, so that no request can be built.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Transaction(id) => id.path_segment().is_err(),
            Self::Customer(id) => id.path_segment().is_err(),
            _ => false,
        }
    }

    /// Makes the call.
    pub(crate) async fn call(&self, client: &Client) -> CallResult {
        let of_record = |record: &TransactionRecord| {
            (record.transaction_id.to_string(), record.base_amount.value().copied())
        };
        match self {
            Self::Card(payment) => end(client.process_card(payment).await, of_record),
            Self::Ach(payment) => end(client.process_ach(payment).await, of_record),
            Self::Token(payment) => {
                end(client.process_token(payment).await, |receipt| (receipt.transaction_id.to_string(), None))
            }
            Self::Void(void) => end(client.void(void).await, |receipt| (receipt.voided.to_string(), None)),
            Self::Transaction(id) => end(client.transaction(id).await, of_record),
            Self::Customer(id) => end(client.customer(id).await, |record| {
                (record.customer_id.value().map(ToString::to_string).unwrap_or_default(), None)
            }),
        }
    }
}

fn end<T, E: Into<CallResult>>(
    result: Result<Success<T>, E>,
    read: impl FnOnce(&T) -> (String, Option<Amount>),
) -> CallResult {
    result.map_or_else(Into::into, |success| {
        let (id, amount) = read(success.data());
        let cents = amount.and_then(Amount::to_cents);
        CallResult { ending: Ending::Succeeded, kind: "", id: Some(id), cents }
    })
}

impl From<Error> for CallResult {
    fn from(error: Error) -> Self {
        Self::without_id(error.outcome().into(), word(error.failed_call()))
    }
}

impl From<LookupError> for CallResult {
    fn from(error: LookupError) -> Self {
        let call = error.failed_call();
        let ending = if call.refused_by().is_some() { Ending::Rejected } else { Ending::NotProcessed };
        Self::without_id(ending, word(call))
    }
}

/// What the transport reported, or else the kind.
fn word(call: &FailedCall) -> &'static str {
    call.transport_error().map_or_else(|| call.kind().as_str(), |error| error.kind().as_str())
}

/// A payment's request, its kind for the trace, and its amount.
type Payment = ((Request, &'static str), Option<Amount>);

fn draw_amount(rng: &mut fastrand::Rng, number: usize) -> Amount {
    let number = i64::try_from(number).expect("a world holds few intents");
    Amount::from_cents((number + 1) * STRIDE + rng.i64(0..STRIDE))
}

fn draw_type(rng: &mut fastrand::Rng) -> TransactionType {
    pick(
        rng,
        &[
            TransactionType::Sale,
            TransactionType::Auth,
            TransactionType::Auth,
            TransactionType::GatewayDefault,
        ],
    )
}

fn draw_fee(rng: &mut fastrand::Rng) -> ConvenienceFee {
    pick(rng, &[ConvenienceFee::Active, ConvenienceFee::Inactive])
}

fn payer(postal_code: &str) -> Payer<'_> {
    Payer {
        customer_name: "A. Payer",
        email: "payer@example.com",
        country_code: "+44",
        phone_number: "555 0100",
        country: "GB",
        postal_code,
        ip_address: "203.0.113.7",
    }
}

fn draw_postal_code(rng: &mut fastrand::Rng) -> (&'static str, bool) {
    if rng.u8(..8) == 0 {
        (payments_fake::test_values::INVALID_POSTAL_CODE, true)
    } else {
        ("SW1A 1AA", false)
    }
}

fn draw_card(rng: &mut fastrand::Rng, number: usize) -> Payment {
    let is_declined = rng.u8(..6) == 0;
    let cards = TEST_VALUES.iter().filter(|row| row.field == TestField::CardNumber);
    let cards = cards.filter(|row| match row.effect {
        TestEffect::Declines => is_declined,
        TestEffect::Approves | TestEffect::DeclinesAsToken => !is_declined,
        _ => false,
    });
    let cards: Vec<_> = cards.collect();
    let card = pick(rng, &cards).value;
    // American Express has four digits there.
    let cvv = if card.starts_with("34") || card.starts_with("37") { "1234" } else { "123" };
    let (postal_code, is_invalid) = draw_postal_code(rng);
    let amount = draw_amount(rng, number);
    let payment = CardTransaction::builder(
        amount,
        draw_type(rng),
        draw_fee(rng),
        Card { number: card, cvv, expiry: "12/31" },
        payer(postal_code),
    );
    let payment = payment.payment_tokenization(rng.bool()).build().expect("every part of it is valid");
    let what = match (is_declined, is_invalid) {
        (true, _) => "a card that is declined",
        (false, true) => "a card with a rejected postal code",
        (false, false) => "a card that is approved",
    };
    ((Request::Card(payment), what), Some(amount))
}

fn draw_ach(rng: &mut fastrand::Rng, number: usize) -> Payment {
    let (postal_code, is_invalid) = draw_postal_code(rng);
    let amount = draw_amount(rng, number);
    let payment = AchTransaction::builder(amount, draw_type(rng), draw_fee(rng), payer(postal_code))
        .account_field("RoutingNumber", "021000021")
        .account_field("AccountNumber", "000123456789")
        .build()
        .expect("every part of it is valid");
    let what = if is_invalid { "an account with a rejected postal code" } else { "an account" };
    ((Request::Ach(payment), what), Some(amount))
}

fn draw_token(rng: &mut fastrand::Rng, number: usize, tenant: usize, known: &KnownIds) -> Payment {
    let created: Vec<_> = of_tenant(&known.tokens, tenant);
    let (token, what) = match rng.u8(..10) {
        0..5 if !created.is_empty() => {
            (created[rng.usize(..created.len())].as_str(), "a token created by a payment")
        }
        0..=6 => ("tok_approved", "a token that is approved"),
        7 => ("tok_then_declined", "a token that is approved twice"),
        8 => ("tok_declined", "a token that is declined"),
        _ => ("tok_nobody_has", "a token that does not exist"),
    };
    let reference = format!("order-{number}");
    let amount = draw_amount(rng, number);
    let payment = TokenTransaction::builder(token, amount, draw_fee(rng))
        .reference_no(reference)
        .build()
        .expect("every part of it is valid");
    ((Request::Token(payment), what), Some(amount))
}

fn draw_void(
    rng: &mut fastrand::Rng,
    number: usize,
    tenant: usize,
    known: &KnownIds,
) -> (Request, &'static str) {
    let held: Vec<_> = of_tenant(&known.authorisations, tenant);
    let (id, what) = match rng.u8(..10) {
        // Most often one of the newest, which are not voided yet.
        0..8 if !held.is_empty() => {
            let newest = held.len().saturating_sub(4);
            (held[rng.usize(newest..held.len())].clone(), "an authorisation")
        }
        0..9 if !known.transactions.is_empty() => (
            known.transactions[rng.usize(..known.transactions.len())].1.clone(),
            "a transaction of any tenant",
        ),
        _ => (unknown_id(), "a transaction that does not exist"),
    };
    (
        Request::Void(Void::new(id).with_reason(format!("{VOID_REASON}{number}")).expect("a short reason")),
        what,
    )
}

fn draw_transaction(rng: &mut fastrand::Rng, tenant: usize, known: &KnownIds) -> (Request, &'static str) {
    let own: Vec<_> = of_tenant(&known.transactions, tenant);
    let (id, what) = match rng.u8(..20) {
        0..11 if !own.is_empty() => (own[rng.usize(..own.len())].clone(), "a transaction of the tenant"),
        0..14 if !known.transactions.is_empty() => (
            known.transactions[rng.usize(..known.transactions.len())].1.clone(),
            "a transaction of any tenant",
        ),
        0..19 => (unknown_id(), "a transaction that does not exist"),
        _ => (
            TransactionId::from_response("no/../path").expect("it is not empty"),
            "an id that is not valid in a path",
        ),
    };
    (Request::Transaction(id), what)
}

fn draw_customer(rng: &mut fastrand::Rng) -> (Request, &'static str) {
    let (id, what) = match rng.u8(..20) {
        0..11 => (payments_fake::test_values::CUSTOMER, "the customer that is always there"),
        11..19 => ("cus_nobody", "a customer that does not exist"),
        _ => ("no/../path", "an id that is not valid in a path"),
    };
    (Request::Customer(CustomerId::from_response(id).expect("it is not empty")), what)
}

fn of_tenant<T>(all: &[(usize, T)], tenant: usize) -> Vec<&T> {
    // Searching all of them would make a long world slow, and the newest are enough.
    all.iter().rev().take(40).rev().filter(|(own, _)| *own == tenant).map(|(_, item)| item).collect()
}

fn unknown_id() -> TransactionId {
    TransactionId::new("txn_nobody_has").expect("it is a valid id")
}

/// Draws a deadline and the number of lookup retries.
pub(crate) fn draw_options(rng: &mut fastrand::Rng) -> (Duration, u32) {
    (Duration::from_millis(pick(rng, &[120, 2_000, 30_000, 60_000])), pick(rng, &[0, 1, 2, 3, 3]))
}
