//! `--dry-run`: everything but the sending.

use serde_json::{Value, json};

use crate::support::{
    CARD_PAYMENT, CHARGE, CREATE, CVV, Ended, KEY, Peer, TOKEN_PAYMENT, Then, ach_payment, begins, payments,
    payments_at, responses,
};

const CARD_NUMBER: &str = "378282246310005";

/// Returns the request that a dry run shows, and checks that it contacts nobody.
#[track_caller]
fn dry_run(arguments: &[&str], stdin: &str) -> Value {
    let peer = Peer::new(Then::Close);
    let run = payments_at(&peer.base_url, arguments.iter()).arguments(["--dry-run"]);
    let ended = run.stdin(stdin).end().quiet(0);
    assert_eq!(peer.connections(), 0, "the dry run contacted the service");
    let document = ended.json();
    assert_eq!(document["outcome"], "dry_run", "a program could take it for a payment");
    let request = document["request"].clone();
    let url = request["url"].as_str().expect("a text");
    begins(url, &peer.base_url);
    request
}

/// The request that arrives without `--dry-run`.
fn sent(arguments: &[&str], stdin: &str) -> String {
    let peer = Peer::responding("200 OK", responses::RECORD);
    payments_at(&peer.base_url, arguments.iter()).stdin(stdin).end();
    peer.request()
}

#[test]
fn card_payment_is_shown_without_its_secrets() {
    let request = dry_run(&CREATE, CARD_PAYMENT);
    assert_eq!(request["method"], "POST");
    assert!(request["url"].as_str().unwrap().ends_with("/api/v1/public/transaction"));
    assert_eq!(request["headers"]["authorization"], "[redacted]");
    assert_eq!(request["headers"]["content-type"], "application/json");
    let mut expected: Value = serde_json::from_str(CARD_PAYMENT).unwrap();
    expected["CardNumber"] = json!("***********0005");
    expected["Cvv"] = json!("[redacted]");
    expected["ExpiryDate"] = json!("[redacted]");
    assert_eq!(request["body"], expected);
}

#[test]
fn amounts_are_shown_as_they_would_be_sent() {
    let request = CARD_PAYMENT.replace("10.50", "10.5");
    let ended = payments_at("http://127.0.0.1:1", ["transaction", "create", "--file", "-", "--dry-run"])
        .stdin(&*request)
        .end();
    let sent = sent(&CREATE, &request);
    let amount = |text: &str| {
        let (_, rest) = text.split_once("\"Amount\":").expect("it has one");
        rest.split(',').next().unwrap_or_default().to_owned()
    };
    assert_eq!(amount(&ended.stdout), amount(&sent));
}

#[test]
fn every_header_that_would_be_sent_is_shown() {
    let request = dry_run(&CHARGE, TOKEN_PAYMENT);
    let mut shown: Vec<_> = request["headers"].as_object().unwrap().keys().cloned().collect();
    let sent = sent(&CHARGE, TOKEN_PAYMENT);
    let head = sent.split_once("\r\n\r\n").expect("a head").0;
    let names = head.lines().skip(1).map(|line| line.split(':').next().unwrap_or_default().to_owned());
    // The transport adds these two.
    let mut sent: Vec<_> = names.filter(|name| name != "host" && name != "content-length").collect();
    shown.sort();
    sent.sort();
    assert_eq!(shown, sent);
}

#[test]
fn lookups_voids_and_check_have_a_dry_run() {
    let get = dry_run(&["transaction", "get", "txn_1"], "");
    assert_eq!((&get["method"], &get["body"]), (&json!("GET"), &Value::Null));
    assert!(get["url"].as_str().unwrap().ends_with("/transaction/txn_1"));
    let get = dry_run(&["customer", "get", "cus_1"], "");
    assert!(get["url"].as_str().unwrap().ends_with("/customer/cus_1"));
    let void = dry_run(&["void", "txn_1", "--reason", "ordered twice"], "");
    let body = json!({"TransactionId": "txn_1", "TransactionFor": "Void", "Reason": "ordered twice"});
    assert_eq!(void["body"], body);
    let check = dry_run(&["check"], "");
    assert!(check["url"].as_str().unwrap().contains("/transaction/payments-check-"));
}

