//! The interface's tables as data, copied from the interface's document and not from the code. The tests of the OpenAPI
//! document use the same file.

/// The JSON types that the tables name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Integer,
    Text,
    Flag,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

const fn row(name: &'static str, kind: Kind, required: bool) -> Row {
    Row { name, kind, required }
}

use Kind::{Flag, Integer, Number, Text};

pub(crate) const CARD_TRANSACTION: [Row; 27] = [
    row("Amount", Number, true),
    row("BillingAddress", Text, false),
    row("BillingCity", Text, false),
    row("BillingCountry", Text, true),
    row("BillingCountryCode", Text, true),
    row("BillingCustomerName", Text, true),
    row("BillingEmail", Text, true),
    row("BillingPhoneNumber", Text, true),
    row("BillingPostalCode", Text, true),
    row("BillingState", Text, false),
    row("ShippingSameAsBilling", Flag, false),
    row("ShippingCustomerName", Text, false),
    row("ShippingEmail", Text, false),
    row("ShippingPhoneNumber", Text, false),
    row("ShippingAddress", Text, false),
    row("ShippingCountry", Text, false),
    row("ShippingCity", Text, false),
    row("ShippingState", Text, false),
    row("ShippingPostalCode", Text, false),
    row("CardNumber", Text, true),
    row("Cvv", Text, true),
    row("ExpiryDate", Text, true),
    row("SuggestedMode", Text, true),
    row("ConvenienceFeeActive", Flag, true),
    row("TransactionType", Text, false),
    row("PaymentTokenization", Flag, false),
    row("IpAddress", Text, true),
];

/// The interface does not document which fields are required. `required` is what this SDK requires.
pub(crate) const TOKEN_TRANSACTION: [Row; 6] = [
    row("TokenId", Text, true),
    row("GatewayCustomerId", Text, false),
    row("Amount", Number, true),
    row("ConvenienceFeeActive", Flag, true),
    row("Description", Text, false),
    row("ReferenceNo", Text, false),
];

/// `required` is again what this SDK requires. It always sends the first two.
pub(crate) const VOID: [Row; 3] =
    [row("TransactionId", Text, true), row("TransactionFor", Text, false), row("Reason", Text, false)];

pub(crate) const TRANSACTION_RECORD: [(&str, Kind); 15] = [
    ("TransactionId", Text),
    ("BaseAmount", Number),
    ("Amount", Number),
    ("CardNumber", Text),
    ("BillingEmail", Text),
    ("BillingCustomerName", Text),
    ("BillingAddress", Text),
    ("BillingCity", Text),
    ("BillingState", Text),
    ("BillingPostalCode", Text),
    ("BillingCountry", Number),
    ("BillingCountryCode", Text),
    ("BillingPhoneNumber", Text),
    ("TransactionType", Number),
    ("Status", Text),
];

pub(crate) const CUSTOMER_RECORD: [(&str, Kind); 10] = [
    ("CustomerId", Text),
    ("CustomerName", Text),
    ("Email", Text),
    ("PhoneNumber", Text),
    ("CountryId", Integer),
    ("CountryCode", Text),
    ("Address", Text),
    ("City", Text),
    ("PostalCode", Text),
    ("StateId", Integer),
];
