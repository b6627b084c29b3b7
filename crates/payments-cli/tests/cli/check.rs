//! `payments check`: the state of each step, and a specific message for each kind of response.

use std::net::TcpListener;

use payments_tests::UnresponsivePort;

use crate::prelude::*;
use crate::tls::https;

/// The states of the steps connection, TLS and key, and the message of the failed step.
fn step_states(ended: &Ended) -> ([String; 3], String) {
    let document = ended.json();
    let steps = document["data"]["steps"].as_array().expect("a list").clone();
    let names: Vec<_> = steps.iter().map(|step| &step["step"]).collect();
    assert_eq!(names, ["settings", "connection", "tls", "key"]);
    assert_eq!(steps[0]["state"], "passed");
    let state = |index: usize| steps[index]["state"].as_str().expect("a text").to_owned();
    let failed: Vec<_> = steps.iter().filter(|step| step["state"] == "failed").collect();
    let sentence = match &*failed {
        [] => String::new(),
        [step] => step["message"].as_str().expect("a text").to_owned(),
        _ => panic!("several steps failed: {document}"),
    };
    ([state(1), state(2), state(3)], sentence)
}

/// Checks a failure's exit code, outcome and states, and that the message of the failed step has these parts. Returns it.
#[track_caller]
fn failed<P: AsRef<str>>(
    run: Run,
    code: i32,
    states: [&str; 3],
    parts: impl IntoIterator<Item = P>,
) -> String {
    let ended = run.end();
    let error = ended.failed(code);
    let (actual, sentence) = step_states(&ended);
    assert_eq!(actual, states, "{ended:?}");
    begins(&sentence, message(&error));
    for of_a_lookup in ["safe to run it again", "check the id", "unknown outcome"] {
        assert!(!sentence.contains(of_a_lookup), "{sentence}");
    }
    has(&sentence, parts);
    assert_eq!(ended.stderr, "");
    sentence
}

const NO_CONNECTION: [&str; 3] = ["failed", "skipped", "skipped"];
const NO_TLS: [&str; 3] = ["passed", "failed", "skipped"];
const NO_KEY: [&str; 3] = ["passed", "skipped", "failed"];

#[test]
fn service_404_proves_the_key_with_one_lookup() {
    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    let key = TemporaryFile::new(KEY);
    let line = format!("check --timeout 2.5 --base-url {}", peer.base_url);
    let ended = payments(line).env("PAYMENTS_API_KEY_FILE", key.path()).end().quiet(0);
    let document = ended.json();
    assert_eq!((&document["outcome"], &document["http_status"]), (&json!("processed"), &json!(404)));
    assert_eq!(step_states(&ended).0, ["passed", "skipped", "passed"]);
    let request = peer.request();
    begins(&request, "GET /api/v1/public/transaction/payments-check-");
    has(&request, [format!("authorization: {KEY}\r\n")]);
    assert_eq!(peer.requests_left(), 0);
    // The settings are shown with their sources, without the key.
    let expected = json!({
        "base_url": {"value": peer.base_url, "from": "--base-url"},
        "api_key": {"from": "the file of PAYMENTS_API_KEY_FILE"},
        "merchant": null,
        "timeout": {"value": 2.5, "from": "--timeout"},
        "ca_cert": null,
        "proxy": null,
    });
    assert_eq!(document["data"]["settings"], expected);
    let by_default = payments_at(&peer.base_url, "check").end();
    let settings = by_default.json()["data"]["settings"].clone();
    assert_eq!(settings["timeout"], json!({"value": 60.0, "from": "default"}));
    assert_eq!(settings["api_key"], json!({"from": "PAYMENTS_API_KEY"}));
    for ended in [ended, by_default] {
        ended.hides([KEY]);
    }
    payments_at(sandbox().base_url(), "check").end().exits(0);
}

