//! The output on a wide terminal, a narrow one and in a pipe. `UPDATE_SCREENS=1` rewrites the files.
#![cfg(unix)]

use std::path::Path;
use std::{env, fs};

use crate::prelude::*;

#[track_caller]
fn compare(name: &str, run: impl Fn() -> Run) {
    let mut screens = Vec::new();
    for columns in [80, 50] {
        let shown = run().env("TERM", "xterm").on_terminal_of_width(columns);
        screens.push(format!("==== a terminal of {columns} columns\n{}", normalized(&shown)));
    }
    let ended = run().end();
    screens.push(format!("==== stdout in a pipe\n{}", normalized(&ended.stdout)));
    screens.push(format!("==== stderr in a pipe\n{}", normalized(&ended.stderr)));
    screens.push(format!("==== exit code {}\n", ended.code.expect("no signal ended it")));
    let screens = screens.concat();

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/screens").join(format!("{name}.txt"));
    if env::var_os("UPDATE_SCREENS").is_some() {
        fs::write(&file, &screens).expect("the file can be written");
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert!(screens == expected, "not as in {}; UPDATE_SCREENS=1 writes it:\n{screens}", file.display());
}

/// The text with placeholders for what differs between runs, and with visible escapes.
fn normalized(text: &str) -> String {
    let text = text.replace('\r', "").replace('\u{1b}', "^[");
    let text = with_placeholder(&text, "127.0.0.1:", "PORT", |letter| letter.is_ascii_digit());
    let text = with_placeholder(&text, "txn_", "ID", |letter| letter.is_ascii_alphanumeric());
    let text =
        with_placeholder(&text, "20", "TIME", |letter| letter.is_ascii_digit() || "-:TZ.".contains(letter));
    // A table's trailing spaces depend on the longest id.
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Replaces what follows each `prefix`, as long as `is_part` holds, if it has at least four characters.
fn with_placeholder(text: &str, prefix: &str, placeholder: &str, is_part: fn(char) -> bool) -> String {
    let mut normalized = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(prefix) {
        let length = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
        normalized += before;
        normalized += prefix;
        let (part, left) = after.split_at(length);
        normalized += if length >= 4 { placeholder } else { part };
        rest = left;
    }
    normalized + rest
}

#[test]
fn help_fits_a_screen() {
    let help = payments("--help").env("TERM", "xterm").on_terminal_of_width(80);
    assert!(help.lines().count() <= 40, "{help}");
    compare("help", || payments("--help"));
    compare("no_command", || payments(""));
}

#[test]
fn processed_charge() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    compare("processed", || charge(&peer));
}

#[test]
fn declined_charge() {
    let declined =
        r#"{"status":"failed","status_code":402,"msg":"card declined","data":{"TransactionId":"txn_7"}}"#;
    let peer = Peer::new(Then::Respond(response("402 Payment Required", declined)));
    compare("declined", || charge(&peer));
}

#[test]
fn charge_with_unknown_outcome() {
    let pending = r#"{"status":"pending","status_code":101,"data":{"TransactionId":"txn_7"}}"#;
    let peer = Peer::responding("200 OK", pending);
    compare("unknown", || charge(&peer));
}

#[test]
fn check() {
    let unknown = r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#;
    let peer = Peer::new(Then::Respond(response("404 Not Found", unknown)));
    compare("check", || payments_at(&peer.base_url, "check"));
}

#[test]
fn demo() {
    compare("demo", || payments("demo"));
}

fn charge(peer: &Peer) -> Run {
    payments_at(&peer.base_url, CREATE).stdin(CARD_PAYMENT)
}
