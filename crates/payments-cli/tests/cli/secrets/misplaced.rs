//! Secrets where they do not belong: on the command line, in settings, and in requests.

use payments_canary::Canaries;

use super::card_payment;
use crate::prelude::*;

/// `{}` stands for a secret, and `~` for a space. None of these command lines opens a connection. `--ca-cert` is not included: its path is not
/// mistaken for a key's, and the error must name a mistyped path.
const COMMAND_LINES: [&str; 41] = [
    "{}",
    "{} transaction create",
    "transaction {}",
    "transaction create {}",
    "transaction create --file - {}",
    "transaction create --file - --{}",
    "transaction create --file - --card-number={}",
    "transaction create --file - -{}",
    "transaction create --file {}",
    "transaction create --file /missing/{}.json",
    "transaction get txn_1 --api-key {}",
    "transaction get txn_1 --api-key={}",
    "transaction get txn_1 --api-key-file {}",
    "transaction get txn_1 --api-key-file={}",
    "transaction get txn_1 --output {}",
    "transaction get txn_1 --timeout {}s",
    "transaction get txn_1 --base-url {}",
    "transaction get txn_1 --base-url https://{}@localhost",
    "transaction get txn_1 --base-url https://u:{}@localhost",
    "transaction get txn_1 --base-url https://localhost/?key={}",
    "transaction get txn_1 --base-url http://{}.example.com",
    "transaction get txn_1 --merchant {}~{}",
    "transaction get txn_1 --base-url http://127.0.0.1:1 --merchant {} --dry-run --verbose",
    "transaction get {}/x --base-url http://127.0.0.1:1",
    "transaction get {} --base-url http://127.0.0.1:1 --dry-run --verbose",
    "customer get {} --base-url http://127.0.0.1:1 --dry-run",
    "void txn_1 --reason key~{} --base-url http://127.0.0.1:1 --dry-run --verbose",
    "void {} --base-url http://127.0.0.1:1 --dry-run",
    "transaction get txn_1 --base-url http://127.0.0.1:1 --proxy {}",
    "transaction get txn_1 --base-url http://127.0.0.1:1 --proxy https://u:{}@localhost",
    "transaction get txn_1 --base-url http://127.0.0.1:1 --proxy http://u:{}@localhost:1 --verbose",
    "void txn_1 --base-url https://127.0.0.1:1 --proxy http://{}:1 --dry-run --verbose",
    "check --base-url http://127.0.0.1:1 --proxy http://{}:x@localhost:1",
    "sandbox --listen {}",
    "sandbox --seed {}x",
    "sandbox --decline-shape {}",
    "sandbox --api-key {}~",
    "sandbox {}",
    "sandbox magic {}",
    "completions {}",
    "demo {}",
];

#[test]
fn s5_secrets_on_the_command_line_are_not_repeated() {
    let canaries = Canaries::set(0);
    for secret in [canaries.card(), canaries.key()] {
        for line in COMMAND_LINES {
            for shape in ["json", "text"] {
                let words: Vec<_> =
                    line.split(' ').map(|word| word.replace('~', " ").replace("{}", secret)).collect();
                let ended = payments(["--output", shape])
                    .with(&words[..])
                    .env("PAYMENTS_API_KEY", canaries.key())
                    .stdin("")
                    .end();
                let output = ended.shown();
                assert_ne!(output, "", "{line:?}");
                let mut sightings = canaries.sightings(output.as_bytes());
                // No line contains the security code, but its digits can occur in a latency such as 917 µs.
                sightings.retain(|sighting| matches!(sighting.secret, "card" | "key"));
                assert_eq!(sightings, [], "{line:?}");
            }
        }
    }
}

/// Such an id would be shown as what to look up.
#[test]
fn s5_id_that_holds_the_api_key_is_not_sent() {
    let canaries = Canaries::set(0);
    for line in ["void {}", "transaction get {}", "customer get {}", "void txn_{}", "void {} --dry-run"] {
        let line = line.replace("{}", canaries.key());
        let ended = payments(&*line).at("http://127.0.0.1:1").env("PAYMENTS_API_KEY", canaries.key()).end();
        let shown = ended.shown();
        assert_eq!(ended.code, Some(2), "{shown}");
        assert!(shown.contains("the id holds the API key; nothing was sent"), "{shown}");
        canaries.assert_absent("the output for such an id", shown.as_bytes());
    }
}

#[test]
fn s5_secrets_in_settings_are_not_repeated() {
    let canaries = Canaries::set(0);
    let key = canaries.key();
    let mut shown = String::new();
    for name in "PAYMENTS_BASE_URL PAYMENTS_API_KEY_FILE PAYMENTS_MERCHANT PAYMENTS_TIMEOUT PAYMENTS_CA_CERT PAYMENTS_PROXY".split(' ') {
        for value in [key.to_owned(), canaries.card().to_owned(), format!("https://{key}@localhost")] {
            shown += &payments(GET).env(name, &value).end().shown();
        }
    }
    shown += &payments(GET).env("PAYMENTS_API_KEY", &format!("{key} {key}")).end().shown();
    canaries.assert_absent("the output for wrong settings", shown.as_bytes());
}

