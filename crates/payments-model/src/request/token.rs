use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::check::{Check, Fields, checked, payable};
use super::choices::wire_fee;
use super::document::from_document;
use super::encode::Encoded;
use super::given::{FieldValue, Text};
use super::{FieldName, RequestMembers, UnknownFields};
use crate::id::check_no_spreadsheet_value;
use crate::secret::Redacted;
use crate::{
    Amount, ConvenienceFee, GatewayCustomerId, Input, SecretBytes, TokenId, ValidationError, amount,
};

/// A valid request to charge a stored payment token: the body of `POST /token-transaction`.
///
/// The interface does not document which fields are required. This SDK requires the token, the amount and the convenience fee
/// flag, because together they determine the charge.
///
/// Anyone with the token and the API key can charge the payer, so `Debug` does not show the token.
///
/// # Examples
///
/// ```
/// use payments_model::{Amount, ConvenienceFee, TokenTransaction};
///
/// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive)
///     .gateway_customer_id("gc_1")
///     .reference_no("order 17")
///     .build()?;
/// assert_eq!(payment.reference_no(), Some("order 17"));
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TokenTransaction(Encoded<Wire>);

#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Wire {
    token_id: TokenId,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway_customer_id: Option<GatewayCustomerId>,
    #[serde(serialize_with = "amount::as_number")]
    amount: Amount,
    #[serde(serialize_with = "wire_fee")]
    convenience_fee_active: ConvenienceFee,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_no: Option<String>,
}

impl TokenTransaction {
    /// Starts a request with everything that is required. [`build`](TokenTransactionBuilder::build) validates it.
    pub fn builder<'a>(
        token_id: impl Input<'a, TokenId>,
        amount: Amount,
        convenience_fee: ConvenienceFee,
    ) -> TokenTransactionBuilder<'a> {
        let mut fields = Fields::default();
        token_id.set_field(FieldName::TokenId, &mut fields);
        fields.set(FieldName::Amount, FieldValue::Amount(amount));
        fields.set(FieldName::ConvenienceFeeActive, FieldValue::Flag(convenience_fee.is_active()));
        TokenTransactionBuilder { fields }
    }

    from_document!();

    #[doc(hidden)]
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        Self::check(members.into(), unknown)
    }

    /// The request as JSON, in the order of the interface's table, without the fields that are not set.
    pub fn encode(&self) -> SecretBytes {
        self.0.bytes()
    }

    /// `TokenId`.
    pub const fn token_id(&self) -> &TokenId {
        &self.0.wire.token_id
    }

    /// `GatewayCustomerId`, if set.
    pub const fn gateway_customer_id(&self) -> Option<&GatewayCustomerId> {
        self.0.wire.gateway_customer_id.as_ref()
    }

    /// `Amount`: above zero, at most two decimals.
    pub const fn amount(&self) -> Amount {
        self.0.wire.amount
    }

    /// `ConvenienceFeeActive`.
    pub const fn convenience_fee(&self) -> ConvenienceFee {
        self.0.wire.convenience_fee_active
    }

    /// `Description`, if set.
    pub fn description(&self) -> Option<&str> {
        self.0.wire.description.as_deref()
    }

    /// `ReferenceNo`, the caller's reference, if set. The interface does not say that the service rejects a second payment with
    /// the same reference.
    pub fn reference_no(&self) -> Option<&str> {
        self.0.wire.reference_no.as_deref()
    }

    /// Validates the fields of a builder or of a document.
    fn check(fields: Fields<'_>, unknown: UnknownFields) -> Result<Self, ValidationError> {
        let mut check = Check::new(fields);
        let wire = checked!(Wire {
            token_id: check.required(FieldName::TokenId, |text: Text<'_>| TokenId::check(text.into_string())),
            gateway_customer_id: check.optional(FieldName::GatewayCustomerId, |text: Text<'_>| {
                GatewayCustomerId::check(text.into_string())
            }),
            amount: check.required(FieldName::Amount, payable),
            convenience_fee_active: check
                .required(FieldName::ConvenienceFeeActive, |active| Ok(ConvenienceFee::from_flag(active))),
            description: check.text(FieldName::Description),
            reference_no: check.optional(FieldName::ReferenceNo, |text: Text<'_>| {
                check_no_spreadsheet_value(&text)?;
                Ok(text.into_string())
            }),
        });
        check.check_unknown(unknown);
        check.finish(wire).map(Self)
    }
}

impl fmt::Debug for TokenTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wire {
            token_id: _,
            gateway_customer_id,
            amount,
            convenience_fee_active,
            description: _,
            reference_no: _,
        } = &self.0.wire;
        f.debug_struct("TokenTransaction")
            .field("token_id", &Redacted)
            .field("gateway_customer_id", gateway_customer_id)
            .field("amount", amount)
            .field("convenience_fee", convenience_fee_active)
            .field("description", &Redacted)
            .field("reference_no", &Redacted)
            .finish()
    }
}

/// A [`TokenTransaction`] before validation.
#[must_use]
pub struct TokenTransactionBuilder<'a> {
    fields: Fields<'a>,
}

impl<'a> TokenTransactionBuilder<'a> {
    /// Sets `GatewayCustomerId`, the owner of the token.
    pub fn gateway_customer_id(mut self, id: impl Input<'a, GatewayCustomerId>) -> Self {
        id.set_field(FieldName::GatewayCustomerId, &mut self.fields);
        self
    }

    /// Sets `Description`. Any text is accepted.
    pub fn description(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.fields.set_text(FieldName::Description, text);
        self
    }

    /// Sets `ReferenceNo`, the caller's reference. Any text is accepted, except a formula or an error value of a spreadsheet.
    pub fn reference_no(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.fields.set_text(FieldName::ReferenceNo, text);
        self
    }

    /// Validates the request.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<TokenTransaction, ValidationError> {
        TokenTransaction::check(self.fields, UnknownFields::Refused)
    }
}

impl fmt::Debug for TokenTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fields: _ } = self;
        f.debug_struct("TokenTransactionBuilder").finish_non_exhaustive()
    }
}
