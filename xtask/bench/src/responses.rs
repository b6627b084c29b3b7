//! The request and the responses that calls are measured with.

/// Each response with its name. The first has only the interface's fields, which the other clients know.
pub(crate) fn all() -> [(&'static str, String); 6] {
    [
        ("interface fields only", [SUCCESS, RECORD, "}}"].concat()),
        ("one unknown field", [SUCCESS, RECORD, ONE_UNKNOWN, "}}"].concat()),
        ("five unknown fields", [SUCCESS, RECORD, FIVE_UNKNOWN, "}}"].concat()),
        ("two known, thirteen unknown", [SUCCESS, TWO_KNOWN_THIRTEEN_UNKNOWN, "}}"].concat()),
        ("pretty-printed, escapes", PRETTY_PRINTED.to_owned()),
        ("decline", [DECLINE, RECORD, "}}"].concat()),
    ]
}

const SUCCESS: &str =
    r#"{"status":"success","status_code":100,"message":"Transaction Processed Successfully","data":{"#;

const DECLINE: &str = r#"{"status":"failed","status_code":200,"message":"Insufficient funds","data":{"#;

/// The fifteen fields of the interface's transaction record.
const RECORD: &str = concat!(
    r#""TransactionId":"txn_e220a8397b1dcdaf","BaseAmount":1249.50,"Amount":1249.50,"#,
    r#""CardNumber":"************4242","BillingEmail":"ada.lovelace@mail.example.com","#,
    r#""BillingCustomerName":"Ada King, Countess of Lovelace","#,
    r#""BillingAddress":"12 St James's Square, 2nd floor","BillingCity":"London","#,
    r#""BillingState":"Greater London","BillingPostalCode":"SW1Y 4JH","BillingCountry":826,"#,
    r#""BillingCountryCode":"+44","BillingPhoneNumber":"020 7946 0958","TransactionType":1,"Status":"1""#,
);

const ONE_UNKNOWN: &str = r#","Currency":"GBP""#;

const FIVE_UNKNOWN: &str = concat!(
    r#","AuthorizationCode":"A7K29Q","CreatedAt":"2026-11-22T10:15:30.123Z","#,
    r#""BatchId":"8f14e45f-ceea-467f-a8d5-1b2c3d4e5f60","ProcessorReference":"000123456789012","#,
    r#""Verification":{"Avs":"Y","Cvv":"M"}"#,
);

const TWO_KNOWN_THIRTEEN_UNKNOWN: &str = concat!(
    r#""TransactionId":"txn_e220a8397b1dcdaf","MerchantId":"mer_51H8xQz2eZvKYlo2C","#,
    r#""TerminalId":"00042917","AuthorizationCode":"A7K29Q","Amount":1249.50,"Currency":"GBP","#,
    r#""CreatedAt":"2026-11-22T10:15:30.123Z","SettlementDate":"2026-11-24","#,
    r#""BatchId":"8f14e45f-ceea-467f-a8d5-1b2c3d4e5f60","ProcessorReference":"000123456789012","#,
    r#""NetworkTransactionId":"584216379005713","RetrievalReferenceNumber":"632610428817","#,
    r#""Verification":{"Avs":"Y","Cvv":"M"},"Installments":null,"Recurring":false"#,
);

const PRETTY_PRINTED: &str = r#"{
  "status": "success",
  "status_code": 100,
  "message": "Transaction \"Processed\" Successfully",
  "data": {
    "TransactionId": "txn_e220a8397b1dcdaf",
    "BaseAmount": 1249.50,
    "Amount": 1249.50,
    "CardNumber": "************4242",
    "BillingEmail": "ada.lovelace@mail.example.com",
    "BillingCustomerName": "Andr\u00e9e \"Ada\" King, Countess of Lovelace",
    "BillingAddress": "12 St James's Square\n2nd floor \\ rear",
    "BillingCity": "London",
    "BillingState": "Greater London",
    "BillingPostalCode": "SW1Y 4JH",
    "BillingCountry": 826,
    "BillingCountryCode": "+44",
    "BillingPhoneNumber": "020 7946 0958",
    "TransactionType": 1,
    "Status": "1",
    "Verification": {
      "Avs": "Y",
      "Cvv": "M",
      "Note": "matched \"in full\"\nby the issuer"
    }
  }
}
"#;

/// A card payment with all 27 fields of the interface.
pub(crate) const CARD_PAYMENT: &str = include_str!("../card-payment.json");

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_response_has_the_number_of_fields_in_its_name() {
        let count = |(name, body): (_, String)| {
            let body: Value = serde_json::from_str(&body).unwrap();
            let data = body["data"].as_object().unwrap();
            assert_eq!(data["TransactionId"], "txn_e220a8397b1dcdaf", "{name}");
            let known = data.keys().filter(|key| RECORD.contains(&format!("\"{key}\":"))).count();
            (known, data.len() - known)
        };
        assert_eq!(all().map(count), [(15, 0), (15, 1), (15, 5), (2, 13), (15, 1), (15, 0)]);
    }
}
