use std::borrow::Cow;
use std::fmt;

use zeroize::Zeroizing;

use crate::card_number::Luhn;
use crate::check::{Check, Entry, Rule};
use crate::document::{self, Draft, Slot};
use crate::json_writer::{self, Length, ObjectWriter};
use crate::payment::{Payment, payment_accessors, payment_setters};
use crate::payment_draft::PaymentDraft;
use crate::redact::Redacted;
use crate::{
    Amount, Card, CardNumber, ConvenienceFee, Cvv, Expiry, Payer, RequestMembers, SecretBytes, SuggestedMode,
    TransactionType, UnknownFields, ValidationError, Violation,
};

/// A checked request to charge, or to authorise, a card: the body of `POST /transaction`.
///
/// Making one moves no money and does no I/O. It holds the card's secrets, which are set to zero on drop;
/// `Debug` shows the amount, the kind of request, the brand and the last four digits.
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
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CardTransaction {
    pub(crate) payment: Payment,
    card_number: CardNumber,
    cvv: Cvv,
    expiry: Expiry,
    length: Length,
}

impl CardTransaction {
    /// Begins a request with everything that is required. Nothing is checked before
    /// [`build`](CardTransactionBuilder::build).
    pub fn builder<'a>(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        card: Card<'a>,
        payer: Payer<'a>,
    ) -> CardTransactionBuilder<'a> {
        let Card { number, cvv, expiry } = card;
        let mut payment = PaymentDraft::new(amount, transaction_type, convenience_fee, payer);
        payment.suggested_mode = Entry::text(SuggestedMode::CARD);
        CardTransactionBuilder {
            draft: CardDraft {
                payment,
                card_number: Entry::text(number),
                cvv: Entry::text(cvv),
                expiry: Entry::text(expiry),
                luhn: Luhn::Required,
            },
        }
    }

    /// Reads a request out of a JSON object with the interface's field names.
    ///
    /// An absent `TransactionType` is [`TransactionType::GatewayDefault`].
    ///
    /// # Errors
    ///
    /// With every rule of the builder that the document breaks, in the same words; and for each field that is
    /// unknown, repeated, `null` or of another JSON type than the interface names. `body` if it is no JSON
    /// object. Nothing was sent.
    pub fn from_json(document: &[u8]) -> Result<Self, ValidationError> {
        Self::from_json_with(document, UnknownFields::Refused)
    }

    /// The same with another rule for fields that the interface does not have.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json), but for unknown fields only if they are refused.
    pub fn from_json_with(document: &[u8], unknown: UnknownFields) -> Result<Self, ValidationError> {
        Self::from_members(&RequestMembers::read(document)?, unknown)
    }

    /// The same from members that were read already.
    ///
    /// # Errors
    ///
    /// As [`from_json_with`](Self::from_json_with).
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        document::parse::<CardDraft<'_>>(members, unknown)
    }

    /// The request as JSON, in the order of the interface's table, without the fields that are not set.
    pub fn encode(&self) -> SecretBytes {
        json_writer::encode(self.length, |out| self.write(out))
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

    /// Every secret of this request as it is sent, for scrubbing an answer that may echo it with
    /// [`scrub`](crate::scrub).
    pub fn secrets(&self) -> Vec<&str> {
        // Who scrubs an answer adds the key.
        let mut secrets = Vec::with_capacity(4);
        secrets.extend([
            self.card_number.expose_secret(),
            self.cvv.expose_secret(),
            self.expiry.expose_secret(),
        ]);
        secrets
    }

    fn write(&self, out: &mut ObjectWriter<'_>) {
        let Self { payment: Payment { head, tail }, card_number, cvv, expiry, length: _ } = self;
        head.write(out);
        out.text("CardNumber", card_number.expose_secret());
        out.text("Cvv", cvv.expose_secret());
        out.text("ExpiryDate", expiry.expose_secret());
        tail.write(out);
    }
}

