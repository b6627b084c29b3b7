//! The interface's tables as data, typed off the interface's document and not off the code.

use serde_json::Value;

/// The JSON types that the tables name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    Flag,
}

impl Kind {
    pub(crate) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
        }
    }
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

const fn row(name: &'static str, kind: Kind, required: bool) -> Row {
    Row { name, kind, required }
}

use Kind::{Flag, Number, Text};

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

/// Required as this SDK has it: the interface does not show which of these are.
pub(crate) const TOKEN_TRANSACTION: [Row; 6] = [
    row("TokenId", Text, true),
    row("GatewayCustomerId", Text, false),
    row("Amount", Number, true),
    row("ConvenienceFeeActive", Flag, true),
    row("Description", Text, false),
    row("ReferenceNo", Text, false),
];

/// Required as this SDK sends it.
pub(crate) const VOID: [Row; 3] =
    [row("TransactionId", Text, true), row("TransactionFor", Text, true), row("Reason", Text, false)];

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
    ("CountryId", Number),
    ("CountryCode", Text),
    ("Address", Text),
    ("City", Text),
    ("PostalCode", Text),
    ("StateId", Number),
];

/// Every member of the document is in the table, with its type and in its order, and nothing required is
/// missing.
pub(crate) fn assert_follows(document: &[u8], table: &[Row]) {
    let value: Value = serde_json::from_slice(document).unwrap();
    let members = value.as_object().unwrap();
    for (name, member) in members {
        let row =
            table.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert!(row.kind.fits(member), "{name} is not {:?}", row.kind);
    }
    for row in table {
        assert!(!row.required || members.contains_key(row.name), "{} is missing", row.name);
    }
    assert_in_order(document, table.iter().map(|row| row.name));
}

/// The names that are in the document come in this order. Quotes inside texts are escaped, so `"Name":` is a
/// member.
pub(crate) fn assert_in_order<'a>(document: &[u8], names: impl Iterator<Item = &'a str>) {
    let text = str::from_utf8(document).unwrap();
    let places: Vec<usize> = names.filter_map(|name| text.find(&format!("\"{name}\":"))).collect();
    assert!(places.is_sorted(), "out of order: {places:?}");
}
