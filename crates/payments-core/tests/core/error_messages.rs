//! What each error tells a caller. Most messages are in docs/error-messages.md, whose test is in `tests/error_messages.rs`.

use std::error::Error as _;

use bytes::Bytes;
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, TransactionId, TransactionType, Void,
};
use payments_core::{
    ApiKey, Endpoint, Error, ErrorKind, FailedCall, GetTransaction, LookupError, Operation, OperationName,
    Outcome, RefusedBy, TransportError, TransportErrorKind,
};

use crate::support::PAYER;

const KEY: &str = "sk_canary_7Qz";

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new(KEY).unwrap()).unwrap()
}

fn sale() -> CardTransaction {
    let card = Card { number: "4242424242424242", cvv: "917", expiry: "11/31" };
    CardTransaction::builder(
        Amount::from_cents(10_50),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        card,
        PAYER,
    )
    .build()
    .unwrap()
}

fn error_for(status: u16, body: &'static str) -> Error {
    let response =
        http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap();
    sale().read(&endpoint(), response).unwrap_err()
}

fn shows(error: &impl std::error::Error, message: &str) {
    assert_eq!(error.to_string(), message);
}

#[test]
fn lost_ach_payment_is_searched_by_its_last_four_digits_d46() {
    let (sale, convenience_fee) = (TransactionType::Sale, ConvenienceFee::Inactive);
    let ach = AchTransaction::builder(Amount::from_cents(1_00), sale, convenience_fee, PAYER);
    let ach = ach.account_field("Number", "000123456789").build().unwrap();
    let error = ach.error_from_transport(&endpoint(), TransportError::unknown(TransportErrorKind::Closed));
    assert!(error.to_string().ends_with("by amount, last four digits, payer's name and time"), "{error}");
}