impl fmt::Debug for CardTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payment: Payment { head, tail }, card_number, cvv, expiry, length: _ } = self;
        f.debug_struct("CardTransaction")
            .field("amount", &head.amount)
            .field("transaction_type", &tail.transaction_type)
            .field("convenience_fee", &tail.convenience_fee)
            // Free text for a card payment: a document may hold anything here.
            .field("suggested_mode", &Redacted)
            .field("card_number", card_number)
            .field("cvv", cvv)
            .field("expiry", expiry)
            .field("billing", &head.billing)
            .field("shipping", &head.shipping)
            .field("shipping_same_as_billing", &head.shipping_same_as_billing)
            .field("payment_tokenization", &tail.payment_tokenization)
            .field("ip_address", &Redacted)
            .finish()
    }
}

/// A [`CardTransaction`] before it is checked.
#[must_use]
pub struct CardTransactionBuilder<'a> {
    draft: CardDraft<'a>,
}

impl<'a> CardTransactionBuilder<'a> {
    payment_setters!();

    /// Sets `SuggestedMode`, which is `Card` unless set. `Card` is inferred; the interface does not show the
    /// allowed values. An ACH mode is refused by [`build`](Self::build): that is an
    /// [`AchTransaction`](crate::AchTransaction).
    pub fn suggested_mode(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.draft.payment.suggested_mode = Entry::text(text);
        self
    }

    /// Takes the card number without looking at its check digit, see [`CardNumber::without_luhn_check`].
    pub fn skip_luhn_check(mut self) -> Self {
        self.draft.luhn = Luhn::Skipped;
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<CardTransaction, ValidationError> {
        self.draft.check(Vec::new())
    }
}

impl fmt::Debug for CardTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { draft: _ } = self;
        f.debug_struct("CardTransactionBuilder").finish_non_exhaustive()
    }
}

/// The request before it is checked: a builder and a JSON document both end here.
#[derive(Default)]
struct CardDraft<'a> {
    payment: PaymentDraft<'a>,
    card_number: Entry<Cow<'a, str>>,
    cvv: Entry<Cow<'a, str>>,
    expiry: Entry<Cow<'a, str>>,
    luhn: Luhn,
}

impl<'a> Draft<'a> for CardDraft<'a> {
    type Request = CardTransaction;

    fn slot(&mut self, name: &str) -> Option<Slot<'_, 'a>> {
        match name {
            "CardNumber" => Some(Slot::Text(&mut self.card_number)),
            "Cvv" => Some(Slot::Text(&mut self.cvv)),
            "ExpiryDate" => Some(Slot::Text(&mut self.expiry)),
            _ => self.payment.slot(name),
        }
    }

    fn check(self, unknown: Vec<Violation>) -> Result<CardTransaction, ValidationError> {
        let Self { mut payment, card_number, cvv, expiry, luhn } = self;
        let mut check = Check::default();
        let head = payment.check_head(&mut check);
        let card_number =
            check.required("CardNumber", card_number, secret(|text| CardNumber::check(text, luhn)));
        let cvv = check.required(
            "Cvv",
            cvv,
            secret(|text| {
                let cvv = Cvv::check(text)?;
                card_number.as_ref().map_or(Ok(()), |number| cvv.check_for(number.brand()))?;
                Ok(cvv)
            }),
        );
        let expiry = check.required("ExpiryDate", expiry, secret(Expiry::check));
        let tail = payment.check_tail(&mut check, |mode| {
            if mode.is_ach() { Err("must not be ACH for a card transaction") } else { Ok(()) }
        });
        check.append(unknown);
        let request = (|| {
            Ok(CardTransaction {
                payment: Payment { head: head?, tail: tail? },
                card_number: card_number?,
                cvv: cvv?,
                expiry: expiry?,
                length: Length::default(),
            })
        })();
        let (request, length) = check.finish(request, CardTransaction::write)?;
        Ok(CardTransaction { length, ..request })
    }
}

/// Lets `parse` see a text and, where it had to be copied out of escaped JSON, sets that copy to zero
/// afterwards.
fn secret<T>(parse: impl FnOnce(&str) -> Result<T, Rule>) -> impl FnOnce(Cow<'_, str>) -> Result<T, Rule> {
    |text| match text {
        Cow::Borrowed(text) => parse(text),
        Cow::Owned(text) => parse(&Zeroizing::new(text)),
    }
}
