use std::fmt;

use serde::{Serialize, Serializer};

use super::check::{Check, checked, empty_or_not_blank, not_blank};
use super::encode::wire_text;
use super::given::Text;
use super::{DialPrefix, Email, FieldName};
use crate::secret::Redacted;

/// The validated billing details of a payment.
///
/// The builders create it from a [`Payer`](crate::Payer) and the optional address fields. It is personal data, so `Debug`
/// does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Billing(Fields);

/// The fields as they are sent.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::struct_field_names, reason = "the interface's names")]
struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_city: Option<String>,
    billing_country: String,
    #[serde(serialize_with = "wire_text")]
    billing_country_code: DialPrefix,
    billing_customer_name: String,
    #[serde(serialize_with = "wire_text")]
    billing_email: Email,
    billing_phone_number: String,
    billing_postal_code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_state: Option<String>,
}

impl Billing {
    /// `BillingAddress`, if set.
    pub fn address(&self) -> Option<&str> {
        self.0.billing_address.as_deref()
    }

    /// `BillingCity`, if set.
    pub fn city(&self) -> Option<&str> {
        self.0.billing_city.as_deref()
    }

    /// `BillingCountry`, unchanged.
    pub fn country(&self) -> &str {
        &self.0.billing_country
    }

    /// `BillingCountryCode`, a dialing prefix.
    pub const fn country_code(&self) -> &DialPrefix {
        &self.0.billing_country_code
    }

    /// `BillingCustomerName`.
    pub fn customer_name(&self) -> &str {
        &self.0.billing_customer_name
    }

    /// `BillingEmail`.
    pub const fn email(&self) -> &Email {
        &self.0.billing_email
    }

    /// `BillingPhoneNumber`, unchanged.
    pub fn phone_number(&self) -> &str {
        &self.0.billing_phone_number
    }

    /// `BillingPostalCode`. Empty if the payer's country has none.
    pub fn postal_code(&self) -> &str {
        &self.0.billing_postal_code
    }

    /// `BillingState`, if set.
    pub fn state(&self) -> Option<&str> {
        self.0.billing_state.as_deref()
    }

    pub(crate) fn check(check: &mut Check<'_>) -> Option<Self> {
        let fields = checked!(Fields {
            billing_address: check.text(FieldName::BillingAddress),
            billing_city: check.text(FieldName::BillingCity),
            billing_country: check.required(FieldName::BillingCountry, not_blank),
            billing_country_code: check.required(FieldName::BillingCountryCode, |text: Text<'_>| {
                DialPrefix::check(text.into_string())
            }),
            billing_customer_name: check.required(FieldName::BillingCustomerName, not_blank),
            billing_email: check
                .required(FieldName::BillingEmail, |text: Text<'_>| Email::check(text.into_string())),
            billing_phone_number: check.required(FieldName::BillingPhoneNumber, not_blank),
            billing_postal_code: check.required(FieldName::BillingPostalCode, empty_or_not_blank),
            billing_state: check.text(FieldName::BillingState),
        });
        fields.map(Self)
    }

    pub(crate) fn wire<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl fmt::Debug for Billing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.debug_tuple("Billing").field(&Redacted).finish()
    }
}
