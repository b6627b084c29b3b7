//! The required fields of a payer and of a card, as a caller passes them.

use std::fmt;
use std::net::IpAddr;

use super::check::Fields;
use super::{DialPrefix, Email, FieldName, Input};
use crate::secret::Redacted;
use crate::{CardNumber, Cvv, Expiry};

/// The three card fields, as texts or as values of their own types. They are validated when the request is built.
///
/// ```
/// use payments_model::Card;
///
/// let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
/// ```
pub type Card<'a, Number = &'a str, Code = &'a str, Date = &'a str> = CardInput<Number, Code, Date>;

/// The three card fields, each as an [`Input`]. Write it as [`Card`].
///
/// Exhaustive on purpose: these are all the card fields of the interface. `Debug` does not show them.
#[expect(
    clippy::exhaustive_structs,
    reason = "a required field added by the interface must be a compile error"
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CardInput<Number, Code, Date> {
    /// `CardNumber`: see [`CardNumber`].
    pub number: Number,
    /// `Cvv`: see [`Cvv`].
    pub cvv: Code,
    /// `ExpiryDate`: `MMYY`, `MM/YY` or `MM/YYYY`, see [`Expiry`].
    pub expiry: Date,
}

impl<Number, Code, Date> CardInput<Number, Code, Date> {
    pub(crate) fn set_fields<'a>(self, fields: &mut Fields<'a>)
    where
        Number: Input<'a, CardNumber>,
        Code: Input<'a, Cvv>,
        Date: Input<'a, Expiry>,
    {
        let Self { number, cvv, expiry } = self;
        number.set_field(FieldName::CardNumber, fields);
        cvv.set_field(FieldName::Cvv, fields);
        expiry.set_field(FieldName::ExpiryDate, fields);
    }
}

impl<Number, Code, Date> fmt::Debug for CardInput<Number, Code, Date> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number: _, cvv: _, expiry: _ } = self;
        f.debug_tuple("Card").field(&Redacted).finish()
    }
}

/// The payer's required details, as texts or as values of their own types. They are validated when the request is built.
///
/// ```
/// use std::net::Ipv4Addr;
///
/// use payments_model::{Email, Payer};
///
/// let name = String::from("A. Payer");
/// let payer = Payer {
///     customer_name: &name,
///     email: Email::new("payer@example.com")?,
///     country_code: "+1",
///     phone_number: "555-0100",
///     country: "US",
///     postal_code: "94105",
///     ip_address: Ipv4Addr::LOCALHOST,
/// };
/// # let _ = payer;
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
pub type Payer<
    'a,
    Name = &'a str,
    Address = &'a str,
    Prefix = &'a str,
    Phone = &'a str,
    Country = &'a str,
    PostalCode = &'a str,
    Ip = &'a str,
> = PayerInput<Name, Address, Prefix, Phone, Country, PostalCode, Ip>;

/// The payer's required details, each as an [`Input`]. Write it as [`Payer`].
///
/// Exhaustive on purpose: these are all the billing fields that the interface requires. They are personal data, so `Debug`
/// does not show them.
#[expect(
    clippy::exhaustive_structs,
    reason = "a required field added by the interface must be a compile error"
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PayerInput<Name, Address, Prefix, Phone, Country, PostalCode, Ip> {
    /// `BillingCustomerName`: any text that is not blank.
    pub customer_name: Name,
    /// `BillingEmail`: see [`Email`].
    pub email: Address,
    /// `BillingCountryCode`: a telephone dialing prefix such as `+1`, see [`DialPrefix`].
    pub country_code: Prefix,
    /// `BillingPhoneNumber`: any text that is not blank.
    pub phone_number: Phone,
    /// `BillingCountry`: any text that is not blank. It is sent unchanged and never mapped to a code.
    pub country: Country,
    /// `BillingPostalCode`: any text that is not blank, or an empty text if the country has none.
    pub postal_code: PostalCode,
    /// `IpAddress`: the payer's IPv4 or IPv6 address. Private ranges are allowed.
    pub ip_address: Ip,
}

impl<Name, Address, Prefix, Phone, Country, PostalCode, Ip>
    PayerInput<Name, Address, Prefix, Phone, Country, PostalCode, Ip>
{
    pub(crate) fn set_fields<'a>(self, fields: &mut Fields<'a>)
    where
        Name: Input<'a, String>,
        Address: Input<'a, Email>,
        Prefix: Input<'a, DialPrefix>,
        Phone: Input<'a, String>,
        Country: Input<'a, String>,
        PostalCode: Input<'a, String>,
        Ip: Input<'a, IpAddr>,
    {
        let Self { customer_name, email, country_code, phone_number, country, postal_code, ip_address } =
            self;
        customer_name.set_field(FieldName::BillingCustomerName, fields);
        email.set_field(FieldName::BillingEmail, fields);
        country_code.set_field(FieldName::BillingCountryCode, fields);
        phone_number.set_field(FieldName::BillingPhoneNumber, fields);
        country.set_field(FieldName::BillingCountry, fields);
        postal_code.set_field(FieldName::BillingPostalCode, fields);
        ip_address.set_field(FieldName::IpAddress, fields);
    }
}

impl<Name, Address, Prefix, Phone, Country, PostalCode, Ip> fmt::Debug
    for PayerInput<Name, Address, Prefix, Phone, Country, PostalCode, Ip>
{
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
