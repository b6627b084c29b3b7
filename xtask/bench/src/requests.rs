//! Whole requests, as a client would put them on the wire.

use bytes::Bytes;
use serde_json::Value;

use crate::server::Server;

/// A card payment with all 27 fields of the interface.
pub(crate) const CARD_PAYMENT: &str = concat!(
    r#"{"Amount":1249.50,"BillingAddress":"12 St James's Square, 2nd floor","BillingCity":"London","#,
    r#""BillingCountry":"826","BillingCountryCode":"+44","BillingCustomerName":"Ada King, Countess of Lovelace","#,
    r#""BillingEmail":"ada.lovelace@mail.example.com","BillingPhoneNumber":"020 7946 0958","#,
    r#""BillingPostalCode":"SW1Y 4JH","BillingState":"Greater London","ShippingSameAsBilling":false,"#,
    r#""ShippingCustomerName":"Charles Babbage","ShippingEmail":"charles.babbage@mail.example.com","#,
    r#""ShippingPhoneNumber":"020 7946 0123","ShippingAddress":"1 Dorset Street, Marylebone","#,
    r#""ShippingCountry":"826","ShippingCity":"London","ShippingState":"Greater London","#,
    r#""ShippingPostalCode":"W1U 4EG","CardNumber":"4242424242424242","Cvv":"917","ExpiryDate":"1137","#,
    r#""SuggestedMode":"Card","ConvenienceFeeActive":false,"TransactionType":"1","PaymentTokenization":false,"#,
    r#""IpAddress":"203.0.113.61"}"#,
);

/// `POST /transaction` with [`CARD_PAYMENT`].
pub(crate) fn card_payment(server: &Server) -> Bytes {
    let body = CARD_PAYMENT;
    let length = body.len();
    let head = head(server, "POST /api/v1/public/transaction");
    format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into()
}

/// `GET /transaction/{id}`.
pub(crate) fn look_up(server: &Server, id: &str) -> Bytes {
    let head = head(server, &format!("GET /api/v1/public/transaction/{id}"));
    format!("{head}\r\n").into()
}

/// The id in the answer to a card payment.
pub(crate) fn transaction_id(body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    Some(answer["data"]["TransactionId"].as_str()?.to_owned())
}

fn head(server: &Server, line: &str) -> String {
    let (address, key) = (server.address(), server.api_key());
    format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: payments-bench\r\nAccept: application/json\r\n\
         Authorization: {key}\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_as_large_as_a_real_one() {
        let fields: serde_json::Map<String, Value> = serde_json::from_str(CARD_PAYMENT).unwrap();
        assert_eq!(fields.len(), 27);
        assert!((850..=950).contains(&CARD_PAYMENT.len()), "{}", CARD_PAYMENT.len());
    }

    #[test]
    fn an_id_is_found_where_the_interface_puts_it() {
        let found = |body: &str| transaction_id(body.as_bytes());
        assert_eq!(
            found(r#"{"status_code":100,"data":{"TransactionId":"txn_1"}}"#).as_deref(),
            Some("txn_1")
        );
        assert_eq!(found(r#"{"TransactionId":"txn_1"}"#), None);
        assert_eq!(found("<html>"), None);
    }
}
