use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use super::body::{Body, Object, check_size};
use super::check::Check;
use super::draft::{CardDraft, PaymentDraft};
use super::members::from_json;
use super::payment::{Payment, payment_accessors, payment_setters};
use super::{Billing, ConvenienceFee, Payer, RequestMembers, Shipping, SuggestedMode, TransactionType};
use crate::card::Luhn;
use crate::json::Member;
use crate::secret::redacted_debug;
use crate::{Amount, CardNumber, Cvv, Expiry, SecretBytes, ValidationError};

/// The three card fields. They are validated when the request is built.
///
/// Exhaustive on purpose: these are all the card fields of the interface. `Debug` does not show them.
///
/// ```
/// use payments_model::Card;
///
/// let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
/// ```
#[expect(
    clippy::exhaustive_structs,
    reason = "a required field added by the interface must be a compile error"
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Card<'a> {
    /// `CardNumber`: see [`CardNumber`].
    pub number: &'a str,
    /// `Cvv`: see [`Cvv`].
    pub cvv: &'a str,
    /// `ExpiryDate`: `MMYY`, `MM/YY` or `MM/YYYY`, see [`Expiry`].
    pub expiry: &'a str,
}

redacted_debug!(Card<'_>);

/// A valid request to charge or authorize a card: the body of `POST /transaction`.
///
/// Building one moves no money and does no I/O. It holds the card's secrets, which are set to zero on drop. `Debug` shows the
/// amount, the transaction type, the brand and the last four digits.
///
/// # Examples
///
/// ```
/// use payments_model::{Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionType};
///
/// let sale = CardTransaction::builder(
///     Amount::from_cents(10_50),
///     TransactionType::Sale,
///     ConvenienceFee::Inactive,
///     Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" },
///     Payer {
///         customer_name: "A. Payer",
///         email: "payer@example.com",
///         country_code: "+1",
///         phone_number: "555-0100",
///         country: "US",
///         postal_code: "94105",
///         ip_address: "203.0.113.7",
///     },
/// )
/// .billing_city("San Francisco")
/// .build()?;
/// assert_eq!(sale.card_number().last_four(), "4242");
/// assert_eq!(CardTransaction::from_json(sale.to_json().as_ref())?, sale);
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CardTransaction {
    payment: Payment,
    card_number: CardNumber,
    cvv: Cvv,
    expiry: Expiry,
    body: Body,
}

impl CardTransaction {
    /// Starts a request with everything that is required. [`build`](CardTransactionBuilder::build) validates it.
    pub fn builder<'a>(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        card: Card<'a>,
        payer: Payer<'a>,
    ) -> CardTransactionBuilder<'a> {
        let Card { number, cvv, expiry } = card;
        let draft = PaymentDraft::new(amount, transaction_type, convenience_fee, SuggestedMode::CARD, payer);
        let mut card = CardDraft::default();
        card.number.set(number);
        card.cvv.set(cvv);
        card.expiry.set(expiry);
        CardTransactionBuilder { draft, card, luhn: Luhn::Required }
    }

    from_json! {
        /// Without `TransactionType` a payment has [`TransactionType::GatewayDefault`]. The Luhn check cannot be skipped.
    }

    #[doc(hidden)]
    pub fn from_members(members: &RequestMembers<'_>) -> Result<Self, ValidationError> {
        let (draft, others) = PaymentDraft::read(members.as_slice());
        let (card, others) = CardDraft::read(others);
        Self::check(draft, card, Luhn::Required, &others)
    }

    payment_accessors!();

    /// `CardNumber`.
    pub const fn card_number(&self) -> &CardNumber {
        &self.card_number
    }

    /// `Cvv`.
    pub const fn cvv(&self) -> &Cvv {
        &self.cvv
    }

    /// `ExpiryDate`.
    pub const fn expiry(&self) -> &Expiry {
        &self.expiry
    }

    fn check(
        draft: PaymentDraft<'_>,
        card: CardDraft<'_>,
        luhn: Luhn,
        unknown: &[&Member<'_>],
    ) -> Result<Self, ValidationError> {
        let mut check = Check::default();
        let card = |check: &mut Check| {
            let number = check.required(card.number, |text| CardNumber::check(&text, luhn));
            let cvv = check.required(card.cvv, |text| Cvv::check(&text));
            let expiry = check.required(card.expiry, |text| Expiry::check(&text));
            Some((number?, cvv?, expiry?))
        };
        let checked = draft.check(&mut check, card, |mode| {
            if mode.is_ach() { Err("must not be ACH for a card transaction") } else { Ok(()) }
        });
        check.unknown(unknown, &[PaymentDraft::NAMES, CardDraft::NAMES]);
        let (payment, (card_number, cvv, expiry)) = check.finish(checked)?;
        Ok(Self { payment, card_number, cvv, expiry, body: Body::default() })
    }

    fn object(&self) -> Object {
        self.payment.object(|object| {
            object
                .member("CardNumber", self.card_number.expose_secret())
                .member("Cvv", self.cvv.expose_secret())
                .member("ExpiryDate", self.expiry.expose_secret());
        })
    }
}

impl fmt::Debug for CardTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payment, card_number, cvv, expiry, body: _ } = self;
        payment.debug(f, "CardTransaction", |debug| {
            debug.field("card_number", card_number).field("cvv", cvv).field("expiry", expiry);
        })
    }
}

/// A [`CardTransaction`] before validation.
#[must_use]
pub struct CardTransactionBuilder<'a> {
    draft: PaymentDraft<'a>,
    card: CardDraft<'a>,
    luhn: Luhn,
}

impl<'a> CardTransactionBuilder<'a> {
    payment_setters!('a);

    /// Accepts the card number without the Luhn check. See [`CardNumber::without_luhn_check`].
    pub const fn without_luhn_check(mut self) -> Self {
        self.luhn = Luhn::Skipped;
        self
    }

    /// Validates the request.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<CardTransaction, ValidationError> {
        let payment = CardTransaction::check(self.draft, self.card, self.luhn, &[])?;
        check_size(&payment.to_json()).map(|()| payment)
    }
}

impl fmt::Debug for CardTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardTransactionBuilder { .. }")
    }
}
