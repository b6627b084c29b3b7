//! `payments check`: the state of each step, and a specific message for each kind of response.

use std::io::Write as _;
use std::net::TcpListener;
use std::thread;

use payments_tests::UnresponsivePort;
use serde_json::{Value, json};

use crate::support::{
    Ended, KEY, Peer, Run, TemporaryFile, Then, begins, has, payments, payments_at, response, responses,
    started,
};
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

/// Checks a failure's exit code, outcome and states, and returns its message.
#[track_caller]
fn failed(run: Run, code: i32, states: [&str; 3]) -> String {
    let ended = run.end();
    let error = ended.failed(code);
    let (actual, sentence) = step_states(&ended);
    assert_eq!(actual, states, "{ended:?}");
    let message = error["message"].as_str().expect("a text");
    assert!(sentence.starts_with(message), "not the message of the failed step: {error}");
    assert_eq!(ended.stderr, "");
    sentence
}

const NO_KEY: [&str; 3] = ["passed", "skipped", "failed"];

#[test]
fn encoded_response_is_named_and_the_base_url_is_not_blamed_d65() {
    for (status, coding) in [
        ("404 Not Found", "gzip"),
        ("404 Not Found", "br"),
        ("200 OK", "zstd"),
        ("401 Unauthorized", "deflate"),
    ] {
        let body = responses::NOT_FOUND;
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let peer = Peer::new(Then::Respond(response.into_bytes()));
        let ended = payments_at(&peer.base_url, ["check"]).end();
        let (states, message) = step_states(&ended);
        assert_eq!(states, NO_KEY, "{ended:?}");
        let what = format!("the response is {coding}-encoded although identity was asked for");
        assert!(message.contains(&what) && !message.contains("base URL"), "{message}");
    }
}

#[test]
fn cut_response_is_named_and_the_base_url_is_not_blamed_d10() {
    let cut = r#"{"status":"failed","msg":"Transaction not found""#;
    for status in ["404 Not Found", "401 Unauthorized"] {
        let ended_by_close = format!("HTTP/1.1 {status}\r\n\r\n{cut}");
        let shorter_than_announced = format!("HTTP/1.1 {status}\r\ncontent-length: 100\r\n\r\n{cut}");
        for response in [ended_by_close, shorter_than_announced] {
            let peer = Peer::new(Then::RespondAndClose(response.into_bytes()));
            let ended = payments_at(&peer.base_url, ["check"]).end();
            let (states, message) = step_states(&ended);
            assert_eq!(states, NO_KEY, "{ended:?}");
            assert!(message.contains("the response was truncated"), "{message}");
            assert!(message.contains(&status[..3]) && !message.contains("base URL"), "{message}");
        }
    }
}

