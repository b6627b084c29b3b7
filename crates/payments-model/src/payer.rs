use std::fmt;

use crate::redact::Redacted;

/// The payer's required details, as typed. They are checked when the request is built.
///
/// Exhaustive on purpose: these are all the billing fields that the interface requires, and naming each of
/// them is the point. Personal data, so `Debug` does not show it.
#[expect(
    clippy::exhaustive_structs,
    reason = "a required field added by the interface must be a compile error"
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Payer<'a> {
    /// `BillingCustomerName`: any text that is not blank.
    pub customer_name: &'a str,
    /// `BillingEmail`: see [`Email`](crate::Email).
    pub email: &'a str,
    /// `BillingCountryCode`: a telephone dialling prefix such as `+1`, see [`DialPrefix`](crate::DialPrefix).
    pub country_code: &'a str,
    /// `BillingPhoneNumber`: any text that is not blank.
    pub phone_number: &'a str,
    /// `BillingCountry`: any text that is not blank. It is sent as it is, never mapped to a code.
    pub country: &'a str,
    /// `BillingPostalCode`: any text that is not blank.
    pub postal_code: &'a str,
    /// `IpAddress`: the payer's IPv4 or IPv6 address, private ranges allowed.
    pub ip_address: &'a str,
}

impl fmt::Debug for Payer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            customer_name: _,
            email: _,
            country_code: _,
            phone_number: _,
            country: _,
            postal_code: _,
            ip_address: _,
        } = self;
        f.debug_tuple("Payer").field(&Redacted).finish()
    }
}
