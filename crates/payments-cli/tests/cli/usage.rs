//! Wrong command lines.

use crate::support::{CARD, KEY, begins, message, payments};

#[test]
fn wrong_command_line_is_one_document_and_exits_2() {
    let cases: &[&[&str]] = &[
        &[],
        &["pay"],
        &["transaction"],
        &["transaction", "list"],
        &["transaction", "create"],
        &["transaction", "create", "--file"],
        &["transaction", "create", "--file", "x", "--file", "y"],
        &["transaction", "create", "--card-number", CARD],
        &["transaction", "create", "--file", "-", CARD],
        &["transaction", "create", "--file", "-", "-4111111111111111"],
        &["transaction", "create", "--file", "-", "--4111111111111111"],
        &["transaction", "get"],
        &["transaction", "get", "txn_1", "txn_2"],
        &["transaction", "get", "txn_1", "--timeout", "soon"],
        &["transaction", "get", "txn_1", "--timeout", "0"],
        &["transaction", "get", "txn_1", "--timeout", "-1"],
        &["transaction", "get", "txn_1", "--timeout", "1e9"],
        &["transaction", "get", "txn_1", "--output", CARD],
        &["transaction", "get", "txn_1", "--api-key", CARD],
        &["transaction", "get", "txn_1", "--api-key=4111111111111111"],
        &["token-transaction", "get", "txn_1"],
        &["void"],
        &["void", "txn_1", "--reason"],
        &["customer", "get"],
        &["sandbox", "--listen", "nowhere"],
        &["sandbox", "--base-url", "http://127.0.0.1:1"],
        &["demo", "--base-url", "http://127.0.0.1:1"],
        &["demo", "--timeout", "5"],
        &["demo", CARD],
    ];
    for arguments in cases {
        let ended = payments(arguments.iter()).end();
        assert_eq!(ended.failed(2)["kind"], "usage");
        assert!(!ended.stdout.contains(CARD), "{arguments:?}: {}", ended.stdout);
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn non_utf8_argument_is_one_document_and_exits_2() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::process::Command;

    let output = Command::new(env!("CARGO_BIN_EXE_payments"))
        .args(["transaction", "get"])
        .arg(OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["outcome"], "invalid");
}

#[test]
fn wrong_command_line_is_text_with_output_text() {
    for arguments in [["--output", "text", "pay"], ["--output=json", "--output=text", "pay"]] {
        let ended = payments(arguments).end();
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
        begins(&ended.stderr, "INVALID, nothing was sent");
    }
}

#[test]
fn help_and_version_are_text_and_exit_0() {
    let ended = payments(["--version"]).end();
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), concat!("payments ", env!("CARGO_PKG_VERSION"), "\n"))
    );
    let ended = payments(["--help", "--output", "json"]).end().quiet(0);
    assert!(ended.stdout.contains("Usage: payments"));
}

#[test]
fn file_without_its_option_gets_a_hint_and_is_not_repeated() {
    for command in ["transaction", "token-transaction"] {
        let message = payments([command, "create", "sale.json"]).end().refusal();
        assert!(message.contains("did you mean --file FILE?") && !message.contains("sale.json"), "{message}");
    }
    let error = payments(["transaction", "get", "txn_1", "sale.json"]).end().failed(2);
    assert!(!message(&error).contains("--file"), "{error}");
}

/// The message for a refused command line.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let error = payments(arguments.iter()).end().failed(2);
    error["message"].as_str().expect("a text").to_owned()
}

#[test]
fn nearest_help_is_named() {
    for (arguments, help) in [
        (&["transaction", "create"][..], "payments transaction create --help"),
        (
            &["--output", "json", "transaction", "--timeout", "5", "create"],
            "payments transaction create --help",
        ),
        (&["--output=json", "--verbose", "token-transaction"], "payments token-transaction --help"),
        (&["transaction", "get"], "payments transaction get --help"),
        (&["void", "txn_1", "--because", "x"], "payments void --help"),
        (&["sandbox", "--listen", "nowhere"], "payments sandbox --help"),
        (&["sandbox", "magic", "x"], "payments sandbox magic --help"),
        // An option's value is not a command.
        (&["--proxy", "transaction", "customer", "get"], "payments customer get --help"),
        (&["pay", "transaction"], "payments --help"),
        (&[], "payments --help"),
    ] {
        let message = refused(arguments);
        assert!(message.ends_with(&format!("nothing was sent: see {help}")), "{arguments:?}: {message}");
    }
}

#[test]
fn missing_or_unknown_command_lists_the_commands() {
    let top =
        "demo, sandbox, transaction, token-transaction, void, batch, journal, customer, check, completions";
    for (arguments, commands) in [
        (&[][..], format!("a command is missing after payments: one of {top};")),
        (&["pay"], format!("there is no such command; the commands are {top}")),
        (&["transaction"], "a command is missing after payments transaction: one of create, get;".to_owned()),
        (&["transaction", "list"], "there is no such command; the commands are create, get;".to_owned()),
    ] {
        let message = refused(arguments);
        assert!(message.starts_with(&commands), "{arguments:?}: {message}");
    }
    let message = refused(&["custommer", "get", "cus_1"]);
    assert!(message.contains("completions; did you mean customer?"), "{message}");
}

#[test]
fn key_as_an_argument_gets_a_warning_and_is_not_repeated() {
    for arguments in [
        &["transaction", "get", "txn_1", "--api-key", KEY][..],
        &["transaction", "get", "txn_1", &format!("--api-key={KEY}")],
        &["--api-key", KEY, "check"],
    ] {
        let message = refused(arguments);
        for part in ["a key is never an argument", "in this shell's history", "--api-key-file"] {
            assert!(message.contains(part) && !message.contains(KEY), "{part}: {message}");
        }
    }
}

#[test]
fn address_without_port_is_refused_with_an_example() {
    for option in ["--listen", "--admin-listen"] {
        let message = refused(&["sandbox", option, "8080"]);
        assert!(message.contains("write ADDR:PORT, such as 127.0.0.1:8080"), "{message}");
    }
}
