//! What a call with a response of each kind sends and shows: the exit code, JSON and text.

use crate::prelude::*;

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").expect("a head").1).expect("a JSON body")
}

#[test]
fn card_payment_is_processed_without_losing_fields_d05_d60() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    let file = TemporaryFile::new(CARD_PAYMENT);
    let ended = payments_at(&peer.base_url, format!("transaction create --file {}", file.path())).end();
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
    has(&request, [format!("authorization: {KEY}\r\n")]);
    assert_eq!(body(&request)["CardNumber"], "378282246310005");
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn every_other_command_sends_its_request_and_shows_its_data_d39_d66() {
    let ach = ach_payment();
    let (void, customer) = ("void txn_1 --reason 'ordered twice'", "customer get cus_1");
    let (found, customer_found) = (responses::TRANSACTION_FOUND, responses::CUSTOMER_FOUND);
    for (line, stdin, response, request_line, member) in [
        (CREATE, &*ach, responses::RECORD, "POST /transaction", ("TransactionId", "txn_1")),
        (CHARGE, TOKEN_PAYMENT, responses::RECEIPT, "POST /token-transaction", ("TransactionId", "txn_2")),
        // The response to a void may name another transaction.
        (void, "", responses::VOIDED, "POST /void", ("TransactionId", "txn_3")),
        (GET, "", found, "GET /transaction/txn_1", ("Status", "1")),
        (customer, "", customer_found, "GET /customer/cus_1", ("CustomerName", "Grace Hopper")),
    ] {
        let peer = Peer::responding("200 OK", response);
        let data = payments_at(&peer.base_url, line).stdin(stdin).end().processed();
        assert_eq!(data[member.0], member.1, "{line}");
        let request = peer.request();
        begins(&request, request_line.replace(" /", " /api/v1/public/") + " ");
        if stdin == ach {
            let sent = body(&request);
            assert_eq!(
                (&sent["AccountNumber"], &sent["SuggestedMode"]),
                (&"000123456789".into(), &"ach".into())
            );
            assert_eq!(sent.get("CardNumber"), None);
        } else if line == void {
            let sent = json!({"TransactionId": "txn_1", "TransactionFor": "Void", "Reason": "ordered twice"});
            assert_eq!(body(&request), sent);
        }
    }
}

/// The exit codes of every command are in the table of statuses, and a sample is in the table of faults.
#[test]
fn failures_have_their_kind_and_reason_d03_d09_d11_d20_d23() {
    const PENDING: &str = r#"{"status_code":101,"data":{"TransactionId":"txn_of_the_void"}}"#;
    let responding = |status, body| Then::Respond(response(status, body));
    for (then, code, kind, reason) in [
        (Then::Close, 5, "closed", None),
        (Then::Wait, 5, "timeout", None),
        (responding("200 OK", PENDING), 5, "unclear_answer", Some("OK")),
        (responding("502 Bad Gateway", "<html>"), 5, "intermediary", Some("Bad Gateway")),
        (responding("400 Bad Request", ""), 4, "intermediary", Some("Bad Request")),
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
        let ended = payments_at(&peer.base_url, "void txn_1 --timeout 2").end();
        peer.request();
        let is_unknown = code == 5;
        let error = ended.failed_as(code, kind);
        assert_eq!(error.get("reason"), reason.map(Value::from).as_ref());
        assert_eq!(error["transaction_id"], json!(is_unknown.then_some("txn_1")), "{error}");
        assert_eq!((error["violations"].clone(), error.get("amount")), (json!([]), None), "{error}");
        assert_eq!(message(&error).ends_with("look up transaction txn_1"), is_unknown, "{error}");
        assert!(kind != "intermediary" || error.get("body_snippet").is_none(), "{error}");
        assert_eq!(peer.requests_left(), 0, "a charge is never sent twice");
    }
}

#[test]
fn what_a_refusal_says_is_reported_d06_d64() {
    let declined =
        r#"{"status":"failed","status_code":200,"message":"declined","data":{"TransactionId":"txn_9"}}"#;
    let peer = Peer::responding("200 OK", declined);
    let error = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT).end().failed(4);
    assert_eq!((&error["transaction_id"], &error["status_code"]), (&json!("txn_9"), &json!(200)));

    let body = responses::POSTAL_CODE;
    let response = format!(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nx-request-id: req_5\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let peer = Peer::new(Then::Respond(response.into_bytes()));
    let error = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT).end().failed(4);
    assert_eq!((&error["retry_after_seconds"], &error["request_id"]), (&json!(7), &json!("req_5")));
}

