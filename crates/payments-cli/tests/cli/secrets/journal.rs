//! Secrets in what a journal and a billing run store and print: the database while open and afterwards, the owners file, the
//! results, and every listing of the journal.

use std::fs;
use std::path::PathBuf;

use payments_canary::Canaries;
use payments_journal::SqliteStore;

use super::process::files_in;
use super::{Place, account_payment, assert_clean_places, card_payment};
use crate::http::Http;
use crate::prelude::*;

#[test]
fn s5_journal_and_billing_run_leak_no_secret() {
    assert_clean_places(places_after_use);
}

/// A folder with a journal, a service, and the output of all commands.
struct Workspace {
    folder: PathBuf,
    base_url: String,
    key: String,
    output: Vec<u8>,
    /// The write-ahead logs after each command.
    write_ahead_logs: Vec<u8>,
}

impl Workspace {
    fn payments(&mut self, line: impl Line, stdin: &str) -> Ended {
        let journal = self.folder.join("journal.db");
        let run = payments(line)
            .with(["--journal", journal.to_str().unwrap()])
            .at(&self.base_url)
            .env("PAYMENTS_API_KEY", &self.key)
            .env("TMPDIR", self.folder.to_str().unwrap());
        let ended = run.stdin(stdin).end();
        self.output.extend(format!("{}{}\n", ended.stdout, ended.stderr).into_bytes());
        // The next command empties the log.
        self.write_ahead_logs.extend(fs::read(self.folder.join("journal.db-wal")).unwrap());
        ended
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    fn batch(&mut self, name: &str, content: &str, results: &str) -> Ended {
        let (file, results) = (self.file(name), self.file(results));
        fs::write(&file, content).unwrap();
        let ended = self.payments(format!("batch run {file} --results {results} --timeout 2"), "");
        // The input file itself does not count as a leak.
        fs::remove_file(file).unwrap();
        ended
    }
}

/// Every kind of fault after the commit.
const FAULTS: [&str; 9] =
    ["close", "reset", "stall", "truncate", "garbage", "html", "status", "delay", "wrong_shape"];

fn places_after_use(canaries: &Canaries) -> Vec<Place> {
    let folder = tempfile::tempdir().unwrap();
    let (_sandbox, ready) = started(payments(format!("sandbox --log off --api-key {}", canaries.key())));
    let mut admin = Http::connect(ready["admin_url"].as_str().unwrap(), "").unwrap();
    let mut arm = |kind: &str| {
        let mut fault = json!({"operation": "any", "phase": "after_commit", "kind": kind});
        if kind == "delay" {
            fault["delay_ms"] = 1.into();
        }
        assert_eq!(admin.post("/faults", &fault.to_string()).unwrap().0, 200);
    };
    let mut workspace = Workspace {
        folder: folder.path().to_owned(),
        base_url: ready["base_url"].as_str().unwrap().to_owned(),
        key: canaries.key().to_owned(),
        output: Vec::new(),
        write_ahead_logs: Vec::new(),
    };
    // Kept open, because the last process that closes a database removes its log.
    let kept_open = SqliteStore::open(folder.path().join("journal.db")).unwrap();

    let payments = [
        ("transaction", card_payment(canaries)),
        ("transaction", account_payment(canaries)),
        ("token-transaction", token_payment(canaries)),
    ];
    for (number, fault) in FAULTS.iter().enumerate() {
        for (kind, (command, payment)) in payments.iter().enumerate() {
            arm(fault);
            let key = format!("{command}-{number}-{kind}");
            let shape = if number % 2 == 0 { "json" } else { "text" };
            let timeout = if *fault == "stall" { "0.2" } else { "30" };
            let options = format!("--key {key} --timeout {timeout} --output {shape} --verbose");
            // A payment that is the same as an unknown one would not be sent.
            let payment = payment.replace("order 17", &format!("order {number}"));
            let ended = workspace.payments(format!("{command} create --file - {options}"), &payment);
            assert_ne!(ended.code, Some(2), "{fault}: {}", ended.stdout);
        }
    }
    for fault in FAULTS {
        arm(fault);
    }
    let rows = (0..20).map(|row| format!("row-{row},tok_approved,{row}.75,false,\n"));
    let file = format!("{HEADER}{}", rows.collect::<String>().replace(",0.75", ",20.75"));
    assert_eq!(workspace.batch("faults.csv", &file, "results.jsonl").code, Some(5));
    run_files_with_card_numbers(canaries, &mut workspace);
    charge_with_a_service_that_repeats_the_request(canaries, &mut workspace, &payments);
    charge_with_secret_keys(canaries, &mut workspace, &payments);
    list_everything(&mut workspace);

    let mut places = vec![("the output", std::mem::take(&mut workspace.output))];
    places.push(("the files while the journal is open", files(&folder)));
    places.push(("the log of the database", std::mem::take(&mut workspace.write_ahead_logs)));
    block_on(payments_journal::internals::IntentStore::close(&kept_open));
    places.push(("the files once it is closed", files(&folder)));
    assert!(!folder.path().join("journal.db-wal").exists(), "it is still open");
    for (_, content) in &places[1..] {
        let text = String::from_utf8_lossy(content);
        for kept in ["transaction-3", "8794", "tok_approved", "row-19", "************8794"] {
            assert!(text.contains(kept), "{kept} is missing: these are not the journal's files");
        }
    }
    places
}

const HEADER: &str = "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n";

fn files(folder: &tempfile::TempDir) -> Vec<u8> {
    let mut found = Vec::new();
    files_in(folder.path(), &mut found).unwrap();
    found
}

fn token_payment(canaries: &Canaries) -> String {
    let card = canaries.card();
    format!(
        r#"{{"TokenId":"tok_approved","Amount":45.00,"ConvenienceFeeActive":false,"ReferenceNo":"order 17","Description":"{card}"}}"#
    )
}

/// Billing files with a card number in each column. Some are accepted, the others are refused.
fn run_files_with_card_numbers(canaries: &Canaries, workspace: &mut Workspace) {
    let card = canaries.card();
    let grouped: Vec<_> = card.as_bytes().chunks(4).map(|four| str::from_utf8(four).unwrap()).collect();
    let grouped = grouped.join(" ");
    // A description may be any text. It is sent, and not stored.
    let accepted = format!(
        "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo,Description\n\
         wrong-1,tok_approved,3.00,false,one,{card}\n\
         wrong-2,tok_approved,4.00,false,two,exp {card} or {grouped}\n"
    );
    workspace.batch("accepted.csv", &accepted, "results.csv").exits(0);
    for (row, refused) in [
        format!("{HEADER}{card},tok_approved,1.00,false,\n"),
        format!("{HEADER},tok_approved,1.00,false,{card}\n"),
        format!("{HEADER}a,{card},1.00,false,\n"),
        format!("{HEADER}a,{grouped},1.00,false,\n"),
        format!("{HEADER}key-{card},tok_approved,1.00,false,\n"),
        format!("{HEADER}a,tok_approved,1.00,false,{card}\n"),
        format!("{HEADER}a,tok_approved,1.00,false,card {grouped}\n"),
        format!("{HEADER}a,tok_approved,{card}.001,false,\n"),
        format!("{HEADER}a,tok_approved,1.00,{card},\n"),
        format!("{HEADER}a,tok_approved,1.00,false,x,{card}\n"),
        format!("{card},{}a,tok_approved,1.00,false,\n", HEADER.trim_end()),
        format!("Key,TokenId,Amount,{card}\na,tok_approved,1.00,1\n"),
        format!("{HEADER}twice,tok_approved,1.00,false,{card}\ntwice,tok_approved,1.00,false,{card}\n"),
        format!("{{\"Key\":\"{card}\",\"TokenId\":\"{card}\"}}\n"),
        card.to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let ended = workspace.batch("refused.csv", refused, "results.jsonl");
        assert_eq!(ended.code, Some(2), "file {row} is not refused: {ended:?}");
    }
}

/// The journal stores the reason of a rejection.
fn charge_with_a_service_that_repeats_the_request(
    canaries: &Canaries,
    workspace: &mut Workspace,
    payments: &[(&str, String)],
) {
    let (card, account, key) = (canaries.card(), canaries.account(), canaries.key());
    let (cvv, expiry) = (canaries.cvv(), canaries.expiry());
    for (number, (command, payment)) in payments.iter().enumerate() {
        // Only secrets of the request can be recognized.
        let reason = match number {
            0 => format!("card {card}, code {cvv}, expiry {expiry}, key {key}"),
            1 => format!("account {account}, key {key}"),
            _ => format!("card {card}, key {key}"),
        };
        let body = format!(r#"{{"status":"failed","status_code":400,"msg":"bad request error: {reason}"}}"#);
        let peer = Peer::responding("400 Bad Request", &body);
        let base_url = std::mem::replace(&mut workspace.base_url, peer.base_url.clone());
        let journal_key = format!("echo-{number}");
        workspace.payments(format!("{command} create --file - --key {journal_key}"), payment).exits(4);
        let file = format!("{HEADER}echo-batch-{number},tok_approved,1.00,false,order 17\n");
        if number == 2 {
            assert_eq!(workspace.batch("echo.csv", &file, "results.jsonl").code, Some(4));
        }
        workspace.base_url = base_url;
    }
}

/// Secrets as journal keys.
fn charge_with_secret_keys(canaries: &Canaries, workspace: &mut Workspace, payments: &[(&str, String)]) {
    let (command, payment) = &payments[1];
    let within = format!("a-{}-b", canaries.card());
    for key in [canaries.card(), canaries.account(), &within] {
        let ended = workspace.payments(format!("{command} create --file - --key {key}"), payment);
        assert!([Some(2), Some(3)].contains(&ended.code), "{ended:?}");
    }
}

fn list_everything(workspace: &mut Workspace) {
    for shape in ["json", "text"] {
        for list in ["list", "list --unresolved", "show transaction-0-0", "show wrong-1"] {
            workspace.payments(format!("journal {list} --output {shape}"), "");
        }
    }
    for format in ["jsonl", "csv"] {
        let ended = workspace.payments(format!("journal export --format {format}"), "").exits(0);
        assert!(ended.stdout.contains("wrong-1"), "{ended:?}");
    }
}