#[test]
fn service_404_proves_the_key_with_one_lookup() {
    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    let ended = payments_at(&peer.base_url, ["check"]).end().quiet(0);
    let document = ended.json();
    assert_eq!((&document["outcome"], &document["http_status"]), (&json!("processed"), &json!(404)));
    assert_eq!(step_states(&ended).0, ["passed", "skipped", "passed"]);
    let request = peer.request();
    begins(&request, "GET /api/v1/public/transaction/payments-check-");
    assert!(request.contains(&format!("authorization: {KEY}\r\n")), "{request}");
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn settings_are_shown_with_their_sources_without_the_key() {
    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    let key = TemporaryFile::new(KEY);
    let ended = payments(["check", "--timeout", "2.5", "--base-url", &peer.base_url])
        .env("PAYMENTS_API_KEY_FILE", key.path())
        .end();
    let expected = json!({
        "base_url": {"value": peer.base_url, "from": "--base-url"},
        "api_key": {"from": "the file of PAYMENTS_API_KEY_FILE"},
        "merchant": null,
        "timeout": {"value": 2.5, "from": "--timeout"},
        "ca_cert": null,
        "proxy": null,
    });
    assert_eq!(ended.json()["data"]["settings"], expected);
    let by_default = payments_at(&peer.base_url, ["check"]).end();
    let settings = &by_default.json()["data"]["settings"];
    assert_eq!(settings["timeout"], json!({"value": 60.0, "from": "default"}));
    assert_eq!(settings["api_key"], json!({"from": "PAYMENTS_API_KEY"}));
    for ended in [ended, by_default] {
        assert!(!ended.stdout.contains(KEY), "{}", ended.stdout);
    }
}

#[test]
fn text_of_a_failure_ends_with_its_step() {
    let peer = Peer::responding("401 Unauthorized", responses::UNAUTHORIZED);
    let ended = payments_at(&peer.base_url, ["check", "--output", "text"]).end().quiet(6);
    let last = ended.stdout.lines().last().unwrap_or_default();
    begins(last, "FAILED   key         get-transaction: the service returned HTTP 401");
}

#[test]
fn each_inconclusive_response_has_its_message_hint_and_code() {
    let redirect = b"HTTP/1.1 302 Found\r\nlocation: https://elsewhere.invalid/\r\ncontent-length: 0\r\n\r\n";
    let elsewhere = r#"{"status":"failed","status_code":404,"msg":"Path not found"}"#;
    let forbidden = r#"{"status":"failed","status_code":403,"msg":"not from here"}"#;
    let refusal_with_200 = r#"{"status":"failed","status_code":200,"msg":"closed today"}"#;
    let half = b"HTTP/1.1 404 Not Found\r\ncontent-length: 500\r\nconnection: close\r\n\r\n{\"status\":\"fa";
    let (key, path) =
        ("the API key came from PAYMENTS_API_KEY", "check the base URL (PAYMENTS_BASE_URL), which must end");
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
        (response("405 Method Not Allowed", ""), 4, ["HTTP 405", path]),
        (response("429 Too Many Requests", ""), 4, ["HTTP 429", "fix the cause"]),
        (response("502 Bad Gateway", "<html>"), 3, ["HTTP 502: Bad Gateway", "run it again"]),
        (half.to_vec(), 7, ["the response was truncated after HTTP status 404", "fix the cause"]),
    ];
    for (bytes, code, parts) in cases {
        let peer = Peer::new(Then::RespondAndClose(bytes));
        let sentence = failed(payments_at(&peer.base_url, ["check"]), code, NO_KEY);
        assert!(parts.iter().all(|part| sentence.contains(part)), "{parts:?}: {sentence}");
        peer.request();
        assert_eq!(peer.requests_left(), 0, "sent again");
    }
    // The right message in another format proves nothing.
    let peer = Peer::responding("404 Not Found", r#"{"message":"Transaction not found"}"#);
    let sentence = failed(payments_at(&peer.base_url, ["check"]), 7, NO_KEY);
    assert!(sentence.contains("in front of the service returned HTTP 404"), "{sentence}");
}

#[test]
fn missing_response_does_not_prove_the_key() {
    for (then, what) in [
        (Then::Close, "the connection was closed, and the request may have been sent"),
        (Then::Respond(b"SSH-2.0-server\r\n\r\n".to_vec()), "the server violated the HTTP protocol"),
        (Then::Wait, "the deadline passed, and the request may have been sent"),
    ] {
        let peer = Peer::new(then);
        let run = payments_at(&peer.base_url, ["check", "--timeout", "4"]);
        let sentence = failed(run, 3, NO_KEY);
        let hint = "is the service up? check the scheme and the address of the base URL (PAYMENTS_BASE_URL)";
        assert!(sentence.contains(what) && sentence.ends_with(hint), "{what}: {sentence}");
    }
}

#[test]
fn connection_failure_skips_the_later_steps() {
    let port = UnresponsivePort::refusing();
    let address = port.address();
    let states = ["failed", "skipped", "skipped"];
    let sentence = failed(payments_at(&format!("http://{address}/x"), ["check"]), 3, states);
    let cause = format!("no connection to {address}");
    let hint = "; check --base-url or PAYMENTS_BASE_URL: is the service running there?";
    assert!(sentence.contains(&cause) && sentence.ends_with(hint), "{sentence}");

    // A reserved name, which never resolves.
    let run = payments_at("https://pay.invalid", ["check", "--timeout", "4"]);
    let sentence = failed(run, 3, states);
    begins(&sentence, "get-transaction: the host name did not resolve");
}

#[test]
fn valid_certificate_passes_the_tls_step() {
    let (base_url, pem) = https(response("404 Not Found", responses::NOT_FOUND));
    let file = TemporaryFile::new(&pem);
    let ended = payments_at(&base_url, ["check", "--ca-cert", file.path()]).end().exits(0);
    assert_eq!(step_states(&ended).0, ["passed", "passed", "passed"]);
    let document = ended.json();
    assert_eq!(document["data"]["steps"][2]["message"], "the certificate is valid for localhost");
    let authority = json!({"value": file.path(), "from": "--ca-cert"});
    assert_eq!(document["data"]["settings"]["ca_cert"], authority);
    let by_variable = payments_at(&base_url, ["check"]).env("PAYMENTS_CA_CERT", file.path()).end().json();
    let authority = json!({"value": file.path(), "from": "PAYMENTS_CA_CERT"});
    assert_eq!(by_variable["data"]["settings"]["ca_cert"], authority);

    // A refused key does not affect the TLS step.
    let (base_url, pem) = https(response("401 Unauthorized", responses::UNAUTHORIZED));
    let file = TemporaryFile::new(&pem);
    let run = payments_at(&base_url, ["check", "--ca-cert", file.path()]);
    failed(run, 6, ["passed", "passed", "failed"]);
}

#[test]
fn invalid_certificate_fails_the_tls_step() {
    let states = ["passed", "failed", "skipped"];
    let (base_url, pem) = https(response("404 Not Found", responses::NOT_FOUND));
    let sentence = failed(payments_at(&base_url, ["check"]), 3, states);
    has(&sentence, ["is not signed by a trusted authority", "--ca-cert"]);

    let file = TemporaryFile::new(pem);
    let by_address = base_url.replace("localhost", "127.0.0.1");
    let run = payments_at(&by_address, ["check", "--ca-cert", file.path()]);
    let sentence = failed(run, 3, states);
    assert!(sentence.contains("the certificate is for another name"), "{sentence}");

    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}/x", plain.local_addr().unwrap());
    thread::spawn(move || {
        for stream in plain.incoming() {
            // As servers respond to what is not HTTP.
            let _ = stream.and_then(|mut stream| stream.write_all(&response("400 Bad Request", "")));
        }
    });
    let sentence = failed(payments_at(&base_url, ["check"]), 3, states);
    assert!(sentence.contains("does the server speak TLS there?"), "{sentence}");
}

