use std::borrow::Cow;

use crate::json_object::Object;
use crate::{MaskedCard, RawJson, json_writer, printable_field_name, scrub};

/// The members of a request's JSON document in their order, as they may be shown and logged; `None` if the document is
/// no JSON object.
///
/// The card number is masked. The security code, the expiry date and every field that the interface does not have, an
/// ACH payment's account fields among them, read `"[redacted]"`; where one of their values stands in another field as
/// well, it is [scrubbed](scrub) from there. Everything else is as it is in the document, amounts digit for digit. A
/// name that may itself hold a secret becomes [printable](printable_field_name).
///
/// What is left are no secrets but personal data all the same.
///
/// ```
/// let request = br#"{"Amount":10.50,"CardNumber":"4242424242424242","Cvv":"917","Description":"cvv 917"}"#;
/// let shown: Vec<_> = payments_model::redacted_members(request)
///     .expect("an object")
///     .iter()
///     .map(|(name, value)| format!("{name}={}", value.text()))
///     .collect();
/// assert_eq!(
///     shown,
///     ["Amount=10.50", r#"CardNumber="************4242""#, r#"Cvv="[redacted]""#, r#"Description="cvv [redacted]""#]
/// );
/// ```
pub fn redacted_members(document: &[u8]) -> Option<Vec<(String, RawJson)>> {
    let members = Object::open(str::from_utf8(document).ok()?).and_then(Object::all).ok()?;
    let secrets: Vec<Cow<'_, str>> = members
        .iter()
        .filter(|(name, _)| shown_field(name).is_none())
        .filter_map(|(_, value)| value.text())
        .collect();
    let secrets: Vec<&str> = secrets.iter().map(AsRef::as_ref).collect();
    let redacted = members.iter().map(|(name, value)| {
        let shown = match (value.text(), &**name) {
            (Some(number), CARD_NUMBER) => quoted(MaskedCard::new(&number).as_str()),
            _ if shown_field(name).is_none() => RawJson::redacted(),
            (Some(text), _) => quoted(&scrub(&text, &secrets)),
            (None, _) => {
                let scrubbed = scrub(value.as_str(), &secrets);
                RawJson::parse(&scrubbed).unwrap_or_else(|| quoted(&scrubbed))
            }
        };
        (printable_field_name(name).to_owned(), shown)
    });
    Some(redacted.collect())
}

fn quoted(text: &str) -> RawJson {
    RawJson::from_json_text(json_writer::quoted(text).as_str())
}

const CARD_NUMBER: &str = "CardNumber";

/// Makes [`shown_field`] out of the list. A `match` looks at a name's length before its letters, so that it takes a sixth of
/// the time of a binary search; every field of every request that the fake records comes by here.
macro_rules! shown_fields {
    ($($name:literal)*) => {
        /// The name itself, if it is that of a field of the interface which holds neither card nor account data, so that its
        /// value may be shown; `None` for any other, `CardNumber` among them.
        pub fn shown_field(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some($name),)*
                _ => None,
            }
        }
    };
}

// A list of what may be shown, because a list of what may not would miss what nobody thought of.
shown_fields! {
    "Amount"
    "BillingAddress"
    "BillingCity"
    "BillingCountry"
    "BillingCountryCode"
    "BillingCustomerName"
    "BillingEmail"
    "BillingPhoneNumber"
    "BillingPostalCode"
    "BillingState"
    "ConvenienceFeeActive"
    "Description"
    "GatewayCustomerId"
    "IpAddress"
    "PaymentTokenization"
    "Reason"
    "ReferenceNo"
    "ShippingAddress"
    "ShippingCity"
    "ShippingCountry"
    "ShippingCustomerName"
    "ShippingEmail"
    "ShippingPhoneNumber"
    "ShippingPostalCode"
    "ShippingSameAsBilling"
    "ShippingState"
    "SuggestedMode"
    "TokenId"
    "TransactionFor"
    "TransactionId"
    "TransactionType"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str) -> String {
        let members = redacted_members(document.as_bytes()).expect("an object");
        let members: Vec<_> =
            members.iter().map(|(name, value)| format!("{name}={}", value.text())).collect();
        members.join(" ")
    }

    #[test]
    fn what_no_table_of_the_interface_has_is_redacted_whatever_it_holds() {
        assert_eq!(
            shown(
                r#"{"AccountNumber":"000123456789","Pin":12,"Nested":{"a":["b"]},"4242424242424242":true}"#
            ),
            "AccountNumber=\"[redacted]\" Pin=\"[redacted]\" Nested=\"[redacted]\" \
             (unprintable field name)=\"[redacted]\""
        );
    }

    #[test]
    fn a_secret_is_redacted_from_the_fields_beside_it_too() {
        assert_eq!(
            shown(r#"{"Reason":"acct 000123456789, 4242 4242 4242 4242","AccountNumber":"000123456789"}"#),
            "Reason=\"acct [redacted], **** **** **** 4242\" AccountNumber=\"[redacted]\""
        );
    }

    #[test]
    fn a_card_number_is_masked_and_one_that_is_no_text_is_not_shown_at_all() {
        assert_eq!(shown(r#"{"CardNumber":"4242424242424242"}"#), "CardNumber=\"************4242\"");
        assert_eq!(shown(r#"{"CardNumber":4242424242424242}"#), "CardNumber=\"[redacted]\"");
        assert_eq!(shown(r#"{"Amount":4242424242424242}"#), "Amount=\"************4242\"");
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for document in [&b"[]"[..], b"", b"\xff{}", b"{\"a\":1"] {
            assert!(redacted_members(document).is_none());
        }
    }
}
