//! The payer: what a caller passes, and the validated billing and shipping details.

use super::body::Object;
use super::{DialPrefix, Email};
use crate::secret::redacted_debug;

/// The payer's required details. They are validated when the request is built.
///
/// Exhaustive on purpose: these are all the billing fields that the interface requires. They are personal data, so `Debug`
/// does not show them.
///
/// ```
/// use payments_model::Payer;
///
/// let name = String::from("A. Payer");
/// let payer = Payer {
///     customer_name: &name,
///     email: "payer@example.com",
///     country_code: "+1",
///     phone_number: "555-0100",
///     country: "US",
///     postal_code: "94105",
///     ip_address: "203.0.113.7",
/// };
/// # let _ = payer;
/// ```
#[expect(
    clippy::exhaustive_structs,
    reason = "a required field added by the interface must be a compile error"
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Payer<'a> {
    /// `BillingCustomerName`: any text that is not blank.
    pub customer_name: &'a str,
    /// `BillingEmail`: see [`Email`].
    pub email: &'a str,
    /// `BillingCountryCode`: a telephone dialing prefix such as `+1`, see [`DialPrefix`].
    pub country_code: &'a str,
    /// `BillingPhoneNumber`: any text that is not blank.
    pub phone_number: &'a str,
    /// `BillingCountry`: any text that is not blank. It is sent unchanged and never mapped to a code.
    pub country: &'a str,
    /// `BillingPostalCode`: any text that is not blank, or an empty text if the country has none.
    pub postal_code: &'a str,
    /// `IpAddress`: the payer's IPv4 or IPv6 address. Private ranges are allowed.
    pub ip_address: &'a str,
}

/// The validated billing details of a payment.
///
/// The builders create it from a [`Payer`] and the optional address fields. It is personal data, so `Debug` does not show it.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct Billing {
    /// `BillingAddress`, if set.
    pub address: Option<String>,
    /// `BillingCity`, if set.
    pub city: Option<String>,
    /// `BillingCountry`, unchanged.
    pub country: String,
    /// `BillingCountryCode`, a dialing prefix.
    pub country_code: DialPrefix,
    /// `BillingCustomerName`.
    pub customer_name: String,
    /// `BillingEmail`.
    pub email: Email,
    /// `BillingPhoneNumber`, unchanged.
    pub phone_number: String,
    /// `BillingPostalCode`. Empty if the payer's country has none.
    pub postal_code: String,
    /// `BillingState`, if set.
    pub state: Option<String>,
}

impl Billing {
    pub(super) fn write(&self, body: &mut Object) {
        let Self {
            address,
            city,
            country,
            country_code,
            customer_name,
            email,
            phone_number,
            postal_code,
            state,
        } = self;
        body.optional("BillingAddress", address.as_ref())
            .optional("BillingCity", city.as_ref())
            .member("BillingCountry", country)
            .member("BillingCountryCode", country_code.as_str())
            .member("BillingCustomerName", customer_name)
            .member("BillingEmail", email.as_str())
            .member("BillingPhoneNumber", phone_number)
            .member("BillingPostalCode", postal_code)
            .optional("BillingState", state.as_ref());
    }
}

/// Declares the fields. Each is optional text and has a setter with its name.
macro_rules! shipping {
    ($($field:ident: $name:literal,)*) => {
        /// The shipping details. Every field is optional and accepts any text, because the interface documents no rules for
        /// them.
        ///
        /// Fields that are `None` are not sent. Each field has a setter with its name. The fields are personal data, so
        /// `Debug` does not show them.
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
            $(
                #[doc = concat!("`", $name, "`.")]
                pub $field: Option<String>,
            )*
        }

        impl Shipping {
            $(
                #[doc = concat!("Sets `", $name, "`.")]
                pub fn $field(mut self, text: impl Into<String>) -> Self {
                    self.$field = Some(text.into());
                    self
                }
            )*

            pub(super) fn write(&self, body: &mut Object) {
                $(body.optional($name, self.$field.as_ref());)*
            }
        }
    };
}

shipping! {
    customer_name: "ShippingCustomerName",
    email: "ShippingEmail",
    phone_number: "ShippingPhoneNumber",
    address: "ShippingAddress",
    country: "ShippingCountry",
    city: "ShippingCity",
    state: "ShippingState",
    postal_code: "ShippingPostalCode",
}

redacted_debug!(Payer<'_>, Billing, Shipping);
