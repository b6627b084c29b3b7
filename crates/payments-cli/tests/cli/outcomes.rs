//! Every outcome of every command: the exit code, JSON and text.

use serde_json::{Value, json};

use crate::cases::every_command;
use crate::support::{
    CARD, CARD_PAYMENT, CHARGE, CREATE, KEY, Peer, TOKEN_PAYMENT, TemporaryFile, Then, ach_payment, begins,
    payments_at, response, responses,
};

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").expect("a head").1).expect("a JSON body")
}

#[test]
fn card_payment_is_processed_without_losing_fields_d05_d60() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    let file = TemporaryFile::new(CARD_PAYMENT);
    let ended = payments_at(&peer.base_url, ["transaction", "create", "--file", file.path()]).end();
    ended.processed();
    assert_eq!(
        ended.stdout,
        "{\"outcome\":\"processed\",\"http_status\":200,\"data\":{\"TransactionId\":\"txn_1\",\"BaseAmount\":10.50,\
         \"Amount\":10.50,\"CardNumber\":\"***********0005\",\"BillingCity\":\"\",\"BillingState\":null,\
         \"TransactionType\":1,\"Status\":\"1\",\"NewField\":[1.0]}}\n",
        "not the exact amounts, names and fields of the response"
    );
    let request = peer.request();
    begins(&request, "POST /api/v1/public/transaction HTTP/1.1\r\n");
    assert!(request.contains(&format!("authorization: {KEY}\r\n")), "{request}");
    assert_eq!(body(&request)["CardNumber"], "378282246310005");
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn ach_payment_is_processed_with_its_account_fields_d39() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    let ended = payments_at(&peer.base_url, CREATE).stdin(ach_payment()).end();
    assert_eq!(ended.processed()["TransactionId"], "txn_1");
    let sent = body(&peer.request());
    assert_eq!((&sent["AccountNumber"], &sent["SuggestedMode"]), (&json!("000123456789"), &json!("ach")));
    assert_eq!(sent.get("CardNumber"), None);
}

#[test]
fn token_payment_is_processed() {
    let peer = Peer::responding("200 OK", responses::RECEIPT);
    let run = payments_at(&peer.base_url, CHARGE).stdin(TOKEN_PAYMENT);
    assert_eq!(run.end().processed(), json!({"TransactionId": "txn_2"}));
    assert!(peer.request().starts_with("POST /api/v1/public/token-transaction "));
}

#[test]
fn void_response_may_name_another_transaction_d66() {
    let peer = Peer::responding("200 OK", responses::VOIDED);
    let ended = payments_at(&peer.base_url, ["void", "txn_1", "--reason", "ordered twice"]).end();
    assert_eq!(ended.processed(), json!({"TransactionId": "txn_3"}));
    let request = peer.request();
    begins(&request, "POST /api/v1/public/void ");
    let sent = json!({"TransactionId": "txn_1", "TransactionFor": "Void", "Reason": "ordered twice"});
    assert_eq!(body(&request), sent);
}

#[test]
fn lookups_find() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let ended = payments_at(&peer.base_url, ["transaction", "get", "txn_1"]).end();
    assert_eq!(ended.processed()["Status"], "1");
    assert!(peer.request().starts_with("GET /api/v1/public/transaction/txn_1 "));

    let peer = Peer::responding("200 OK", responses::CUSTOMER_FOUND);
    let ended = payments_at(&peer.base_url, ["customer", "get", "cus_1"]).end();
    assert_eq!(ended.processed()["CountryId"], 840);
    assert!(peer.request().starts_with("GET /api/v1/public/customer/cus_1 "));
}

/// The exit codes of every command are in the table of faults.
#[test]
fn failures_have_their_kind_and_reason_d03_d09_d11_d20_d23() {
    let responding = |status, body| Then::Respond(response(status, body));
    for (then, code, kind, reason) in [
        (Then::Close, 5, "closed", None),
        (Then::Wait, 5, "timeout", None),
        (responding("502 Bad Gateway", "<html>"), 5, "intermediary", Some("Bad Gateway")),
        (
            responding("401 Unauthorized", responses::UNAUTHORIZED),
            6,
            "unauthorized",
            Some("Unauthorized: Invalid API Key"),
        ),
        (responding("404 Not Found", responses::NOT_FOUND), 7, "not_found", Some("Transaction not found")),
        (responding("400 Bad Request", responses::POSTAL_CODE), 4, "rejected", Some("invalid postal code")),
    ] {
        let peer = Peer::new(then);
        let ended = payments_at(&peer.base_url, ["void", "txn_1", "--timeout", "3.5"]).end();
        peer.request();
        let is_unknown = code == 5;
        let error = ended.failed(code);
        assert_eq!((&error["kind"], error.get("reason")), (&json!(kind), reason.map(Value::from).as_ref()));
        assert_eq!(error["transaction_id"], json!(is_unknown.then_some("txn_1")), "{error}");
        assert_eq!((error["violations"].clone(), error.get("amount")), (json!([]), None), "{error}");
        let message = error["message"].as_str().expect("a message");
        assert_eq!(message.ends_with("look up transaction txn_1"), is_unknown, "{message}");
        assert_eq!(peer.requests_left(), 0, "a charge is never sent twice");
    }
}

