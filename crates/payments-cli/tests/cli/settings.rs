//! Where the settings come from, and which are refused.

use crate::prelude::*;

/// Checks that the call succeeded and was sent with `key`.
#[track_caller]
fn assert_sent_with_key(peer: &Peer, ended: &Ended, key: &str) {
    assert_eq!(ended.paid_id(), "txn_1");
    has(peer.request(), [format!("authorization: {key}\r\n")]);
}

#[test]
fn option_overrides_variable_overrides_file_of_a_variable() {
    let (right, wrong) = (Peer::responding("200 OK", responses::TRANSACTION_FOUND), Peer::new(Then::Close));
    let option = format!("--base-url {}", right.base_url);
    for run in [
        payments_at(&wrong.base_url, GET).with(&option),
        payments_at(&wrong.base_url, format!("{option} {GET}")),
        payments_at(&right.base_url, GET),
    ] {
        assert_sent_with_key(&right, &run.end(), KEY);
    }
    assert_eq!(wrong.requests_left(), 0);

    let (flag, file) = (TemporaryFile::new("key_of_flag"), TemporaryFile::new("key_of_file"));
    let with_file = || payments(GET).at(&right.base_url).env("PAYMENTS_API_KEY_FILE", file.path());
    let with_variable = || with_file().env("PAYMENTS_API_KEY", "key_of_variable");
    for (run, key) in [
        (with_file(), "key_of_file"),
        (with_variable(), "key_of_variable"),
        (with_variable().with(["--api-key-file", flag.path()]), "key_of_flag"),
        // An empty variable counts as unset.
        (with_file().env("PAYMENTS_API_KEY", ""), "key_of_file"),
    ] {
        assert_sent_with_key(&right, &run.end(), key);
    }
    // One line break at the end of a file is stripped.
    for content in ["key_1\n", "key_1\r\n"] {
        let file = TemporaryFile::new(content);
        let run = payments(GET).at(&right.base_url).with(["--api-key-file", file.path()]);
        assert_sent_with_key(&right, &run.end(), "key_1");
    }
}

#[test]
fn timeout_option_overrides_the_variable() {
    let peer = Peer::new(Then::Wait);
    let run = |timeout: &str| payments_at(&peer.base_url, GET).env("PAYMENTS_TIMEOUT", timeout);
    run("0.5").end().failed_as(3, "timeout");
    run("3000").with("--timeout 0.5").end().failed_as(3, "timeout");
    for wrong in ["0", "canary", "30s", "86401"] {
        let message = run(wrong).end().refusal();
        begins(&message, "PAYMENTS_TIMEOUT must be a number of seconds above 0");
        assert!(message.ends_with("nothing was sent") && !message.contains("canary"), "{message}");
    }
}