#[test]
fn lost_void_names_its_transaction_d20() {
    let void = Void::new("txn_1".parse().unwrap());
    let error = void.error_from_transport(&endpoint(), TransportError::unknown(TransportErrorKind::Closed));
    let id_of = |error: &Error| error.transaction_id().map(ToString::to_string);
    assert_eq!(id_of(&error).as_deref(), Some("txn_1"));

    let read = |status: u16, body: &'static str| {
        let response = http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes()));
        void.read(&endpoint(), response.unwrap()).unwrap_err()
    };
    assert_eq!(id_of(&read(502, "<html>")).as_deref(), Some("txn_1"));
    let other = read(200, r#"{"status_code":101,"data":{"TransactionId":"txn_of_the_void"}}"#);
    assert_eq!(
        id_of(&other).as_deref(),
        Some("txn_1"),
        "what the void has done is in the record of this one"
    );
    assert!(other.to_string().ends_with("look up transaction txn_1"), "{other}");
    let named = other.failed_call().named_transaction();
    assert_eq!(named.map(TransactionId::as_str), Some("txn_of_the_void"), "the journal keeps it");
    // Where the outcome is known there is nothing to look up, and the response holds no transaction.
    assert_eq!(id_of(&read(400, r#"{"status":"failed","status_code":400,"msg":"no"}"#)), None);
    let unsent = TransportError::not_processed(TransportErrorKind::Connect);
    assert_eq!(id_of(&void.error_from_transport(&endpoint(), unsent)), None);
    let partial = http::Response::builder().status(200).body(Bytes::from_static(b"{")).unwrap();
    let broken = TransportError::answered(TransportErrorKind::BodyTruncated, partial);
    assert_eq!(id_of(&void.error_from_transport(&endpoint(), broken)).as_deref(), Some("txn_1"));
}

#[test]
fn id_that_cannot_be_looked_up_is_to_be_reconciled() {
    let void = Void::from_json(br#"{"TransactionId":"../customer/1"}"#);
    let error = match void {
        Ok(void) => {
            void.error_from_transport(&endpoint(), TransportError::unknown(TransportErrorKind::Closed))
        }
        Err(_) => error_for(200, r#"{"status_code":101,"data":{"TransactionId":"../customer/1"}}"#),
    };
    let message = error.to_string();
    assert!(message.ends_with("reconcile transaction ../customer/1 with the service"), "{message}");
}

#[test]
fn lost_void_hides_an_id_that_is_a_secret_d62() {
    let void = Void::new(format!("x{KEY}").parse().unwrap());
    let error = void.error_from_transport(&endpoint(), TransportError::unknown(TransportErrorKind::Closed));
    assert_eq!(error.transaction_id(), None);
    assert!(!format!("{error} {error:?}").contains(KEY));
}

fn no_runtime() -> TransportError {
    TransportError::not_processed(TransportErrorKind::Configuration).with_source("a runtime is missing")
}

#[test]
fn missing_runtime_is_a_configuration_error_d01() {
    let error = sale().error_from_transport(&endpoint(), no_runtime());
    assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, ErrorKind::Configuration));
    assert_eq!(format!("{error:#}"), error.to_string(), "the cause stands in it once");
}

#[test]
fn request_that_may_have_been_sent_is_neither_a_configuration_error_nor_safe_d03() {
    let missing =
        TransportError::unknown(TransportErrorKind::Configuration).with_source("a runtime is missing");
    let alert = TransportError::unknown(TransportErrorKind::Tls).with_source("received fatal alert");
    for sent in [missing, alert] {
        let error = sale().error_from_transport(&endpoint(), sent);
        assert!(error.kind() != ErrorKind::Configuration && error.outcome() == Outcome::Unknown, "{error}");
        assert!(error.to_string().contains("do not send it again"), "{error}");
    }
}

#[test]
fn refusal_for_now_says_to_wait_d10_d12() {
    for status in [408, 425, 429, 400, 404] {
        for body in ["", r#"{"status":"failed","msg":"no"}"#] {
            let waits = |text: &str| text.contains("wait, then ") && !text.contains("fix the cause");
            let text = lookup(status, body).to_string();
            assert_eq!(waits(&text), [408, 425, 429].contains(&status), "{text}");
            let error = error_for(status, body);
            assert_eq!(waits(&error.to_string()), status == 429, "{error}");
        }
    }
}

/// The rule is that of the journal, which reads it from its record.
#[test]
fn only_a_refusal_of_the_payment_itself_is_a_decline_d56() {
    let void = Void::new("txn_1".parse().unwrap());
    let of_void = |status: u16, body: &'static str| {
        let response =
            http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap();
        void.read(&endpoint(), response).unwrap_err()
    };
    let declined = r#"{"status":"failed","status_code":400,"msg":"declined"}"#;
    // A gateway can have its own status in a body with HTTP 200 or 400, as a number or as text.
    let is_decline = |code: u16| {
        let bodies = [format!("{code}"), format!("\"{code}\"")]
            .map(|code| &*format!(r#"{{"status":"failed","status_code":{code},"msg":"no"}}"#).leak());
        let all = [(code, declined), (200, bodies[0]), (400, bodies[0]), (200, bodies[1])];
        let asked = all.map(|(status, body)| {
            [error_for(status, body), of_void(status, body)].map(|error| {
                assert_eq!(error.outcome(), Outcome::Rejected, "{error}");
                error.is_decline()
            })
        });
        assert!(asked.iter().all(|answer| *answer == asked[0]), "{code}: {asked:?}");
        asked[0]
    };
    for status in [200, 400, 402, 410, 422, 499] {
        assert_eq!(is_decline(status), [true, true], "{status}");
    }
    for status in [401, 403, 405, 406, 411, 413, 414, 415, 417, 421, 429, 431] {
        assert_eq!(is_decline(status), [false, false], "{status}");
    }
    assert_eq!(is_decline(404), [false, true], "the service does not know the transaction to void");
    for error in [error_for(400, ""), error_for(422, "<p>no"), error_for(200, "{}"), error_for(502, declined)]
    {
        assert!(!error.is_decline(), "{error}");
    }
    for error in [unsent(TransportErrorKind::Connect), lost(TransportErrorKind::Closed)] {
        assert!(!error.is_decline(), "{error}");
    }
    assert!(!Error::from(TransactionId::new("").unwrap_err()).is_decline());
}

#[test]
fn only_a_whole_id_of_a_cut_response_is_named_d07_d08() {
    let truncated =
        error_for(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t9","Amou"#);
    assert_eq!(truncated.transaction_id().map(TransactionId::as_str), Some("t9"));
    let cut_within = error_for(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t9"#);
    assert_eq!(cut_within.transaction_id(), None);
}

#[test]
fn unclear_response_says_what_it_lacks_d07_d08() {
    for (status, body, what) in [
        (204, "", "HTTP 204 without status_code 100 and a TransactionId; "),
        (200, r#"{"data":{"TransactionId":"t9"}}"#, "HTTP 200 without status_code 100; "),
        (200, r#"{"status_code":200,"data":{"TransactionId":"t9"}}"#, "HTTP 200 with status_code 200; "),
        // Nobody expects these of another status.
        (503, r#"{"status_code":503}"#, "HTTP 503: Service Unavailable; "),
    ] {
        let message = error_for(status, body).to_string();
        let start = format!("transaction: the response is unclear, {what}it may have been processed");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn refusal_in_a_200_is_not_called_ok_d06() {
    shows(
        &error_for(200, r#"{"status":"failed","status_code":402}"#),
        "transaction: the service returned HTTP 200 with status_code 402 and an error body; \
         it was rejected: fix the cause, then send a new request",
    );
}

#[test]
fn unclear_lookup_says_what_it_lacks_d12() {
    for (status, body, what) in [
        (200, r#"{"status_code":200}"#, "HTTP 200 without the requested record"),
        (
            200,
            r#"{"status_code":100,"message":"Hm"}"#,
            "HTTP 200 with status_code 100, without the requested record: Hm",
        ),
        (204, "", "HTTP 204 without the requested record"),
    ] {
        let advice = "a lookup moves no money: it is safe to run it again";
        shows(&lookup(status, body), &format!("get-transaction: the response is unclear, {what}; {advice}"));
    }
}

#[test]
fn refusal_in_a_200_keeps_its_data_d06() {
    let error = error_for(
        200,
        r#"{"status":"failed","status_code":200,"message":"card declined","data":{"TransactionId":"t7","Status":"5","Amount":10.50}}"#,
    );
    assert_eq!(error.outcome(), Outcome::Rejected);
    assert_eq!(error.reason(), Some("card declined"));
    assert_eq!(error.transaction_id().map(TransactionId::as_str), Some("t7"));
    assert_eq!(error.record_status(), Some("5"));
    assert_eq!(
        error.record().and_then(|record| record.amount.value().copied()),
        Some(Amount::from_cents(10_50))
    );
    assert_eq!(error.failed_call().status_code(), Some("200"));
}

#[test]
fn reason_is_msg_then_message_then_error_then_the_http_phrase_d63() {
    let reason = |body| error_for(400, body).reason().map(str::to_owned);
    assert_eq!(reason(r#"{"status":"failed","msg":"a","message":"b"}"#).as_deref(), Some("a"));
    assert_eq!(reason(r#"{"status":"failed","message":"b","error":"c"}"#).as_deref(), Some("b"));
    assert_eq!(reason(r#"{"status":"failed","error":{"message":"c"}}"#).as_deref(), Some("c"));
    assert_eq!(reason(r#"{"status":"failed","error":"d"}"#).as_deref(), Some("d"));
    assert_eq!(reason(r#"{"status":"failed","msg":"","message":"b"}"#).as_deref(), Some("b"));
    assert_eq!(reason(r#"{"status":"failed","msg":"bad request error: a"}"#).as_deref(), Some("a"));
    assert_eq!(reason(r#"{"status":"failed","errors":[{"detail":"e"},"f"]}"#).as_deref(), Some("e; f"));
    assert_eq!(reason(r#"{"status":"failed","msg":["a","b"]}"#).as_deref(), Some("a; b"));
    assert_eq!(reason(r#"{"status":"failed","error":{"description":"g"}}"#).as_deref(), Some("g"));
    assert_eq!(reason(r#"{"status":"failed"}"#).as_deref(), Some("Bad Request"));
    for blank in [r#"{"status":"failed","msg":" "}"#, r#"{"status":"failed","msg":"bad request error: "}"#] {
        assert_eq!(reason(blank).as_deref(), Some("Bad Request"), "{blank}");
    }
    assert_eq!(reason("<html>").as_deref(), Some("Bad Request"));
}

#[test]
fn not_found_is_http_404_only_d63() {
    let lookup = GetTransaction::new("t".parse().unwrap());
    let body = Bytes::from_static(br#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#);
    let not_found = |status: u16| {
        let response = http::Response::builder().status(status).body(body.clone()).unwrap();
        lookup.read(&endpoint(), response).unwrap_err().kind() == ErrorKind::NotFound
    };
    assert!(not_found(404));
    assert!(!not_found(400));
    assert!(!not_found(200));
}

#[test]
fn status_code_retry_after_request_id_and_snippet_are_kept_d64() {
    let response = http::Response::builder()
        .status(503)
        .header("retry-after", "7")
        .header("x-request-id", "req_1")
        .body(Bytes::from_static(br#"{"status":"failed","status_code":"5O3","msg":"down"}"#))
        .unwrap();
    let error = sale().read(&endpoint(), response).unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(error.http_status().map(|status| status.as_u16()), Some(503));
    assert_eq!(error.failed_call().status_code(), Some("5O3"));
    assert_eq!(error.request_id(), Some("req_1"));
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(7)));
    assert!(error.failed_call().body_snippet().unwrap().contains("down"));
}

#[test]
fn status_code_equal_to_the_security_code_is_kept_d64() {
    // 917 and 1131 are the sale's own security code and expiry.
    for (body, code) in [
        (r#"{"status":"failed","status_code":917,"msg":"no"}"#, "917"),
        (r#"{"status":"failed","status_code":"1131","msg":"no"}"#, "1131"),
    ] {
        assert_eq!(error_for(400, body).failed_call().status_code(), Some(code));
    }
    let repeated =
        error_for(400, r#"{"status":"failed","status_code":4242424242424242,"msg":"917 is wrong"}"#);
    assert!(
        !repeated.failed_call().status_code().unwrap().contains("424242424242"),
        "longer codes are masked"
    );
    assert!(!repeated.to_string().contains("917"), "and so is the message: {repeated}");
}

#[test]
fn snippet_is_bounded_and_masked_d64() {
    let mut body =
        r#"{"status":"failed","msg":"no","CardNumber":"4000 0000 0000 9995","note":"4242-4242-4242-4242 "#
            .to_owned();
    body += &"x".repeat(10_000);
    body += r#"","Cvv":"917"}"#;
    let error = error_for(500, Box::leak(body.into_boxed_str()));
    let snippet = error.failed_call().body_snippet().unwrap();
    assert!(snippet.len() <= 2048, "{}", snippet.len());
    for secret in ["4242-4242", "42424242", "4000 0000", "40000000", "917"] {
        assert!(!snippet.contains(secret), "{secret} in {snippet}");
    }
}

#[test]
fn response_that_repeats_the_request_shows_no_secret_d62() {
    let repeated: &'static str = Box::leak(
        format!(
            r#"{{"status":"failed","status_code":400,"msg":"card 4242424242424242 cvv 917 exp 1131 key {KEY}","data":{{"TransactionId":"t","CardNumber":"4242424242424242","Cvv":"917","ExpiryDate":"1131","AccountNumber":"000123456789"}}}}"#
        )
        .into_boxed_str(),
    );
    for status in [200, 400, 500] {
        let error = error_for(status, repeated);
        let text = format!("{error} {error:?} {error:#?} {:?} {:?}", error.reason(), error.record());
        let snippet = error.failed_call().body_snippet().unwrap();
        for secret in ["4242424242424242", "917", "1131", KEY] {
            assert!(!text.contains(secret) && !snippet.contains(secret), "{secret} in {text} {snippet}");
        }
        // No secret of a card payment, so that only what shows none of the body is free of it.
        assert!(!text.contains("000123456789"), "{text}");
        assert!(text.contains("4242"), "the last four digits stay: {text}");
    }
}

#[test]
fn debug_shows_no_secret_that_a_record_repeats_d62() {
    for (status, code) in [(400, 400), (200, 100)] {
        let body = format!(
            r#"{{"status_code":{code},"status":"{}","data":{{"TransactionId":"t","Status":"key {KEY}","CardNumber":"{KEY}","Amount":10.50}}}}"#,
            if code == 100 { "success" } else { "failed" },
        );
        let response = http::Response::builder().status(status).body(body.into()).unwrap();
        let result = sale().read(&endpoint(), response);
        let shown = format!("{result:?} {result:#?}");
        assert!(!shown.contains(KEY) && shown.contains("Amount(10.50)"), "{shown}");
    }
}

#[test]
fn secret_with_any_character_is_masked_d62() {
    let account = |number: &str| {
        AchTransaction::builder(
            Amount::from_cents(1_00),
            TransactionType::Sale,
            ConvenienceFee::Inactive,
            PAYER,
        )
        .account_field("Number", number)
        .build()
        .unwrap()
    };
    for between in ['\0', '\u{1}', '\n', '|'] {
        let number: String = ('1'..='9').flat_map(|digit| [digit, between]).collect();
        let escaped = number.replace(between, &format!("\\u{:04x}", u32::from(between)));
        let body = format!(r#"{{"status":"failed","status_code":400,"msg":"no {escaped} here"}}"#);
        let response = http::Response::builder().status(400).body(Bytes::from(body)).unwrap();
        let error = account(&number).read(&endpoint(), response).unwrap_err();
        assert_eq!(error.reason(), Some("no [redacted] here"), "{between:?}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains("1234") && !text.contains(&number), "{between:?}: {text}");
    }
}

#[test]
fn encoded_response_is_unknown_d65() {
    let body = r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#;
    let read = |coding: &str| {
        let response = http::Response::builder()
            .status(200)
            .header("content-encoding", coding)
            .body(Bytes::from_static(body.as_bytes()))
            .unwrap();
        sale().read(&endpoint(), response)
    };
    assert_eq!(read("gzip").unwrap_err().outcome(), Outcome::Unknown);
    assert!(read("identity").is_ok());
}

#[test]
fn whole_body_is_checked_as_utf8_d65() {
    let mut body = br#"{"status":"success","status_code":100,"data":{"TransactionId":"t"},"x":"_"}"#.to_vec();
    let ignored = body.iter().rposition(|byte| *byte == b'_').unwrap();
    body[ignored] = 0xff;
    let response = http::Response::builder().status(200).body(Bytes::from(body)).unwrap();
    assert_eq!(sale().read(&endpoint(), response).unwrap_err().outcome(), Outcome::Unknown);
}

#[test]
fn id_that_cannot_be_in_a_path_is_refused_before_sending_d01() {
    let processed = r#"{"status":"success","status_code":100,"data":{"TransactionId":"../../customer/1"}}"#;
    let response =
        http::Response::builder().status(200).body(Bytes::from_static(processed.as_bytes())).unwrap();
    let receipt = sale().read(&endpoint(), response).unwrap();
    let error = GetTransaction::new(receipt.transaction_id.clone()).request(&endpoint()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.failed_call().violations()[0].field(), "TransactionId");
}

#[test]
fn alternate_form_adds_the_causes() {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let error = TransportError::not_processed(TransportErrorKind::Connect).with_source(refused);
    let error = sale().error_from_transport(&endpoint(), error);
    assert_eq!(
        format!("{error:#}"),
        "transaction: could not connect: connection refused; \
         nothing was processed: it is safe to send it again"
    );
    assert!(!error.to_string().contains("refused"));
}

#[test]
fn truncated_response_is_not_trusted_even_if_it_looks_complete_d08_d10() {
    let broken = |status: u16, body: &'static str| {
        let partial =
            http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap();
        sale().error_from_transport(
            &endpoint(),
            TransportError::answered(TransportErrorKind::BodyTruncated, partial),
        )
    };
    let processed = broken(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t9"}}"#);
    assert_eq!(processed.outcome(), Outcome::Unknown);
    assert_eq!(processed.transaction_id().map(TransactionId::as_str), Some("t9"));
    let declined = broken(200, r#"{"status":"failed","status_code":200}"#);
    assert_eq!(declined.outcome(), Outcome::Unknown);
    let refused = broken(400, r#"{"status":"failed","status_code":400,"msg":"no"}"#);
    assert_eq!((refused.outcome(), refused.failed_call().refused_by()), (Outcome::Unknown, None));
    assert_eq!(broken(500, r#"{"status":"failed"}"#).outcome(), Outcome::Unknown);
}

#[test]
fn request_id_comes_from_the_first_known_header_d64() {
    let names = ["x-request-id", "request-id", "x-correlation-id"];
    for first in 0..names.len() {
        let response = http::Response::builder().status(500).header("date", "now");
        let response =
            names[first..].iter().rev().fold(response, |response, name| response.header(*name, *name));
        let error = sale().read(&endpoint(), response.body(Bytes::new()).unwrap()).unwrap_err();
        assert_eq!(error.request_id(), Some(names[first]));
    }
}

#[test]
fn request_id_is_short_printable_and_not_a_secret_d64() {
    let request_id = |value: &str| {
        let response =
            http::Response::builder().status(500).header("x-request-id", value).body(Bytes::new()).unwrap();
        sale().read(&endpoint(), response).unwrap_err().request_id().map(str::to_owned)
    };
    assert_eq!(request_id("req_1").as_deref(), Some("req_1"));
    assert_eq!(request_id(&"r".repeat(200)).map(|id| id.len()), Some(200));
    for refused in [&"r".repeat(201), "two words", "", KEY, "card-4242424242424242", "5555555555554444"] {
        assert_eq!(
            request_id(refused),
            if refused.is_empty() { Some(String::new()) } else { None },
            "{refused}"
        );
    }
}

#[test]
fn long_reason_is_cut_d64() {
    let body = format!(r#"{{"status":"failed","msg":"{}"}}"#, "\u{20ac}".repeat(1000));
    let error = error_for(400, Box::leak(body.into_boxed_str()));
    assert_eq!(error.reason().map(str::len), Some(1023));
}

#[test]
fn every_content_coding_counts_d65() {
    let response = http::Response::builder()
        .status(200)
        .header("content-encoding", "identity")
        .header("content-encoding", "br")
        .body(Bytes::from_static(br#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#))
        .unwrap();
    assert_eq!(sale().read(&endpoint(), response).unwrap_err().outcome(), Outcome::Unknown);
}

#[test]
fn server_cannot_add_a_line_to_a_log() {
    let error =
        error_for(200, r#"{"status_code":101,"data":{"TransactionId":"t\nFATAL: all is lost\u001b[2J"}}"#);
    assert!(!error.to_string().contains(['\n', '\u{1b}']), "{error}");
    assert_eq!(error.transaction_id().map(TransactionId::as_str), Some("t\nFATAL: all is lost\u{1b}[2J"));
    for mark in ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{85}']
    {
        let body = format!(r#"{{"status":"failed","message":"a{mark}b"}}"#);
        let response = http::Response::builder().status(400).body(Bytes::from(body)).unwrap();
        let error = sale().read(&endpoint(), response).unwrap_err();
        assert_eq!(error.reason(), Some("a b"), "{}", mark.escape_unicode());
    }
}

#[test]
fn status_code_that_is_the_key_is_redacted_d64() {
    let status_code = |key: &str| {
        let endpoint = Endpoint::new("https://pay.example.com", ApiKey::new(key).unwrap()).unwrap();
        let body = format!(r#"{{"status":"failed","status_code":{key},"msg":"no"}}"#);
        let response = http::Response::builder().status(400).body(Bytes::from(body)).unwrap();
        sale().read(&endpoint, response).unwrap_err().failed_call().status_code().map(str::to_owned)
    };
    assert_eq!(status_code("1234567").as_deref(), Some("1234567"));
    assert_eq!(status_code("12345678").as_deref(), Some("[redacted]"));
}

#[test]
fn id_or_status_that_is_a_secret_is_hidden_d62() {
    let repeated =
        format!(r#"{{"status_code":101,"data":{{"TransactionId":"x{KEY}","Status":"4242424242424242"}}}}"#);
    let error = error_for(200, Box::leak(repeated.into_boxed_str()));
    assert_eq!((error.transaction_id(), error.record_status()), (None, None));
    let text = format!("{error} {error:?}");
    assert!(!text.contains(KEY) && !text.contains("4242424242424242"), "{text}");
}

fn lookup(status: u16, body: &'static str) -> LookupError {
    let response =
        http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap();
    GetTransaction::new("t".parse().unwrap()).read(&endpoint(), response).unwrap_err()
}

fn unsent(kind: TransportErrorKind) -> Error {
    sale().error_from_transport(&endpoint(), TransportError::not_processed(kind))
}

fn lost(kind: TransportErrorKind) -> Error {
    sale().error_from_transport(&endpoint(), TransportError::unknown(kind))
}

fn truncated_with(status: u16) -> Error {
    let partial = http::Response::builder().status(status).body(Bytes::new()).unwrap();
    sale().error_from_transport(
        &endpoint(),
        TransportError::answered(TransportErrorKind::BodyTruncated, partial),
    )
}

/// A lookup of an id that a server sent and that cannot be in a path.
fn invalid_lookup() -> LookupError {
    let processed = br#"{"status_code":100,"data":{"TransactionId":".."}}"#;
    let receipt = sale().read(&endpoint(), http::Response::new(Bytes::from_static(processed))).unwrap();
    GetTransaction::new(receipt.transaction_id.clone()).request(&endpoint()).unwrap_err()
}

const FAILED: &str = r#"{"status":"failed","status_code":400,"msg":"no"}"#;

/// What every error says of itself.
struct Observed {
    text: String,
    kind: ErrorKind,
    transport: Option<TransportErrorKind>,
    operation: Option<OperationName>,
    has_violations: bool,
}

impl Observed {
    fn new(error: &impl std::error::Error, call: &FailedCall) -> Self {
        Self {
            text: error.to_string(),
            kind: call.kind(),
            transport: call.transport_error().map(TransportError::kind),
            operation: call.operation(),
            has_violations: !call.violations().is_empty(),
        }
    }
}

impl From<Error> for Observed {
    fn from(error: Error) -> Self {
        assert_eq!(error.kind(), error.failed_call().kind());
        Self::new(&error, error.failed_call())
    }
}

impl From<LookupError> for Observed {
    fn from(error: LookupError) -> Self {
        assert_eq!(error.kind(), error.failed_call().kind());
        Self::new(&error, error.failed_call())
    }
}

#[test]
fn each_failure_has_one_kind_and_what_the_transport_reported() {
    use ErrorKind::{
        Configuration, Interrupted, Invalid, NotConnected, NotFound, Refused, RefusedByIntermediary,
        TimedOut, Unauthorized, Unclear,
    };
    use TransportErrorKind as Kind;
    let configuration = ApiKey::new("").unwrap_err();
    let blank = TransactionId::new("").unwrap_err();
    let void = Void::new("t".parse().unwrap());
    let void_lost = void.error_from_transport(&endpoint(), TransportError::unknown(Kind::Closed));
    let cases: [(Observed, ErrorKind, Option<Kind>, Option<&str>); 29] = [
        (configuration.into(), Configuration, None, None),
        (Error::from(blank).into(), Invalid, None, None),
        (invalid_lookup().into(), Invalid, None, Some("get-transaction")),
        (unsent(Kind::Resolve).into(), NotConnected, Some(Kind::Resolve), Some("transaction")),
        (unsent(Kind::Connect).into(), NotConnected, Some(Kind::Connect), Some("transaction")),
        (unsent(Kind::Tls).into(), NotConnected, Some(Kind::Tls), Some("transaction")),
        (unsent(Kind::Timeout).into(), TimedOut, Some(Kind::Timeout), Some("transaction")),
        (lost(Kind::Timeout).into(), TimedOut, Some(Kind::Timeout), Some("transaction")),
        (lost(Kind::Closed).into(), Interrupted, Some(Kind::Closed), Some("transaction")),
        (void_lost.into(), Interrupted, Some(Kind::Closed), Some("void")),
        (error_for(400, FAILED).into(), Refused, None, Some("transaction")),
        (error_for(401, FAILED).into(), Unauthorized, None, Some("transaction")),
        (error_for(404, FAILED).into(), NotFound, None, Some("transaction")),
        (error_for(400, "").into(), RefusedByIntermediary, None, Some("transaction")),
        (error_for(401, "").into(), RefusedByIntermediary, None, Some("transaction")),
        (error_for(200, "").into(), Unclear, None, Some("transaction")),
        (error_for(500, FAILED).into(), Unclear, None, Some("transaction")),
        (error_for(502, "<html>").into(), RefusedByIntermediary, None, Some("transaction")),
        (truncated_with(400).into(), Interrupted, Some(Kind::BodyTruncated), Some("transaction")),
        (truncated_with(500).into(), Interrupted, Some(Kind::BodyTruncated), Some("transaction")),
        (lookup(400, FAILED).into(), Refused, None, Some("get-transaction")),
        (lookup(401, FAILED).into(), Unauthorized, None, Some("get-transaction")),
        (lookup(401, "").into(), RefusedByIntermediary, None, Some("get-transaction")),
        (lookup(404, FAILED).into(), NotFound, None, Some("get-transaction")),
        (lookup(404, "").into(), RefusedByIntermediary, None, Some("get-transaction")),
        (lookup(502, "").into(), RefusedByIntermediary, None, Some("get-transaction")),
        (lookup(500, FAILED).into(), Unclear, None, Some("get-transaction")),
        (lost_lookup(Kind::Timeout).into(), TimedOut, Some(Kind::Timeout), Some("get-transaction")),
        (lost_lookup(Kind::Connect).into(), NotConnected, Some(Kind::Connect), Some("get-transaction")),
    ];
    for (observed, kind, transport, operation) in cases {
        let text = observed.text;
        assert_eq!((observed.kind, observed.transport), (kind, transport), "{text}");
        assert_eq!(observed.operation.map(OperationName::as_str), operation, "{text}");
        assert_eq!(observed.has_violations, kind == Invalid, "{text}");
    }
}

fn lost_lookup(kind: TransportErrorKind) -> LookupError {
    GetTransaction::new("t".parse().unwrap()).error_from_transport(&endpoint(), TransportError::unknown(kind))
}

#[test]
fn transport_error_is_kept() {
    let reset = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let partial = http::Response::builder().status(200).body(Bytes::from_static(b"{")).unwrap();
    let error = TransportError::answered(TransportErrorKind::BodyTruncated, partial).with_source(reset());
    assert_eq!(error.partial().map(|partial| &partial.body()[..]), Some(&b"{"[..]));
    assert_eq!(error.to_string(), "the response was truncated after HTTP status 200");
    let shown = format!("{error:?}");
    assert!(shown.contains("BodyTruncated") && shown.contains("Answered(200)"), "{shown}");
    assert_eq!(error.source().map(ToString::to_string), Some(reset().to_string()));

    let error = sale().error_from_transport(&endpoint(), error);
    let account = error.failed_call().transport_error().unwrap();
    assert_eq!(account.kind(), TransportErrorKind::BodyTruncated);
    assert_eq!(error.source().map(ToString::to_string), Some(reset().to_string()));
    let shown = format!("{error:?}");
    assert!(shown.contains("outcome: Unknown") && shown.contains("BodyTruncated"), "{shown}");

    let error = error_for(400, FAILED);
    assert!(error.failed_call().transport_error().is_none() && error.source().is_none());
    assert!(format!("{error:?}").contains("refused_by: Some(Service)"), "{error:?}");
}

#[test]
fn half_a_secret_at_the_end_of_joined_messages_is_removed_d63_d64() {
    for secret in [KEY, "4242424242424242"] {
        for before in 480..500 {
            let text = "x".repeat(before);
            let body = format!(r#"{{"status":"failed","errors":["{text}","{secret}"]}}"#);
            let error = error_for(400, Box::leak(body.into_boxed_str()));
            let reason = error.reason().unwrap();
            assert!(reason.len() <= 500 && !reason.contains(&secret[..4]), "{reason}");
        }
    }
}

#[test]
fn half_a_card_number_between_separators_is_removed_d52_d64() {
    for between in ["", " ", "\u{a0}", "\u{2009}", " – ", ", ", r#"",""#, r"\u00a0", r"\n", "&nbsp;", "%20"]
    {
        let card = ["4242"; 4].join(between);
        for before in (440..501).step_by(3) {
            let text = "x".repeat(before);
            let body = format!(r#"{{"status":"failed","errors":["{text}","{card}","and more"]}}"#);
            let error = error_for(400, Box::leak(body.into_boxed_str()));
            let reason = error.reason().unwrap();
            assert!(!reason.contains("42"), "{between:?} {before}: {reason}");
        }
        for before in (1950..2049).step_by(5) {
            let body = format!("<p>{}</p>{card}<p>{}", "x".repeat(before), "x".repeat(100));
            let error = error_for(502, Box::leak(body.into_boxed_str()));
            let snippet = error.failed_call().body_snippet().unwrap();
            assert!(snippet.len() > 1900 && !snippet.contains("42"), "{between:?} {before}: {snippet}");
        }
    }
}

#[test]
fn kind_says_who_answered_and_outcome_where_the_money_is_d56() {
    let html = "<html><body>Blocked</body></html>";
    let two_ids = r#"{"message":"m","data":{"TransactionId":"t"}}"#;
    for (status, body, outcome, kind) in [
        (400, html, Outcome::Rejected, ErrorKind::RefusedByIntermediary),
        (401, "", Outcome::Rejected, ErrorKind::RefusedByIntermediary),
        (400, two_ids, Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (402, html, Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (403, html, Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (403, r#"{"message":"Forbidden"}"#, Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (408, "", Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (302, "", Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (502, html, Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (503, "", Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (
            504,
            r#"{"message":"Endpoint request timed out"}"#,
            Outcome::Unknown,
            ErrorKind::RefusedByIntermediary,
        ),
        (200, html, Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (200, "\u{feff}\n<!doctype html>", Outcome::Unknown, ErrorKind::RefusedByIntermediary),
        (429, html, Outcome::Rejected, ErrorKind::RateLimited),
        (429, two_ids, Outcome::Unknown, ErrorKind::RateLimited),
        // In the service's words, or in nobody's.
        (400, FAILED, Outcome::Rejected, ErrorKind::Refused),
        (403, FAILED, Outcome::Rejected, ErrorKind::Refused),
        (400, r#"{"status":"pending"}"#, Outcome::Unknown, ErrorKind::Unclear),
        (502, FAILED, Outcome::Unknown, ErrorKind::Unclear),
        (503, r#"{"status":"success","status_code":100}"#, Outcome::Unknown, ErrorKind::Unclear),
        (200, "", Outcome::Unknown, ErrorKind::Unclear),
        (200, "{}", Outcome::Unknown, ErrorKind::Unclear),
        (400, "{", Outcome::Unknown, ErrorKind::Unclear),
    ] {
        let error = error_for(status, body);
        assert_eq!((error.outcome(), error.kind()), (outcome, kind), "HTTP {status} {body}");
        // Callers read from this that nothing was charged.
        let refused_by = (outcome == Outcome::Rejected).then_some(match kind {
            ErrorKind::Refused => RefusedBy::Service,
            _ => RefusedBy::Intermediary,
        });
        assert_eq!(error.failed_call().refused_by(), refused_by, "HTTP {status} {body}");
    }
    assert_eq!(lookup(502, html).kind(), ErrorKind::RefusedByIntermediary);
}
