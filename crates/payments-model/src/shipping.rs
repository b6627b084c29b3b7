use std::fmt;

use crate::redact::Redacted;

/// Where goods go. Every field is optional and any text is taken: the interface shows no rule for them.
///
/// Fields left `None` are not sent. Each has a setter of its own name, so that a value reads as one
/// expression. Personal data, so `Debug` does not show it.
///
/// ```
/// use payments_model::Shipping;
///
/// let shipping = Shipping::default().customer_name("A. Payer").city("Lisbon");
/// assert_eq!(shipping.city.as_deref(), Some("Lisbon"));
/// ```
#[non_exhaustive]
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Shipping {
    /// `ShippingCustomerName`.
    pub customer_name: Option<String>,
    /// `ShippingEmail`.
    pub email: Option<String>,
    /// `ShippingPhoneNumber`.
    pub phone_number: Option<String>,
    /// `ShippingAddress`.
    pub address: Option<String>,
    /// `ShippingCountry`.
    pub country: Option<String>,
    /// `ShippingCity`.
    pub city: Option<String>,
    /// `ShippingState`.
    pub state: Option<String>,
    /// `ShippingPostalCode`.
    pub postal_code: Option<String>,
}

impl Shipping {
    /// Sets `ShippingCustomerName`.
    pub fn customer_name(mut self, text: impl Into<String>) -> Self {
        self.customer_name = Some(text.into());
        self
    }

    /// Sets `ShippingEmail`.
    pub fn email(mut self, text: impl Into<String>) -> Self {
        self.email = Some(text.into());
        self
    }

    /// Sets `ShippingPhoneNumber`.
    pub fn phone_number(mut self, text: impl Into<String>) -> Self {
        self.phone_number = Some(text.into());
        self
    }

    /// Sets `ShippingAddress`.
    pub fn address(mut self, text: impl Into<String>) -> Self {
        self.address = Some(text.into());
        self
    }

    /// Sets `ShippingCountry`.
    pub fn country(mut self, text: impl Into<String>) -> Self {
        self.country = Some(text.into());
        self
    }

    /// Sets `ShippingCity`.
    pub fn city(mut self, text: impl Into<String>) -> Self {
        self.city = Some(text.into());
        self
    }

    /// Sets `ShippingState`.
    pub fn state(mut self, text: impl Into<String>) -> Self {
        self.state = Some(text.into());
        self
    }

    /// Sets `ShippingPostalCode`.
    pub fn postal_code(mut self, text: impl Into<String>) -> Self {
        self.postal_code = Some(text.into());
        self
    }
}

impl fmt::Debug for Shipping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            customer_name: _,
            email: _,
            phone_number: _,
            address: _,
            country: _,
            city: _,
            state: _,
            postal_code: _,
        } = self;
        f.debug_tuple("Shipping").field(&Redacted).finish()
    }
}
