//! An id in a success that contains the API key or the request's card number: the payment is processed, the secret is not kept.

use bytes::Bytes;
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, TokenTransaction,
    TransactionType, Void,
};
use payments_core::{ApiKey, Endpoint, GetCustomer, GetTransaction, Operation, Success};

use crate::support::PAYER;

const KEY: &str = "sk_canary_7Qz";
const CARD: &str = "4929907390318794";
const CVV: &str = "917";

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new(KEY).unwrap()).unwrap()
}

fn sale() -> CardTransaction {
    let card = Card { number: CARD, cvv: CVV, expiry: "11/31" };
    let amount = Amount::from_cents(10_50);
    CardTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, card, PAYER)
        .build()
        .unwrap()
}

fn token() -> TokenTransaction {
    TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build().unwrap()
}

/// The result of a response whose `data` has only this id.
fn read<O: Operation>(operation: &O, code: u16, name: &str, id: &str) -> Result<Success<O::Data>, O::Error> {
    let body = format!(r#"{{"status_code":{code},"message":"m","data":{{"{name}":"{id}"}}}}"#);
    operation.read(&endpoint(), http::Response::new(Bytes::from(body)))
}

#[test]
fn secret_in_an_id_is_replaced_and_the_payment_is_processed_d55() {
    for (id, shown) in [
        (KEY.to_owned(), "[redacted]".to_owned()),
        (format!("a-{KEY}-b"), "a-[redacted]-b".to_owned()),
        (CARD.to_owned(), "[redacted]".to_owned()),
        (format!("txn_{CARD}x{KEY}"), "txn_[redacted]x[redacted]".to_owned()),
    ] {
        let success = read(&sale(), 100, "TransactionId", &id).unwrap();
        assert_eq!(success.transaction_id.as_str(), shown);
        assert!(success.transaction_id.is_redacted());
        let everything = format!("{success:?} {} {}", success.data().to_json(), success.body_snippet());
        assert!(!everything.contains(KEY) && !everything.contains(CARD), "{everything}");
    }
    let receipt = read(&token(), 100, "TransactionId", KEY).unwrap();
    assert_eq!(receipt.transaction_id.as_str(), "[redacted]");
    let void = Void::new("txn_1".parse().unwrap());
    let voided = read(&void, 100, "TransactionId", KEY).unwrap();
    assert_eq!((voided.voided.as_str(), voided.transaction_id.as_str()), ("txn_1", "[redacted]"));
    let look_up = GetTransaction::new("txn_1".parse().unwrap());
    let found = read(&look_up, 200, "TransactionId", KEY).unwrap();
    assert_eq!(found.transaction_id.as_str(), "[redacted]");
    let customer = GetCustomer::new("cus_1".parse().unwrap());
    let found = read(&customer, 200, "CustomerId", KEY).unwrap();
    assert_eq!(found.customer_id.value().map(CustomerId::as_str), Some("[redacted]"));
}

#[test]
fn card_number_as_a_number_is_replaced_d55() {
    let body = format!(r#"{{"status_code":100,"data":{{"TransactionId":{CARD}}}}}"#);
    let success = sale().read(&endpoint(), http::Response::new(Bytes::from(body))).unwrap();
    assert_eq!(success.transaction_id.as_str(), "[redacted]");
}

#[test]
fn nothing_else_in_an_id_is_replaced_d55() {
    // The security code, the expiry, a number that could be another card's, and a part of a secret.
    for id in [CVV, "txn-917-1131", "4242424242424242", "sk_canary_7", "SK_CANARY_7QZ", &CARD[..15]] {
        let success = read(&sale(), 100, "TransactionId", id).unwrap();
        assert_eq!(success.transaction_id.as_str(), id);
        assert!(!success.transaction_id.is_redacted());
    }
    // The number of a card that is not the request's.
    let receipt = read(&token(), 100, "TransactionId", CARD).unwrap();
    assert_eq!(receipt.transaction_id.as_str(), CARD);
}

#[test]
fn card_number_in_an_id_is_found_with_separators_d52_d55() {
    let [a, b, c, d] = ["4929", "9073", "9031", "8794"];
    for between in ["", "-", " ", " - ", ".", "/", "\u{a0}", "%20", "&nbsp;"] {
        let written = [a, b, c, d].join(between);
        let id = format!("txn-{written}");
        let success = read(&sale(), 100, "TransactionId", &id).unwrap();
        assert_eq!(success.transaction_id.as_str(), "txn-[redacted]");

        for status in [400, 500] {
            let body = format!(
                r#"{{"status":"failed","status_code":400,"data":{{"TransactionId":"{id}","Status":"{written}"}}}}"#
            );
            let response = http::Response::builder().status(status);
            let response = if between.is_ascii() && !between.contains(' ') {
                response.header("x-request-id", &id)
            } else {
                response
            };
            let error = sale().read(&endpoint(), response.body(Bytes::from(body)).unwrap()).unwrap_err();
            assert_eq!((error.transaction_id(), error.request_id()), (None, None));
            let everything = format!(
                "{error} {error:#} {error:?} {:?} {}",
                error.record_status(),
                error.failed_call().body_snippet().unwrap()
            );
            assert!(!everything.contains(d) && !everything.contains(a), "{everything}");
        }
    }
}

#[test]
fn debug_shows_no_secret_that_a_record_repeats_d62() {
    let short_key = Endpoint::new("https://pay.example.com/api", ApiKey::new("k-17").unwrap()).unwrap();
    let void = Void::new("txn k-17".parse().unwrap());
    let voided = void.read(&short_key, body(100, r#""TransactionId":"t""#)).unwrap();
    for shown in [format!("{voided:?}"), format!("{voided:#?}")] {
        assert!(shown.contains("[redacted]") && !shown.contains("k-17"), "{shown}");
    }
    // The second form of each is read as the first.
    for status in [KEY, "sk_c\\u0061nary_7Qz", CVV, "\\u00391\\u0037"] {
        let data = format!(r#""TransactionId":"t","Status":"{status}""#);
        let success = sale().read(&endpoint(), body(100, &data)).unwrap();
        let error = sale().read(&endpoint(), body(101, &data)).unwrap_err();
        assert!([KEY, CVV].contains(&success.status.value().unwrap().as_str()));
        let clone = success.clone();
        for shown in
            [format!("{success:?}"), format!("{clone:#?}"), format!("{error:?}"), format!("{error:#?}")]
        {
            assert!(shown.contains("[redacted]"), "{shown}");
            assert!(!shown.contains(KEY) && !shown.contains(&format!("\"{CVV}\"")), "{shown}");
        }
    }
}

#[test]
fn account_and_secrets_are_in_no_field_that_the_interface_lacks_d39_d62() {
    const LONG: &str = "000123456789";
    const SHORT: &str = "12030";
    let account = AchTransaction::builder(
        Amount::from_cents(10_50),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        PAYER,
    );
    let account = account.account_field("Konto", LONG).account_field("BLZ", SHORT).build().unwrap();
    let redacted = r#""[redacted]""#;
    for (field, kept) in [
        (format!(r#""Konto":"{LONG}""#), format!(r#""Konto":{redacted}"#)),
        (format!(r#""BLZ":{SHORT}"#), format!(r#""BLZ":{redacted}"#)),
        (r#""Other":"account 000-123 456.789""#.to_owned(), format!(r#""Other":{redacted}"#)),
        (r#""Other":"0001234\u00356789""#.to_owned(), format!(r#""Other":{redacted}"#)),
        (format!(r#""Debug":"Bearer {KEY}""#), format!(r#""Debug":{redacted}"#)),
        (
            format!(r#""Bank":{{"BLZ":"{SHORT}","Town":"Bern","List":[1,"{LONG}"]}}"#),
            format!(r#""Bank":{{"BLZ":{redacted},"Town":"Bern","List":[1,{redacted}]}}"#),
        ),
        // By chance, or of another field.
        (format!(r#""Branch":"{SHORT}""#), format!(r#""Branch":"{SHORT}""#)),
    ] {
        let data = format!(r#""TransactionId":"t",{field}"#);
        let expected = format!(r#"{{"TransactionId":"t",{kept}}}"#);
        let success = account.read(&endpoint(), body(100, &data)).unwrap();
        assert_eq!(success.data().to_json(), expected);
        let response = http::Response::builder().status(400);
        let body = format!(r#"{{"status":"failed","status_code":400,"message":"no","data":{{{data}}}}}"#);
        let error = account.read(&endpoint(), response.body(Bytes::from(body)).unwrap()).unwrap_err();
        assert_eq!(error.record().unwrap().to_json(), expected);
    }
    // Every operation's data, if there is only a key to be found.
    let data = format!(r#""TransactionId":"t","CustomerId":"c","Debug":"Bearer {KEY}""#);
    let void = Void::new("txn_1".parse().unwrap());
    let (lookup, customer) =
        (GetTransaction::new("t".parse().unwrap()), GetCustomer::new("c".parse().unwrap()));
    for json in [
        sale().read(&endpoint(), body(100, &data)).unwrap().to_json(),
        token().read(&endpoint(), body(100, &data)).unwrap().to_json(),
        void.read(&endpoint(), body(100, &data)).unwrap().to_json(),
        lookup.read(&endpoint(), body(200, &data)).unwrap().to_json(),
        customer.read(&endpoint(), body(200, &data)).unwrap().to_json(),
    ] {
        assert!(json.contains(r#""Debug":"[redacted]""#) && !json.contains(KEY), "{json}");
    }
}

fn body(code: u16, data: &str) -> http::Response<Bytes> {
    http::Response::new(Bytes::from(format!(r#"{{"status_code":{code},"message":"m","data":{{{data}}}}}"#)))
}
