//! Secrets cannot be printed or serialized by accident.

use std::fmt::{Debug, Display};

use payments_model::unversioned::Envelope;
use payments_model::{
    AchTransaction, Amount, CardNumber, CardTransaction, ConvenienceFee, CustomerRecord, Cvv, Expiry,
    OtherFields, RawJson, SecretBytes, Shipping, TokenId, TokenTransaction, TransactionRecord,
    TransactionRequest, Void,
};
use serde::Serialize;
use serde_json::json;
use static_assertions::{assert_impl_all, assert_not_impl_any};

use crate::fixtures::{CARD, PAYER, ach, card_document, sale, with};

assert_impl_all!(SecretBytes: AsRef<[u8]>, Send, Sync);
assert_impl_all!(CardTransaction: Send, Sync);
assert_impl_all!(AchTransaction: Send, Sync);
assert_not_impl_any!(CardNumber: Display, Serialize, Copy);
assert_not_impl_any!(Cvv: Display, Serialize, Copy);
assert_not_impl_any!(Expiry: Display, Serialize, Copy);
assert_not_impl_any!(SecretBytes: Display, Serialize, Clone);
assert_not_impl_any!(CardTransaction: Display, Serialize, Copy);
assert_not_impl_any!(AchTransaction: Display, Serialize, Copy);
assert_not_impl_any!(TokenTransaction: Display, Serialize, Copy);
assert_not_impl_any!(TransactionRequest: Display, Serialize, Copy);
assert_not_impl_any!(Void: Display, Serialize, Copy);
assert_not_impl_any!(payments_model::Card<'static>: Display, Serialize);
assert_not_impl_any!(payments_model::Payer<'static>: Display, Serialize);
assert_not_impl_any!(payments_model::Email: Display, Serialize);
assert_not_impl_any!(RawJson: Display, Serialize);
assert_not_impl_any!(Envelope<'static>: Display, Serialize);

/// None of these texts is in the plain or the pretty `Debug` output.
#[track_caller]
fn assert_hidden(value: &dyn Debug, hidden: &[&str]) {
    for shown in [format!("{value:?}"), format!("{value:#?}")] {
        for text in hidden {
            assert!(!shown.contains(text), "{text} is visible in {shown}");
        }
    }
}

const PERSONAL: [&str; 7] =
    ["Payer,", "A. Payer", "payer@", "555-0100", "94105", "203.0.113.7", "Springfield"];

#[test]
fn debug_of_a_token_id_shows_no_token() {
    let token: TokenId = "tok_canary_7Qz".parse().unwrap();
    assert_eq!(format!("{token:?}"), "TokenId([redacted])");
    assert_hidden(&Some(token), &["tok_canary"]);
}

#[test]
fn debug_of_a_card_request_shows_only_brand_and_last_four_s5() {
    let builder =
        sale(CARD, PAYER).billing_city("Springfield").shipping(Shipping::default().city("Springfield"));
    assert_hidden(&builder, &["4242", "123", "1230"]);
    let request = builder.build().unwrap();
    assert_hidden(&request, &["42424", "\"123\"", "1230", "12, "]);
    assert_hidden(&request, &PERSONAL);
    assert!(format!("{request:?}").contains("CardNumber(visa ending 4242)"));
    assert_hidden(request.card_number(), &["42424"]);
    assert_hidden(request.cvv(), &["123"]);
    assert_hidden(request.expiry(), &["12", "30"]);
    assert_hidden(&request.to_json(), &["4242", "Amount", "123,"]);
    assert_hidden(&CARD, &["4242", "123"]);
    assert_hidden(&PAYER, &PERSONAL);
    assert_hidden(request.billing(), &PERSONAL);
    assert_hidden(request.shipping(), &PERSONAL);
}

#[test]
fn debug_of_an_ach_request_shows_names_and_no_values_s5() {
    let request = ach()
        .account_field("AccountNumber", "000123456789")
        .account_field("4242424242424242", "x")
        .build()
        .unwrap();
    assert_hidden(&request, &["000123", "42424242"]);
    assert_hidden(&request, &PERSONAL);
    assert!(format!("{request:?}").contains("AccountNumber: [redacted]"));
}

#[test]
fn debug_of_token_and_void_requests_hides_token_and_free_text_s5() {
    let token = TokenTransaction::builder("tok_secret", Amount::from_cents(1), ConvenienceFee::Active)
        .description("for A. Payer")
        .reference_no("ref A. Payer")
        .build()
        .unwrap();
    assert_hidden(&token, &["tok_secret", "A. Payer"]);
    let void = Void::new("t_1".parse().unwrap()).with_reason("A. Payer asked").unwrap();
    assert_hidden(&void, &["A. Payer"]);
    assert!(format!("{void:?}").contains("t_1"));
}

#[test]
fn debug_names_the_type_of_hidden_values_s5() {
    let request = sale(CARD, PAYER).build().unwrap();
    assert_eq!(format!("{:?}", request.cvv()), "Cvv([redacted])");
    assert_eq!(format!("{:?}", request.expiry()), "Expiry([redacted])");
    assert_eq!(format!("{:?}", request.billing().email), "Email([redacted])");
    assert_eq!(format!("{:?}", sale(CARD, PAYER)), "CardTransactionBuilder { .. }");
    assert_eq!(format!("{:?}", ach()), "AchTransactionBuilder { .. }");
    let token = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Active);
    assert_eq!(format!("{token:?}"), "TokenTransactionBuilder { .. }");
    assert_eq!(
        format!("{:?}", token.build().unwrap()),
        "TokenTransaction { token_id: [redacted], gateway_customer_id: None, amount: Amount(10.50), \
         convenience_fee: Active, description: [redacted], reference_no: [redacted] }"
    );
}

#[test]
fn errors_contain_no_input_s5() {
    let secret = "4242424242424241";
    let mut shown = Vec::new();
    for row in &crate::tables::CARD_TRANSACTION {
        for wrong in
            [json!(secret), json!([secret]), json!({ secret: secret }), json!(4_242_424_242_424_241_i64)]
        {
            if let Err(error) = CardTransaction::from_json(&with(card_document(), row.name, wrong)) {
                shown.push(format!("{error} {error:?}"));
            }
        }
    }
    for document in [
        format!("{{\"CardNumber\":{secret}x}}"),
        secret.to_owned(),
        format!("{{\"{secret}\":1}}"),
        format!("\"{secret}"),
    ] {
        let error = CardTransaction::from_json(document.as_bytes()).unwrap_err();
        shown.push(format!("{error} {error:?}"));
        let record = format!("{{\"TransactionId\":[{document}]}}");
        let error = TransactionRecord::from_json(record.as_bytes()).unwrap_err();
        shown.push(format!("{error} {error:?}"));
    }
    shown.push(format!("{:?}", secret.parse::<CardNumber>().unwrap_err()));
    shown.push(format!("{:?}", secret.parse::<Cvv>().unwrap_err()));
    shown.push(format!("{:?}", secret.parse::<Expiry>().unwrap_err()));
    shown.push(format!("{:?}", format!("{secret}x").parse::<Amount>().unwrap_err()));
    assert!(shown.len() > 50);
    for text in shown {
        assert!(!text.contains("4242"), "{text}");
    }
}

#[test]
fn secrets_of_an_account_are_listed_for_masking_s5() {
    let account = json!({ "routing": "021000021", "accounts": [12345, null, "a \"b\""] });
    let document = json!({ "SuggestedMode": "ACH", "x": account });
    let mut request = card_document();
    for name in ["CardNumber", "Cvv", "ExpiryDate"] {
        request.as_object_mut().unwrap().remove(name);
    }
    request.as_object_mut().unwrap().extend(document.as_object().unwrap().clone());
    let request = AchTransaction::from_json(request.to_string().as_bytes()).unwrap();
    let mut secrets = request.secrets();
    secrets.sort_unstable();
    assert_eq!(secrets, ["021000021", "12345", "a \"b\""]);
}

#[test]
fn request_bytes_report_their_length_s5() {
    let request = sale(CARD, PAYER).billing_address("\u{1}\"\\\n ünï").build().unwrap();
    let bytes = request.to_json();
    assert!(!bytes.is_empty());
    assert_eq!(bytes.len(), bytes.as_ref().len());
    assert_eq!(format!("{bytes:?}"), format!("SecretBytes({} bytes)", bytes.len()));
}

#[test]
fn debug_of_bodies_and_records_shows_no_personal_data_s5() {
    let body = json!({
        "status": "success", "status_code": 100, "message": "for A. Payer",
        "data": { "TransactionId": "t_1", "CardNumber": "4242424242424242", "BillingEmail": "payer@example.com",
            "BillingCustomerName": "A. Payer", "BillingPhoneNumber": "555-0100", "BillingPostalCode": "94105",
            "BillingCity": "Springfield", "BillingAddress": ["Springfield"], "Status": "4242424242424242", "Note": "A. Payer",
            "Cvv": "123" }
    })
    .to_string();
    let envelope = Envelope::read(body.as_bytes()).unwrap();
    assert_hidden(&envelope, &PERSONAL);
    assert_hidden(&envelope, &["4242"]);
    let record = envelope.transaction_record().unwrap();
    assert_hidden(&record, &PERSONAL);
    assert_hidden(&record, &["42424", "\"123\""]);
    let shown = format!("{record:?}");
    assert!(shown.contains("t_1") && shown.contains("************4242") && shown.contains("Note"), "{shown}");
    let customer = json!({ "CustomerId": "cus_1", "CustomerName": "A. Payer", "Email": "payer@example.com", "PhoneNumber": "555-0100",
        "Address": "Springfield", "City": "Springfield", "PostalCode": "94105", "CountryId": 840 });
    let customer = CustomerRecord::from_json(customer.to_string().as_bytes()).unwrap();
    assert_hidden(&customer, &PERSONAL);
    assert!(format!("{customer:?}").contains("cus_1"));
}

#[test]
fn debug_of_a_record_masks_card_numbers_in_numeric_fields_d62() {
    let transaction = TransactionRecord::from_json(
        br#"{"TransactionId":"t","BillingCountry":4242424242424242,"TransactionType":4242424242424242}"#,
    )
    .unwrap();
    let customer =
        CustomerRecord::from_json(br#"{"CountryId":4242424242424242,"StateId":"4242424242424242"}"#).unwrap();
    for shown in [format!("{transaction:?} {customer:?}"), format!("{transaction:#?} {customer:#?}")] {
        assert!(!shown.contains("42424242"), "{shown}");
        assert_eq!(shown.matches("************4242").count(), 4, "{shown}");
    }
}

#[test]
fn values_under_secret_names_are_redacted_in_other_fields_d62() {
    for name in [
        "Cvv",
        "cvv2",
        "CVC",
        "ExpiryDate",
        "expiry_date",
        "AccountNumber",
        "account-number",
        "RoutingNumber",
        "pan",
        "card_number",
    ] {
        let document = json!({ "TransactionId": "t", name: "987", "Nested": { "list": [{ name: { "deep": ["987"] } }, 1], "kept": 2 } });
        let record = TransactionRecord::from_json(document.to_string().as_bytes()).unwrap();
        assert_eq!(record.other.get(name).unwrap().as_str(), "\"[redacted]\"");
        let written = record.to_json();
        assert!(!written.contains("987") && written.contains("\"kept\":2"), "{written}");
    }
    let mut other = OtherFields::default();
    other.insert("Cvv", RawJson::parse("123").unwrap());
    assert_eq!(other.get("Cvv").unwrap().as_str(), "\"[redacted]\"");
}

#[test]
fn values_under_secret_names_are_redacted_in_unreadable_fields_d62() {
    let json = r#"{"TransactionId":"t","Status":{"Cvv":"987","kept":1},"BillingCity":["x",{"pan":987}],"Amount":1,
        "Amount":{"expiry":"987"}}"#;
    let record = TransactionRecord::from_json(json.as_bytes()).unwrap();
    let written = record.to_json();
    assert!(!written.contains("987") && written.contains(r#""kept":1"#), "{written}");
    let json = r#"{"City":{"Cvv":"987"},"StateId":[{"iban":"987"}]}"#;
    let customer = CustomerRecord::from_json(json.as_bytes()).unwrap();
    let written = customer.to_json();
    assert!(!written.contains("987") && written.contains("StateId"), "{written}");
}

#[test]
fn escaped_secret_name_is_recognized_d62() {
    let record =
        TransactionRecord::from_json(br#"{"TransactionId":"t","C\u0076v":"987","x":{"\u0043vv":987}}"#)
            .unwrap();
    let written = record.to_json();
    assert!(!written.contains("987"), "{written}");
}
