//! What card and ACH payments share: every field of the transaction table except the three card fields.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use serde::Serialize;

use super::check::{Check, Fields, checked, ip_address, payable};
use super::choices::{wire_fee, wire_type};
use super::document::from_document;
use super::encode::{Encoded, wire_text};
use super::given::{FieldValue, Text};
use super::{Billing, FieldName, RequestMembers, Shipping, UnknownFields};
use crate::secret::Redacted;
use crate::violation::Rule;
use crate::{
    Amount, ConvenienceFee, Input, SecretBytes, SuggestedMode, TransactionType, ValidationError, amount,
};

/// A valid payment: the body of `POST /transaction`. Write it as [`CardTransaction`](crate::CardTransaction) or
/// [`AchTransaction`](crate::AchTransaction).
#[derive(Clone, PartialEq, Eq)]
pub struct Payment<M>(Encoded<Wire<M>>);

/// The body as sent, in the order of the interface's table.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Wire<M> {
    #[serde(serialize_with = "amount::as_number")]
    amount: Amount,
    #[serde(flatten, serialize_with = "Billing::wire")]
    billing: Billing,
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_same_as_billing: Option<bool>,
    #[serde(flatten, serialize_with = "Shipping::wire")]
    shipping: Shipping,
    #[serde(flatten)]
    method: M,
    #[serde(serialize_with = "wire_text")]
    suggested_mode: SuggestedMode,
    #[serde(serialize_with = "wire_fee")]
    convenience_fee_active: ConvenienceFee,
    #[serde(serialize_with = "wire_type", skip_serializing_if = "TransactionType::is_not_sent")]
    transaction_type: TransactionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_tokenization: Option<bool>,
    ip_address: IpAddr,
}

/// The payment method: a card or a bank account.
pub(crate) trait Method: Sized + Serialize {
    /// The name of the request, for `Debug`.
    const NAME: &'static str;

    /// Checks that the mode belongs to this method.
    fn check_mode(mode: &SuggestedMode) -> Result<(), Rule>;

    /// Checks the fields between shipping and `SuggestedMode`.
    fn check(check: &mut Check<'_>) -> Option<Self>;

    /// Checks the fields that the interface does not define.
    fn check_unknown(this: Option<&mut Self>, check: &mut Check<'_>, unknown: UnknownFields);

    /// Adds its fields to the `Debug` output of the request.
    fn debug(&self, debug: &mut fmt::DebugStruct<'_, '_>);
}

#[allow(private_bounds, reason = "there are the two methods of this crate and no others")]
impl<M: Method> Payment<M> {
    from_document!();

    #[doc(hidden)]
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        Self::check(members.into(), unknown)
    }

    /// The request as JSON, in the order of the interface's table, without the fields that are not set. Account fields are in
    /// the place of the card fields.
    pub fn encode(&self) -> SecretBytes {
        self.0.bytes()
    }

    pub(crate) const fn method(&self) -> &M {
        &self.0.wire.method
    }

    /// `Amount`: above zero, at most two decimals.
    pub const fn amount(&self) -> Amount {
        self.0.wire.amount
    }

    /// The `Billing…` fields.
    pub const fn billing(&self) -> &Billing {
        &self.0.wire.billing
    }

    /// `ShippingSameAsBilling`, if set.
    pub const fn shipping_same_as_billing(&self) -> Option<bool> {
        self.0.wire.shipping_same_as_billing
    }

    /// The other `Shipping…` fields, each of them optional.
    pub const fn shipping(&self) -> &Shipping {
        &self.0.wire.shipping
    }

    /// `SuggestedMode`.
    pub const fn suggested_mode(&self) -> &SuggestedMode {
        &self.0.wire.suggested_mode
    }

    /// `ConvenienceFeeActive`.
    pub const fn convenience_fee(&self) -> ConvenienceFee {
        self.0.wire.convenience_fee_active
    }

    /// `TransactionType`.
    pub const fn transaction_type(&self) -> TransactionType {
        self.0.wire.transaction_type
    }

    /// `PaymentTokenization`, if set.
    pub const fn payment_tokenization(&self) -> Option<bool> {
        self.0.wire.payment_tokenization
    }

    /// `IpAddress`, the payer's.
    pub const fn ip_address(&self) -> IpAddr {
        self.0.wire.ip_address
    }

    /// Validates the fields of a builder or of a document.
    fn check(fields: Fields<'_>, unknown: UnknownFields) -> Result<Self, ValidationError> {
        let mut check = Check::new(fields);
        let mut wire = checked!(Wire {
            amount: check.required(FieldName::Amount, payable),
            billing: Billing::check(&mut check),
            shipping_same_as_billing: check.optional(FieldName::ShippingSameAsBilling, Ok),
            shipping: Shipping::check(&mut check),
            method: M::check(&mut check),
            suggested_mode: check.required(FieldName::SuggestedMode, |text: Text<'_>| {
                let mode = SuggestedMode::check(text.into_string())?;
                M::check_mode(&mode).map(|()| mode)
            }),
            convenience_fee_active: check
                .required(FieldName::ConvenienceFeeActive, |active| Ok(ConvenienceFee::from_flag(active))),
            transaction_type: check
                .optional(FieldName::TransactionType, |text: Text<'_>| TransactionType::check(&text))
                .map(|kind| kind.unwrap_or(TransactionType::GatewayDefault)),
            payment_tokenization: check.optional(FieldName::PaymentTokenization, Ok),
            ip_address: check.required(FieldName::IpAddress, ip_address),
        });
        M::check_unknown(wire.as_mut().map(|wire| &mut wire.method), &mut check, unknown);
        check.finish(wire).map(Self)
    }
}

impl<M: Method> fmt::Debug for Payment<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wire {
            amount,
            billing,
            shipping_same_as_billing,
            shipping,
            method,
            // For a card payment it may be any text.
            suggested_mode: _,
            convenience_fee_active,
            transaction_type,
            payment_tokenization,
            ip_address: _,
        } = &self.0.wire;
        let mut debug = f.debug_struct(M::NAME);
        debug.field("amount", amount).field("transaction_type", transaction_type);
        debug.field("convenience_fee", convenience_fee_active).field("suggested_mode", &Redacted);
        method.debug(&mut debug);
        debug
            .field("billing", billing)
            .field("shipping", shipping)
            .field("shipping_same_as_billing", shipping_same_as_billing)
            .field("payment_tokenization", payment_tokenization)
            .field("ip_address", &Redacted)
            .finish()
    }
}

