//! The command's own error messages, as `docs/error-messages.md` lists them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use payments_tests::{Message, assert_messages};

use crate::support::{CARD_PAYMENT, CHARGE, KEY, Peer, TOKEN_PAYMENT, Then, payments};

/// The message of a command that fails in this folder. Every path under it is shown relative to it.
fn message(when: &str, folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Message {
    let run = payments(arguments.iter()).in_folder(folder).env("HOME", &folder.to_string_lossy());
    let run = run.env("XDG_CONFIG_HOME", &folder.join("config").to_string_lossy());
    let run = settings.iter().fold(run, |run, (name, value)| run.env(name, value));
    let ended = run.stdin(TOKEN_PAYMENT).end();
    let document = ended.json();
    let (outcome, code) =
        (document["outcome"].as_str().expect("an outcome"), ended.code.expect("an exit code"));
    let text = document["error"]["message"].as_str().expect("a message");
    let text = text.replace(&format!("{}/", folder.display()), "").replace(&*folder.to_string_lossy(), ".");
    Message { when: when.to_owned(), outcome: format!("{outcome}, exit code {code}"), text }
}

#[test]
fn own_messages_of_the_command_are_documented() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("it is mine");
    let write = |name: &str, content: &str, mode: u32| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(&path, content).expect("it is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is mine");
    };
    write("large.json", &" ".repeat(64 * 1024 + 1), 0o600);
    write("broken.pem", "not a certificate", 0o600);
    write("rows.csv", "Key,TokenId,Amount,ConvenienceFeeActive\ninvoice-1,tok_approved,1,false\n", 0o600);
    write("results.jsonl", "", 0o600);
    write("rows.txt", "invoice-1", 0o600);
    write("wrong.json", r#"{"customers": 1}"#, 0o600);

    let closes = Peer::new(Then::Close);
    let address = closes.base_url.as_str();
    let at: &[(&str, &str)] = &[("PAYMENTS_BASE_URL", address), ("PAYMENTS_API_KEY", KEY)];
    let with = |more: &[&'static str]| [&CHARGE[..], more].concat();
    let at_key = |base_url| [("PAYMENTS_BASE_URL", base_url), ("PAYMENTS_API_KEY", KEY)];
    let unsent =
        |when, arguments: &[&str], settings: &[(&str, &str)]| message(when, folder, arguments, settings);

    let mut messages = vec![
        unsent("an unknown option", &["transaction", "create", "--fil", "x"], &[]),
        unsent("the API key as an argument", &with(&["--api-key", "sk"]), &[]),
        unsent("an invalid deadline", &with(&["--timeout", "0"]), &[]),
        unsent("no base URL", &CHARGE, &[("PAYMENTS_API_KEY", KEY)]),
        unsent("no API key", &CHARGE, &[("PAYMENTS_BASE_URL", address)]),
        unsent("a base URL that is not https", &CHARGE, &at_key("http://pay.example.com")),
        unsent("a certificate file that is not there", &with(&["--ca-cert", "none.pem"]), at),
        unsent("a certificate file without a certificate", &with(&["--ca-cert", "broken.pem"]), at),
        unsent("a proxy that is not http", &with(&["--proxy", "socks5://127.0.0.1"]), at),
        unsent("an input file that is not there", &["transaction", "create", "--file", "none.json"], at),
        unsent("an input file that is too large", &["transaction", "create", "--file", "large.json"], at),
        unsent("a key without a journal", &with(&["--key", "invoice-1"]), at),
        unsent("a journal without a key", &with(&["--journal", "billing.db"]), at),
        unsent("a key with a space", &with(&["--journal", "billing.db", "--key", "invoice 1"]), at),
    ];
    let batch = |file: &'static str, more: &[&'static str]| {
        [&["batch", "run", file, "--journal", "billing.db"], more].concat()
    };
    messages.extend([
        unsent("a billing file that is not there", &batch("none.csv", &[]), at),
        unsent("a billing file of another kind", &batch("rows.txt", &[]), at),
        unsent(
            "a results file in a missing folder",
            &batch("rows.csv", &["--results", "none/results.csv"]),
            at,
        ),
        unsent("no journal for a billing run", &["batch", "run", "rows.csv"], at),
        unsent("a journal that is no path", &["journal", "list", "--journal", "host=db dbname=pay"], &[]),
        unsent("a journal that is not there", &["journal", "list", "--journal", "none.db"], &[]),
    ]);
    let lost = with(&["--journal", "billing.db", "--key", "invoice-1"]);
    messages.extend([
        message("a charge whose response was lost", folder, &CHARGE, at),
        message("a charge with a key whose response was lost", folder, &lost, at),
        message("the same charge again", folder, &lost, at),
        message("the same charge to another service", folder, &lost, &at_key("http://127.0.0.1:1")),
        message(
            "a lookup whose response was lost",
            folder,
            &["transaction", "get", "txn_1", "--timeout", "1"],
            at,
        ),
    ]);
    let journal =
        |arguments: &[&'static str]| [&["journal"], arguments, &["--journal", "billing.db"]].concat();
    messages.extend([
        unsent("a key that is not in the journal", &journal(&["show", "invoice-2"]), &[]),
        unsent(
            "a resolution without a name",
            &journal(&["resolve", "invoice-1", "--not-processed", "--note", "support finds none"]),
            &[("USER", ""), ("LOGNAME", "")],
        ),
        unsent(
            "a retry of a key that is not rejected",
            &journal(&["retry", "--key", "invoice-1", "--status", "401", "--by", "ada"]),
            &[],
        ),
        unsent("a purge of what is too new", &journal(&["purge", "--older-than", "1h"]), &[]),
    ]);
    messages.extend([
        unsent("fixtures of another shape", &["sandbox", "--fixtures", "wrong.json"], &[]),
        unsent("fixtures that are not there", &["sandbox", "--fixtures", "none.json"], &[]),
    ]);

    for message in &mut messages {
        message.text = message.text.replace(address, "https://pay.example.com/api");
    }
    assert!(CARD_PAYMENT.contains("CardNumber") && messages.iter().all(|it| !it.text.contains(KEY)));
    assert_messages("The `payments` command", &messages);
}