#[test]
fn declined_card_is_rejected_with_its_transaction_d06() {
    let declined =
        r#"{"status":"failed","status_code":200,"message":"declined","data":{"TransactionId":"txn_9"}}"#;
    let peer = Peer::responding("200 OK", declined);
    let run = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT);
    let error = run.end().failed(4);
    assert_eq!((&error["transaction_id"], &error["status_code"]), (&json!("txn_9"), &json!(200)));
}

#[test]
fn retry_after_and_request_id_are_reported_d64() {
    let body = responses::POSTAL_CODE;
    let response = format!(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nx-request-id: req_5\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let peer = Peer::new(Then::Respond(response.into_bytes()));
    let run = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT);
    let error = run.end().failed(4);
    assert_eq!((&error["retry_after_seconds"], &error["request_id"]), (&json!(7), &json!("req_5")));
}

#[test]
fn encoded_or_cut_refusal_is_unknown_and_names_the_coding_d10() {
    let body = responses::POSTAL_CODE;
    for (head, what) in [
        ("content-encoding: gzip", "the response is gzip-encoded although identity was asked for, HTTP 400"),
        ("content-encoding: exi", "the response is exi-encoded although identity was asked for, HTTP 400"),
    ] {
        let response =
            format!("HTTP/1.1 400 Bad Request\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let peer = Peer::new(Then::Respond(response.into_bytes()));
        let run = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT);
        let error = run.end().fails(5, what);
        assert_eq!(error.get("body_snippet"), None, "{error}");
    }
    for (head, body) in [
        (format!("content-length: {}", body.len() + 1), body),
        ("transfer-encoding: chunked".to_owned(), "5\r\n{\"sta\r\n"),
        ("connection: close".to_owned(), &body[..body.len() - 1]),
    ] {
        let response = format!("HTTP/1.1 400 Bad Request\r\n{head}\r\n\r\n{body}");
        let peer = Peer::new(Then::RespondAndClose(response.into_bytes()));
        let run = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT);
        run.end().fails(5, "the response was truncated");
    }
}

#[test]
fn refusal_has_its_body_masked_d63_d64() {
    let body = format!(r#"{{"status":"failed","fault":{{"why":"card blocked"}},"echo":"{CARD} {KEY}"}}"#);
    for case in every_command() {
        let peer = Peer::responding("400 Bad Request", &body);
        let ended = case.run(&peer.base_url, &[]);
        let error = ended.failed(4);
        let snippet = error["body_snippet"].as_str().expect("a body").to_owned();
        begins(&snippet, r#"{"status":"failed","fault":{"why":"card blocked"}"#);
        assert!(!ended.stdout.contains(CARD) && !ended.stdout.contains(KEY), "{ended:?}");
    }
    for (status, body, code) in [("400 Bad Request", "", 4), ("502 Bad Gateway", "<html>", 5)] {
        let peer = Peer::responding(status, body);
        let error = payments_at(&peer.base_url, ["void", "txn_1"]).end().failed(code);
        assert_eq!((error.get("body_snippet"), &error["kind"]), (None, &json!("intermediary")), "{error}");
    }
}

#[test]
fn redirect_is_not_followed_d20() {
    let elsewhere = Peer::responding("200 OK", responses::RECORD);
    for case in every_command() {
        let target = &elsewhere.base_url;
        let redirect =
            format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
        let peer = Peer::new(Then::Respond(redirect.into_bytes()));
        let ended = case.run(&peer.base_url, &[]);
        let code = if case.moves_money() { 5 } else { 3 };
        assert_eq!(ended.failed(code)["http_status"], 307);
    }
    assert_eq!(elsewhere.requests_left(), 0);
}

/// An RFC 3339 time in UTC.
fn is_utc_time(text: &Value) -> bool {
    text.as_str().is_some_and(|text| humantime::parse_rfc3339(text).is_ok() && text.ends_with('Z'))
}

#[test]
fn unknown_outcome_reports_amount_reference_and_time() {
    let token_payment = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"invoice 1843 sk_canary_8Zk3Qw"}"#);
    for (arguments, stdin, amount, reference) in [
        (CREATE, CARD_PAYMENT, "10.50", Value::Null),
        (CREATE, &ach_payment(), "10.50", Value::Null),
        (CHARGE, &token_payment, "45.00", json!("invoice 1843 [redacted]")),
    ] {
        let peer = Peer::new(Then::Close);
        let ended = payments_at(&peer.base_url, arguments).stdin(stdin).end();
        let error = ended.failed(5);
        assert!(ended.stdout.contains(&format!("\"amount\":{amount},")), "exactly: {}", ended.stdout);
        assert_eq!(error["reference"], reference, "{error}");
        assert!(is_utc_time(&error["sent_at"]), "{error}");
    }
}