#[test]
fn encoded_or_cut_refusal_is_unknown_d10() {
    let body = responses::POSTAL_CODE;
    for (head, body, what) in [
        (
            format!("content-encoding: exi\r\ncontent-length: {}", body.len()),
            body,
            "the response is exi-encoded although identity was asked for, HTTP 400",
        ),
        (format!("content-length: {}", body.len() + 1), body, "the response was truncated"),
        ("transfer-encoding: chunked".to_owned(), "5\r\n{\"sta\r\n", "the response was truncated"),
        ("connection: close".to_owned(), &body[..body.len() - 1], "the response was truncated"),
    ] {
        let response = format!("HTTP/1.1 400 Bad Request\r\n{head}\r\n\r\n{body}");
        let peer = Peer::new(Then::RespondAndClose(response.into_bytes()));
        let error = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT).end().fails(5, what);
        assert!(!head.contains("exi") || error.get("body_snippet").is_none(), "{error}");
    }
}

#[test]
fn refusal_has_its_body_masked_d63_d64() {
    let body = format!(r#"{{"status":"failed","fault":{{"why":"card blocked"}},"echo":"{CARD} {KEY}"}}"#);
    for case in every_command() {
        let peer = Peer::responding("400 Bad Request", &body);
        let ended = case.run(&peer.base_url, "--verbose");
        let start = r#"{"status":"failed","fault":{"why":"card blocked"}"#;
        begins(ended.failed(4)["body_snippet"].as_str().expect("a body"), start);
        has(&ended.stderr, [format!("attempt 1 was refused with the body: {start}")]);
        ended.hides([CARD, KEY]);
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
        let code = if case.moves_money() { 5 } else { 3 };
        assert_eq!(case.run(&peer.base_url, "").failed(code)["http_status"], 307);
    }
    assert_eq!(elsewhere.requests_left(), 0);
}

#[test]
fn unknown_outcome_reports_what_to_reconcile_by_and_no_retry_after() {
    let with_reference = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"invoice 1843 sk_canary_8Zk3Qw"}"#);
    let busy = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    for (line, stdin, amount, reference) in [
        (CREATE, CARD_PAYMENT, "10.50", Value::Null),
        (CREATE, &ach_payment(), "10.50", Value::Null),
        (CHARGE, &with_reference, "45.00", json!("invoice 1843 [redacted]")),
    ] {
        let peer = Peer::new(Then::Respond(busy.to_vec()));
        let run = || payments_at(&peer.base_url, line).stdin(stdin);
        let ended = run().end();
        let error = ended.failed(5);
        has(&ended.stdout, [format!("\"amount\":{amount},")]);
        assert_eq!(error["reference"], reference, "{error}");
        let sent_at = error["sent_at"].as_str().expect("a time");
        assert!(humantime::parse_rfc3339(sent_at).is_ok() && sent_at.ends_with('Z'), "{error}");
        let text = run().text().stderr;
        has(&text, [&*format!("  amount       {amount}\n"), "  sent at      2"]);
        assert_eq!(text.contains("  reference    invoice 1843 [redacted]\n"), stdin == with_reference);
        assert!(!text.contains("retry after"), "{text}");
    }
    let peer = Peer::new(Then::Respond(busy.to_vec()));
    has(payments_at(&peer.base_url, GET).with("--timeout 5").text().stderr, ["  retry after  7 s\n"]);
}

