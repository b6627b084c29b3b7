//! `--dry-run`: everything but the sending.

use crate::prelude::*;

/// The request that a dry run shows. Checks that it contacts nobody.
#[track_caller]
fn dry_run(line: &str, stdin: &str) -> Value {
    let peer = Peer::new(Then::Close);
    let ended = payments_at(&peer.base_url, line).with("--dry-run").stdin(stdin).end().quiet(0);
    assert_eq!(peer.connections(), 0);
    let document = ended.json();
    assert_eq!(document["outcome"], "dry_run", "a program could take it for a payment");
    let request = document["request"].clone();
    begins(request["url"].as_str().expect("a text"), &peer.base_url);
    request
}

/// The head and the body that are sent without `--dry-run`.
fn sent(line: &str, stdin: &str) -> (String, String) {
    let peer = Peer::responding("200 OK", responses::RECORD);
    payments_at(&peer.base_url, line).stdin(stdin).end();
    let request = peer.request();
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

#[test]
fn payment_is_shown_as_it_would_be_sent_without_its_secrets() {
    let payment = CARD_PAYMENT.replace("10.50", "10.5");
    let request = dry_run(CREATE, &payment);
    let (head, body) = sent(CREATE, &payment);
    let mut expected: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(expected["CardNumber"], "378282246310005");
    expected["CardNumber"] = json!("***********0005");
    expected["Cvv"] = json!("[redacted]");
    expected["ExpiryDate"] = json!("[redacted]");
    assert_eq!(request["body"], expected);
    assert_eq!(request["headers"]["authorization"], "[redacted]");
    let first = format!("{} ", request["method"].as_str().unwrap());
    begins(&head, first + "/api/v1/public/transaction ");
    assert!(request["url"].as_str().unwrap().ends_with("/api/v1/public/transaction"));

    let mut shown: Vec<_> = request["headers"].as_object().unwrap().keys().cloned().collect();
    let names = head.lines().skip(1).map(|line| line.split(':').next().unwrap_or_default().to_owned());
    // The transport adds these two.
    let mut sent: Vec<_> = names.filter(|name| name != "host" && name != "content-length").collect();
    shown.sort();
    sent.sort();
    assert_eq!(shown, sent);

    let shown = payments_at("http://127.0.0.1:1", CREATE).with("--dry-run").stdin(payment).end().stdout;
    let amount = |text: &str| {
        let (_, rest) = text.split_once("\"Amount\":").expect("it has one");
        rest.split(',').next().unwrap_or_default().to_owned()
    };
    assert_eq!(amount(&shown), amount(&body));
}

#[test]
fn lookups_voids_and_check_have_a_dry_run() {
    for (line, path) in [
        (GET, "/transaction/txn_1"),
        ("customer get cus_1", "/customer/cus_1"),
        ("check", "/transaction/payments-check-"),
    ] {
        let request = dry_run(line, "");
        assert_eq!((&request["method"], &request["body"]), (&json!("GET"), &Value::Null));
        assert!(request["url"].as_str().unwrap().contains(path), "{request}");
    }
    let text = payments_at("http://127.0.0.1:1/x", "void txn_1 --reason twice --dry-run").text().quiet(0);
    assert_eq!(
        text.stdout,
        format!(
            "DRY RUN, nothing was sent\n  \
             POST http://127.0.0.1:1/x/void\n  \
             authorization    [redacted]\n  \
             accept           application/json\n  \
             accept-encoding  identity\n  \
             user-agent       payments-core/{}\n  \
             content-type     application/json\n\n  \
             TransactionId   txn_1\n  \
             TransactionFor  Void\n  \
             Reason          twice\n",
            env!("CARGO_PKG_VERSION")
        )
    );
}

#[test]
fn secrets_are_redacted_in_any_field_d39() {
    let payment = ach_payment().replace(
        r#""AccountNumber":"000123456789","#,
        r#""Konto":"000123456789","Pin":"4711","21098765 a":"x","21098765 b":"y","Description":"000123456789","#,
    );
    let request = dry_run(CREATE, &payment);
    let body = &request["body"];
    for name in ["Konto", "Pin", "\"******** a\"", "\"******** b\""] {
        assert_eq!(body[name], "[redacted]", "{name}: {body}");
    }
    assert_eq!(body["SuggestedMode"], "ach");
    assert!(!request.to_string().contains("000123456789"), "{request}");

    let void = dry_run(&format!("void txn_1 --reason 'card 378282246310005 key {KEY}'"), "");
    assert_eq!(void["body"]["Reason"], "card ***********0005 key [redacted]");
    let get = dry_run("transaction get 378282246310005", "");
    assert!(get["url"].as_str().unwrap().ends_with("/transaction/***********0005"), "{get}");
    // The key in a URL. A key of one letter is only hidden in its header.
    for key in ["k", KEY] {
        let run = payments_at(&format!("http://127.0.0.1:1/{KEY}/x"), "void txn_1 --dry-run --verbose");
        let ended = run.env("PAYMENTS_API_KEY", key).end();
        assert_eq!(ended.json()["request"]["headers"]["authorization"], "[redacted]");
        assert_eq!(ended.shown().contains(KEY), key != KEY, "{ended:?}");
    }
}

#[test]
fn dry_run_refuses_what_the_run_would_refuse() {
    let dry = |line: &str, stdin: &str| {
        payments_at("http://127.0.0.1:1", line).with("--dry-run").stdin(stdin).end()
    };
    let error = dry(CREATE, &CARD_PAYMENT.replace(CVV, "12")).failed(2);
    assert_eq!(error["violations"][0]["field"], "Cvv");
    dry("transaction get ..", "").failed(2);
    dry(&format!("{GET} --ca-cert /dev/null"), "").failed_as(2, "configuration");
    dry(CHARGE, TOKEN_PAYMENT).exits(0);
    payments(GET).with("--dry-run").end().failed(2);
}
