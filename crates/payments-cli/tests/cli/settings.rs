//! Where the base URL and the API key come from, and which settings are refused.

use crate::support::{
    Ended, KEY, Peer, Run, TemporaryFile, Then, begins, has, message, payments, payments_at, responses,
};

fn lookup() -> [&'static str; 3] {
    ["transaction", "get", "txn_1"]
}

/// Checks that the call succeeded and was sent with `key`.
#[track_caller]
fn assert_sent_with_key(peer: &Peer, ended: &Ended, key: &str) {
    ended.processed();
    assert!(peer.request().contains(&format!("authorization: {key}\r\n")));
}

#[test]
fn base_url_option_overrides_the_variable() {
    let (right, wrong) = (Peer::responding("200 OK", responses::TRANSACTION_FOUND), Peer::new(Then::Close));
    let ended = payments_at(&wrong.base_url, lookup()).arguments(["--base-url", &right.base_url]).end();
    assert_sent_with_key(&right, &ended, KEY);
    // The same before the command.
    let ended =
        payments_at(&wrong.base_url, ["--base-url", &right.base_url].into_iter().chain(lookup())).end();
    assert_sent_with_key(&right, &ended, KEY);
    let ended = payments_at(&right.base_url, lookup()).end();
    assert_sent_with_key(&right, &ended, KEY);
    assert_eq!(wrong.requests_left(), 0);
}

#[test]
fn key_file_option_overrides_variable_overrides_variable_file() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let (flag, file) = (TemporaryFile::new("key_of_flag"), TemporaryFile::new("key_of_file"));
    let with_file = || {
        payments(lookup()).env("PAYMENTS_BASE_URL", &peer.base_url).env("PAYMENTS_API_KEY_FILE", file.path())
    };
    assert_sent_with_key(&peer, &with_file().end(), "key_of_file");
    let with_variable = || with_file().env("PAYMENTS_API_KEY", "key_of_variable");
    assert_sent_with_key(&peer, &with_variable().end(), "key_of_variable");
    let with_flag = with_variable().arguments(["--api-key-file", flag.path()]);
    assert_sent_with_key(&peer, &with_flag.end(), "key_of_flag");
    // An empty variable counts as unset.
    assert_sent_with_key(&peer, &with_file().env("PAYMENTS_API_KEY", "").end(), "key_of_file");
}

#[test]
fn timeout_option_overrides_the_variable() {
    let peer = Peer::new(Then::Wait);
    let run = |timeout: &str| payments_at(&peer.base_url, lookup()).env("PAYMENTS_TIMEOUT", timeout);
    assert_eq!(run("0.5").end().failed(3)["kind"], "timeout");
    assert_eq!(run("3000").arguments(["--timeout", "0.5"]).end().failed(3)["kind"], "timeout");
    for wrong in ["0", "-1", "canary", "30s", "86401"] {
        let ended = run(wrong).end();
        let message = ended.failed(2)["message"].as_str().unwrap().to_owned();
        begins(&message, "PAYMENTS_TIMEOUT must be a number of seconds above 0");
        assert!(message.ends_with("nothing was sent"), "{message}");
        assert!(!message.contains("canary"), "{message}");
    }
}

#[test]
fn one_newline_at_the_end_of_a_key_file_is_stripped() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    for content in ["key_1", "key_1\n", "key_1\r\n"] {
        let file = TemporaryFile::new(content);
        let run = payments(lookup()).arguments(["--base-url", &peer.base_url, "--api-key-file", file.path()]);
        assert_sent_with_key(&peer, &run.end(), "key_1");
    }
}

