//! `--verbose`: a trace on stderr, and the same stdout.

use crate::prelude::*;
use crate::tls::authority;

/// The lines of a run's trace without durations. Checks the exit code.
#[track_caller]
fn trace(ended: &Ended, code: i32) -> Vec<String> {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let is_duration = |word: &str| {
        let word = word.trim_end_matches([':', ',']);
        word.starts_with(|first: char| first.is_ascii_digit()) && word.ends_with('s')
    };
    let without_durations = |line: &str| {
        let words = line.split(' ').map(|word| if is_duration(word) { "…" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    ended.stderr.lines().filter_map(|line| line.strip_prefix("payments: ")).map(without_durations).collect()
}

fn with_request_id(id: &str, body: &str) -> Peer {
    let length = body.len();
    let response = format!("HTTP/1.1 200 OK\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n\r\n{body}");
    Peer::new(Then::Respond(response.into_bytes()))
}

#[test]
fn settings_and_attempts_are_traced() {
    let peer = with_request_id("req_5", responses::RECORD);
    let quiet = payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT).end().quiet(0);
    let ended = payments_at(&peer.base_url, CREATE).with("--verbose").stdin(CARD_PAYMENT).end();
    assert_eq!(ended.stdout, quiet.stdout);
    assert_eq!(
        trace(&ended, 0),
        [
            &*format!("base URL {} (PAYMENTS_BASE_URL)", peer.base_url),
            "API key (PAYMENTS_API_KEY)",
            "deadline … (default)",
            "transaction attempt 1 started",
            "transaction attempt 1 finished after … succeeded, HTTP 200, request id req_5, transaction txn_1",
        ]
    );

    let (key, authority) = (TemporaryFile::new(KEY), TemporaryFile::new(authority()));
    let (key, authority) = (key.path(), authority.path());
    let run = payments(format!(
        "--verbose {GET} --timeout 2.5 --base-url http://127.0.0.1:1 --api-key-file {key} --merchant books \
         --ca-cert {authority} --dry-run"
    ));
    assert_eq!(
        trace(&run.end(), 0),
        [
            "base URL http://127.0.0.1:1 (--base-url)",
            "API key (the file of --api-key-file)",
            "merchant books (--merchant)",
            "deadline … (--timeout)",
            &*format!("authority {authority} (--ca-cert)"),
        ]
    );
}

#[test]
fn each_failed_attempt_is_traced() {
    let peer = Peer::responding("502 Bad Gateway", "<html>");
    let ended = payments_at(&peer.base_url, GET).with("--verbose").end();
    let expected: Vec<_> = (1..=3)
        .flat_map(|attempt| {
            let attempt = format!("get-transaction attempt {attempt}");
            [
                format!("{attempt} started"),
                format!("{attempt} finished after … failed (refused_by_intermediary), HTTP 502"),
            ]
        })
        .collect();
    assert_eq!(trace(&ended, 3)[3..], expected);
    let ended = payments_at("http://127.0.0.1:1", "void txn_1 --verbose").end();
    let last = "void attempt 1 finished after … not_processed (connect)";
    assert_eq!(trace(&ended, 3).last().map(String::as_str), Some(last));
    // The bodies of other refusals are traced where they are shown.
    let peer = Peer::responding("400 Bad Request", " ");
    payments_at(&peer.base_url, "void txn_1 --verbose").end().hides(["with the body"]);
}

#[cfg(unix)]
#[test]
fn interrupted_charge_is_traced_as_abandoned_and_unknown_d22() {
    let peer = Peer::new(Then::Wait);
    for (line, code, outcome) in [("void txn_1", 5, " unknown"), (GET, 3, "")] {
        let running = payments_at(&peer.base_url, line).with("--verbose").start();
        peer.request();
        running.signal("INT");
        let trace = trace(&running.end(), code);
        let end = format!("attempt 1 abandoned after …{outcome}");
        assert!(trace.last().is_some_and(|last| last.ends_with(&end)), "{trace:?}");
    }
}

#[test]
fn trace_shows_no_control_character_and_no_repeated_key() {
    let body = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn\u001b[2J\nPROCESSED"}}"#;
    let peer = with_request_id(KEY, body);
    let ended = payments_at(&peer.base_url, "void txn_1 --verbose").end().exits(0);
    ended.hides([KEY]);
    let is_control = |letter: char| letter.is_control() && letter != '\n';
    assert!(!ended.stderr.contains(is_control), "{:?}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 5, "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn one_reader_of_both_streams_gets_them_in_order() {
    use std::io::{self, Read as _};

    for _ in 0..50 {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let run = payments_at("http://127.0.0.1:1", GET).with("--verbose --dry-run");
        let run = run.stdout(writer.try_clone().expect("a descriptor")).spawn_with_stderr(writer);
        assert_eq!(run.wait_without_reading(), Some(0));
        let mut shown = String::new();
        reader.read_to_string(&mut shown).expect("text");
        let document = shown.find('{').expect("a document");
        let trace = shown.rfind("payments: ").expect("a trace");
        assert!(trace < document, "{shown}");
    }
}
