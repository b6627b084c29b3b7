use std::sync::Arc;
use std::time::Duration;

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, Payer, TokenTransaction,
    TransactionId, TransactionType, Void,
};
use payments_core::{Client, Error, LookupError, OperationName, Success};
use payments_fake::test_values::{TEST_VALUES, TestEffect, TestField};

use crate::Ending;
use crate::plan::pick;
use crate::stage::CallEnd;

/// Something that a caller wants done once, however many calls it takes.
pub(crate) struct Intent {
    pub(crate) asked: Arc<Asked>,
    /// What kind of request it is, for the story.
    pub(crate) what: &'static str,
    /// How much is to be paid, if it is a payment.
    pub(crate) cents: Option<i64>,
    /// Whose key the caller has; the service does not know the last one.
    pub(crate) tenant: usize,
    pub(crate) calls: Vec<usize>,
    /// How many of them have not ended.
    pub(crate) live: u32,
    /// How often the ledger shows a charge by it, or a void.
    pub(crate) done: u32,
    /// The id under which the ledger has it.
    pub(crate) id: Option<String>,
}

/// What is asked of the service.
pub(crate) enum Asked {
    Card(CardTransaction),
    Ach(AchTransaction),
    Token(TokenTransaction),
    Void(Void),
    Transaction(TransactionId),
    Customer(CustomerId),
}

/// What a caller knows that can be asked about.
#[derive(Default)]
pub(crate) struct Known {
    /// Every transaction of every tenant, with its tenant.
    pub(crate) transactions: Vec<(usize, TransactionId)>,
    /// The authorisations among them.
    pub(crate) authorisations: Vec<(usize, TransactionId)>,
    /// Tokens that payments made.
    pub(crate) tokens: Vec<(usize, String)>,
}

/// The key that the service does not know belongs to this tenant.
pub(crate) const STRANGER: usize = 2;

/// What a void's reason begins with, before the number of its intent.
pub(crate) const VOID_REASON: &str = "intent-";

/// Where an amount says which intent it is of: it is a multiple of this many cents, and some more.
const STRIDE: i64 = 1_000;

/// The intent that an amount is of.
pub(crate) fn number_of(amount: Amount) -> Option<usize> {
    usize::try_from(amount.to_cents()? / STRIDE - 1).ok()
}

impl Intent {
    /// The intent of this number, which stands in its amount or in its reason.
    pub(crate) fn draw(rng: &mut fastrand::Rng, number: usize, known: &Known) -> Self {
        let tenant = if rng.u8(..14) == 0 { STRANGER } else { rng.usize(..STRANGER) };
        let ((asked, what), amount) = match rng.u8(..100) {
            0..30 => draw_card(rng, number),
            30..36 => draw_ach(rng, number),
            36..51 => draw_token(rng, number, tenant, known),
            51..65 => (draw_void(rng, number, tenant, known), None),
            65..82 => (draw_transaction(rng, tenant, known), None),
            _ => (draw_customer(rng), None),
        };
        let cents = amount.and_then(Amount::to_cents);
        Self { asked: Arc::new(asked), what, cents, tenant, calls: Vec::new(), live: 0, done: 0, id: None }
    }

    /// Whether it is a payment.
    pub(crate) fn is_charge(&self) -> bool {
        matches!(self.asked.operation(), OperationName::Transaction | OperationName::TokenTransaction)
    }
}

impl Asked {
    pub(crate) fn operation(&self) -> OperationName {
        match self {
            Self::Card(_) | Self::Ach(_) => OperationName::Transaction,
            Self::Token(_) => OperationName::TokenTransaction,
            Self::Void(_) => OperationName::Void,
            Self::Transaction(_) => OperationName::GetTransaction,
            Self::Customer(_) => OperationName::GetCustomer,
        }
    }

    /// The id that is asked about.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Void(void) => Some(void.transaction_id().as_str()),
            Self::Transaction(id) => Some(id.as_str()),
            Self::Customer(id) => Some(id.as_str()),
            Self::Card(_) | Self::Ach(_) | Self::Token(_) => None,
        }
    }

    /// Whether its id cannot stand in a path, so that no request can be built.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Transaction(id) => id.path_segment().is_err(),
            Self::Customer(id) => id.path_segment().is_err(),
            _ => false,
        }
    }

    /// Makes the call.
    pub(crate) async fn call(&self, client: &Client) -> CallEnd {
        match self {
            Self::Card(payment) => end(client.process_card(payment).await, |record| {
                (record.transaction_id.to_string(), record.base_amount.value().copied())
            }),
            Self::Ach(payment) => end(client.process_ach(payment).await, |record| {
                (record.transaction_id.to_string(), record.base_amount.value().copied())
            }),
            Self::Token(payment) => {
                end(client.process_token(payment).await, |receipt| (receipt.transaction_id.to_string(), None))
            }
            Self::Void(void) => end(client.void(void).await, |receipt| (receipt.voided.to_string(), None)),
            Self::Transaction(id) => end(client.transaction(id).await, |record| {
                (record.transaction_id.to_string(), record.base_amount.value().copied())
            }),
            Self::Customer(id) => end(client.customer(id).await, |record| {
                (record.customer_id.value().map(ToString::to_string).unwrap_or_default(), None)
            }),
        }
    }
}