#[test]
fn silent_server_fails_the_tls_step() {
    // The operating system accepts connections for a listener without a server.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}/x", listener.local_addr().unwrap());
    let run = payments_at(&base_url, ["check", "--timeout", "6"]);
    let sentence = failed(run, 3, ["passed", "failed", "skipped"]);
    assert!(sentence.contains("the TLS handshake did not finish in time"), "{sentence}");
}

#[test]
fn wrong_settings_skip_the_later_steps() {
    for (run, part) in [
        (payments(["check"]), "no base URL is set"),
        (payments_at("http://192.0.2.1", ["check"]), "is not https"),
        (
            payments_at("https://127.0.0.1:1", ["check", "--ca-cert", "/nonexistent"]),
            "--ca-cert (/nonexistent)",
        ),
    ] {
        let ended = run.end();
        assert_eq!(ended.failed(2)["kind"], "configuration");
        let document = ended.json();
        let states: Vec<_> =
            document["data"]["steps"].as_array().unwrap().iter().map(|step| &step["state"]).collect();
        assert_eq!(states, ["failed", "skipped", "skipped", "skipped"]);
        assert_eq!(document["data"]["settings"], Value::Null);
        let message = document["data"]["steps"][0]["message"].as_str().unwrap();
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn check_with_closed_stdout_exits_1_or_keeps_its_code() {
    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    payments_at(&peer.base_url, ["check"]).end_unread().quiet(1);
    let peer = Peer::responding("401 Unauthorized", responses::UNAUTHORIZED);
    payments_at(&peer.base_url, ["check"]).end_unread().exits(6);
}

#[cfg(unix)]
#[test]
fn signal_interrupts_a_check() {
    let peer = Peer::new(Then::Wait);
    let running = payments_at(&peer.base_url, ["check"]).start();
    peer.request();
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.failed(3)["kind"], "interrupted");
    let (states, sentence) = step_states(&ended);
    assert_eq!(states, ["skipped", "skipped", "failed"]);
    assert!(sentence.contains("interrupted by SIGINT"), "{sentence}");
}

#[cfg(unix)]
#[test]
fn sandbox_passes_the_check() {
    let (_sandbox, ready) = started(payments(["sandbox"]));
    let run = payments(["check", "--base-url", ready["base_url"].as_str().expect("a text")])
        .env("PAYMENTS_API_KEY", ready["api_key"].as_str().expect("a text"));
    assert_eq!(run.end().code, Some(0));
}

#[cfg(unix)]
#[test]
fn settings_step_checks_the_key_files_permissions() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let peer = Peer::responding("404 Not Found", responses::NOT_FOUND);
    let file = TemporaryFile::new(KEY);
    let step = |mode, code| {
        set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
        let run = payments(["check", "--api-key-file", file.path()]);
        let ended = run.env("PAYMENTS_BASE_URL", &peer.base_url).end().exits(code);
        let steps = &ended.json()["data"]["steps"];
        (steps[0]["state"].clone(), steps[0]["message"].as_str().unwrap().to_owned())
    };
    let (state, message) = step(0o444, 0);
    let warning = format!("; WARNING: the file of --api-key-file ({}) can be read by others", file.path());
    assert!(state == "passed" && message.contains(&warning), "{state}: {message}");
    let (state, message) = step(0o600, 0);
    assert!(state == "passed" && !message.contains("WARNING"), "{state}: {message}");
    let (state, message) = step(0o602, 2);
    assert!(state == "failed" && message.contains("can be written by others"), "{state}: {message}");
}