#[test]
fn invalid_key_is_refused_and_not_shown_d25() {
    let peer = Peer::new(Then::Close);
    for content in ["", "\n", "canary key", "canary\n\n", "\u{feff}canary", &"canary".repeat(10_000)] {
        let file = TemporaryFile::new(content);
        let run = payments(lookup()).arguments(["--base-url", &peer.base_url, "--api-key-file", file.path()]);
        let ended = run.end();
        assert_eq!(ended.failed(2)["kind"], "configuration", "{content:?}");
        assert!(!ended.stdout.contains("canary"));
    }
    let file = TemporaryFile::new(b"\xff\xfe");
    let run = payments(lookup()).arguments(["--base-url", &peer.base_url, "--api-key-file", file.path()]);
    run.end().failed(2);
    let ended = payments(lookup())
        .env("PAYMENTS_BASE_URL", &peer.base_url)
        .env("PAYMENTS_API_KEY", "canary key")
        .end();
    ended.failed(2);
    assert!(!ended.stdout.contains("canary"));
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn missing_address_or_key_is_named_d25() {
    payments(lookup()).env("PAYMENTS_API_KEY", KEY).end().refused("PAYMENTS_BASE_URL");
    payments(lookup()).env("PAYMENTS_BASE_URL", "http://127.0.0.1:1").end().refused("PAYMENTS_API_KEY");
    payments_at("", lookup()).end().refused("PAYMENTS_BASE_URL");
}

#[test]
fn every_settings_error_is_reported_at_once() {
    let message = payments(lookup()).end().refusal();
    assert!(message.contains("PAYMENTS_BASE_URL; also: no API key is set"), "{message}");

    let run = payments(lookup()).arguments(["--base-url", "http://192.0.2.1", "--ca-cert", "/nonexistent"]);
    let message = run.arguments(["--api-key-file", "/nonexistent"]).end().refusal();
    has(&message, ["is not https", "also: the file of --api-key-file", "also: the file of --ca-cert"]);
}

#[test]
fn label_of_a_merchant_has_no_space_or_control_character_d47() {
    const RULE: &str = "the label of a merchant is not 1 to 64 ASCII letters, digits and - . _";
    let at = || payments_at("http://127.0.0.1:1", lookup()).arguments(["--dry-run"]);
    let long = "x".repeat(65);
    for label in ["", " ", "books ", "two words", "books\n", "a\tb", "a#b", "b\u{fc}cher", &long] {
        let by_option = at().arguments(["--merchant", label]).end();
        assert_eq!(by_option.failed(2)["kind"], "configuration", "{label:?}");
        let text = at().arguments(["--merchant", label, "--output", "text"]).end().stderr;
        has(&text, [RULE, "the label came from --merchant\n"]);
        // As with the other settings, an empty variable counts as unset.
        let text = at().env("PAYMENTS_MERCHANT", label).text().stderr;
        assert_eq!(text.contains(RULE), !label.is_empty(), "{label:?}: {text}");
        assert_eq!(text.contains("the label came from PAYMENTS_MERCHANT\n"), !label.is_empty(), "{text}");
    }
    // A key there would be shown, and two merchants would be one service.
    let key =
        at().arguments(["--merchant", "a-secret-api-key"]).env("PAYMENTS_API_KEY", "a-secret-api-key").end();
    let message = key.failed(2)["message"].as_str().unwrap().to_owned();
    begins(&message, "the label of a merchant contains an API key");
    assert!(!message.contains("a-secret"), "{message}");
    let message = payments(lookup()).arguments(["--merchant", "a b"]).end().refusal();
    assert!(
        message.starts_with("no base URL is set") && message.contains(&format!("also: {RULE}")),
        "{message}"
    );
}

#[test]
fn text_names_the_source_of_a_refused_key() {
    let peer = Peer::responding("401 Unauthorized", responses::UNAUTHORIZED);
    let file = TemporaryFile::new(KEY);
    let run = || payments(lookup()).env("PAYMENTS_BASE_URL", &peer.base_url);
    let in_text = |run: Run| run.text();
    for (ended, source) in [
        (in_text(run().arguments(["--api-key-file", file.path()])), "the file of --api-key-file"),
        (in_text(run().env("PAYMENTS_API_KEY", KEY)), "PAYMENTS_API_KEY"),
        (in_text(run().env("PAYMENTS_API_KEY_FILE", file.path())), "the file of PAYMENTS_API_KEY_FILE"),
        // An invalid key is refused before it is sent.
        (in_text(run().env("PAYMENTS_API_KEY", "two words")), "PAYMENTS_API_KEY"),
    ] {
        let hint = format!("the API key came from {source}\n");
        assert!(ended.stderr.contains(&hint), "{source}: {}", ended.stderr);
    }
    let ended = run().env("PAYMENTS_API_KEY", KEY).end();
    ended.failed(6);
    assert!(!ended.stdout.contains("came from"), "{}", ended.stdout);
}

#[test]
fn unsafe_base_address_is_refused_d24() {
    for url in
        "http://192.0.2.1/api https://user:canary@127.0.0.1/ ftp://127.0.0.1 127.0.0.1 https://127.0.0.1/?x"
            .split(' ')
    {
        let ended = payments_at(url, lookup()).end();
        assert_eq!(ended.failed(2)["kind"], "configuration", "{url}");
        assert!(!ended.stdout.contains("canary"));
    }
}

#[test]
fn unreadable_settings_files_are_refused() {
    for arguments in [["--api-key-file", "/nonexistent/key"], ["--ca-cert", "/nonexistent/ca.pem"]] {
        let error = payments_at("https://127.0.0.1:1", lookup()).arguments(arguments).end().failed(2);
        assert_eq!(error["kind"], "configuration");
        let named = format!("{} ({}) cannot be read", arguments[0], arguments[1]);
        assert!(message(&error).contains(&named), "{error}");
    }
    let with_key_file = |path: &str| {
        let run = payments(lookup()).env("PAYMENTS_BASE_URL", "https://127.0.0.1:1");
        let error = run.env("PAYMENTS_API_KEY_FILE", path).end().failed(2);
        error["message"].as_str().unwrap().to_owned()
    };
    let message = with_key_file("/nonexistent");
    assert!(message.contains("PAYMENTS_API_KEY_FILE (/nonexistent) cannot be read"), "{message}");
    let message = with_key_file(KEY);
    assert!(message.contains("PAYMENTS_API_KEY_FILE cannot be read") && !message.contains(KEY), "{message}");
}

#[cfg(unix)]
fn permit(file: &TemporaryFile, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).expect("the test owns it");
}

