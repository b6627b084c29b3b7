use std::fmt;

use crate::redact::Redacted;
use crate::{DialPrefix, Email};

/// The checked billing details of a payment.
///
/// Made by the builders out of a [`Payer`](crate::Payer) and the optional address fields. Personal data, so
/// `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Billing {
    pub(crate) address: Option<String>,
    pub(crate) city: Option<String>,
    pub(crate) country: String,
    pub(crate) country_code: DialPrefix,
    pub(crate) customer_name: String,
    pub(crate) email: Email,
    pub(crate) phone_number: String,
    pub(crate) postal_code: String,
    pub(crate) state: Option<String>,
}

impl Billing {
    /// `BillingAddress`, if set.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// `BillingCity`, if set.
    pub fn city(&self) -> Option<&str> {
        self.city.as_deref()
    }

    /// `BillingCountry`, as given.
    pub fn country(&self) -> &str {
        &self.country
    }

    /// `BillingCountryCode`, a dialling prefix.
    pub const fn country_code(&self) -> &DialPrefix {
        &self.country_code
    }

    /// `BillingCustomerName`.
    pub fn customer_name(&self) -> &str {
        &self.customer_name
    }

    /// `BillingEmail`.
    pub const fn email(&self) -> &Email {
        &self.email
    }

    /// `BillingPhoneNumber`, as given.
    pub fn phone_number(&self) -> &str {
        &self.phone_number
    }

    /// `BillingPostalCode`.
    pub fn postal_code(&self) -> &str {
        &self.postal_code
    }

    /// `BillingState`, if set.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

impl fmt::Debug for Billing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address: _,
            city: _,
            country: _,
            country_code: _,
            customer_name: _,
            email: _,
            phone_number: _,
            postal_code: _,
            state: _,
        } = self;
        f.debug_tuple("Billing").field(&Redacted).finish()
    }
}
