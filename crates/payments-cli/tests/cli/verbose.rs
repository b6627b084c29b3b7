//! `--verbose`: a trace on stderr, and the same stdout.

use crate::support::{
    CARD, CARD_PAYMENT, CREATE, Ended, KEY, Peer, TemporaryFile, Then, begins, payments, payments_at,
    responses,
};
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

#[test]
fn settings_and_attempts_are_traced() {
    let response = format!(
        "HTTP/1.1 200 OK\r\nx-request-id: req_5\r\ncontent-length: {}\r\n\r\n{}",
        responses::RECORD.len(),
        responses::RECORD
    );
    let peer = Peer::new(Then::Respond(response.into_bytes()));
    let run = payments_at(&peer.base_url, ["transaction", "create", "--file", "-", "--verbose"]);
    let ended = run.stdin(CARD_PAYMENT).end();
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
}

#[test]
fn every_setting_is_traced_with_its_source() {
    let (key, authority) = (TemporaryFile::new(KEY), TemporaryFile::new(authority()));
    let run = payments(["--verbose", "transaction", "get", "txn_1", "--timeout", "2.5"])
        .arguments(["--base-url", "http://127.0.0.1:1", "--api-key-file", key.path()])
        .arguments(["--merchant", "books", "--ca-cert", authority.path(), "--dry-run"]);
    assert_eq!(
        trace(&run.end(), 0),
        [
            "base URL http://127.0.0.1:1 (--base-url)",
            "API key (the file of --api-key-file)",
            "merchant books (--merchant)",
            "deadline … (--timeout)",
            &*format!("authority {} (--ca-cert)", authority.path()),
        ]
    );
}

#[test]
fn each_lookup_attempt_is_traced_with_its_failure() {
    let peer = Peer::responding("502 Bad Gateway", "<html>");
    let ended = payments_at(&peer.base_url, ["transaction", "get", "txn_1", "--verbose"]).end();
    let attempts: Vec<_> = trace(&ended, 3).into_iter().skip(3).collect();
    let expected: Vec<_> = (1..=3)
        .flat_map(|attempt| {
            [
                format!("get-transaction attempt {attempt} started"),
                format!("get-transaction attempt {attempt} finished after … failed (refused_by_intermediary), HTTP 502"),
            ]
        })
        .collect();
    assert_eq!(attempts, expected);
}

#[test]
fn body_of_a_refusal_is_traced_masked_d64() {
    let body = format!(r#"{{"status":"failed","fault":{{"why":"card blocked"}},"echo":"{CARD} {KEY}"}}"#);
    for (status, code) in [("400 Bad Request", 4), ("403 Forbidden", 4), ("404 Not Found", 7)] {
        let peer = Peer::responding(status, &body);
        let ended = payments_at(&peer.base_url, ["void", "txn_1", "--verbose"]).end();
        let last = trace(&ended, code).pop().unwrap_or_default();
        let start =
            r#"void attempt 1 was refused with the body: {"status":"failed","fault":{"why":"card blocked"}"#;
        begins(&last, start);
        assert!(!ended.stderr.contains(CARD) && !ended.stderr.contains(KEY), "{ended:?}");
    }
    let peer = Peer::responding("400 Bad Request", " ");
    let ended = payments_at(&peer.base_url, ["void", "txn_1", "--verbose"]).end();
    assert!(!ended.stderr.contains("with the body"), "{ended:?}");
}

#[test]
fn failure_without_a_response_is_traced_with_its_kind() {
    let ended = payments_at("http://127.0.0.1:1", ["void", "txn_1", "--verbose"]).end();
    let last = trace(&ended, 3).pop().unwrap_or_default();
    assert_eq!(last, "void attempt 1 finished after … not_processed (connect)");
}

#[cfg(unix)]
#[test]
fn interrupted_charge_is_traced_as_abandoned_and_unknown_d22() {
    let peer = Peer::new(Then::Wait);
    for (arguments, code, outcome) in
        [(&["void", "txn_1"][..], 5, "unknown"), (&["transaction", "get", "txn_1"], 3, "not_processed")]
    {
        let run = payments_at(&peer.base_url, arguments.iter()).arguments(["--verbose"]);
        let running = run.start();
        peer.request();
        running.signal("INT");
        let trace = trace(&running.end(), code);
        let last = trace.last().map(String::as_str).unwrap_or_default();
        assert!(last.ends_with(&format!("attempt 1 abandoned after … {outcome}")), "{trace:?}");
    }
}

/// Replaces every time by a placeholder.
fn without_times(text: &str) -> String {
    let is_utc_time = |word: &&str| humantime::parse_rfc3339(word).is_ok();
    text.split(['"', ' ', '\n'])
        .filter(is_utc_time)
        .fold(text.to_owned(), |text, time| text.replace(time, "…"))
}

#[test]
fn verbose_changes_neither_stdout_nor_the_exit_code() {
    for (status, body) in [
        ("200 OK", responses::RECORD),
        ("401 Unauthorized", responses::UNAUTHORIZED),
        ("502 Bad Gateway", "<html>"),
    ] {
        let peer = Peer::responding(status, body);
        for more in [&["--output", "json"][..], &["--output", "text"], &["--dry-run"]] {
            let run = |verbose: &[&str]| {
                payments_at(&peer.base_url, CREATE)
                    .arguments(more.iter().chain(verbose).copied())
                    .stdin(CARD_PAYMENT)
                    .end()
            };
            let (mut quiet, mut verbose) = (run(&[]), run(&["--verbose"]));
            for text in [&mut quiet.stdout, &mut quiet.stderr, &mut verbose.stdout, &mut verbose.stderr] {
                *text = without_times(text);
            }
            assert_eq!((quiet.code, &quiet.stdout), (verbose.code, &verbose.stdout), "{status} {more:?}");
            assert!(verbose.stderr.ends_with(&quiet.stderr), "{verbose:?}");
            assert!(verbose.stderr.len() > quiet.stderr.len(), "{verbose:?}");
        }
    }
}

#[test]
fn trace_shows_no_control_character_and_no_repeated_key() {
    let response = format!(
        "HTTP/1.1 200 OK\r\nx-request-id: {KEY}\r\ncontent-length: {}\r\n\r\n{}",
        RESPONSE.len(),
        RESPONSE
    );
    let peer = Peer::new(Then::Respond(response.into_bytes()));
    let ended = payments_at(&peer.base_url, ["void", "txn_1", "--verbose"]).end().exits(0);
    assert!(!ended.stderr.contains(KEY), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains(|letter: char| letter.is_control() && letter != '\n'),
        "{:?}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 5, "{}", ended.stderr);
}

const RESPONSE: &str =
    r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn\u001b[2J\nPROCESSED"}}"#;