/// Someone who can replace the key decides whose account receives the charge.
#[cfg(unix)]
#[test]
fn key_file_writable_by_others_is_refused() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let file = TemporaryFile::new(KEY);
    for mode in [0o620, 0o602, 0o664, 0o666] {
        permit(&file, mode);
        let flag = payments(lookup()).arguments(["--api-key-file", file.path()]);
        let variable = payments(lookup()).env("PAYMENTS_API_KEY_FILE", file.path());
        for run in [flag, variable] {
            let message = run.env("PAYMENTS_BASE_URL", &peer.base_url).end().refusal();
            let named = format!("({}) can be written by others: run chmod 600 on it", file.path());
            assert!(message.contains(&named) && !message.contains(KEY), "{mode:o}: {message}");
        }
    }
    assert_eq!(peer.requests_left(), 0);
}

#[cfg(unix)]
#[test]
fn key_file_readable_by_others_gets_a_warning_in_text_only() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let file = TemporaryFile::new(KEY);
    let run = || {
        let run = payments(lookup()).arguments(["--api-key-file", file.path()]);
        run.env("PAYMENTS_BASE_URL", &peer.base_url)
    };
    for mode in [0o444, 0o640, 0o604] {
        permit(&file, mode);
        run().end().processed();
        let ended = run().text();
        let start = format!("WARNING: the file of --api-key-file ({}) can be read by others", file.path());
        assert_eq!(ended.code, Some(0), "{mode:o}");
        assert!(ended.stderr.starts_with(&start) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
    }
    permit(&file, 0o600);
    assert_eq!(run().text().stderr, "");
}
