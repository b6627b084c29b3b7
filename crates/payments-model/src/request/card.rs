use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use super::check::Check;
use super::encode::wire_text;
use super::given::{FieldValue, FromFieldValue as _, Text};
use super::payment::{Method, Payment, PaymentBuilder};
use super::{CardInput, FieldName, PayerInput, UnknownFields};
use crate::card::Luhn;
use crate::violation::Rule;
use crate::{
    Amount, CardNumber, ConvenienceFee, Cvv, DialPrefix, Email, Expiry, Input, SuggestedMode, TransactionType,
};

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
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
pub type CardTransaction = Payment<CardFields>;

/// A [`CardTransaction`] before validation.
pub type CardTransactionBuilder<'a> = PaymentBuilder<'a, CardFields>;

/// The card of a [`CardTransaction`]. It is set to zero on drop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[allow(unnameable_types, reason = "only the alias needs it")]
pub struct CardFields {
    #[serde(serialize_with = "wire_text")]
    card_number: CardNumber,
    #[serde(serialize_with = "wire_text")]
    cvv: Cvv,
    #[serde(serialize_with = "wire_text")]
    expiry_date: Expiry,
}

impl CardTransaction {
    /// Starts a request with everything that is required. [`build`](PaymentBuilder::build) validates it.
    pub fn builder<'a>(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        card: CardInput<impl Input<'a, CardNumber>, impl Input<'a, Cvv>, impl Input<'a, Expiry>>,
        payer: PayerInput<
            impl Input<'a, String>,
            impl Input<'a, Email>,
            impl Input<'a, DialPrefix>,
            impl Input<'a, String>,
            impl Input<'a, String>,
            impl Input<'a, String>,
            impl Input<'a, IpAddr>,
        >,
    ) -> CardTransactionBuilder<'a> {
        let mode = SuggestedMode::CARD;
        let mut builder = PaymentBuilder::new(amount, transaction_type, convenience_fee, mode);
        payer.set_fields(&mut builder.fields);
        card.set_fields(&mut builder.fields);
        builder
    }

    /// `CardNumber`.
    pub const fn card_number(&self) -> &CardNumber {
        &self.method().card_number
    }

    /// `Cvv`.
    pub const fn cvv(&self) -> &Cvv {
        &self.method().cvv
    }

    /// `ExpiryDate`.
    pub const fn expiry(&self) -> &Expiry {
        &self.method().expiry_date
    }

    /// Every secret of this request as sent, to [`mask`](crate::mask) a response that may repeat it.
    pub fn secrets(&self) -> Vec<&str> {
        vec![self.card_number().expose_secret(), self.cvv().expose_secret(), self.expiry().expose_secret()]
    }
}

impl CardTransactionBuilder<'_> {
    /// Accepts the card number without the Luhn check. See [`CardNumber::without_luhn_check`].
    pub fn skip_luhn_check(mut self) -> Self {
        self.fields.accept_card_number_without_luhn();
        self
    }
}

impl Method for CardFields {
    const NAME: &'static str = "CardTransaction";

    fn check_mode(mode: &SuggestedMode) -> Result<(), Rule> {
        if mode.is_ach() { Err("must not be ACH for a card transaction") } else { Ok(()) }
    }

    fn check(check: &mut Check<'_>) -> Option<Self> {
        let card_number = check.required(FieldName::CardNumber, card_number);
        let cvv = check.required(FieldName::Cvv, |text: Text<'_>| Cvv::check(&text));
        let expiry_date = check.required(FieldName::ExpiryDate, |text: Text<'_>| Expiry::check(&text));
        Some(Self { card_number: card_number?, cvv: cvv?, expiry_date: expiry_date? })
    }

    fn check_unknown(_: Option<&mut Self>, check: &mut Check<'_>, unknown: UnknownFields) {
        check.check_unknown(unknown);
    }

    fn debug(&self, debug: &mut fmt::DebugStruct<'_, '_>) {
        let Self { card_number, cvv, expiry_date } = self;
        debug.field("card_number", card_number).field("cvv", cvv).field("expiry", expiry_date);
    }
}

fn card_number(value: FieldValue<'_>) -> Result<CardNumber, Rule> {
    match value {
        FieldValue::CardNumber(number) => Ok(number),
        other => CardNumber::check(&Text::from_value(other)?, Luhn::Required),
    }
}
