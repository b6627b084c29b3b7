//! Requests are validated strictly.

use payments_model::{
    AchTransaction, Amount, Brand, Card, CardNumber, CardTransaction, ConvenienceFee, CustomerId, Cvv,
    Expiry, GatewayCustomerId, Payer, Shipping, SuggestedMode, TokenId, TokenTransaction,
    TokenTransactionBuilder, TransactionId, TransactionRequest, TransactionType, Void,
};
use serde_json::{Value, json};
use static_assertions::assert_not_impl_any;

use crate::fixtures::{CARD, PAYER, ach, card_document, fields, sale, violations, with, with_repeated};
use crate::tables::{CARD_TRANSACTION, Kind, TOKEN_TRANSACTION, VOID};

fn sent_json(request: &CardTransaction) -> Value {
    serde_json::from_slice(request.to_json().as_ref()).unwrap()
}

#[test]
fn transaction_type_is_sent_unless_explicitly_left_out_d26() {
    let amount = Amount::from_cents(1);
    for (transaction_type, wire) in [
        (TransactionType::Sale, json!("1")),
        (TransactionType::Auth, json!("2")),
        (TransactionType::GatewayDefault, Value::Null),
    ] {
        let request =
            CardTransaction::builder(amount, transaction_type, ConvenienceFee::Inactive, CARD, PAYER)
                .build()
                .unwrap();
        assert_eq!(sent_json(&request)["TransactionType"], wire);
        assert_eq!(sent_json(&request).get("TransactionType").is_none(), wire.is_null());
    }
    for wrong in [json!("3"), json!(""), json!("Sale"), json!(1), Value::Null] {
        let document = with(card_document(), "TransactionType", wrong);
        assert_eq!(fields(CardTransaction::from_json(&document)), ["TransactionType"]);
    }
}

#[test]
fn convenience_fee_has_no_default_d27() {
    let mut document = card_document();
    document.as_object_mut().unwrap().remove("ConvenienceFeeActive");
    let result = CardTransaction::from_json(document.to_string().as_bytes());
    assert_eq!(violations(result), ["ConvenienceFeeActive: is required"]);
    for (fee, wire) in [(ConvenienceFee::Active, true), (ConvenienceFee::Inactive, false)] {
        let request = TokenTransaction::builder("tok_1", Amount::from_cents(1), fee).build().unwrap();
        let value: Value = serde_json::from_slice(request.to_json().as_ref()).unwrap();
        assert_eq!(value["ConvenienceFeeActive"], json!(wire));
    }
}