#[test]
fn each_inconclusive_response_has_its_message_hint_and_code_d10_d65() {
    let redirect = b"HTTP/1.1 302 Found\r\nlocation: https://elsewhere.invalid/\r\ncontent-length: 0\r\n\r\n";
    let elsewhere = r#"{"status":"failed","status_code":404,"msg":"Path not found"}"#;
    let forbidden = r#"{"status":"failed","status_code":403,"msg":"not from here"}"#;
    let refusal_with_200 = r#"{"status":"failed","status_code":200,"msg":"closed today"}"#;
    let another_format = r#"{"message":"Transaction not found"}"#;
    let cut = b"HTTP/1.1 404 Not Found\r\ncontent-length: 500\r\nconnection: close\r\n\r\n{\"status\":\"fa";
    let ended_by_close = b"HTTP/1.1 401 Unauthorized\r\n\r\n{\"status\":\"failed\"";
    let encoded = format!(
        "HTTP/1.1 404 Not Found\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n{}",
        responses::NOT_FOUND.len(),
        responses::NOT_FOUND
    );
    let (key, path) =
        ("the API key came from PAYMENTS_API_KEY", "check the base URL (PAYMENTS_BASE_URL), which must end");
    let (fix, again) = ("fix the cause", "a payment would fail too: check again");
    let cases = [
        (response("200 OK", responses::TRANSACTION_FOUND), 3, ["a record for an unknown id", path]),
        (response("200 OK", "<html>Welcome</html>"), 3, ["HTTP 200 without the", path]),
        (response("200 OK", "{}"), 3, ["HTTP 200 without the requested record", path]),
        (response("200 OK", refusal_with_200), 4, ["HTTP 200 with an error body: closed today", path]),
        (redirect.to_vec(), 3, ["unclear, HTTP 302", path]),
        (response("401 Unauthorized", responses::UNAUTHORIZED), 6, ["the service returned HTTP 401", key]),
        (response("401 Unauthorized", "<html>"), 6, ["in front of the service returned HTTP 401", key]),
        (response("403 Forbidden", forbidden), 4, ["HTTP 403: not from here", key]),
        (response("404 Not Found", "<html>"), 7, ["in front of the service returned HTTP 404", path]),
        (response("404 Not Found", elsewhere), 7, ["HTTP 404: Path not found", path]),
        // The right message in another format proves nothing.
        (response("404 Not Found", another_format), 7, ["in front of the service returned HTTP 404", path]),
        (response("405 Method Not Allowed", ""), 4, ["HTTP 405", path]),
        (response("429 Too Many Requests", ""), 4, ["HTTP 429", fix]),
        (response("502 Bad Gateway", "<html>"), 3, ["HTTP 502: Bad Gateway", again]),
        // What was not read whole says nothing.
        (cut.to_vec(), 3, ["the response was truncated after HTTP status 404", again]),
        (ended_by_close.to_vec(), 3, ["the response was truncated, HTTP 401", again]),
        (encoded.into(), 3, ["gzip-encoded although identity was asked for", again]),
    ];
    for (bytes, code, parts) in cases {
        let peer = Peer::new(Then::RespondAndClose(bytes));
        let sentence = failed(payments_at(&peer.base_url, "check"), code, NO_KEY, parts);
        peer.request();
        assert_eq!(peer.requests_left(), 0, "sent again");
        assert_eq!(sentence.contains("check the base URL"), parts[1] == path, "{sentence}");
    }
    let peer = Peer::responding("401 Unauthorized", responses::UNAUTHORIZED);
    let text = payments_at(&peer.base_url, "check").text().quiet(6).stdout;
    let last = "FAILED   key         get-transaction: the service returned HTTP 401";
    begins(text.lines().last().unwrap_or_default(), last);
}

#[test]
fn missing_response_does_not_prove_the_key() {
    for (then, what) in [
        (Then::Close, "the connection was closed, and the request may have been sent"),
        (Then::Respond(b"SSH-2.0-server\r\n\r\n".to_vec()), "the server violated the HTTP protocol"),
        (Then::Wait, "the deadline passed, and the request may have been sent"),
    ] {
        let peer = Peer::new(then);
        let hint = "is the service up? check the scheme and the address of the base URL (PAYMENTS_BASE_URL)";
        failed(payments_at(&peer.base_url, "check --timeout 2"), 3, NO_KEY, [what, hint]);
    }
}

