//! The fields of the requests before validation, as a builder or a JSON document gives them.

use std::borrow::Cow;
use std::ops::Deref;

use zeroize::Zeroize as _;

use super::check::{REPEATED, payable};
use super::choices::{ConvenienceFee, TransactionType};
use crate::json::{Json, Member};
use crate::violation::Rule;
use crate::{Amount, AmountError};

/// Declares a draft: the Rust name, the type and the interface's name of each field.
macro_rules! draft {
    ($(#[$meta:meta])* $draft:ident { $($field:ident: $type:ty = $name:literal,)* }) => {
        $(#[$meta])*
        pub(super) struct $draft<'a> {
            $(pub(super) $field: Given<$type>,)*
        }

        impl Default for $draft<'_> {
            fn default() -> Self {
                Self { $($field: Given { name: $name, value: None },)* }
            }
        }

        impl<'a> $draft<'a> {
            /// The interface's names.
            pub(super) const NAMES: &'static [&'static str] = &[$($name),*];

            /// Takes the members with the interface's names. Returns the others.
            pub(super) fn read<'m>(
                members: impl IntoIterator<Item = &'m Member<'a>>,
            ) -> (Self, Vec<&'m Member<'a>>)
            where
                'a: 'm,
            {
                let mut draft = Self::default();
                let is_other = |member: &&'m Member<'a>| {
                    match &*member.0 {
                        $($name => draft.$field.read(member.1),)*
                        _ => return true,
                    }
                    false
                };
                let others = members.into_iter().filter(is_other).collect();
                (draft, others)
            }
        }
    };
}

draft! {
    /// The fields of `POST /transaction` without those of the card.
    PaymentDraft {
        amount: Amount = "Amount",
        billing_address: Cow<'a, str> = "BillingAddress",
        billing_city: Cow<'a, str> = "BillingCity",
        billing_country: Cow<'a, str> = "BillingCountry",
        billing_country_code: Cow<'a, str> = "BillingCountryCode",
        billing_customer_name: Cow<'a, str> = "BillingCustomerName",
        billing_email: Cow<'a, str> = "BillingEmail",
        billing_phone_number: Cow<'a, str> = "BillingPhoneNumber",
        billing_postal_code: Cow<'a, str> = "BillingPostalCode",
        billing_state: Cow<'a, str> = "BillingState",
        shipping_same_as_billing: bool = "ShippingSameAsBilling",
        shipping_customer_name: Cow<'a, str> = "ShippingCustomerName",
        shipping_email: Cow<'a, str> = "ShippingEmail",
        shipping_phone_number: Cow<'a, str> = "ShippingPhoneNumber",
        shipping_address: Cow<'a, str> = "ShippingAddress",
        shipping_country: Cow<'a, str> = "ShippingCountry",
        shipping_city: Cow<'a, str> = "ShippingCity",
        shipping_state: Cow<'a, str> = "ShippingState",
        shipping_postal_code: Cow<'a, str> = "ShippingPostalCode",
        suggested_mode: Cow<'a, str> = "SuggestedMode",
        convenience_fee: ConvenienceFee = "ConvenienceFeeActive",
        transaction_type: TransactionType = "TransactionType",
        payment_tokenization: bool = "PaymentTokenization",
        ip_address: Cow<'a, str> = "IpAddress",
    }
}

draft! {
    /// The fields of a card in `POST /transaction`.
    CardDraft {
        number: SecretCow<'a> = "CardNumber",
        cvv: SecretCow<'a> = "Cvv",
        expiry: SecretCow<'a> = "ExpiryDate",
    }
}

draft! {
    /// The fields of `POST /token-transaction`.
    TokenDraft {
        token_id: Cow<'a, str> = "TokenId",
        gateway_customer_id: Cow<'a, str> = "GatewayCustomerId",
        amount: Amount = "Amount",
        convenience_fee: ConvenienceFee = "ConvenienceFeeActive",
        description: Cow<'a, str> = "Description",
        reference_no: Cow<'a, str> = "ReferenceNo",
    }
}