#[test]
fn account_number_is_redacted_in_any_field_d39() {
    let payment = ach_payment().replace(
        r#""AccountNumber":"000123456789","#,
        r#""Konto":"000123456789","Pin":"4711","21098765 a":"x","21098765 b":"y","Description":"000123456789","#,
    );
    let request = dry_run(&CREATE, &payment);
    let body = &request["body"];
    for name in ["Konto", "Pin", "\"******** a\"", "\"******** b\""] {
        assert_eq!(body[name], "[redacted]", "{name}: {body}");
    }
    assert_eq!(body["SuggestedMode"], "ach");
    assert!(!request.to_string().contains("000123456789"), "{request}");
}

#[test]
fn misplaced_secrets_are_not_shown() {
    let reason = format!("card {CARD_NUMBER} key {KEY}");
    let void = dry_run(&["void", "txn_1", "--reason", &reason], "");
    assert_eq!(void["body"]["Reason"], "card ***********0005 key [redacted]");
    // The key in a URL. A key of one letter is only hidden in its header.
    let url = format!("http://127.0.0.1:1/{KEY}/x");
    for key in ["k", KEY] {
        let run = payments_at(&url, ["void", "txn_1", "--dry-run", "--verbose"]).env("PAYMENTS_API_KEY", key);
        let ended = run.end();
        let request = &ended.json()["request"];
        assert_eq!(request["headers"]["authorization"], "[redacted]");
        let is_shown = ended.stdout.contains(KEY) || ended.stderr.contains(KEY);
        assert_eq!(is_shown, key != KEY, "{ended:?}");
    }
    let get = dry_run(&["transaction", "get", CARD_NUMBER], "");
    assert!(get["url"].as_str().unwrap().ends_with("/transaction/***********0005"), "{get}");
}

#[test]
fn text_shows_the_request_in_lines() {
    let run = payments_at("http://127.0.0.1:1/x", ["void", "txn_1", "--dry-run", "--output", "text"]);
    let ended = run.end().quiet(0);
    assert_eq!(
        ended.stdout,
        format!(
            "DRY RUN, nothing was sent\n  \
             POST http://127.0.0.1:1/x/void\n  \
             authorization    [redacted]\n  \
             accept           application/json\n  \
             accept-encoding  identity\n  \
             user-agent       payments-core/{}\n  \
             content-type     application/json\n\n  \
             TransactionId   txn_1\n  \
             TransactionFor  Void\n",
            env!("CARGO_PKG_VERSION")
        )
    );
}

#[test]
fn dry_run_refuses_what_the_run_would_refuse() {
    let dry = |arguments: &[&str], stdin: &str| -> Ended {
        payments_at("http://127.0.0.1:1", arguments.iter()).arguments(["--dry-run"]).stdin(stdin).end()
    };
    let invalid = CARD_PAYMENT.replace(CVV, "12");
    let error = dry(&CREATE, &invalid).failed(2);
    assert_eq!(error["violations"][0]["field"], "Cvv");
    dry(&["transaction", "get", ".."], "").failed(2);
    let no_certificate = ["transaction", "get", "txn_1", "--ca-cert", "/dev/null"];
    assert_eq!(dry(&no_certificate, "").failed(2)["kind"], "configuration");
    payments(["transaction", "get", "txn_1", "--dry-run"]).end().failed(2);
}

#[test]
fn dry_run_with_closed_stdout_says_nothing_was_sent() {
    let run = payments_at("http://127.0.0.1:1", ["void", "txn_1", "--dry-run"]);
    let ended = run.end_unread();
    assert_eq!(ended.code, Some(1));
    begins(&ended.stderr, "nothing was sent");
}