#[test]
fn unusable_setting_is_refused_and_not_shown_d24_d25() {
    let peer = Peer::new(Then::Close);
    for content in
        [&b""[..], b"\n", b"canary key", b"canary\n\n", b"\xff\xfecanary", &b"canary".repeat(10_000)]
    {
        let file = TemporaryFile::new(content);
        let ended = payments(GET).at(&peer.base_url).with(["--api-key-file", file.path()]).end();
        ended.failed_as(2, "configuration");
        ended.hides(["canary"]);
    }
    let by_variable = payments(GET).at(&peer.base_url).env("PAYMENTS_API_KEY", "canary key").end();
    by_variable.failed_as(2, "configuration");
    by_variable.hides(["canary"]);
    for url in
        "http://192.0.2.1/api https://user:canary@127.0.0.1/ ftp://127.0.0.1 127.0.0.1 https://127.0.0.1/?x"
            .split(' ')
    {
        let ended = payments_at(url, GET).end();
        ended.failed_as(2, "configuration");
        ended.hides(["canary"]);
    }
    for option in ["--api-key-file", "--ca-cert"] {
        let run = payments_at("https://127.0.0.1:1", GET).with([option, "/nonexistent/file"]);
        run.end().refused(format!("{option} (/nonexistent/file) cannot be read"));
    }
    let key_file = |path| payments(GET).at("https://127.0.0.1:1").env("PAYMENTS_API_KEY_FILE", path).end();
    key_file("/nonexistent").refused("PAYMENTS_API_KEY_FILE (/nonexistent) cannot be read");
    let mistaken = key_file(KEY);
    mistaken.refused("PAYMENTS_API_KEY_FILE cannot be read");
    mistaken.hides([KEY]);
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn every_settings_error_is_reported_at_once() {
    payments(GET).end().refused("PAYMENTS_BASE_URL; also: no API key is set");
    payments_at("", GET).end().refused("PAYMENTS_BASE_URL");
    let line = "--base-url http://192.0.2.1 --ca-cert /nonexistent --api-key-file /nonexistent";
    let message = payments(GET).with(line).end().refusal();
    has(&message, ["is not https", "also: the file of --api-key-file", "also: the file of --ca-cert"]);
}

#[test]
fn label_of_a_merchant_has_no_space_or_control_character_d47() {
    const RULE: &str = "the label of a merchant is not 1 to 64 ASCII letters, digits and - . _";
    let run = || payments_at("http://127.0.0.1:1", GET).with("--dry-run");
    let long = "x".repeat(65);
    for label in ["", " ", "books ", "two words", "books\n", "a#b", "b\u{fc}cher", &long] {
        run().with(["--merchant", label]).end().failed_as(2, "configuration");
        let text = run().with(["--merchant", label]).text().stderr;
        has(&text, [RULE, "the label came from --merchant\n"]);
        // As with the other settings, an empty variable counts as unset.
        let text = run().env("PAYMENTS_MERCHANT", label).text().stderr;
        for part in [RULE, "the label came from PAYMENTS_MERCHANT\n"] {
            assert_eq!(text.contains(part), !label.is_empty(), "{label:?}: {text}");
        }
    }
    // A key there would be shown, and two merchants would be one service.
    let key = run().with(["--merchant", KEY]).end();
    begins(key.refusal(), "the label of a merchant contains an API key");
    key.hides([KEY]);
    let message = payments(GET).with("--merchant 'a b'").end().refusal();
    begins(&message, "no base URL is set");
    has(&message, [format!("also: {RULE}")]);
}

#[test]
fn text_names_the_source_of_a_refused_key() {
    let peer = Peer::responding("401 Unauthorized", responses::UNAUTHORIZED);
    let file = TemporaryFile::new(KEY);
    let run = || payments(GET).at(&peer.base_url);
    for (run, source) in [
        (run().with(["--api-key-file", file.path()]), "the file of --api-key-file"),
        (run().env("PAYMENTS_API_KEY", KEY), "PAYMENTS_API_KEY"),
        (run().env("PAYMENTS_API_KEY_FILE", file.path()), "the file of PAYMENTS_API_KEY_FILE"),
        // An invalid key is refused before it is sent.
        (run().env("PAYMENTS_API_KEY", "two words"), "PAYMENTS_API_KEY"),
    ] {
        has(run.text().stderr, [format!("the API key came from {source}\n")]);
    }
    let in_json = run().env("PAYMENTS_API_KEY", KEY).end();
    in_json.failed(6);
    in_json.hides(["came from"]);
}

/// Someone who can replace the key decides whose account receives the charge.
#[cfg(unix)]
#[test]
fn key_file_that_others_can_write_is_refused_and_one_they_can_read_is_warned_about() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let file = TemporaryFile::new(KEY);
    let permit = |mode| set_permissions(file.path(), Permissions::from_mode(mode)).expect("it is mine");
    let by_option = || -> Run { payments(GET).with(["--api-key-file", file.path()]).at(&peer.base_url) };
    let by_variable = || payments(GET).env("PAYMENTS_API_KEY_FILE", file.path()).at(&peer.base_url);
    for mode in [0o620, 0o602, 0o666] {
        permit(mode);
        for run in [by_option(), by_variable()] {
            let ended = run.end();
            ended.refused(format!("({}) can be written by others: run chmod 600 on it", file.path()));
            ended.hides([KEY]);
        }
    }
    assert_eq!(peer.requests_left(), 0);
    for mode in [0o444, 0o640, 0o604] {
        permit(mode);
        let warning = format!("WARNING: the file of --api-key-file ({}) can be read by others", file.path());
        // Also in a job without a terminal, of which somebody reads the log.
        for ended in [by_option().end().exits(0), by_option().text().exits(0)] {
            begins(&ended.stderr, &warning);
            assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        }
        let checked = payments("check").with(["--api-key-file", file.path()]).at(&peer.base_url).end();
        has(
            checked.json()["data"]["steps"][0]["message"].as_str().expect("a text"),
            [format!("; {warning}")],
        );
    }
    permit(0o600);
    by_option().text().quiet(0);
    let other = TemporaryFile::new("sk_of_somebody_else");
    let two = by_option().env("PAYMENTS_API_KEY", "");
    two.env("PAYMENTS_API_KEY_FILE", other.path()).end().quiet(0);
    let two = payments_at(&peer.base_url, GET).env("PAYMENTS_API_KEY_FILE", other.path()).end().exits(0);
    has(&two.stderr, ["WARNING: PAYMENTS_API_KEY is used, and PAYMENTS_API_KEY_FILE", "another merchant's"]);
}

/// One of two keys is another merchant's, and no program can tell which one was meant.
#[test]
fn money_moves_with_no_key_of_two_d25_d47() {
    let workspace = Workspace::with_rows(1);
    workspace.lose_response("lost");
    let sent = workspace.requests();
    let other = TemporaryFile::new("sk_of_somebody_else");
    let missing = "/nonexistent";
    let found = workspace.write("found.csv", "Key,TransactionId,Note\nlost,txn_1,\n");
    for line in [
        format!("{CHARGE} --key k"),
        "void txn_1 --key v".to_owned(),
        format!("batch run {}", workspace.path("rows.csv")),
        "journal resolve lost --processed txn_1".to_owned(),
        format!("journal resolve --from {found}"),
    ] {
        for file in [other.path(), missing] {
            let run = workspace.run(&line).stdin(TOKEN_PAYMENT).env("PAYMENTS_API_KEY_FILE", file);
            let error = run.end().failed_as(2, "configuration");
            let text = "PAYMENTS_API_KEY and PAYMENTS_API_KEY_FILE are both set and have two keys";
            has(message(&error), [text, "unset one of them"]);
        }
    }
    assert_eq!(workspace.requests(), sent);
    let same = TemporaryFile::new(format!("{KEY}\n"));
    let run = || workspace.run(CHARGE).with("--key k").stdin(TOKEN_PAYMENT);
    run().env("PAYMENTS_API_KEY_FILE", same.path()).end().processed();
    // The option says which.
    let flag = TemporaryFile::new(KEY);
    let run = run().env("PAYMENTS_API_KEY_FILE", other.path()).with(["--api-key-file", flag.path()]);
    assert_eq!(run.end().exits(0).json()["recorded"], true);
}