#[test]
fn failed_connection_or_handshake_skips_the_later_steps() {
    let port = UnresponsivePort::refusing();
    let base_url = format!("http://{}/x", port.address());
    let cause = format!("no connection to {}", port.address());
    let hint = "; check --base-url or PAYMENTS_BASE_URL: is the service running there?";
    failed(payments_at(&base_url, "check"), 3, NO_CONNECTION, [&*cause, hint]);
    // A reserved name, which never resolves.
    let run = payments_at("https://pay.invalid", "check");
    failed(run, 3, NO_CONNECTION, ["get-transaction: the host name did not resolve"]);

    let (base_url, pem) = https(response("404 Not Found", responses::NOT_FOUND));
    let untrusted = ["is not signed by a trusted authority", "--ca-cert"];
    failed(payments_at(&base_url, "check"), 3, NO_TLS, untrusted);
    let file = TemporaryFile::new(pem);
    let by_address = payments_at(&base_url.replace("localhost", "127.0.0.1"), "check");
    let another = ["the certificate is for another name"];
    failed(by_address.with(["--ca-cert", file.path()]), 3, NO_TLS, another);

    // The operating system accepts connections for a listener without a server.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let run = payments_at(&format!("https://{}/x", silent.local_addr().unwrap()), "check --timeout 3");
    failed(run, 3, NO_TLS, ["the TLS handshake did not finish in time"]);
}

#[test]
fn valid_certificate_passes_the_tls_step() {
    let (base_url, pem) = https(response("404 Not Found", responses::NOT_FOUND));
    let file = TemporaryFile::new(&pem);
    for (run, source) in [
        (payments_at(&base_url, "check").with(["--ca-cert", file.path()]), "--ca-cert"),
        (payments_at(&base_url, "check").env("PAYMENTS_CA_CERT", file.path()), "PAYMENTS_CA_CERT"),
    ] {
        let ended = run.end().exits(0);
        assert_eq!(step_states(&ended).0, ["passed", "passed", "passed"]);
        let data = &ended.json()["data"];
        assert_eq!(data["steps"][2]["message"], "the certificate is valid for localhost");
        assert_eq!(data["settings"]["ca_cert"], json!({"value": file.path(), "from": source}));
    }
    // A refused key does not affect the TLS step.
    let (base_url, pem) = https(response("401 Unauthorized", responses::UNAUTHORIZED));
    let file = TemporaryFile::new(&pem);
    let run = payments_at(&base_url, "check").with(["--ca-cert", file.path()]);
    failed(run, 6, ["passed", "passed", "failed"], [""]);
}

#[test]
fn wrong_settings_skip_the_later_steps() {
    for (run, part) in [
        (payments("check"), "no base URL is set"),
        (payments_at("http://192.0.2.1", "check"), "is not https"),
        (payments_at("https://127.0.0.1:1", "check --ca-cert /nonexistent"), "--ca-cert (/nonexistent)"),
    ] {
        let ended = run.end();
        ended.failed_as(2, "configuration");
        let data = &ended.json()["data"];
        let states: Vec<_> = data["steps"].as_array().unwrap().iter().map(|step| &step["state"]).collect();
        assert_eq!(states, ["failed", "skipped", "skipped", "skipped"]);
        assert_eq!(data["settings"], Value::Null);
        has(message(&data["steps"][0]), [part]);
    }
}

#[cfg(unix)]
#[test]
fn signal_interrupts_a_check() {
    let peer = Peer::new(Then::Wait);
    let running = payments_at(&peer.base_url, "check").start();
    peer.request();
    running.signal("INT");
    let ended = running.end();
    ended.failed_as(3, "interrupted");
    let (states, sentence) = step_states(&ended);
    assert_eq!(states, ["skipped", "skipped", "failed"]);
    has(sentence, ["interrupted by SIGINT"]);
}
