//! The command's own error messages, as `docs/error-messages.md` lists them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use payments_tests::{Message, assert_messages};

use crate::prelude::*;

/// Where no command of the table arrives.
const ADDRESS: &str = "https://pay.example.com/api";

/// The message of a command that fails in this folder. Every path under it is shown relative to it.
fn of(when: &str, folder: &Path, address: &str, line: &str, changes: &[(&str, &str)]) -> Message {
    let run = payments(line).in_folder(folder).at(address).env("PAYMENTS_API_KEY", KEY);
    let ended =
        changes.iter().fold(run, |run, (name, value)| run.env(name, value)).stdin(TOKEN_PAYMENT).end();
    ended.hides([KEY]);
    let document = ended.json();
    let text = message(&document["error"]).replace(&format!("{}/", folder.display()), "");
    Message {
        when: when.to_owned(),
        outcome: format!(
            "{}, exit code {}",
            document["outcome"].as_str().expect("an outcome"),
            ended.code.expect("an exit code")
        ),
        text: text.replace(&*folder.to_string_lossy(), ".").replace(address, ADDRESS),
    }
}

#[test]
fn own_messages_of_the_command_are_documented() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let rows = "Key,TokenId,Amount,ConvenienceFeeActive\ninvoice-1,tok_approved,1,false\n";
    for (name, content) in [
        ("large.json", &*" ".repeat(64 * 1024 + 1)),
        ("broken.pem", "not a certificate"),
        ("rows.csv", rows),
        ("rows.txt", "invoice-1"),
        ("wrong.json", r#"{"customers": 1}"#),
        ("cart.json", &TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"cart 88"}"#)),
    ] {
        fs::write(folder.join(name), content).expect("it is writable");
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).expect("it is mine");
    }
    let closes = Peer::new(Then::Close);
    let cart =
        |key: &str| format!("token-transaction create --file cart.json --journal billing.db --key {key}");
    let with = |options: &str| format!("{CHARGE} {options}");
    let (get, create) = ("transaction get txn_1 --timeout 1", "transaction create --file");
    let (batch, resolve) =
        ("batch run --journal billing.db", "journal resolve invoice-1 --journal billing.db");
    of("", folder, &closes.base_url, &with("--journal two.db --key order-1 --merchant books"), &[]);
    let messages = [
        ("an unknown option", "transaction create --fil x", &[][..]),
        ("the API key as an argument", &with("--api-key sk"), &[]),
        ("an invalid deadline", &with("--timeout 0"), &[]),
        ("no base URL", CHARGE, &[("PAYMENTS_BASE_URL", "")]),
        ("no API key", CHARGE, &[("PAYMENTS_API_KEY", "")]),
        ("a base URL that is not https", CHARGE, &[("PAYMENTS_BASE_URL", "http://pay.example.com")]),
        ("a certificate file that is not there", &with("--ca-cert none.pem"), &[]),
        ("a certificate file without a certificate", &with("--ca-cert broken.pem"), &[]),
        ("a proxy that is not http", &with("--proxy socks5://127.0.0.1"), &[]),
        ("an input file that is not there", &format!("{create} none.json"), &[]),
        ("an input file that is too large", &format!("{create} large.json"), &[]),
        ("a key without a journal", &with("--key invoice-1"), &[]),
        ("a journal without a key", &with("--journal billing.db"), &[]),
        ("a key with a space", &with("--journal billing.db --key 'invoice 1'"), &[]),
        ("a billing file that is not there", &format!("{batch} none.csv"), &[]),
        ("a billing file of another kind", &format!("{batch} rows.txt"), &[]),
        ("a results file in a missing folder", &format!("{batch} rows.csv --results none/results.csv"), &[]),
        ("no journal for a billing run", "batch run rows.csv", &[]),
        ("a journal that is no path", "journal list --journal 'host=db dbname=pay'", &[]),
        ("a journal that is not there", "journal list --journal none.db", &[]),
        ("a journal that must exist", "batch run rows.csv --journal none.db --existing-journal", &[]),
        ("a journal in a missing folder", "batch run rows.csv --journal none/billing.db", &[]),
        ("a charge whose response was lost", CHARGE, &[]),
        ("a charge with a key whose response was lost", &with("--journal billing.db --key invoice-1"), &[]),
        ("the same charge again", &with("--journal billing.db --key invoice-1"), &[]),
        (
            "the same charge to another service",
            &with("--journal billing.db --key invoice-1"),
            &[("PAYMENTS_BASE_URL", "http://127.0.0.1:1")],
        ),
        ("a forgotten merchant", &with("--journal two.db --key order-2"), &[]),
        (
            "a merchant in other letter case",
            &with("--journal two.db --key order-2"),
            &[("PAYMENTS_MERCHANT", "Books")],
        ),
        ("a charge with a key and a reference whose response was lost", &cart("cart-88-try-1"), &[]),
        ("the same payment under another key", &cart("cart-88-try-2"), &[]),
        ("a lookup whose response was lost", get, &[]),
        ("a key that is not in the journal", "journal show invoice-2 --journal billing.db", &[]),
        (
            "a resolution without a name",
            &format!("{resolve} --not-processed --note 'support finds none'"),
            &[("USER", ""), ("LOGNAME", "")],
        ),
        (
            "a retry of a key that is not rejected",
            "journal retry --key invoice-1 --status 401 --by ada --journal billing.db",
            &[],
        ),
        ("a purge of what is too new", "journal purge --older-than 1h --journal billing.db", &[]),
        ("fixtures of another shape", "sandbox --fixtures wrong.json", &[]),
        ("fixtures that are not there", "sandbox --fixtures none.json", &[]),
    ]
    .map(|(when, line, changes)| of(when, folder, &closes.base_url, line, changes));
    assert_messages("The `payments` command", &messages);
}
