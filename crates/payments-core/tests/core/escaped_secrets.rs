//! A response that repeats a secret of its request, written with escapes, never shows it.

use std::error::Error as StdError;

use bytes::Bytes;
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, TokenTransaction, TransactionId,
    TransactionType,
};
use payments_core::{ApiKey, Endpoint, Error, GetTransaction, Operation, TransportError, TransportErrorKind};

use crate::support::PAYER;

const KEY: &str = "sk/live+51H\"ab\\cd=";
const CARD: &str = "4929907390318794";
const CVV: &str = "917";
const EXPIRY: &str = "1131";
const ACCOUNT: &str = "DE/89-3704";
const TOKEN: &str = "tok/9f8e+";

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new(KEY).unwrap()).unwrap()
}

const AMOUNT: Amount = Amount::from_cents(10_50);

fn sale() -> CardTransaction {
    let card = Card { number: CARD, cvv: CVV, expiry: EXPIRY };
    let (sale, fee) = (TransactionType::Sale, ConvenienceFee::Inactive);
    CardTransaction::builder(AMOUNT, sale, fee, card, PAYER).build().unwrap()
}

fn transfer() -> AchTransaction {
    let (sale, fee) = (TransactionType::Sale, ConvenienceFee::Inactive);
    AchTransaction::builder(AMOUNT, sale, fee, PAYER).account_field("Number", ACCOUNT).build().unwrap()
}

fn token_payment(token: &str) -> TokenTransaction {
    TokenTransaction::builder(token, AMOUNT, ConvenienceFee::Inactive).build().unwrap()
}

/// The error of a request that has the secret.
fn error(secret: &str, response: http::Response<Bytes>) -> Error {
    let endpoint = endpoint();
    match secret {
        TOKEN => token_payment(TOKEN).read(&endpoint, response).unwrap_err(),
        ACCOUNT => transfer().read(&endpoint, response).unwrap_err(),
        _ => sale().read(&endpoint, response).unwrap_err(),
    }
}

