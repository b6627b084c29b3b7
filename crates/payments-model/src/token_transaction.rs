use std::borrow::Cow;
use std::fmt;

use crate::check::{Check, Entry, check_amount};
use crate::document::{self, Draft, Slot};
use crate::json_writer::{self, Length, ObjectWriter};
use crate::redact::Redacted;
use crate::{
    Amount, ConvenienceFee, GatewayCustomerId, RequestMembers, SecretBytes, TokenId, UnknownFields,
    ValidationError, Violation,
};

/// A checked request to charge a stored payment token: the body of `POST /token-transaction`.
///
/// The interface does not show which fields are required. This SDK requires the token, the amount and the
/// decision about the convenience fee, without which nobody could say what will be charged.
///
/// A token is worth money to whoever also has the API key, so `Debug` does not show it.
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
    length: Length,
}

impl TokenTransaction {
    /// Begins a request with everything that is required. Nothing is checked before
    /// [`build`](TokenTransactionBuilder::build).
    pub fn builder(
        token_id: &str,
        amount: Amount,
        convenience_fee: ConvenienceFee,
    ) -> TokenTransactionBuilder<'_> {
        TokenTransactionBuilder {
            draft: TokenDraft {
                token_id: Entry::text(token_id),
                amount: Entry::Given(amount),
                convenience_fee_active: Entry::Given(convenience_fee.is_active()),
                ..TokenDraft::default()
            },
        }
    }

    /// Reads a request out of a JSON object with the interface's field names.
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
        document::parse::<TokenDraft<'_>>(members, unknown)
    }

    /// The request as JSON, in the order of the interface's table, without the fields that are not set.
    pub fn encode(&self) -> SecretBytes {
        json_writer::encode(self.length, |out| self.write(out))
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

    /// `ReferenceNo`, the caller's own reference, if set. The interface does not say that the service refuses
    /// a second payment with the same one.
    pub fn reference_no(&self) -> Option<&str> {
        self.reference_no.as_deref()
    }

    fn write(&self, out: &mut ObjectWriter<'_>) {
        let Self {
            token_id,
            gateway_customer_id,
            amount,
            convenience_fee,
            description,
            reference_no,
            length: _,
        } = self;
        out.text("TokenId", token_id.as_str());
        out.optional_text("GatewayCustomerId", gateway_customer_id.as_ref().map(GatewayCustomerId::as_str));
        out.amount("Amount", *amount);
        out.flag("ConvenienceFeeActive", convenience_fee.is_active());
        out.optional_text("Description", description.as_deref());
        out.optional_text("ReferenceNo", reference_no.as_deref());
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
            length: _,
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

/// A [`TokenTransaction`] before it is checked.
#[must_use]
pub struct TokenTransactionBuilder<'a> {
    draft: TokenDraft<'a>,
}

impl<'a> TokenTransactionBuilder<'a> {
    /// Sets `GatewayCustomerId`, the owner of the token.
    pub fn gateway_customer_id(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.draft.gateway_customer_id = Entry::text(text);
        self
    }

    /// Sets `Description`. Any text is taken.
    pub fn description(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.draft.description = Entry::text(text);
        self
    }

    /// Sets `ReferenceNo`, the caller's own reference. Any text is taken.
    pub fn reference_no(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.draft.reference_no = Entry::text(text);
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<TokenTransaction, ValidationError> {
        self.draft.check(Vec::new())
    }
}

impl fmt::Debug for TokenTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { draft: _ } = self;
        f.debug_struct("TokenTransactionBuilder").finish_non_exhaustive()
    }
}

/// The request before it is checked: a builder and a JSON document both end here.
#[derive(Default)]
struct TokenDraft<'a> {
    token_id: Entry<Cow<'a, str>>,
    gateway_customer_id: Entry<Cow<'a, str>>,
    amount: Entry<Amount>,
    convenience_fee_active: Entry<bool>,
    description: Entry<Cow<'a, str>>,
    reference_no: Entry<Cow<'a, str>>,
}

impl<'a> Draft<'a> for TokenDraft<'a> {
    type Request = TokenTransaction;

    fn slot(&mut self, name: &str) -> Option<Slot<'_, 'a>> {
        Some(match name {
            "TokenId" => Slot::Text(&mut self.token_id),
            "GatewayCustomerId" => Slot::Text(&mut self.gateway_customer_id),
            "Amount" => Slot::Amount(&mut self.amount),
            "ConvenienceFeeActive" => Slot::Flag(&mut self.convenience_fee_active),
            "Description" => Slot::Text(&mut self.description),
            "ReferenceNo" => Slot::Text(&mut self.reference_no),
            _ => return None,
        })
    }

    fn check(self, unknown: Vec<Violation>) -> Result<TokenTransaction, ValidationError> {
        let mut check = Check::default();
        let token_id = check.required("TokenId", self.token_id, |text| TokenId::check(text.into_owned()));
        let gateway_customer_id = check.optional("GatewayCustomerId", self.gateway_customer_id, |text| {
            GatewayCustomerId::check(text.into_owned())
        });
        let amount = check.required("Amount", self.amount, check_amount);
        let convenience_fee = check.required("ConvenienceFeeActive", self.convenience_fee_active, |active| {
            Ok(ConvenienceFee::from_flag(active))
        });
        let description = check.any_text("Description", self.description);
        let reference_no = check.any_text("ReferenceNo", self.reference_no);
        check.append(unknown);
        let request = (|| {
            Ok(TokenTransaction {
                token_id: token_id?,
                gateway_customer_id: gateway_customer_id?,
                amount: amount?,
                convenience_fee: convenience_fee?,
                description: description?,
                reference_no: reference_no?,
                length: Length::default(),
            })
        })();
        let (request, length) = check.finish(request, TokenTransaction::write)?;
        Ok(TokenTransaction { length, ..request })
    }
}
