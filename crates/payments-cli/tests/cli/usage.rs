//! Wrong command lines: one document or text, exit code 2, and no word of the line repeated.

use crate::prelude::*;

/// A line, and what its message has. The messages themselves are in docs/error-messages.md.
const LINES: &[(&str, &[&str])] = &[
    (
        "",
        &["a command is missing after payments: one of demo, sandbox, transaction, ", "see payments --help"],
    ),
    ("pay", &["there is no such command; the commands are demo, sandbox, ", "see payments --help"]),
    ("pay transaction", &["see payments --help"]),
    ("custommer get cus_1", &["completions; did you mean customer?"]),
    ("transaction", &["a command is missing after payments transaction: one of create, get;"]),
    ("transaction list", &["there is no such command; the commands are create, get;"]),
    ("transaction create", &["see payments transaction create --help"]),
    ("--output json transaction --timeout 5 create", &["see payments transaction create --help"]),
    ("--output=json --verbose token-transaction", &["see payments token-transaction --help"]),
    // An option's value is not a command.
    ("--proxy transaction customer get", &["see payments customer get --help"]),
    ("transaction create --file", &[]),
    ("transaction create --file x --file y", &[]),
    ("transaction create sale.json", &["did you mean --file FILE?"]),
    ("transaction create --card-number 4111111111111111", &[]),
    ("transaction create --file - 4111111111111111", &["argument 5 is unexpected"]),
    ("transaction create --file - -4111111111111111", &[]),
    ("transaction create --file - --4111111111111111", &[]),
    ("transaction get", &["see payments transaction get --help"]),
    ("transaction get txn_1 txn_2", &["argument 4 is unexpected"]),
    ("transaction get txn_1 --timeout soon", &["--timeout"]),
    ("transaction get txn_1 --output 4111111111111111", &["--output"]),
    ("transaction get txn_1 --api-key 4111111111111111", &["a key is never an argument", "--api-key-file"]),
    ("transaction get txn_1 --api-key=sk_canary_8Zk3Qw", &["a key is never an argument"]),
    ("--api-key sk_canary_8Zk3Qw check", &["a key is never an argument"]),
    ("token-transaction get txn_1", &[]),
    ("void txn_1 --reason", &[]),
    ("void txn_1 --because x", &["see payments void --help"]),
    ("sandbox --listen 8080", &["write ADDR:PORT, such as 127.0.0.1:8080", "see payments sandbox --help"]),
    ("sandbox --admin-listen 8080", &["write ADDR:PORT, such as 127.0.0.1:8080"]),
    ("sandbox magic x", &["see payments sandbox magic --help"]),
    // By one rule, an option that a command does not use is refused.
    ("sandbox --base-url http://127.0.0.1:1", &["takes no --base-url"]),
    ("demo --timeout 5", &["takes no --timeout"]),
    ("demo --output json", &["this command shows text and takes no --output json; nothing was sent"]),
    ("demo 4111111111111111", &[]),
    ("completions bash --proxy p", &["takes no --proxy"]),
    ("completions", &[]),
    ("completions tcsh", &["bash", "zsh", "fish", "elvish", "powershell"]),
    ("journal list --proxy http://127.0.0.1:1", &["takes no --proxy"]),
    ("journal retry --status 401 --proxy http://127.0.0.1:1", &["takes no --proxy"]),
];

#[test]
fn wrong_command_line_is_one_document_that_repeats_no_value() {
    for (line, parts) in LINES {
        let ended = payments(*line).end();
        let error = ended.failed_as(2, "usage");
        has(message(&error), *parts);
        ended.hides([CARD, KEY, "sale.json"]);
        assert_eq!(ended.stderr, "", "{line}");
    }
    let error = payments("transaction get txn_1 sale.json").end().failed(2);
    assert!(!message(&error).contains("--file"), "{error}");
}

#[cfg(unix)]
#[test]
fn non_utf8_argument_is_one_document_and_exits_2() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    payments([OsStr::new("transaction"), OsStr::new("get"), OsStr::from_bytes(b"\xff")]).end().failed(2);
}

#[test]
fn wrong_command_line_is_text_with_output_text() {
    for line in ["--output text pay", "--output=json --output=text pay"] {
        let ended = payments(line).end().exits(2);
        assert!(
            ended.stdout.is_empty() && ended.stderr.starts_with("INVALID, nothing was sent"),
            "{ended:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn missing_command_shows_the_help_to_people() {
    for line in ["", "transaction", "journal"] {
        let run: Run = payments(line).env("TERM", "xterm").env("NO_COLOR", "1");
        has(run.on_terminal_of_width(100), ["\nUsage: payments", "\nCommands:"]);
    }
}