/// A payment before validation. Write it as [`CardTransactionBuilder`](crate::CardTransactionBuilder) or
/// [`AchTransactionBuilder`](crate::AchTransactionBuilder).
#[must_use]
pub struct PaymentBuilder<'a, M> {
    pub(crate) fields: Fields<'a>,
    method: PhantomData<M>,
}

#[allow(private_bounds, reason = "there are the two methods of this crate and no others")]
impl<'a, M: Method> PaymentBuilder<'a, M> {
    pub(crate) fn new(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        suggested_mode: &'static str,
    ) -> Self {
        let mut fields = Fields::default();
        fields.set(FieldName::Amount, FieldValue::Amount(amount));
        fields.set_text(FieldName::SuggestedMode, suggested_mode);
        fields.set(FieldName::ConvenienceFeeActive, FieldValue::Flag(convenience_fee.is_active()));
        if let Some(kind) = transaction_type.wire() {
            fields.set_text(FieldName::TransactionType, kind);
        }
        Self { fields, method: PhantomData }
    }

    fn with(mut self, name: FieldName, value: FieldValue<'a>) -> Self {
        self.fields.set(name, value);
        self
    }

    fn with_text(mut self, name: FieldName, text: impl Into<Cow<'a, str>>) -> Self {
        self.fields.set_text(name, text);
        self
    }

    /// Sets `BillingAddress`. Any text is accepted.
    pub fn billing_address(self, text: impl Into<Cow<'a, str>>) -> Self {
        self.with_text(FieldName::BillingAddress, text)
    }

    /// Sets `BillingCity`. Any text is accepted.
    pub fn billing_city(self, text: impl Into<Cow<'a, str>>) -> Self {
        self.with_text(FieldName::BillingCity, text)
    }

    /// Sets `BillingState`. Any text is accepted.
    pub fn billing_state(self, text: impl Into<Cow<'a, str>>) -> Self {
        self.with_text(FieldName::BillingState, text)
    }

    /// Sets `ShippingSameAsBilling`. It does not fill in any shipping field.
    pub fn shipping_same_as_billing(self, same: bool) -> Self {
        self.with(FieldName::ShippingSameAsBilling, FieldValue::Flag(same))
    }

    /// Sets all other `Shipping…` fields.
    pub fn shipping(mut self, shipping: Shipping) -> Self {
        shipping.set_fields(&mut self.fields);
        self
    }

    /// Sets `SuggestedMode`. The default is `Card` for a card payment and `ACH` for an ACH payment. This SDK infers both values,
    /// because the interface does not document them. [`build`](Self::build) rejects the mode of the other payment method.
    pub fn suggested_mode(mut self, mode: impl Input<'a, SuggestedMode>) -> Self {
        mode.set_field(FieldName::SuggestedMode, &mut self.fields);
        self
    }

    /// Sets `PaymentTokenization`, which asks the service to store the payment method. The interface does not promise a token in
    /// the response. The field is not sent unless set.
    pub fn payment_tokenization(self, tokenize: bool) -> Self {
        self.with(FieldName::PaymentTokenization, FieldValue::Flag(tokenize))
    }

    /// Validates the request.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<Payment<M>, ValidationError> {
        Payment::check(self.fields, UnknownFields::Refused)
    }
}

impl<M: Method> fmt::Debug for PaymentBuilder<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Builder {{ .. }}", M::NAME)
    }
}
