use std::borrow::Cow;
use std::fmt;

use super::ConvenienceFee;
use super::RequestMembers;
use super::body::{Body, Object, check_size};
use super::check::{Check, not_blank, payable};
use super::draft::TokenDraft;
use super::members::from_json;
use crate::amount::Number;
use crate::json::Member;
use crate::secret::Redacted;
use crate::spreadsheet::check_no_spreadsheet_value;
use crate::{Amount, GatewayCustomerId, SecretBytes, TokenId, ValidationError};

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
pub struct TokenTransaction {
    token_id: TokenId,
    gateway_customer_id: Option<GatewayCustomerId>,
    amount: Amount,
    convenience_fee: ConvenienceFee,
    description: Option<String>,
    reference_no: Option<String>,
    body: Body,
}

impl TokenTransaction {
    /// Starts a request with everything that is required. [`build`](TokenTransactionBuilder::build) validates it.
    pub fn builder<'a>(
        token_id: impl Into<Cow<'a, str>>,
        amount: Amount,
        convenience_fee: ConvenienceFee,
    ) -> TokenTransactionBuilder<'a> {
        let mut draft = TokenDraft::default();
        draft.token_id.set(token_id);
        draft.amount.set(amount);
        draft.convenience_fee.set(convenience_fee);
        TokenTransactionBuilder { draft }
    }

    from_json! {
        /// The token, the amount and the convenience fee flag are required.
    }

    #[doc(hidden)]
    pub fn from_members(members: &RequestMembers<'_>) -> Result<Self, ValidationError> {
        let (draft, others) = TokenDraft::read(members.as_slice());
        Self::check(draft, &others)
    }

    /// The request as JSON: the bytes that are sent, in the order of the interface's table, without the fields that are not
    /// set.
    ///
    /// **It holds the token**, which is enough to charge the payer together with the API key. [`from_json`](Self::from_json)
    /// reads it, so that a request can wait in a queue. Do not log it.
    pub fn to_json(&self) -> SecretBytes {
        self.body.bytes(|| self.object())
    }

    /// `TokenId`.
    pub const fn token_id(&self) -> &TokenId {
        &self.token_id
    }

    /// `GatewayCustomerId`, if set.
    pub const fn gateway_customer_id(&self) -> Option<&GatewayCustomerId> {
        self.gateway_customer_id.as_ref()
    }

    /// `Amount`: above zero, at most two decimals.
    pub const fn amount(&self) -> Amount {
        self.amount
    }

    /// `ConvenienceFeeActive`.
    pub const fn convenience_fee(&self) -> ConvenienceFee {
        self.convenience_fee
    }

    /// `Description`, if set.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// `ReferenceNo`, the caller's reference, if set. The interface does not say that the service refuses a second payment with
    /// the same reference.
    pub fn reference_no(&self) -> Option<&str> {
        self.reference_no.as_deref()
    }

    fn check(draft: TokenDraft<'_>, unknown: &[&Member<'_>]) -> Result<Self, ValidationError> {
        let mut check = Check::default();
        let token_id = check.required(draft.token_id, TokenId::check);
        let gateway_customer_id = check.optional(draft.gateway_customer_id, GatewayCustomerId::check);
        let amount = check.required(draft.amount, |amount| payable(amount, 0));
        let convenience_fee = check.required(draft.convenience_fee, Ok);
        let description = check.text(draft.description);
        let reference_no = check.optional(draft.reference_no, |text| {
            let text = not_blank(text)?;
            check_no_spreadsheet_value(&text).map(|()| text)
        });
        check.unknown(unknown, &[TokenDraft::NAMES]);
        let required = (|| Some((token_id?, amount?, convenience_fee?)))();
        let (token_id, amount, convenience_fee) = check.finish(required)?;
        let body = Body::default();
        Ok(Self { token_id, gateway_customer_id, amount, convenience_fee, description, reference_no, body })
    }

    fn object(&self) -> Object {
        let mut object = Object::new();
        object
            .member("TokenId", self.token_id.as_str())
            .optional("GatewayCustomerId", self.gateway_customer_id.as_ref().map(GatewayCustomerId::as_str))
            .member("Amount", Number(self.amount))
            .member("ConvenienceFeeActive", self.convenience_fee.is_active())
            .optional("Description", self.description.as_ref())
            .optional("ReferenceNo", self.reference_no.as_ref());
        object
    }
}

impl fmt::Debug for TokenTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            token_id: _,
            gateway_customer_id,
            amount,
            convenience_fee,
            description: _,
            reference_no: _,
            body: _,
        } = self;
        f.debug_struct("TokenTransaction")
            .field("token_id", &Redacted)
            .field("gateway_customer_id", gateway_customer_id)
            .field("amount", amount)
            .field("convenience_fee", convenience_fee)
            .field("description", &Redacted)
            .field("reference_no", &Redacted)
            .finish()
    }
}

/// A [`TokenTransaction`] before validation.
#[must_use]
pub struct TokenTransactionBuilder<'a> {
    draft: TokenDraft<'a>,
}

impl<'a> TokenTransactionBuilder<'a> {
    /// Sets `GatewayCustomerId`, the owner of the token.
    pub fn gateway_customer_id(mut self, id: impl Into<Cow<'a, str>>) -> Self {
        self.draft.gateway_customer_id.set(id);
        self
    }

    /// Sets `Description`. Any text is accepted.
    pub fn description(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.draft.description.set(text);
        self
    }

    /// Sets `ReferenceNo`, the caller's reference. Any text is accepted that is not blank, except a formula or an error value of a
    /// spreadsheet: after an unknown outcome, a person searches for the payment by its reference.
    pub fn reference_no(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.draft.reference_no.set(text);
        self
    }

    /// Validates the request.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<TokenTransaction, ValidationError> {
        let payment = TokenTransaction::check(self.draft, &[])?;
        check_size(&payment.to_json()).map(|()| payment)
    }
}

impl fmt::Debug for TokenTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenTransactionBuilder { .. }")
    }
}