/// The first line of the text, and a later part of it. Of two hints, only the one that fits is given.
#[test]
fn text_says_what_to_do_about_each_kind_of_failure() {
    let pending = |id: &str| format!(r#"{{"status":"pending","data":{{"TransactionId":"{id}"}}}}"#);
    let refused = |message: &str| format!(r#"{{"status":"failed","status_code":400,"msg":"{message}"}}"#);
    let [not_found, html, nothing, postal_code] =
        [responses::NOT_FOUND, "<html>", "", responses::POSTAL_CODE].map(str::to_owned);
    let (strange, quoted) = (pending("$(reboot)/.."), pending("$(reboot) 'now'"));
    let (elsewhere, no_such_id) = (refused("Path not found"), refused("invalid transaction id"));
    let reconcile = "OUTCOME UNKNOWN, do not run it again: reconcile by amount, last four digits, payer's name \
                     and time (";
    let look_up = "OUTCOME UNKNOWN, do not run it again: look it up (";
    let (no_proof, rejected) = (
        "NOT FOUND, which does not prove that nothing was or will be charged (exit code 7)",
        "LOOKUP REJECTED, which says nothing about the payment (",
    );
    let base_path =
        "check the base URL (PAYMENTS_BASE_URL), which must end in the service's path prefix, such as";
    let fix = "REJECTED: fix the cause, then send a new request (exit code";
    let voidable = "only an authorization that is not yet voided can be voided";
    let get = "payments transaction get";
    let (void, customer) = ("void txn_1", "customer get cus_1");
    // With the status 0, the connection is closed.
    for (status, body, line, headline, part) in [
        (404, &not_found, GET, no_proof, ""),
        // Not in the service's format, so from a proxy.
        (404, &html, GET, rejected, ""),
        (404, &not_found, customer, "NOT FOUND (exit code 7)", ""),
        (0, &nothing, customer, "NOT LOOKED UP, it is safe to run it again (", ""),
        (0, &nothing, CREATE, reconcile, ""),
        // An id that a lookup refuses must not be part of a command to paste. Any other id is quoted for the shell.
        (200, &strange, CREATE, reconcile, ""),
        (200, &quoted, CREATE, look_up, &format!(r"{get} '$(reboot) '\''now'\'''")),
        // A void's own request names the transaction.
        (0, &nothing, void, look_up, &format!("{get} txn_1\n")),
        (404, &elsewhere, CREATE, &format!("{fix} 7)"), base_path),
        (404, &html, void, &format!("{fix} 7)"), base_path),
        (400, &no_such_id, void, &format!("{fix} 4)"), voidable),
        (400, &postal_code, void, &format!("{fix} 4)"), ""),
    ] {
        let then =
            if status == 0 { Then::Close } else { Then::Respond(response(&format!("{status} x"), body)) };
        let peer = Peer::new(then);
        let text = payments_at(&peer.base_url, line).stdin(CARD_PAYMENT).text().stderr;
        begins(&text, headline);
        has(&text, [part]);
        for other in [get, base_path, voidable] {
            assert!(part.starts_with(other) || !text.contains(other), "{other}: {text}");
        }
    }
}

#[test]
fn found_record_is_no_proof_and_may_be_of_another_transaction() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let text = payments_at(&peer.base_url, GET).text().quiet(0).stdout;
    let note = "  a record is not proof of a charge: the meaning of Status is not published";
    begins(text, format!("FOUND (HTTP 200)\n{note}\n"));
    // What it shows is not true of the one that was asked for.
    let other = || payments_at(&peer.base_url, "transaction get txn_2");
    let error = other().end().failed_as(3, "unclear_answer");
    assert_eq!(message(&error), "the record belongs to another transaction: requested txn_2, received txn_1");
    assert!(error["transaction_id"].is_null(), "{error}");
    begins(other().text().exits(3).stderr, "NOT LOOKED UP, which says nothing about the payment; ");
    let peer = Peer::responding("200 OK", responses::CUSTOMER_FOUND);
    let text = payments_at(&peer.base_url, "customer get cus_1").text().quiet(0).stdout;
    begins(text, "FOUND (HTTP 200)\n  CustomerId ");
    let error = payments_at(&peer.base_url, "customer get cus_2").end().failed_as(3, "unclear_answer");
    assert_eq!(message(&error), "the record belongs to another customer: requested cus_2, received cus_1");
}

#[test]
fn result_without_a_reader_goes_to_stderr_or_keeps_its_exit_code() {
    let written = |then: &str, body: &str, line: &str| {
        let peer = Peer::responding(then, body);
        payments_at(&peer.base_url, line).stdin(CARD_PAYMENT).end_unread()
    };
    for shape in ["json", "text"] {
        let ended = written("200 OK", responses::RECORD, &format!("{CREATE} --output {shape}")).exits(1);
        has(&ended.stderr, ["PROCESSED", "The money moved: do not run it again", "TransactionId txn_1"]);
    }
    let ended = written("200 OK", responses::TRANSACTION_FOUND, GET).exits(1);
    begins(&ended.stderr, "found, but the result could not be written");
    begins(written("200 OK", "", "void txn_1 --dry-run").exits(1).stderr, "nothing was sent");
    written("404 Not Found", responses::NOT_FOUND, "check").quiet(1);
    payments("pay").end_unread().exits(2).hides(["internal error"]);
    // As `payments help settings | head -1` does.
    for line in ["--help", "help settings", "completions zsh", "sandbox magic", "sandbox openapi", "demo"] {
        payments(line).end_unread().quiet(1);
    }
    // A disk that is full is not a reader that has seen enough.
    #[cfg(unix)]
    for line in ["--help", "completions bash", "sandbox openapi"] {
        let ended = payments(line).end_on_full_disk().exits(1);
        has(&ended.stderr, ["could not be written to stdout"]);
    }
}

/// A job without a terminal has only its log, in which an exit code says nothing about the payment.
#[cfg(unix)]
#[test]
fn report_of_a_failure_that_cannot_be_printed_goes_to_stderr() {
    for (status, body, line, code, headline, part) in [
        ("502 Bad Gateway", "", CREATE, 5, "OUTCOME UNKNOWN, do not run it again", "amount "),
        ("400 Bad Request", responses::POSTAL_CODE, CREATE, 4, "REJECTED", "invalid postal code"),
        ("401 Unauthorized", responses::UNAUTHORIZED, CREATE, 6, "REJECTED", "Invalid API Key"),
        ("401 Unauthorized", responses::UNAUTHORIZED, "check", 6, "FAILED   key", "Invalid API Key"),
        ("404 Not Found", responses::NOT_FOUND, GET, 7, "NOT FOUND", "Transaction not found"),
        ("503 Service Unavailable", "", GET, 3, "NOT LOOKED UP", "the response is unclear"),
        ("200 OK", "", "void txn_1 --timeout 0", 2, "INVALID, nothing was sent", "--timeout"),
    ] {
        let peer = Peer::responding(status, body);
        let run = |shape| payments_at(&peer.base_url, line).with(["--output", shape]).stdin(CARD_PAYMENT);
        for shape in ["json", "text"] {
            for (ended, why) in
                [(run(shape).end_unread(), "Broken pipe"), (run(shape).end_on_full_disk(), "No space left")]
            {
                let ended = ended.exits(code);
                let cause = format!("payments: the report could not be written to stdout ({why}");
                if line == "check" {
                    has(&ended.stderr, [headline, part, &cause]);
                } else {
                    begins(&ended.stderr, headline);
                    has(&ended.stderr, [part]);
                    // As text it is on stderr in any case.
                    assert_eq!(ended.stderr.contains(&cause), shape == "json", "{ended:?}");
                }
                assert_eq!(ended.stderr.matches(part).count(), 1, "{ended:?}");
            }
        }
        let both = run("json").stdout(full_disk()).spawn_with_stderr(full_disk());
        assert_eq!(both.wait_without_reading(), Some(code), "{line}");
    }
}

#[test]
fn services_text_is_exact_in_json_and_shown_without_control_characters() {
    let record = "{\"status_code\":200,\"message\":\"ok\",\"data\":{\"TransactionId\":\"txn_1\",\"Status\":\"\\u001b[2J\",\
                  \"BillingCity\":\"\u{9b}31mX\u{202e}\\u001b é\",\"New\\u001b\":\"\\r\\nPROCESSED\"}}";
    let refusal =
        "{\"status\":\"failed\",\"status_code\":400,\"msg\":\"\\u001b[2J\u{9b}1m\u{202e}\\r\\nPROCESSED\"}";
    for (status, body) in [("200 OK", record), ("400 Bad Request", refusal)] {
        let peer = Peer::responding(status, body);
        let run = || payments_at(&peer.base_url, GET);
        let in_json = run().end();
        for ended in [&in_json, &run().text()] {
            let shown = ended.shown();
            let treacherous = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
            assert!(!shown.is_empty() && !shown.contains(treacherous), "{shown:?}");
            ended.hides(["\nPROCESSED\n"]);
        }
        if body == record {
            assert_eq!(in_json.processed()["BillingCity"], "\u{9b}31mX\u{202e}\u{1b} é");
        }
    }
}