draft! {
    /// The fields of `POST /void`.
    VoidDraft {
        transaction_id: Cow<'a, str> = "TransactionId",
        transaction_for: Cow<'a, str> = "TransactionFor",
        reason: Cow<'a, str> = "Reason",
    }
}

/// The names of the card fields in `POST /transaction`.
pub const CARD_FIELDS: &[&str] = CardDraft::NAMES;
/// The names of the other fields in `POST /transaction`.
pub const PAYMENT_FIELDS: &[&str] = PaymentDraft::NAMES;
/// The names of the fields in `POST /token-transaction`.
pub const TOKEN_FIELDS: &[&str] = TokenDraft::NAMES;
/// The names of the fields in `POST /void`.
pub const VOID_FIELDS: &[&str] = VoidDraft::NAMES;

/// This name, if a request has a field with it.
pub fn request_field(name: &str) -> Option<&'static str> {
    let tables = [PAYMENT_FIELDS, CARD_FIELDS, TOKEN_FIELDS, VOID_FIELDS];
    tables.into_iter().flatten().copied().find(|field| *field == name)
}

/// One field of a draft.
pub(super) struct Given<T> {
    /// In the interface.
    pub(super) name: &'static str,
    /// An error is the rule that the document breaks: it has the field twice, or with another JSON type.
    pub(super) value: Option<Result<T, Rule>>,
}

impl<T> Given<T> {
    pub(super) fn set(&mut self, value: impl Into<T>) {
        self.value = Some(Ok(value.into()));
    }

    fn read<'a>(&mut self, json: Json<'a>)
    where
        T: FromJson<'a>,
    {
        self.value = Some(if self.value.is_none() { T::from_json(json) } else { Err(REPEATED) });
    }
}

/// Reads a field of a document. An error is the rule that its JSON type breaks.
trait FromJson<'a>: Sized {
    fn from_json(json: Json<'a>) -> Result<Self, Rule>;
}

impl<'a> FromJson<'a> for Cow<'a, str> {
    fn from_json(json: Json<'a>) -> Result<Self, Rule> {
        json.text().ok_or("must be a string")
    }
}

impl<'a> FromJson<'a> for SecretCow<'a> {
    fn from_json(json: Json<'a>) -> Result<Self, Rule> {
        FromJson::from_json(json).map(Self)
    }
}

impl FromJson<'_> for bool {
    fn from_json(json: Json<'_>) -> Result<Self, Rule> {
        json.flag().ok_or("must be true or false")
    }
}

impl FromJson<'_> for Amount {
    fn from_json(json: Json<'_>) -> Result<Self, Rule> {
        let number = json.number().ok_or("must be a JSON number, not a string")?;
        let amount = number.parse().map_err(AmountError::rule)?;
        // An exponent may hide written decimals: `1.000e3`.
        let fraction = number.split_once('.').map_or("", |(_, fraction)| fraction);
        payable(amount, fraction.bytes().take_while(u8::is_ascii_digit).count())
    }
}

impl FromJson<'_> for ConvenienceFee {
    fn from_json(json: Json<'_>) -> Result<Self, Rule> {
        bool::from_json(json).map(|active| if active { Self::Active } else { Self::Inactive })
    }
}

impl FromJson<'_> for TransactionType {
    fn from_json(json: Json<'_>) -> Result<Self, Rule> {
        match &*Cow::from_json(json)? {
            "1" => Ok(Self::Sale),
            "2" => Ok(Self::Auth),
            _ => Err("must be 1 for a sale or 2 for an authorization"),
        }
    }
}

/// Card data. A text with escapes in the document is owned, and is set to zero on drop.
pub(super) struct SecretCow<'a>(Cow<'a, str>);

impl<'a> From<&'a str> for SecretCow<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.into())
    }
}

impl Deref for SecretCow<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for SecretCow<'_> {
    fn drop(&mut self) {
        if let Cow::Owned(text) = &mut self.0 {
            text.zeroize();
        }
    }
}