fn end<T, E: Failed>(
    result: Result<Success<T>, E>,
    read: impl FnOnce(&T) -> (String, Option<Amount>),
) -> CallEnd {
    match result {
        Ok(success) => {
            let (id, amount) = read(success.data());
            let cents = amount.and_then(Amount::to_cents);
            CallEnd { ending: Ending::Succeeded, kind: "", id: Some(id), cents }
        }
        Err(error) => {
            let (ending, kind) = error.ended();
            CallEnd { ending, kind, id: None, cents: None }
        }
    }
}

/// An error of either type.
trait Failed {
    fn ended(&self) -> (Ending, &'static str);
}

impl Failed for Error {
    fn ended(&self) -> (Ending, &'static str) {
        (self.outcome().into(), self.code())
    }
}

impl Failed for LookupError {
    fn ended(&self) -> (Ending, &'static str) {
        let ending = if self.is_rejected() { Ending::Rejected } else { Ending::NotProcessed };
        (ending, self.code())
    }
}

/// What a payment asks for, what kind of payment it is, and how much it pays.
type Payment = ((Asked, &'static str), Option<Amount>);

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
        (false, true) => "a card with a postal code that is refused",
        (false, false) => "a card that is approved",
    };
    ((Asked::Card(payment), what), Some(amount))
}

fn draw_ach(rng: &mut fastrand::Rng, number: usize) -> Payment {
    let (postal_code, is_invalid) = draw_postal_code(rng);
    let amount = draw_amount(rng, number);
    let payment = AchTransaction::builder(amount, draw_type(rng), draw_fee(rng), payer(postal_code))
        .account_field("RoutingNumber", "021000021")
        .account_field("AccountNumber", "000123456789")
        .build()
        .expect("every part of it is valid");
    let what = if is_invalid { "an account with a postal code that is refused" } else { "an account" };
    ((Asked::Ach(payment), what), Some(amount))
}

fn draw_token(rng: &mut fastrand::Rng, number: usize, tenant: usize, known: &Known) -> Payment {
    let made: Vec<_> = of_tenant(&known.tokens, tenant);
    let (token, what) = match rng.u8(..10) {
        0..5 if !made.is_empty() => (made[rng.usize(..made.len())].as_str(), "a token made by a payment"),
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
    ((Asked::Token(payment), what), Some(amount))
}

fn draw_void(rng: &mut fastrand::Rng, number: usize, tenant: usize, known: &Known) -> (Asked, &'static str) {
    let held: Vec<_> = of_tenant(&known.authorisations, tenant);
    let (id, what) = match rng.u8(..10) {
        // The newest, which are the ones that were not voided yet, most often.
        0..8 if !held.is_empty() => {
            let newest = held.len().saturating_sub(4);
            (held[rng.usize(newest..held.len())].clone(), "an authorisation")
        }
        0..9 if !known.transactions.is_empty() => {
            (known.transactions[rng.usize(..known.transactions.len())].1.clone(), "some transaction")
        }
        _ => (unknown_id(), "a transaction that does not exist"),
    };
    (Asked::Void(Void::new(id).reason(format!("{VOID_REASON}{number}"))), what)
}

fn draw_transaction(rng: &mut fastrand::Rng, tenant: usize, known: &Known) -> (Asked, &'static str) {
    let own: Vec<_> = of_tenant(&known.transactions, tenant);
    let (id, what) = match rng.u8(..20) {
        0..11 if !own.is_empty() => (own[rng.usize(..own.len())].clone(), "a transaction of the tenant"),
        0..14 if !known.transactions.is_empty() => {
            (known.transactions[rng.usize(..known.transactions.len())].1.clone(), "some transaction")
        }
        0..19 => (unknown_id(), "a transaction that does not exist"),
        _ => (TransactionId::from_answer("no/path").expect("it is not empty"), "an id that no path can hold"),
    };
    (Asked::Transaction(id), what)
}

fn draw_customer(rng: &mut fastrand::Rng) -> (Asked, &'static str) {
    let (id, what) = match rng.u8(..20) {
        0..11 => (payments_fake::test_values::CUSTOMER, "the customer that is always there"),
        11..19 => ("cus_nobody", "a customer that does not exist"),
        _ => ("no path", "an id that no path can hold"),
    };
    (Asked::Customer(CustomerId::from_answer(id).expect("it is not empty")), what)
}

fn of_tenant<T>(all: &[(usize, T)], tenant: usize) -> Vec<&T> {
    // The newest are enough, and looking at all of them would make a long world slow.
    all.iter().rev().take(40).rev().filter(|(own, _)| *own == tenant).map(|(_, item)| item).collect()
}

fn unknown_id() -> TransactionId {
    TransactionId::new("txn_nobody_has").expect("it is a valid id")
}

/// Deadlines that callers choose among, and how often a look-up is repeated.
pub(crate) fn draw_options(rng: &mut fastrand::Rng) -> (Duration, u32) {
    (Duration::from_millis(pick(rng, &[120, 2_000, 30_000, 60_000])), pick(rng, &[0, 1, 2, 3, 3]))
}