/// It would be shown, and become the name of a file.
#[test]
fn s5_place_of_a_journal_that_holds_the_api_key_is_refused() {
    let canaries = Canaries::set(0);
    let folder = tempfile::tempdir().unwrap();
    let charge = "token-transaction create --file - --key k";
    for (line, name) in [
        ("journal list --journal {}", ""),
        ("journal list --journal {}.db", ""),
        ("journal list", "PAYMENTS_JOURNAL"),
        ("journal list --journal a.db --witness {}", ""),
        ("journal list --journal a.db", "PAYMENTS_JOURNAL_WITNESS"),
        ("batch run rows.csv --journal {}", ""),
        (&*format!("{charge} --journal {{}}"), ""),
        (charge, "PAYMENTS_JOURNAL"),
    ] {
        for shape in ["json", "text"] {
            let mut run = payments(&*line.replace("{}", canaries.key())).with(["--output", shape]);
            if !name.is_empty() {
                let place = folder.path().join(canaries.key());
                run = run.env(name, place.to_str().unwrap());
            }
            let run = run.at("http://127.0.0.1:1").env("PAYMENTS_API_KEY", canaries.key());
            let ended = run.in_folder(folder.path()).stdin(TOKEN_PAYMENT).end();
            let shown = ended.shown();
            assert_eq!(ended.code, Some(2), "{line}: {shown}");
            assert!(shown.contains("contains an API key; nothing was"), "{line}: {shown}");
            canaries.assert_absent("the output for such a place", shown.as_bytes());
        }
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

/// A command to paste and a message are printed and logged before every option is checked.
#[test]
fn option_that_is_not_valid_is_not_repeated() {
    let workspace = Workspace::with_charge("paid");
    let report = workspace.write("report.csv", "Id,Amount,Reference,Datum\n");
    let reconcile = format!("journal reconcile {report}");
    let (service, new) = (workspace.sandbox.base_url(), "https://new.example.com");
    let charge = format!("{CHARGE} --key k");
    for url in ["https://u:hunter2@pay.example.com/api", "https://pay.example.com/?api_key=hunter2"] {
        for (line, is_printed) in [
            (format!("{reconcile} --base-url {url}"), "--base-url URL"),
            (format!("{reconcile} --merchant {url}"), "--merchant LABEL"),
            (format!("{reconcile} --service {url}"), "--service"),
            (format!("{reconcile} --witness {url}"), "--witness names no file"),
            (format!("{charge} --witness {url}"), "--witness names no file"),
            (format!("journal list --witness {url}"), "--witness names no file"),
            (format!("journal rename-service {url} {new}"), "OLD"),
            (format!("journal rename-service {service} {url}"), "NEW"),
            (format!("journal rename-service {service} {new}#{url}"), "NEW"),
            (format!("journal forget-service {url}"), "NAME"),
            (format!("journal retry --status 401 --base-url {url}"), "base URL"),
            (format!("journal resolve --from {url}"), "cannot be read"),
            (format!("check --ca-cert {url}"), "the file of --ca-cert cannot be read"),
            (format!("batch run {url}"), "cannot be read"),
        ] {
            for shape in ["json", "text"] {
                let ended =
                    workspace.run(&*line).with(["--output", shape]).stdin(TOKEN_PAYMENT).end().exits(2);
                ended.hides(["hunter2"]);
                has(ended.shown(), [is_printed]);
            }
        }
    }
}

/// Requests that are cut off, or have a secret in another field.
#[test]
fn s5_secrets_in_invalid_requests_are_not_repeated() {
    let canaries = Canaries::set(0);
    let payment = card_payment(&canaries);
    let secrets = [canaries.card(), canaries.expiry(), canaries.account()];
    let mut requests: Vec<_> = (1..8).map(|part| payment[..payment.len() * part / 8].to_owned()).collect();
    for name in ["Amount", "CardNumber", "Cvv", "ExpiryDate", "BillingEmail", "IpAddress", "Whatever"] {
        for secret in secrets {
            let wrong = format!("{{\"{name}\":\"{secret}x\",");
            requests.push(payment.replacen('{', &wrong, 1));
        }
        requests.push(payment.replacen('{', &format!("{{\"{}\":1,", canaries.card()), 1));
    }
    let mut shown = String::new();
    for request in requests {
        for options in ["--verbose --output text", "--dry-run"] {
            let run = payments(CREATE).at("http://127.0.0.1:1").with(options);
            let run = run.env("PAYMENTS_API_KEY", canaries.key());
            let ended = run.stdin(request.clone()).end();
            assert_eq!(ended.code, Some(2), "{request}: {ended:?}");
            shown += &ended.shown();
        }
    }
    canaries.assert_absent("the output for wrong requests", shown.as_bytes());
}