/// How a service may write the secret in a string of JSON.
fn in_json(secret: &str) -> Vec<String> {
    let plain = secret.replace('\\', r"\\").replace('"', r#"\""#);
    let php = plain.replace('/', r"\/");
    let coded = |is_coded: fn(usize) -> bool, upper: bool| -> String {
        let write = |(place, character): (usize, char)| match u32::from(character) {
            code if is_coded(place) && upper => format!("\\u{code:04X}"),
            code if is_coded(place) => format!("\\u{code:04x}"),
            _ => match character {
                '"' | '\\' => format!("\\{character}"),
                _ => character.to_string(),
            },
        };
        secret.chars().enumerate().map(write).collect()
    };
    let nested = |json: &str| json.replace('\\', r"\\").replace('"', r#"\""#);
    let all = coded(|_| true, false);
    vec![
        nested(&php),
        nested(&all),
        nested(&nested(&php)),
        coded(|_| true, true),
        coded(|place| place % 2 == 0, false),
        coded(|place| place == 0, true),
        coded(|place| place > 1, true),
        plain,
        php,
        all,
    ]
}

/// How a page may write it.
fn in_html(secret: &str) -> Vec<String> {
    let written = |write: fn(char) -> String| -> String {
        secret.chars().map(|it| if it.is_alphanumeric() { it.to_string() } else { write(it) }).collect()
    };
    vec![
        written(|it| format!("&#x{:X};", u32::from(it))),
        written(|it| format!("&#{};", u32::from(it))),
        written(|it| format!("%{:02x}", u32::from(it))),
        secret.replace('"', "&quot;"),
    ]
}

fn everything(error: &Error) -> String {
    let call = error.failed_call();
    let texts = [error.reason(), call.status_code(), error.request_id()];
    let source = error.source().map(ToString::to_string);
    format!(
        "{error} {error:#} {error:?} {error:#?} {call} {texts:?} {source:?} {:?} {} {}",
        call.violations(),
        error.record_status().unwrap_or_default(),
        call.body_snippet().unwrap_or_default()
    )
}

fn is_shown(text: &str, secret: &str, written: &str) -> bool {
    [secret, written]
        .iter()
        .any(|it| text.contains(*it) || text.contains(&format!("{it:?}").replace('"', "")))
}

fn response(status: u16, body: impl Into<Bytes>) -> http::Response<Bytes> {
    http::Response::builder().status(status).body(body.into()).unwrap()
}

#[test]
fn escaped_secret_is_in_no_text_of_an_error_d64() {
    for secret in [KEY, CARD, CVV, EXPIRY, ACCOUNT, TOKEN] {
        for written in in_json(secret) {
            for status in [200, 400, 401, 500] {
                for body in [
                    format!(r#"{{"status":"failed","status_code":400,"msg":"no {written} here"}}"#),
                    format!(r#"{{"status":"failed","errors":["no","{written}"]}}"#),
                    format!(r#"{{"status":"failed","status_code":400,"msg":"917 no","key":"{written}"}}"#),
                    format!(
                        r#"{{"status":"failed","msg":"no","data":{{"TransactionId":"t","x":"{written}"}}}}"#
                    ),
                    format!(r#"<p>{{"msg":"{written}"}}</p>"#),
                ] {
                    let text = everything(&error(secret, response(status, body.clone())));
                    assert!(!is_shown(&text, secret, &written), "{written} of {body} in {text}");
                    assert!(text.contains("[redacted]"), "{text}");
                }
            }
        }
    }
}

#[test]
fn escaped_secret_is_in_no_status_code_and_no_debug_d64() {
    for secret in [KEY, CARD, ACCOUNT] {
        for written in in_json(secret) {
            let body = format!(
                r#"{{"status":"failed","status_code":"{written}","msg":"no","data":{{"TransactionId":"t","Status":"x {written}"}}}}"#
            );
            let error = error(secret, response(400, body));
            let text = format!("{error:?} {error:#?} {:?}", error.failed_call().status_code());
            assert!(!is_shown(&text, secret, &written), "{written} in {text}");
            assert!(text.ends_with("[redacted]\")"), "{text}");
        }
    }
}

#[test]
fn secret_is_found_in_a_page_d64() {
    for secret in [KEY, ACCOUNT, TOKEN] {
        for written in in_html(secret) {
            let text = everything(&error(secret, response(502, format!("<p>key {written}</p>"))));
            assert!(!is_shown(&text, secret, &written), "{written} in {text}");
        }
    }
}

/// Of a body that ends within the secret, and of a snippet that does.
#[test]
fn half_an_escaped_secret_is_removed_d64() {
    for secret in [KEY, CARD, ACCOUNT] {
        for written in in_json(secret) {
            for length in 1..written.len() {
                let half = &written[..length];
                let body = format!(r#"{{"status":"failed","msg":"no ~{half}"#);
                let error = TransportError::answered(TransportErrorKind::BodyTruncated, response(400, body));
                let error = match secret {
                    ACCOUNT => transfer().error_from_transport(&endpoint(), error),
                    _ => sale().error_from_transport(&endpoint(), error),
                };
                let snippet = error.failed_call().body_snippet().unwrap();
                assert!(snippet.ends_with('~'), "{half}: {snippet}");

                let before = "x".repeat(2047 - length);
                let error = self::error(secret, response(502, format!("{before}~{written}{before}")));
                let snippet = error.failed_call().body_snippet().unwrap();
                assert!(snippet.ends_with("x~") || snippet.ends_with("[redacted]"), "{half}: {snippet}");
            }
        }
    }
}

#[test]
fn token_is_masked_in_texts_and_kept_in_ids_d64() {
    let endpoint = endpoint();
    let refused = |token: &str, message: &str| {
        let body = format!(r#"{{"status":"failed","status_code":400,"msg":"{message}"}}"#);
        let error = token_payment(token).read(&endpoint, response(400, body)).unwrap_err();
        (error.reason().unwrap().to_owned(), everything(&error))
    };
    for (token, message, shown) in [
        ("tok_9f8e", "token tok_9f8e is expired", "token [redacted] is expired"),
        ("tok_9f8e", "xtok_9f8ex", "x[redacted]x"),
        ("t9", "t9 is expired", "t9 is expired"),
        ("t917", "t917 is expired, not t9170", "[redacted] is expired, not t9170"),
        ("token", "invalid token", "invalid token"),
        ("card", "the card was declined", "the card was declined"),
    ] {
        let (reason, text) = refused(token, message);
        assert_eq!(reason, shown);
        assert!(message == shown || !text.contains(&format!(" {token} ")), "{text}");
    }
    let body =
        |code| format!(r#"{{"status_code":{code},"message":"m","data":{{"TransactionId":"tok_9f8e-1"}}}}"#);
    let payment = token_payment("tok_9f8e");
    let charged = payment.read(&endpoint, response(200, body(100))).unwrap();
    assert_eq!(charged.transaction_id.as_str(), "tok_9f8e-1");
    let unclear = payment.read(&endpoint, response(200, body(101))).unwrap_err();
    assert_eq!(unclear.transaction_id().map(TransactionId::as_str), Some("tok_9f8e-1"));
}

#[test]
fn lookup_shows_no_escaped_key_d64() {
    let body = r#"{"status":"failed","status_code":401,"msg":"no key sk\/live+51H\"ab\\cd="}"#;
    let lookup = GetTransaction::new("t".parse().unwrap());
    let error = lookup.read(&endpoint(), response(401, body)).unwrap_err();
    let text = format!("{error} {error:?} {}", error.failed_call().body_snippet().unwrap());
    assert!(text.contains("[redacted]") && !text.contains("live"), "{text}");
}
