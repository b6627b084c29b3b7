use std::fmt;
use std::time::SystemTime;

use payments_core::OperationName;
use payments_model::{Amount, MaskedCard, TokenId, TransactionId, TransactionRecord, TransactionTypeCode};

/// What the service really did until the call to [`FakeGateway::ledger`](crate::FakeGateway::ledger), or only for one key, from
/// [`Tenant::ledger`](crate::Tenant::ledger).
///
/// A failed assertion prints what was expected and the whole ledger, and reports the line of the test that called it.
/// A payment counts as **charged** if it was approved and not voided, whether it is a sale or an authorization: in both
/// cases the payer cannot use the money.
///
/// ```
/// use payments_fake::FakeGateway;
///
/// let gateway = FakeGateway::new();
/// gateway.ledger().assert_nothing_charged();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    pub(crate) entries: Vec<LedgerEntry>,
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The operation that created it.
    pub operation: OperationName,
    /// A payment that takes the money, one that holds it, or a void.
    pub kind: EntryKind,
    /// Approved, declined or voided, at the time of the call.
    pub state: EntryState,
    /// What the payer is charged: the requested amount and the fee, if there is one.
    pub amount: Amount,
    /// What was charged.
    pub source: PaymentSource,
    /// The caller's reference, which only a token payment has.
    pub reference_no: Option<String>,
    /// The description, which only a token payment has.
    pub description: Option<String>,
    /// The reason that a void gave.
    pub void_reason: Option<String>,
    /// When the service decided it, by the gateway's time of day.
    pub at: SystemTime,
    /// The record that a lookup returns. It holds a masked card and never a number.
    pub record: TransactionRecord,
}

named! {
    /// What an entry is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum EntryKind {
        /// Money taken.
        Sale = "sale",
        /// Money held.
        Authorization = "authorization",
        /// The void of an authorization, if [voids have their own ids](crate::VoidResponse::NewTransactionId).
        Void = "void",
    }
}

named! {
    /// The state of an entry.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum EntryState {
        /// Approved.
        Approved = "approved",
        /// Declined: nothing was taken.
        Declined = "declined",
        /// Approved, then voided.
        Voided = "voided",
    }
}

impl EntryKind {
    pub(crate) fn of(operation: OperationName, transaction_type: TransactionTypeCode) -> Self {
        match (operation, transaction_type) {
            (OperationName::Void, _) => Self::Void,
            (_, TransactionTypeCode::AUTH) => Self::Authorization,
            _ => Self::Sale,
        }
    }
}

/// What was charged, as far as the ledger keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PaymentSource {
    /// A card, masked.
    Card(MaskedCard),
    /// A stored token.
    Token(TokenId),
    /// A bank account. Its fields are not kept.
    Account,
}

impl fmt::Display for PaymentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(card) => write!(f, "card {card}"),
            Self::Token(token) => write!(f, "token {token}"),
            Self::Account => f.write_str("bank account"),
        }
    }
}

impl LedgerEntry {
    /// The id by which it can be looked up.
    pub fn transaction_id(&self) -> &TransactionId {
        &self.record.transaction_id
    }

    pub(crate) fn is_voidable(&self) -> bool {
        self.kind == EntryKind::Authorization && self.state == EntryState::Approved
    }

    /// Whether it is a payment with this token. The void of such a payment has the token too, but does not count.
    pub(crate) fn is_charge_of(&self, token: &TokenId) -> bool {
        self.operation == OperationName::TokenTransaction
            && matches!(&self.source, PaymentSource::Token(own) if own == token)
    }

    /// Whether the payer cannot use the money: approved and not voided.
    pub fn is_charged(&self) -> bool {
        self.kind != EntryKind::Void && self.state == EntryState::Approved
    }
}

/// One line, such as `txn_1 transaction sale 10.50 approved, card ************4242`.
impl fmt::Display for LedgerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, state) = (self.kind.as_str(), self.state.as_str());
        let Self { operation, amount, source, .. } = self;
        write!(f, "{} {operation} {kind} {amount} {state}, {source}", self.transaction_id())?;
        match &self.reference_no {
            Some(reference) => write!(f, ", reference {reference}"),
            None => Ok(()),
        }
    }
}

impl Ledger {
    /// Every transaction of a key in the order in which it was committed, declined and voided ones included. Those of several keys
    /// are in the order of the keys.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The transaction with this id, of the first key that has one: two keys can have the same id only from
    /// [fixtures](crate::Fixtures).
    pub fn entry(&self, id: &TransactionId) -> Option<&LedgerEntry> {
        self.entries.iter().find(|entry| entry.transaction_id() == id)
    }

    /// The entries that [count as charged](Self).
    pub fn charged(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.iter().filter(|entry| entry.is_charged())
    }

    /// The sum of the charges, or `None` if it is too large for an [`Amount`].
    pub fn charged_total(&self) -> Option<Amount> {
        self.charged().try_fold(Amount::from_cents(0), |sum, entry| sum.checked_add(entry.amount))
    }

    /// Asserts that exactly one payment is charged, with this amount, and returns it.
    ///
    /// # Panics
    ///
    /// If no payment is charged, or more than one, or one with another amount.
    #[track_caller]
    pub fn assert_charged_once(&self, amount: Amount) -> &LedgerEntry {
        let mut charged = self.charged();
        match (charged.next(), charged.next()) {
            (Some(entry), None) if entry.amount == amount => entry,
            _ => panic!("expected one charge of {amount} and no other; {self}"),
        }
    }

    /// Asserts that no payment is charged. Declined and voided ones may exist.
    ///
    /// # Panics
    ///
    /// If a payment is charged.
    #[track_caller]
    pub fn assert_nothing_charged(&self) {
        assert!(self.charged().next().is_none(), "expected nothing to be charged; {self}");
    }

    /// Asserts that the charges of all payments add up to this total.
    ///
    /// # Panics
    ///
    /// If they do not.
    #[track_caller]
    pub fn assert_charged_total(&self, total: Amount) {
        assert!(self.charged_total() == Some(total), "expected charges of {total} in all; {self}");
    }

    /// Asserts that the transaction was voided, and returns it.
    ///
    /// # Panics
    ///
    /// If it was not voided, or does not exist.
    #[track_caller]
    pub fn assert_voided(&self, id: &TransactionId) -> &LedgerEntry {
        match self.entry(id) {
            Some(entry) if entry.state == EntryState::Voided => entry,
            Some(_) => panic!("expected {id} to be voided; {self}"),
            None => panic!("expected {id} to be voided, but it does not exist; {self}"),
        }
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() {
            return f.write_str("the ledger is empty");
        }
        f.write_str("the ledger:")?;
        self.entries.iter().try_for_each(|entry| write!(f, "\n  {entry}"))
    }
}
