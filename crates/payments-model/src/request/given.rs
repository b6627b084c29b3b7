//! The value of a field from a builder or a JSON document, before validation.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::check::Fields;
use super::encode::WireText as _;
use super::{DialPrefix, Email, FieldName, SuggestedMode};
use crate::json::Json;
use crate::violation::Rule;
use crate::{Amount, CardNumber, Cvv, Expiry, GatewayCustomerId, TokenId};

/// What a builder accepts for a field of type `T`: a text, which is validated when the request is built, or a `T`, which is
/// already valid. Both work by value and by reference. A field without its own type is a `String`.
///
/// ```
/// use payments_model::{Card, CardNumber, Expiry};
///
/// let typed = Card { number: CardNumber::new("4242424242424242")?, cvv: "123", expiry: Expiry::new(12, 2030)? };
/// let text = Card { number: String::from("4242 4242 4242 4242"), cvv: "123", expiry: "12/30" };
/// # let _ = (typed, text);
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
pub trait Input<'a, T>: sealed::Give<'a, T> {}

impl<'a, T, I: sealed::Give<'a, T>> Input<'a, T> for I {}

pub(crate) mod sealed {
    use crate::request::FieldName;
    use crate::request::check::Fields;

    #[allow(unnameable_types, reason = "it seals `Input`")]
    pub trait Give<'a, T> {
        /// Sets the field of this name.
        fn set_field(self, name: FieldName, fields: &mut Fields<'a>);
    }
}

/// The value of one field before validation.
pub(crate) enum FieldValue<'a> {
    Text(Text<'a>),
    Flag(bool),
    Amount(Amount),
    /// Already valid, possibly without the Luhn check.
    CardNumber(CardNumber),
    /// From a document.
    Json(Json<'a>),
    /// From a document that has the field more than once.
    Repeated,
}

/// A text that may be a secret. Owned text is set to zero on drop.
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Owned(Zeroizing<String>),
}

impl Text<'_> {
    pub(crate) fn into_string(self) -> String {
        match self {
            Self::Borrowed(text) => text.to_owned(),
            Self::Owned(mut text) => std::mem::take(&mut *text),
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl<'a> From<Cow<'a, str>> for Text<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Borrowed(text),
            Cow::Owned(text) => Self::Owned(Zeroizing::new(text)),
        }
    }
}

/// Implements [`Input`] for text types.
macro_rules! input_from_text {
    ($($text:ty => |$input:ident| $cow:expr,)*) => {$(
        impl<'a, T> sealed::Give<'a, T> for $text {
            fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
                let $input = self;
                fields.set_text(name, $cow);
            }
        }
    )*};
}
input_from_text! {
    &'a str => |text| text,
    &'a &str => |text| *text,
    &'a String => |text| text,
    &'a Cow<'_, str> => |text| &**text,
    &'a Box<str> => |text| &**text,
    &'a Arc<str> => |text| &**text,
    &'a Zeroizing<String> => |text| text.as_str(),
    String => |text| text,
    Cow<'a, str> => |text| text,
    Box<str> => |text| String::from(text),
    Zeroizing<String> => |text| text.as_str().to_owned(),
}

/// Implements [`Input`] for validated types. Their text is validated again, and always passes.
macro_rules! input_from_valid {
    ($($type:ty => |$input:ident| $text:expr,)*) => {$(
        impl<'a> sealed::Give<'a, Self> for $type {
            fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
                (&self).set_field(name, fields);
            }
        }

        impl<'a> sealed::Give<'a, $type> for &$type {
            fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
                let $input = self;
                fields.set_text(name, $text);
            }
        }
    )*};
}
input_from_valid! {
    Cvv => |code| code.wire_text().to_owned(),
    Expiry => |date| date.wire_text().to_owned(),
    Email => |email| email.wire_text().to_owned(),
    DialPrefix => |prefix| prefix.wire_text().to_owned(),
    SuggestedMode => |mode| mode.wire_text().to_owned(),
    TokenId => |id| id.wire_text().to_owned(),
    GatewayCustomerId => |id| id.wire_text().to_owned(),
    IpAddr => |address| address.to_string(),
}

impl<'a> sealed::Give<'a, IpAddr> for Ipv4Addr {
    fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
        IpAddr::from(self).set_field(name, fields);
    }
}

impl<'a> sealed::Give<'a, IpAddr> for Ipv6Addr {
    fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
        IpAddr::from(self).set_field(name, fields);
    }
}

impl<'a> sealed::Give<'a, Self> for CardNumber {
    fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
        fields.set(name, FieldValue::CardNumber(self));
    }
}

impl<'a> sealed::Give<'a, CardNumber> for &CardNumber {
    fn set_field(self, name: FieldName, fields: &mut Fields<'a>) {
        self.clone().set_field(name, fields);
    }
}

/// The type of a field before validation. Other JSON types are a violation.
pub(crate) trait FromFieldValue<'a>: Sized {
    fn from_value(value: FieldValue<'a>) -> Result<Self, Rule>;
}

impl<'a> FromFieldValue<'a> for Text<'a> {
    fn from_value(value: FieldValue<'a>) -> Result<Self, Rule> {
        match value {
            FieldValue::Text(text) => Ok(text),
            FieldValue::Json(json) => json.text().map(Into::into).ok_or("must be a string"),
            _ => Err("must be a string"),
        }
    }
}

impl<'a> FromFieldValue<'a> for bool {
    fn from_value(value: FieldValue<'a>) -> Result<Self, Rule> {
        match value {
            FieldValue::Flag(flag) => Ok(flag),
            FieldValue::Json(json) => json.flag().ok_or("must be true or false"),
            _ => Err("must be true or false"),
        }
    }
}

/// An amount, and the number of decimals that it is written with.
pub(crate) struct Written {
    pub(crate) amount: Amount,
    pub(crate) decimals: usize,
}

impl<'a> FromFieldValue<'a> for Written {
    fn from_value(value: FieldValue<'a>) -> Result<Self, Rule> {
        const NOT_A_NUMBER: Rule = "must be a JSON number, not a string";
        match value {
            FieldValue::Amount(amount) => Ok(Self { amount, decimals: amount.written_decimals() }),
            FieldValue::Json(json) => {
                let number = json.number().ok_or(NOT_A_NUMBER)?;
                let amount: Amount = number.parse().map_err(crate::AmountError::rule)?;
                Ok(Self { amount, decimals: amount.written_decimals().max(decimals_in(number)) })
            }
            _ => Err(NOT_A_NUMBER),
        }
    }
}

/// The number of digits between the decimal point and the end or the exponent.
fn decimals_in(number: &str) -> usize {
    let fraction = number.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

impl<'a> FromFieldValue<'a> for FieldValue<'a> {
    fn from_value(value: Self) -> Result<Self, Rule> {
        Ok(value)
    }
}