#[test]
fn transaction_for_is_always_void_d28() {
    let void = Void::new(TransactionId::new("t").unwrap());
    assert_eq!(void.to_json().as_ref(), br#"{"TransactionId":"t","TransactionFor":"Void"}"#);
    assert_eq!(Void::from_json(br#"{"TransactionId":"t"}"#).unwrap(), void);
    for wrong in [r#""void""#, r#""Refund""#, r#""""#, "null"] {
        let document = format!(r#"{{"TransactionId":"t","TransactionFor":{wrong}}}"#);
        assert_eq!(fields(Void::from_json(document.as_bytes())), ["TransactionFor"]);
    }
}

#[test]
fn payment_tokenization_is_not_sent_unless_set_d29() {
    assert!(sent_json(&sale(CARD, PAYER).build().unwrap()).get("PaymentTokenization").is_none());
    let request = sale(CARD, PAYER).payment_tokenization(false).build().unwrap();
    assert_eq!(sent_json(&request)["PaymentTokenization"], json!(false));
}

#[test]
fn unset_fields_are_not_sent_and_never_null_d30() {
    let request = sale(CARD, PAYER).build().unwrap();
    let value = sent_json(&request);
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let mut expected: Vec<&str> = CARD_TRANSACTION
        .iter()
        .filter(|row| row.required || row.name == "TransactionType")
        .map(|row| row.name)
        .collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(value.as_object().unwrap().values().all(|member| !member.is_null()));
}

#[test]
fn required_field_must_be_present_and_not_blank_d30() {
    for row in CARD_TRANSACTION.iter().filter(|row| row.required) {
        let mut document = card_document();
        document.as_object_mut().unwrap().remove(row.name);
        let result = CardTransaction::from_json(document.to_string().as_bytes());
        assert_eq!(violations(result), [format!("{}: is required", row.name)]);
        if row.kind == Kind::Text {
            let blanks = ["", " \t\u{a0}"];
            for blank in blanks.into_iter().filter(|text| !text.is_empty() || row.name != "BillingPostalCode")
            {
                let document = with(card_document(), row.name, json!(blank));
                assert_eq!(fields(CardTransaction::from_json(&document)), [row.name]);
            }
        }
    }
}

#[test]
fn empty_postal_code_is_sent_for_countries_without_one_d30() {
    let request = sale(CARD, Payer { postal_code: "", ..PAYER }).build().unwrap();
    assert_eq!(
        (request.billing().postal_code.as_str(), &sent_json(&request)["BillingPostalCode"]),
        ("", &json!(""))
    );
    let document = with(card_document(), "BillingPostalCode", json!(""));
    assert!(CardTransaction::from_json(&document).is_ok());
    assert_eq!(fields(sale(CARD, Payer { postal_code: " ", ..PAYER }).build()), ["BillingPostalCode"]);
}

#[test]
fn wrong_json_type_is_a_violation_of_that_field_d30() {
    for row in &CARD_TRANSACTION {
        for wrong in [json!(null), json!([]), json!({}), json!(1.5), json!("x"), json!(true), json!("10.50")]
        {
            if row.kind.fits(&wrong) {
                continue;
            }
            let document = with(card_document(), row.name, wrong);
            assert_eq!(fields(CardTransaction::from_json(&document)), [row.name]);
        }
    }
}

#[test]
fn repeated_field_is_a_violation_even_with_equal_values_d30() {
    for row in &CARD_TRANSACTION {
        let document = card_document();
        let value = document.get(row.name).cloned().unwrap_or_else(|| match row.kind {
            Kind::Flag => json!(true),
            _ => json!("1"),
        });
        let member = format!("{:?}:{value}", row.name);
        let repeated = format!("{member},{member}");
        let mut rest = document;
        rest.as_object_mut().unwrap().remove(row.name);
        let result = CardTransaction::from_json(&with_repeated(&rest, &repeated));
        assert_eq!(violations(result), [format!("{}: must appear only once", row.name)]);
    }
}

#[test]
fn unknown_field_is_a_violation_d30() {
    let document = with(card_document(), "PaymentTokenisation", json!(true));
    let result = CardTransaction::from_json(&document);
    assert_eq!(
        violations(result),
        ["PaymentTokenisation: is not a field of this request: fix the name or remove the field"]
    );
    assert_eq!(
        fields(TokenTransaction::from_json(
            br#"{"TokenId":"t","Amount":1,"ConvenienceFeeActive":true,"x":1}"#
        )),
        ["x"]
    );
    assert_eq!(fields(Void::from_json(br#"{"TransactionId":"t","reason":""}"#)), ["reason"]);
}

#[test]
fn unknown_name_that_may_be_a_card_number_is_not_shown_d30() {
    for (name, shown) in [
        ("4242424242424242", "\"****************\""),
        ("a b", "\"a b\""),
        ("", "\"\""),
        ("Größe", "\"Größe\""),
        ("x1234567 8", "\"x******* *\""),
    ] {
        let document = with(card_document(), name, json!(1));
        assert_eq!(fields(CardTransaction::from_json(&document)), [shown]);
    }
}

#[test]
fn white_space_around_the_name_of_a_field_is_reported_as_that_d30() {
    for name in [" TokenId", "TokenId ", "\u{a0}TokenId\t"] {
        let document = json!({ "TokenId": "t", "Amount": 1, "ConvenienceFeeActive": true, name: "t" });
        assert_eq!(
            violations(TokenTransaction::from_json(document.to_string().as_bytes())),
            [format!("{name:?}: has white space around the name of a field: remove it")]
        );
    }
}

#[test]
fn builder_and_json_report_the_same_violations_in_table_order_d30() {
    let payer = Payer {
        customer_name: " ",
        email: "no",
        country_code: "US",
        phone_number: "",
        country: "",
        postal_code: " ",
        ip_address: "localhost",
    };
    let built = CardTransaction::builder(
        Amount::from_cents(0),
        TransactionType::Sale,
        ConvenienceFee::Active,
        Card { number: "1", cvv: "1", expiry: "1330" },
        payer,
    )
    .suggested_mode("ach")
    .build();
    let document = json!({
        "Amount": 0, "BillingCustomerName": " ", "BillingEmail": "no", "BillingCountryCode": "US", "BillingPhoneNumber": "",
        "BillingCountry": "", "BillingPostalCode": " ", "IpAddress": "localhost", "CardNumber": "1", "Cvv": "1",
        "ExpiryDate": "1330", "SuggestedMode": "ach", "ConvenienceFeeActive": true, "TransactionType": "1",
    });
    let parsed = CardTransaction::from_json(document.to_string().as_bytes());
    assert_eq!(built, parsed);
    let expected: Vec<&str> = CARD_TRANSACTION
        .iter()
        .filter(|row| row.required && row.name != "ConvenienceFeeActive")
        .map(|row| row.name)
        .collect();
    assert_eq!(fields(built), expected);
}

#[test]
fn rule_texts_are_exact_d30() {
    let nothing = CardTransaction::from_json(b"{}").unwrap_err().to_string();
    assert!(
        nothing.starts_with("13 fields are invalid: Amount: is required; BillingCountry: is required; "),
        "{nothing}"
    );
    let one = violations(Void::from_json(br#"{"TransactionId":" "}"#));
    assert_eq!(one, ["TransactionId: must not be blank"]);
    assert_eq!(
        Void::from_json(br#"{"TransactionId":""}"#).unwrap_err().to_string(),
        "1 field is invalid: TransactionId: must not be blank"
    );
    for (name, value, rule) in [
        ("Amount", json!(0), "must be above zero"),
        ("Amount", json!(1.005), "must have at most two decimal places"),
        ("Amount", json!("1"), "must be a JSON number, not a string"),
        ("BillingEmail", json!("x"), "must be an e-mail address such as name@example.com"),
        (
            "BillingCountryCode",
            json!("US"),
            "must be a dialing prefix such as +1, not a country code such as US",
        ),
        ("BillingCity", json!(1), "must be a string"),
        ("ShippingSameAsBilling", json!("true"), "must be true or false"),
        ("CardNumber", json!("42"), "must be 12 to 19 digits"),
        ("CardNumber", json!("000000000000"), "must not be all zeros"),
        (
            "CardNumber",
            json!("4242424242424241"),
            "must be a valid card number: at least one digit is wrong (Luhn check)",
        ),
        ("Cvv", json!("12"), "must be 3 or 4 digits"),
        ("ExpiryDate", json!("0030"), "must be MMYY, M/YY, MM/YY or MM/YYYY, with a month from 01 to 12"),
        ("SuggestedMode", json!("ACH"), "must not be ACH for a card transaction"),
        ("TransactionType", json!("0"), "must be 1 for a sale or 2 for an authorization"),
        ("IpAddress", json!("1.2.3"), "must be an IPv4 or IPv6 address"),
    ] {
        let document = with(card_document(), name, value);
        assert_eq!(violations(CardTransaction::from_json(&document)), [format!("{name}: {rule}")]);
    }
}

#[test]
fn document_that_is_not_a_json_object_is_a_violation_of_body_d30() {
    for (document, rule) in [
        (&b""[..], "body: must be JSON: syntax error at line 1, column 1"),
        (b"4242424242424242", "body: must be a JSON object"),
        (b"[]", "body: must be a JSON object"),
        (b"null", "body: must be a JSON object"),
        (b"{\n\"CardNumber\": 4242x}", "body: must be JSON: syntax error at line 2, column 19"),
        (b"{} {}", "body: must be JSON: syntax error at line 1, column 4"),
        (b"{\"a\":\"\xff\"}", "body: must be UTF-8"),
    ] {
        assert_eq!(violations(CardTransaction::from_json(document)), [rule]);
        assert_eq!(violations(AchTransaction::from_json(document)), [rule]);
        assert_eq!(violations(TokenTransaction::from_json(document)), [rule]);
        assert_eq!(violations(Void::from_json(document)), [rule]);
        assert_eq!(violations(TransactionRequest::from_json(document)), [rule]);
    }
}

#[test]
fn one_leading_byte_order_mark_is_skipped() {
    let document = [b"\xef\xbb\xbf".to_vec(), card_document().to_string().into_bytes()].concat();
    assert!(CardTransaction::from_json(&document).is_ok());
    assert!(TransactionRequest::from_json(&document).is_ok());
    let twice = [b"\xef\xbb\xbf".to_vec(), document].concat();
    assert_eq!(fields(CardTransaction::from_json(&twice)), ["body"]);
}

#[test]
fn hostile_documents_do_not_overflow_the_stack_or_take_quadratic_time_d30() {
    let deep = format!(r#"{{"Amount":{}1{}}}"#, "[".repeat(300_000), "]".repeat(300_000));
    assert!(CardTransaction::from_json(deep.as_bytes()).is_err());
    assert!(AchTransaction::from_json(deep.as_bytes()).is_err());
    let deep_account = deep.replace("Amount", "x");
    assert!(AchTransaction::from_json(deep_account.as_bytes()).is_err());
    let wide: Vec<String> = (0..100_000).map(|index| format!(r#""x{index}":1"#)).collect();
    let wide = format!("{{{}}}", wide.join(","));
    assert!(CardTransaction::from_json(wide.as_bytes()).is_err());
    assert!(AchTransaction::from_json(wide.as_bytes()).is_err());
}

#[test]
fn card_number_luhn_required_except_62_d31() {
    for valid in [
        "4242424242424242",
        "4111111111111111",
        "4012888888881881",
        "4000056655665556",
        "4007000000027",
        "5555555555554444",
        "5200828282828210",
        "2223000010309703",
        "378282246310005",
        "371449635398431",
        "6011111111111117",
        "30569309025904",
        "38520000023237",
        "3530111333300000",
        "6200000000000000001",
        "424242424242",
        "4242 4242-4242 4242",
    ] {
        assert!(CardNumber::new(valid).is_ok(), "{valid}");
    }
    for invalid in [
        "4242424242424241",
        "",
        "42424242424",
        "42424242424242424242",
        "0000000000000000",
        "424242424242424x",
        "４２４２４２４２４２４２４２４２",
        "4242\t4242 4242 4242",
        "4242.4242.4242.4242",
        "00000000000000000000",
        "620000000000x",
    ] {
        assert!(CardNumber::new(invalid).is_err(), "{invalid}");
        assert!(
            invalid == "4242424242424241" || CardNumber::without_luhn_check(invalid).is_err(),
            "{invalid}"
        );
    }
}

#[test]
fn explicit_constructor_skips_only_the_luhn_check_d31() {
    assert!(CardNumber::without_luhn_check("4242424242424241").is_ok());
    assert!(CardNumber::without_luhn_check("000000000000").is_err());
    let card = Card { number: "4242424242424241", ..CARD };
    assert_eq!(fields(sale(card, PAYER).build()), ["CardNumber"]);
    assert!(sale(card, PAYER).without_luhn_check().build().is_ok());
}

#[test]
fn spaces_and_hyphens_are_not_sent_d31() {
    let request = sale(Card { number: " 4242 4242-4242 4242 ", ..CARD }, PAYER).build().unwrap();
    assert_eq!(sent_json(&request)["CardNumber"], json!("4242424242424242"));
}

#[test]
fn brand_follows_from_the_first_digits() {
    for (number, brand) in [
        ("4242424242424242", Brand::Visa),
        ("5555555555554444", Brand::Mastercard),
        ("2223000010309703", Brand::Mastercard),
        ("378282246310005", Brand::AmericanExpress),
        ("371449635398431", Brand::AmericanExpress),
        ("6011111111111117", Brand::Discover),
        ("30569309025904", Brand::DinersClub),
        ("38520000023237", Brand::DinersClub),
        ("3530111333300000", Brand::Jcb),
        ("6200000000000000001", Brand::UnionPay),
        ("9000000000000000001", Brand::Unknown),
        ("2220990000000000", Brand::Unknown),
        ("2721000000000000", Brand::Unknown),
        ("6430000000000000", Brand::Unknown),
        ("6440000000000000", Brand::Discover),
        ("3527000000000000", Brand::Unknown),
        ("3590000000000000", Brand::Unknown),
        ("5000000000000000", Brand::Unknown),
        ("5600000000000000", Brand::Unknown),
        ("3060000000000000", Brand::Unknown),
    ] {
        assert_eq!(CardNumber::without_luhn_check(number).unwrap().brand(), brand, "{number}");
    }
}

#[test]
fn cvv_is_3_or_4_ascii_digits_and_keeps_its_zeros_d32() {
    assert_eq!(Cvv::new("007").unwrap().expose_secret(), "007");
    for invalid in ["", "12", "12345", "12a", " 123", "１２３", "-12", "1.2"] {
        assert!(Cvv::new(invalid).is_err(), "{invalid}");
    }
}

#[test]
fn cvv_has_3_or_4_digits_whatever_the_brand_d32() {
    for number in ["378282246310005", "4242424242424242", "5555555555554444", "6200000000000006"] {
        for cvv in ["123", "1234"] {
            let request = sale(Card { number, cvv, ..CARD }, PAYER).build().unwrap();
            assert_eq!(sent_json(&request)["Cvv"], json!(cvv));
        }
    }
}

#[test]
fn expiry_is_mmyy_on_the_wire_and_mm_yy_from_callers_d33() {
    for (text, month, year) in [("1230", 12, 2030), ("01/00", 1, 2000), ("0999", 9, 2099)] {
        let expiry: Expiry = text.parse().unwrap();
        assert_eq!((expiry.month(), expiry.year()), (month, year));
        assert_eq!(expiry, Expiry::new(month, year).unwrap());
    }
    let request = sale(Card { expiry: "01/31", ..CARD }, PAYER).build().unwrap();
    assert_eq!(sent_json(&request)["ExpiryDate"], json!("0131"));
    for (text, sent) in [
        ("1/30", "0130"),
        ("01/30", "0130"),
        ("12/2030", "1230"),
        ("1/2030", "0130"),
        ("12 / 30", "1230"),
        ("12/ 30", "1230"),
        ("12 /30", "1230"),
        ("9 / 2099", "0999"),
        ("12\u{a0}/\u{a0}2030", "1230"),
    ] {
        assert_eq!(text.parse::<Expiry>().unwrap().expose_secret(), sent, "{text}");
        let request = sale(Card { expiry: text, ..CARD }, PAYER).build().unwrap();
        assert_eq!(sent_json(&request)["ExpiryDate"], json!(sent));
    }
    for invalid in [
        "",
        "0030",
        "1330",
        "2030",
        "12-30",
        "0/30",
        "00/30",
        "13/30",
        "013/30",
        "12/1930",
        "12/2130",
        "12/0030",
        "12/30/",
        "12//30",
        "12/3",
        "12/030",
        "1/1/30",
        "/30",
        "12/",
        " / ",
        "1 2/30",
        " 12/30",
        "12/30 ",
        "130",
        "é30",
        "1é0",
        "122030",
        "12 30",
        "１２３０",
        "/1230",
        "1230/",
        "+130",
    ] {
        assert!(invalid.parse::<Expiry>().is_err(), "{invalid}");
    }
    for (month, year) in [(0, 2030), (13, 2030), (12, 30), (12, 1999), (12, 2100)] {
        assert!(Expiry::new(month, year).is_err());
    }
}

#[test]
fn past_expiry_is_valid_and_checked_separately_d33() {
    let expiry: Expiry = "0220".parse().unwrap();
    assert!(sale(Card { expiry: "0220", ..CARD }, PAYER).build().is_ok());
    for (month, year, expired) in
        [(1, 2020, false), (2, 2020, false), (3, 2020, true), (12, 2019, false), (1, 2021, true)]
    {
        assert_eq!(expiry.has_expired_in(month, year), expired);
    }
}

#[test]
fn country_code_is_a_dialing_prefix_d34() {
    for valid in ["+1", "+44", "+351", "+1684", "+441534", "+0", "+01", "+12345", "+123456789012345"] {
        let request = sale(CARD, Payer { country_code: valid, ..PAYER }).build().unwrap();
        let prefix = &request.billing().country_code;
        assert_eq!((prefix.as_str(), prefix.to_string().as_str()), (valid, valid));
    }
    for invalid in ["", "+", "1", "+1234567890123456", "US", "+1a", "+ 1", "＋1", "++1", "+-1", "+１"] {
        let error = sale(CARD, Payer { country_code: invalid, ..PAYER }).build().unwrap_err();
        assert!(error.to_string().contains("not a country code such as US"), "{invalid}");
    }
}

#[test]
fn country_is_sent_unchanged_d35() {
    for country in ["us", "United States", " Côte d'Ivoire ", "840"] {
        let request = sale(CARD, Payer { country, ..PAYER }).build().unwrap();
        assert_eq!(sent_json(&request)["BillingCountry"], json!(country));
    }
}

#[test]
fn email_has_one_at_sign_no_whitespace_and_limits_d36() {
    let long_local = format!("{}@x", "a".repeat(65));
    let longest = format!("a@{}", "d".repeat(252));
    let too_long = format!("a@{}", "d".repeat(253));
    for valid in ["a@b", "first.last+tag@sub.example.com", "ü@example.com", &longest] {
        let request = sale(CARD, Payer { email: valid, ..PAYER }).build().unwrap();
        assert_eq!(request.billing().email.as_str(), valid);
    }
    for invalid in
        ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\n", "a@\u{0}b", "a@b\u{a0}", &long_local, &too_long]
    {
        assert_eq!(fields(sale(CARD, Payer { email: invalid, ..PAYER }).build()), ["BillingEmail"]);
    }
}

#[test]
fn any_ip_address_and_any_phone_number_are_accepted_d36() {
    for ip_address in ["203.0.113.7", "10.0.0.1", "127.0.0.1", "::1", "2001:db8::1"] {
        let request = sale(CARD, Payer { ip_address, ..PAYER }).build().unwrap();
        assert_eq!(request.ip_address().to_string(), ip_address);
        assert_eq!(sent_json(&request)["IpAddress"], json!(ip_address));
    }
    for ip_address in ["", "localhost", "203.0.113.256", "203.0.113.7:80", "fe80::1%eth0"] {
        assert_eq!(fields(sale(CARD, Payer { ip_address, ..PAYER }).build()), ["IpAddress"]);
    }
    let request = sale(CARD, Payer { phone_number: "ext. 5-55 ", ..PAYER }).build().unwrap();
    assert_eq!(sent_json(&request)["BillingPhoneNumber"], json!("ext. 5-55 "));
}

#[test]
fn only_size_limit_is_64_kib_of_body_d37() {
    let encoded_without = sale(CARD, PAYER).billing_address("").build().unwrap().to_json().len();
    let room = 64 * 1024 - encoded_without;
    let request = sale(CARD, PAYER).billing_address("a".repeat(room)).build().unwrap();
    assert_eq!(request.to_json().len(), 64 * 1024);
    let too_large = sale(CARD, PAYER).billing_address("a".repeat(room + 1)).build();
    assert_eq!(violations(too_large), ["body: must be at most 65536 bytes of JSON"]);
    for (length, violations) in [(58_000, &[][..]), (64_000, &[]), (70_000, &["body"])] {
        let document = with(card_document(), "BillingAddress", json!("a".repeat(length)));
        assert_eq!(fields(CardTransaction::from_json(&document)), violations);
    }
    let document = json!({ "TransactionId": "t", "Reason": "a".repeat(70_000) }).to_string();
    assert_eq!(fields(Void::from_json(document.as_bytes())), ["body"]);
    let token = TokenTransaction::builder("t", Amount::from_cents(1), ConvenienceFee::Active)
        .description("a".repeat(70_000));
    assert_eq!(fields(token.build()), ["body"]);
    assert_eq!(fields(ach().account_field("x", "a".repeat(70_000)).build()), ["body"]);
}

#[test]
fn suggested_mode_is_open_with_two_inferred_constants_d38() {
    assert_eq!((SuggestedMode::CARD, SuggestedMode::ACH), ("Card", "ACH"));
    assert_eq!(sent_json(&sale(CARD, PAYER).build().unwrap())["SuggestedMode"], json!("Card"));
    let request = sale(CARD, PAYER).suggested_mode("CreditCard").build().unwrap();
    assert_eq!(sent_json(&request)["SuggestedMode"], json!("CreditCard"));
    assert_eq!(fields(sale(CARD, PAYER).suggested_mode(" ").build()), ["SuggestedMode"]);
}

#[test]
fn request_is_ach_if_its_mode_is_ach_in_any_case_d39() {
    for (mode, is_ach) in
        [("ACH", true), ("ach", true), ("Ach", true), ("Card", false), ("ACH ", false), ("eCheck", false)]
    {
        let request = TransactionRequest::from_json(&with(card_document(), "SuggestedMode", json!(mode)));
        assert_eq!(request.is_ok(), !is_ach, "{mode}");
    }
    let mut document = card_document();
    for name in ["CardNumber", "Cvv", "ExpiryDate"] {
        document.as_object_mut().unwrap().remove(name);
    }
    let request = TransactionRequest::from_json(&with(document, "SuggestedMode", json!("aCh"))).unwrap();
    assert!(
        matches!(request, TransactionRequest::Ach(request) if request.suggested_mode().as_str() == "aCh")
    );
}

#[test]
fn account_fields_are_named_by_the_caller_and_sent_verbatim_d39() {
    let request = ach().account_field("Konto \"1\"", "00\n12").account_field("x", "").build().unwrap();
    let value: Value = serde_json::from_slice(request.to_json().as_ref()).unwrap();
    assert_eq!(value["Konto \"1\""], json!("00\n12"));
    assert_eq!(value["x"], json!(""));
    assert_eq!(value["SuggestedMode"], json!("ACH"));
    assert!(value.get("CardNumber").is_none());

    let mut document = value;
    document["Nested"] = json!({ "routing": "021000021", "accounts": [12345, null] });
    let request = AchTransaction::from_json(document.to_string().as_bytes()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(request.to_json().as_ref()).unwrap(), document);
    assert!(ach().build().is_ok(), "no account field is known to be required");
    let request = ach().account_field("Konto", "1").account_field("BLZ", "2").build().unwrap();
    assert_eq!(request.account_field_names().collect::<Vec<_>>(), ["Konto", "BLZ"]);
}

#[test]
fn account_fields_must_not_collide_with_the_interface_d39() {
    for row in &CARD_TRANSACTION {
        for name in [row.name.to_owned(), row.name.to_ascii_uppercase()] {
            let result = ach().account_field(&*name, "1").build();
            assert_eq!(
                violations(result),
                [format!("{name}: must have another name: this one belongs to a field of the interface")]
            );
        }
        // Such a name means the field, which would otherwise have its default.
        for name in [
            format!("{} ", row.name),
            format!("\t{}", row.name.to_lowercase()),
            format!("{}\u{200b}", row.name),
            format!("{}\u{a0}{}", &row.name[..2], &row.name[2..]),
            format!("{}\0", row.name),
        ] {
            let expected = [format!("{name:?}: has white space around the name of a field: remove it")];
            assert_eq!(violations(ach().account_field(&*name, "1").build()), expected);
            let mut document =
                serde_json::from_slice::<Value>(ach().build().unwrap().to_json().as_ref()).unwrap();
            document[&name] = json!("1");
            assert_eq!(violations(AchTransaction::from_json(document.to_string().as_bytes())), expected);
        }
    }
    assert_eq!(fields(ach().account_field("Konto", "1").account_field("Konto", "1").build()), ["Konto"]);
    for blank in [" ", "\u{200b}"] {
        assert_eq!(fields(ach().account_field(blank, "1").build()), [format!("{blank:?}")]);
    }

    let document = with(card_document(), "SuggestedMode", json!("ACH"));
    assert_eq!(fields(AchTransaction::from_json(&document)), ["CardNumber", "Cvv", "ExpiryDate"]);
    assert_eq!(
        fields(AchTransaction::from_json(&with(card_document(), "CardNumber", json!("1")))),
        ["SuggestedMode", "CardNumber", "Cvv", "ExpiryDate"]
    );
    let text =
        String::from_utf8(ach().account_field("Konto", "1").build().unwrap().to_json().as_ref().to_vec())
            .unwrap();
    let repeated = text.replacen('{', r#"{"Konto":"1","#, 1);
    assert_eq!(violations(AchTransaction::from_json(repeated.as_bytes())), ["Konto: must appear only once"]);
}

#[test]
fn token_payment_requires_token_amount_and_fee_flag_d40() {
    let result = TokenTransaction::from_json(b"{}");
    let required: Vec<&str> =
        TOKEN_TRANSACTION.iter().filter(|row| row.required).map(|row| row.name).collect();
    assert_eq!(fields(result), required);
    let builder = || TokenTransaction::builder(" ", Amount::from_cents(-1), ConvenienceFee::Active);
    assert_eq!(fields(builder().gateway_customer_id("").build()), ["TokenId", "GatewayCustomerId", "Amount"]);
    assert!(
        TokenTransaction::from_json(br#"{"TokenId":"t","Amount":1,"ConvenienceFeeActive":true}"#).is_ok()
    );
}

#[test]
fn customer_identifiers_do_not_convert_to_each_other_d40() {
    assert_not_impl_any!(CustomerId: From<GatewayCustomerId>, Into<GatewayCustomerId>);
    assert_not_impl_any!(GatewayCustomerId: From<CustomerId>, Into<CustomerId>);
}

#[test]
fn any_id_without_control_characters_can_be_voided_and_all_but_dot_segments_looked_up_d41() {
    let (longest, longest_of_letters) = ("a".repeat(256), "ü".repeat(256));
    let encoded_letters = "%C3%BC".repeat(256);
    for (id, segment) in [
        ("1", "1"),
        ("txn_1", "txn_1"),
        ("a-b.c_d~e", "a-b.c_d~e"),
        ("...", "..."),
        (".a", ".a"),
        ("MC/2026/0001", "MC%2F2026%2F0001"),
        ("auth0|x", "auth0%7Cx"),
        ("a b", "a%20b"),
        ("50%", "50%25"),
        ("%2e%2e", "%252e%252e"),
        ("ü-1", "%C3%BC-1"),
        ("a:b@c+d=e,f", "a%3Ab%40c%2Bd%3De%2Cf"),
        ("a\\b", "a%5Cb"),
        ("/a/", "%2Fa%2F"),
        ("a?b#c;d&e", "a%3Fb%23c%3Bd%26e"),
        ("a\u{200b}b", "a%E2%80%8Bb"),
        (&longest, &longest),
        (&longest_of_letters, &encoded_letters),
    ] {
        let transaction = TransactionId::new(id).unwrap();
        assert_eq!(transaction.path_segment().unwrap(), segment);
        assert_eq!(CustomerId::new(id).unwrap().path_segment().unwrap(), segment);
        let void = Void::new(transaction).with_reason("r").unwrap();
        assert_eq!(Void::from_json(void.to_json().as_ref()).unwrap(), void);
    }
    for id in [".", "..", "a/..", "../a", "a/./b", "a\\..\\b", "./", "\\..", "a/..\\b"] {
        let transaction = TransactionId::new(id).unwrap();
        let error = transaction.path_segment().unwrap_err();
        assert!(error.to_string().contains("must not have a part that is . or .."), "{error}");
        assert!(Void::from_json(Void::new(transaction).to_json().as_ref()).is_ok(), "{id}");
    }
    let too_long = "ü".repeat(257);
    for invalid in ["", " ", "\u{a0}", "a\0", "a\nb", "a\u{7f}b", "a\u{85}b", &too_long] {
        assert!(TransactionId::new(invalid).is_err() && CustomerId::new(invalid).is_err(), "{invalid:?}");
        if let Some(id) = TransactionId::from_response(invalid) {
            assert_eq!(id.as_str(), invalid, "an identifier from a response is kept unchanged");
            assert!(id.path_segment().is_err(), "{invalid:?}");
        }
    }
    assert!(TransactionId::from_response("").is_none());
    assert_eq!(fields(Void::from_json(b"{}")), [VOID[0].name]);
}

fn token(token: &str) -> TokenTransactionBuilder<'_> {
    TokenTransaction::builder(token, Amount::from_cents(1), ConvenienceFee::Active)
}

#[test]
fn white_space_around_an_id_is_refused_d53() {
    // Also characters of the category Cf and ignorable ones, such as those that Windows adds to copied text.
    for space in [
        " ",
        "\t",
        "\n",
        "\r\n",
        "\u{a0}",
        "\u{2007}",
        "\u{3000}",
        "\u{200b}",
        "\u{feff}",
        "\u{2060}",
        "\u{ad}",
        "\u{34f}",
        "\u{61c}",
        "\u{115f}",
        "\u{180e}",
        "\u{202a}",
        "\u{202e}",
        "\u{2061}",
        "\u{2064}",
        "\u{2066}",
        "\u{2069}",
        "\u{206f}",
        "\u{3164}",
        "\u{fe0f}",
        "\u{ffa0}",
        "\u{fff9}",
        "\u{e0001}",
        "\u{e0100}",
    ] {
        for id in [format!("{space}x"), format!("x{space}"), format!("{space}x y{space}")] {
            let rule = "must not begin or end with white space";
            assert_eq!(violations(token(&id).build()), [format!("TokenId: {rule}")]);
            let customer = token("t").gateway_customer_id(id.as_str()).build();
            assert_eq!(violations(customer), [format!("GatewayCustomerId: {rule}")]);
            let document = json!({ "TokenId": id, "Amount": 1, "ConvenienceFeeActive": true }).to_string();
            assert_eq!(fields(TokenTransaction::from_json(document.as_bytes())), ["TokenId"]);
            let document = json!({ "TransactionId": id }).to_string();
            assert_eq!(violations(Void::from_json(document.as_bytes())), [format!("TransactionId: {rule}")]);
            assert!(TransactionId::new(&*id).is_err() && CustomerId::new(&*id).is_err(), "{id:?}");
            assert!(TokenId::new(&*id).is_err() && GatewayCustomerId::new(&*id).is_err(), "{id:?}");
            // An id that the service returned, or that is stored, is kept.
            assert_eq!(TransactionId::from_response(&*id).unwrap().as_str(), id);
            let stored: TokenId = serde_json::from_value(json!(id)).unwrap();
            assert_eq!(stored.as_str(), id);
        }
    }
    for visible in ["a b", "a\u{202a}b", "e\u{301}", "ü", "東京", "a\u{fffd}"] {
        assert!(TokenId::new(visible).is_ok(), "{visible:?}");
    }
}

#[test]
fn spreadsheet_errors_and_formulas_are_no_id_and_no_reference_d53() {
    for error in [
        "#REF!",
        "#N/A",
        "#DIV/0!",
        "#NAME?",
        "#NULL!",
        "#NUM!",
        "#VALUE!",
        "#SPILL!",
        "#CALC!",
        "#GETTING_DATA",
        "#ERROR!",
        "#NV",
        "#WERT!",
        "#BEZUG!",
        "#ZAHL!",
        "#ÜBERLAUF!",
        "#VALEUR!",
        "#NOM?",
        "#¡REF!",
        "#¿NOMBRE?",
        "#¡DIV/0!",
        "#N/D",
        "#ССЫЛКА!",
        "#Н/Д",
        "###",
        "########",
        "Err:502",
        "err:502",
        "#n/a",
        "#N/C",
        "#Ref!",
        "#Loading...",
        "1.23457E+11",
        "1,23457E+11",
        "1.23457e+011",
        "1E+15",
        "{=A1}",
        "=A1",
        "=\"00123\"",
        "=1+1",
        "=",
        "＝A1",
    ] {
        assert_eq!(fields(token(error).build()), ["TokenId"], "{error}");
        assert_eq!(fields(token("t").gateway_customer_id(error).build()), ["GatewayCustomerId"], "{error}");
        assert_eq!(fields(token("t").reference_no(error).build()), ["ReferenceNo"], "{error}");
        assert!(token("t").description(error).build().is_ok(), "{error}");
        assert!(TransactionId::new(error).is_err() && CustomerId::new(error).is_err(), "{error}");
        let document = json!({ "TransactionId": error }).to_string();
        assert_eq!(fields(Void::from_json(document.as_bytes())), ["TransactionId"], "{error}");
    }
    for id in [
        "#17",
        "#",
        "#A-17",
        "#2026/17",
        "#17!",
        "#invoice!",
        "##",
        "Err:5",
        "Err:5021",
        "1E15",
        "E+15",
        "1.2.3E+4",
        "12.5E+4",
        "x1.23457E+11",
        "1.23457E+11x",
        "{A1}",
        "N/A",
        "a=1",
        "REF!",
        "tok#REF!",
        "#REF! 1",
    ] {
        assert!(token(id).reference_no(id).build().is_ok(), "{id}");
        assert!(TransactionId::new(id).is_ok(), "{id}");
    }
}

/// With a blank reference, nobody could search for a payment of unknown outcome by it. Texts that are not searched for may be blank.
#[test]
fn blank_reference_is_refused_d30() {
    for blank in [
        "",
        " ",
        "\t\u{a0}\u{3000}",
        "\u{200b}",
        "\u{feff} \u{ad}",
        "\u{2060}\u{202e}",
        "\u{3164}",
        "\u{fe0f}",
    ] {
        let document = json!({
            "TokenId": "t", "Amount": 1, "ConvenienceFeeActive": false, "Description": blank, "ReferenceNo": blank
        });
        let read = TokenTransaction::from_json(document.to_string().as_bytes());
        let built = TokenTransaction::builder("t", Amount::from_cents(1), ConvenienceFee::Inactive)
            .description(blank)
            .reference_no(blank)
            .build();
        assert_eq!(violations(read), ["ReferenceNo: must not be blank"], "{blank:?}");
        assert_eq!(violations(built), ["ReferenceNo: must not be blank"], "{blank:?}");
    }
}

#[test]
fn accessors_return_what_was_set() {
    let request = sale(CARD, PAYER)
        .billing_address("1 Main St")
        .billing_city("Springfield")
        .billing_state("OR")
        .shipping_same_as_billing(false)
        .shipping(Shipping::default().customer_name("B").postal_code("1"))
        .build()
        .unwrap();
    let billing = request.billing();
    assert_eq!(
        [&billing.address, &billing.city, &billing.state].map(Option::as_deref),
        [Some("1 Main St"), Some("Springfield"), Some("OR")]
    );
    assert_eq!((&*billing.customer_name, billing.email.as_str()), (PAYER.customer_name, PAYER.email));
    assert_eq!((&*billing.country, billing.country_code.as_str()), ("US", "+1"));
    assert_eq!((&*billing.phone_number, &*billing.postal_code), ("555-0100", "94105"));
    assert_eq!(request.shipping(), &Shipping::default().customer_name("B").postal_code("1"));
    assert_eq!(request.shipping_same_as_billing(), Some(false));
    assert_eq!((request.cvv().expose_secret(), request.expiry().expose_secret()), ("123", "1230"));
    assert_eq!(
        (request.amount(), request.convenience_fee()),
        (Amount::from_cents(10_50), ConvenienceFee::Inactive)
    );
    assert_eq!(request.transaction_type(), TransactionType::Sale);
}

#[test]
fn accessors_of_token_payments_and_voids_return_what_was_set() {
    let builder = || TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Active);
    let bare = builder().build().unwrap();
    assert_eq!((bare.token_id().as_str(), bare.amount()), ("tok_1", Amount::from_cents(10_50)));
    assert_eq!(bare.convenience_fee(), ConvenienceFee::Active);
    assert_eq!((bare.gateway_customer_id(), bare.description(), bare.reference_no()), (None, None, None));
    let full = builder().gateway_customer_id("gc_1").description("d").reference_no("r").build().unwrap();
    assert_eq!(full.gateway_customer_id().map(GatewayCustomerId::as_str), Some("gc_1"));
    assert_eq!((full.description(), full.reference_no()), (Some("d"), Some("r")));

    let void = Void::new("txn_1".parse().unwrap());
    assert_eq!((void.transaction_id().as_str(), void.reason()), ("txn_1", None));
    assert_eq!(void.clone().with_reason("ordered twice").unwrap().reason(), Some("ordered twice"));
    let error = void.with_reason("x".repeat(64 * 1024)).unwrap_err();
    assert!(error.to_string().contains("65536 bytes"), "{error}");
}

#[test]
fn account_field_with_unreadable_secrets_is_rejected_s5() {
    for value in [r#""\ud800""#, r#"{"\ud800":"000123456789"}"#, r#"["a",{"b":"\ud800"}]"#] {
        let account = format!(r#"{{"SuggestedMode":"ACH","Acct":{value}}}"#);
        let violations = violations(AchTransaction::from_json(account.as_bytes()));
        let expected = "Acct: must be valid Unicode and nested at most 64 levels deep";
        assert!(violations.iter().any(|violation| violation == expected), "{violations:?}");
    }
}
